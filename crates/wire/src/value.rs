//! Values in the binary protocol: parameters of prepared statements and their result rows.
//!
//! Reads and writes single values by their type. A value is made to fit the type of its column
//! as SQLite or a C program would do it; SQL's own rules of conversion are not known here.

use std::fmt;

use crate::fault::What;
use crate::reader::Reader;
use crate::reply::ColumnKind;
use crate::{Malformed, lenenc};

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// A `FLOAT`.
    Float(f32),
    /// A `DOUBLE`.
    Double(f64),
    /// A string, a blob, a decimal, a bit field: anything that travels as bytes.
    Bytes(&'a [u8]),
    /// A date with or without a time.
    Date(DateTime),
    /// A span of time.
    Time(TimeSpan),
}

/// A date with a time of day. Displays as `2026-11-21 04:05:06`, with microseconds if there are
/// any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    /// The year.
    pub year: u16,
    /// The month, from 1; 0 in a zero date.
    pub month: u8,
    /// The day of the month, from 1; 0 in a zero date.
    pub day: u8,
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
    /// The microsecond.
    pub micro: u32,
}

/// A span of time. Displays as `-26:05:06`, with microseconds if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeSpan {
    /// Whether it is negative.
    pub negative: bool,
    /// Whole days.
    pub days: u32,
    /// The hours above them.
    pub hours: u8,
    /// The minutes above them.
    pub minutes: u8,
    /// The seconds above them.
    pub seconds: u8,
    /// The microseconds above them.
    pub micros: u32,
}

/// How the values of a type travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Nothing,
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    Date,
    Time,
    Bytes,
}

impl<'a> Value<'a> {
    /// Reads a value that is not NULL.
    pub fn read(
        read: &mut Reader<'a>,
        kind: ColumnKind,
        unsigned: bool,
    ) -> Result<Self, Malformed> {
        let form = Form::of(kind).ok_or(read.fault(What::ParameterType))?;
        Ok(match (form, unsigned) {
            (Form::Nothing, _) => Self::Null,
            (Form::Int8, true) => Self::UInt(read.u8()?.into()),
            (Form::Int16, true) => Self::UInt(read.u16()?.into()),
            (Form::Int32, true) => Self::UInt(read.u32()?.into()),
            (Form::Int64, true) => Self::UInt(read.u64()?),
            (Form::Int8, false) => Self::Int(i8::from_le_bytes(read.array()?).into()),
            (Form::Int16, false) => Self::Int(i16::from_le_bytes(read.array()?).into()),
            (Form::Int32, false) => Self::Int(i32::from_le_bytes(read.array()?).into()),
            (Form::Int64, false) => Self::Int(i64::from_le_bytes(read.array()?)),
            (Form::Float, _) => Self::Float(f32::from_le_bytes(read.array()?)),
            (Form::Double, _) => Self::Double(f64::from_le_bytes(read.array()?)),
            (Form::Date, _) => Self::Date(read_date(read)?),
            (Form::Time, _) => Self::Time(read_time(read)?),
            (Form::Bytes, _) => Self::Bytes(read.lenenc_bytes()?),
        })
    }

    /// Whether values of that type can be read.
    pub fn is_kind(kind: ColumnKind) -> bool {
        Form::of(kind).is_some()
    }

    /// Appends the value, made to fit the type. Of NULL nothing is written: it is a bit of the
    /// row. What cannot be made to fit is written as zero or as the empty string.
    pub fn write(&self, kind: ColumnKind, out: &mut Vec<u8>) {
        let form = Form::of(kind).unwrap_or(Form::Bytes);
        let bits = self.to_bits().to_le_bytes();
        match form {
            Form::Nothing => {}
            Form::Int8 => out.extend(bits.iter().take(1)),
            Form::Int16 => out.extend(bits.iter().take(2)),
            Form::Int32 => out.extend(bits.iter().take(4)),
            Form::Int64 => out.extend_from_slice(&bits),
            Form::Float => out.extend_from_slice(&self.to_f32().to_le_bytes()),
            Form::Double => out.extend_from_slice(&self.to_f64().to_le_bytes()),
            Form::Date => match self {
                Self::Date(date) => write_date(out, date, kind == ColumnKind::DATE),
                _ => out.push(0),
            },
            Form::Time => match self {
                Self::Time(time) => write_time(out, time),
                _ => out.push(0),
            },
            Form::Bytes => match self {
                Self::Bytes(bytes) => lenenc::write_bytes(out, bytes),
                _ => lenenc::write_bytes(out, self.to_string().as_bytes()),
            },
        }
    }

    /// The value as a 64-bit integer, signed or not.
    fn to_bits(self) -> u64 {
        match self {
            Self::Int(value) => value.cast_unsigned(),
            Self::UInt(value) => value,
            Self::Float(_) | Self::Double(_) => whole(self.to_f64()).cast_unsigned(),
            Self::Bytes(text) => match parse_text::<i64>(text) {
                Some(value) => value.cast_unsigned(),
                None => parse_text::<u64>(text).unwrap_or(0),
            },
            Self::Null | Self::Date(_) | Self::Time(_) => 0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a floating point column keeps what it can")]
    fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::UInt(value) => value as f64,
            Self::Float(value) => value.into(),
            Self::Double(value) => value,
            Self::Bytes(text) => parse_text(text).unwrap_or(0.0),
            Self::Null | Self::Date(_) | Self::Time(_) => 0.0,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a FLOAT column keeps what it can")]
    fn to_f32(self) -> f32 {
        match self {
            Self::Float(value) => value,
            _ => self.to_f64() as f32,
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Double(value) => value.fmt(f),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).fmt(f),
            Self::Date(date) => date.fmt(f),
            Self::Time(time) => time.fmt(f),
        }
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        write!(f, " {:02}:{:02}:{:02}", self.hour, self.minute, self.second)?;
        match self.micro {
            0 => Ok(()),
            micro => write!(f, ".{micro:06}"),
        }
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let hours = u64::from(self.days) * 24 + u64::from(self.hours);
        write!(f, "{sign}{hours:02}:{:02}:{:02}", self.minutes, self.seconds)?;
        match self.micros {
            0 => Ok(()),
            micros => write!(f, ".{micros:06}"),
        }
    }
}

impl Form {
    /// How values of that type travel; nothing for an unknown type.
    fn of(kind: ColumnKind) -> Option<Self> {
        Some(match kind {
            ColumnKind::NULL => Self::Nothing,
            ColumnKind::TINY => Self::Int8,
            ColumnKind::SHORT | ColumnKind::YEAR => Self::Int16,
            ColumnKind::LONG | ColumnKind::INT24 => Self::Int32,
            ColumnKind::LONGLONG => Self::Int64,
            ColumnKind::FLOAT => Self::Float,
            ColumnKind::DOUBLE => Self::Double,
            ColumnKind::DATE | ColumnKind::DATETIME | ColumnKind::TIMESTAMP => Self::Date,
            ColumnKind::TIME => Self::Time,
            ColumnKind::DECIMAL | ColumnKind::VARCHAR | ColumnKind::BIT | ColumnKind::VECTOR => {
                Self::Bytes
            }
            ColumnKind(245..) => Self::Bytes,
            _ => return None,
        })
    }
}

fn read_date(read: &mut Reader<'_>) -> Result<DateTime, Malformed> {
    let fault = read.fault(What::ParameterValue);
    let mut field = Reader::new(read.short_bytes()?);
    let mut date = DateTime::default();
    match field.rest().len() {
        0 | 4 | 7 | 11 => {}
        _ => return Err(fault),
    }
    if !field.is_empty() {
        date.year = field.u16()?;
        [date.month, date.day] = field.array()?;
    }
    if !field.is_empty() {
        [date.hour, date.minute, date.second] = field.array()?;
    }
    if !field.is_empty() {
        date.micro = field.u32()?;
    }
    Ok(date)
}

fn read_time(read: &mut Reader<'_>) -> Result<TimeSpan, Malformed> {
    let fault = read.fault(What::ParameterValue);
    let mut field = Reader::new(read.short_bytes()?);
    let mut time = TimeSpan::default();
    match field.rest().len() {
        0 | 8 | 12 => {}
        _ => return Err(fault),
    }
    if !field.is_empty() {
        time.negative = field.u8()? != 0;
        time.days = field.u32()?;
        [time.hours, time.minutes, time.seconds] = field.array()?;
    }
    if !field.is_empty() {
        time.micros = field.u32()?;
    }
    Ok(time)
}

fn write_date(out: &mut Vec<u8>, date: &DateTime, without_time: bool) {
    let mut field = Vec::with_capacity(11);
    field.extend_from_slice(&date.year.to_le_bytes());
    field.extend_from_slice(&[date.month, date.day, date.hour, date.minute, date.second]);
    field.extend_from_slice(&date.micro.to_le_bytes());
    let day_only = DateTime { year: date.year, month: date.month, day: date.day, ..<_>::default() };
    let len: u8 = match *date {
        date if date == DateTime::default() => 0,
        date if without_time || date == day_only => 4,
        DateTime { micro: 0, .. } => 7,
        _ => 11,
    };
    out.push(len);
    out.extend(field.iter().take(usize::from(len)));
}

fn write_time(out: &mut Vec<u8>, time: &TimeSpan) {
    let mut field = Vec::with_capacity(12);
    field.push(u8::from(time.negative));
    field.extend_from_slice(&time.days.to_le_bytes());
    field.extend_from_slice(&[time.hours, time.minutes, time.seconds]);
    field.extend_from_slice(&time.micros.to_le_bytes());
    let len: u8 = match *time {
        time if time == TimeSpan::default() => 0,
        TimeSpan { micros: 0, .. } => 8,
        _ => 12,
    };
    out.push(len);
    out.extend(field.iter().take(usize::from(len)));
}

#[expect(clippy::cast_possible_truncation, reason = "an integer column keeps what it can")]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

fn parse_text<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
