//! Values in the forms of their types, and made to fit other ones.

use super::*;

fn written(value: Value<'_>, kind: ColumnKind) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(kind, &mut out);
    out
}

fn read(bytes: &[u8], kind: ColumnKind) -> Result<Value<'_>, What> {
    let mut reader = Reader::new(bytes);
    let value = Value::read(&mut reader, kind, false).map_err(|fault| fault.what)?;
    assert!(reader.is_empty());
    Ok(value)
}

#[test]
fn temporal_values_are_as_short_as_they_can_be() {
    let midnight = DateTime { year: 2026, month: 11, day: 21, ..DateTime::default() };
    let second = DateTime { second: 7, ..midnight };
    let micro = DateTime { micro: 9, ..midnight };
    for (date, bytes) in [
        (DateTime::default(), &b"\x00"[..]),
        (midnight, b"\x04\xea\x07\x0b\x15"),
        (second, b"\x07\xea\x07\x0b\x15\0\0\x07"),
        (micro, b"\x0b\xea\x07\x0b\x15\0\0\0\x09\0\0\0"),
    ] {
        assert_eq!(written(Value::Date(date), ColumnKind::DATETIME), bytes);
        assert_eq!(read(bytes, ColumnKind::TIMESTAMP), Ok(Value::Date(date)));
    }
    assert_eq!(written(Value::Date(micro), ColumnKind::DATE), b"\x04\xea\x07\x0b\x15");
    let span = TimeSpan { negative: true, days: 1, hours: 2, ..TimeSpan::default() };
    let bytes = b"\x08\x01\x01\0\0\0\x02\0\0";
    assert_eq!(written(Value::Time(span), ColumnKind::TIME), bytes);
    assert_eq!(read(bytes, ColumnKind::TIME), Ok(Value::Time(span)));
    assert_eq!(written(Value::Time(TimeSpan::default()), ColumnKind::TIME), b"\x00");
}

#[test]
fn temporal_values_of_other_lengths_are_malformed() {
    assert_eq!(read(b"\x05\xea\x07\x0b\x15\0", ColumnKind::DATE), Err(What::ParameterValue));
    assert_eq!(read(b"\x07\x01\x01\0\0\0\x02\0", ColumnKind::TIME), Err(What::ParameterValue));
    assert_eq!(read(b"\x04\xea", ColumnKind::DATE), Err(What::LengthString));
}

#[test]
fn values_are_made_to_fit_their_column() {
    assert_eq!(written(Value::Int(-2), ColumnKind::SHORT), (-2_i16).to_le_bytes());
    assert_eq!(written(Value::Bytes(b"-2"), ColumnKind::LONG), (-2_i32).to_le_bytes());
    let most = u64::MAX.to_string();
    assert_eq!(written(Value::Bytes(most.as_bytes()), ColumnKind::LONGLONG), [0xff; 8]);
    assert_eq!(written(Value::Double(2.5), ColumnKind::TINY), [3]);
    assert_eq!(written(Value::Int(5), ColumnKind::DOUBLE), 5_f64.to_le_bytes());
    assert_eq!(written(Value::Bytes(b"0.5"), ColumnKind::FLOAT), 0.5_f32.to_le_bytes());
    assert_eq!(written(Value::Int(-17), ColumnKind::VAR_STRING), b"\x03-17");
    assert_eq!(written(Value::Bytes(b"?"), ColumnKind::DATE), b"\x00");
    assert_eq!(written(Value::Int(1), ColumnKind::NULL), b"");
}

#[test]
fn values_are_displayed_as_servers_write_them() {
    let date = DateTime { year: 26, month: 1, day: 2, hour: 3, minute: 4, second: 5, micro: 6 };
    assert_eq!(Value::Date(date).to_string(), "0026-01-02 03:04:05.000006");
    let span = TimeSpan { negative: true, days: 2, hours: 3, ..TimeSpan::default() };
    assert_eq!(Value::Time(span).to_string(), "-51:00:00");
    assert_eq!(Value::Null.to_string(), "NULL");
    assert_eq!(Value::Double(1.5).to_string(), "1.5");
}
