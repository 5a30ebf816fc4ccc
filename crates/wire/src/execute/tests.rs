//! Parameters with and without types, in long data, and broken ones.

use super::*;

const LONG: ParamType = ParamType { kind: ColumnKind::LONG, unsigned: false };
const BLOB: ParamType = ParamType { kind: ColumnKind::BLOB, unsigned: false };

fn parse<'a>(rest: &'a [u8], count: u16, known: &[ParamType]) -> Result<Params<'a>, What> {
    Params::parse(rest, count, known, |_| false).map_err(|fault| fault.what)
}

#[test]
fn types_are_sent_with_the_first_execution_and_known_afterwards() {
    let first = parse(b"\x01\0\0\0\0\x01\x03\0\xfc\0\x07\0\0\0\x02hi", 2, &[]).unwrap();
    assert_eq!(first.types, [LONG, BLOB]);
    assert_eq!(first.values, [Value::Int(7), Value::Bytes(b"hi")]);
    let second = parse(b"\x01\0\0\0\x01\0\x01x", 2, &first.types).unwrap();
    assert_eq!(second.types, first.types);
    assert_eq!(second.values, [Value::Null, Value::Bytes(b"x")]);
}

#[test]
fn an_execution_without_types_before_any_were_sent_is_malformed() {
    assert_eq!(parse(b"\x01\0\0\0\0\0\x07\0\0\0", 1, &[]), Err(What::ParameterType));
    assert_eq!(parse(b"\x01\0\0\0\0\x01\x77\0\x07\0\0\0", 1, &[]), Err(What::ParameterType));
}

#[test]
fn a_statement_without_parameters_has_only_the_count() {
    assert_eq!(parse(b"\x01\0\0\0", 0, &[]).unwrap().values, []);
    assert_eq!(parse(b"\x01\0\0", 0, &[]), Err(What::FixedField));
}

#[test]
fn a_parameter_sent_in_long_data_has_no_value_here() {
    let rest = b"\x01\0\0\0\0\x01\xfc\0\x03\0\x07\0\0\0";
    let params = Params::parse(rest, 2, &[], |param| param == 0).unwrap();
    assert_eq!(params.values, [Value::Bytes(b""), Value::Int(7)]);
}

#[test]
fn an_unknown_type_is_malformed_even_where_no_value_is_read() {
    let parsed = Params::parse(b"\x01\0\0\0\0\x01\x77\0", 1, &[], |_| true);
    assert_eq!(parsed.unwrap_err().what, What::ParameterType);
}

#[test]
fn the_flag_of_a_type_makes_integers_unsigned() {
    let params = parse(b"\x01\0\0\0\0\x01\x01\x80\x01\0\xff\xff", 2, &[]).unwrap();
    assert_eq!(params.values, [Value::UInt(255), Value::Int(-1)]);
}

#[test]
fn the_bits_of_nulls_go_on_in_the_second_byte() {
    let mut rest = b"\x01\0\0\0\xff\x02\x01".to_vec();
    rest.extend_from_slice(&b"\x01\0".repeat(10));
    rest.push(42);
    let params = parse(&rest, 10, &[]).unwrap();
    assert_eq!(params.values[..8], [Value::Null; 8]);
    assert_eq!(params.values[8..], [Value::Int(42), Value::Null]);
}

#[test]
fn parameters_cut_short_are_malformed() {
    let whole = b"\x01\0\0\0\0\x01\x03\0\xfc\0\x07\0\0\0\x02hi";
    for len in 0..whole.len() {
        assert!(parse(&whole[..len], 2, &[]).is_err(), "{len}");
    }
}
