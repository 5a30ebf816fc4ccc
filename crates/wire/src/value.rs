//! Values in the binary protocol: parameters of prepared statements and their result rows.
//!
//! Reads and writes single values by their type. Converting between types is the business of
//! whoever asks.

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

/// A date with a time of day.
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

/// A span of time.
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
