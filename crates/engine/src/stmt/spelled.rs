//! An execution written out as the text that does the same.
//!
//! Decides which values have a literal that means the same. Whether the text may stand for the
//! execution in its session is known to `session::prepared::execute`.

use wire::command::Command;
use wire::execute::{ParamType, Params, cursor};
use wire::reply::ColumnKind;
use wire::value::Value;

/// The text of a statement with the values of an execution of it in the places of its parameters;
/// `types` are those sent last. `None` where a literal may not mean what the value does.
pub(crate) fn spelled(text: &[u8], execute: &[u8], params: u16, types: &[u8]) -> Option<Vec<u8>> {
    let Command::StmtExecute { flags: cursor::NONE, rest, .. } = Command::parse(execute) else {
        return None;
    };
    let known: Vec<ParamType> = types.chunks_exact(2).filter_map(type_of).collect();
    let params = Params::parse(rest, params, &known, |_| false).ok()?;
    let pairs = params.values.iter().zip(&params.types);
    let literals = pairs.map(|(value, of)| literal(value, of.kind)).collect::<Option<Vec<_>>>()?;
    sql::put_parameters(text, &literals)
}

fn type_of(bytes: &[u8]) -> Option<ParamType> {
    const UNSIGNED: u8 = 0x80;
    let [kind, flags] = bytes else { return None };
    Some(ParamType { kind: ColumnKind(*kind), unsigned: flags & UNSIGNED != 0 })
}

/// A literal with the value and the type of a parameter.
fn literal(value: &Value<'_>, kind: ColumnKind) -> Option<Vec<u8>> {
    let is_text = [ColumnKind::VARCHAR, ColumnKind::VAR_STRING, ColumnKind::STRING].contains(&kind);
    match value {
        Value::Int(_) | Value::UInt(_) => Some(value.to_string().into_bytes()),
        Value::Bytes(bytes) if is_text => quoted(bytes),
        _ => None,
    }
}

/// A string of characters that mean the same in every character set and mode.
fn quoted(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    if !bytes.iter().all(is_plain) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() + 2);
    sql::quote(bytes, &mut out);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An execution of statement 1 with these parameters: no NULLs, types, values.
    fn execute(flags: u8, nulls: u8, sends: u8, rest: &[u8]) -> Vec<u8> {
        [&[0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0, nulls, sends], rest].concat()
    }

    fn text_of(text: &str, execute: &[u8], params: u16, types: &[u8]) -> Option<String> {
        spelled(text.as_bytes(), execute, params, types)
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn whole_numbers_and_plain_strings_have_literals() {
        let two = execute(0, 0, 1, &[8, 0, 253, 0, 255, 255, 255, 255, 255, 255, 255, 255, 3]);
        let two = [two, b"o'c".to_vec()].concat();
        let text = "SET @a=?, @b=?";
        assert_eq!(text_of(text, &two, 2, &[]).as_deref(), Some("SET @a= -1, @b= 'o''c'"));
        let same = execute(0, 0, 0, &[5, 0, 0, 0, 0, 0, 0, 0, 1, b'x']);
        assert_eq!(text_of(text, &same, 2, &[8, 0, 253, 0]).as_deref(), Some("SET @a= 5, @b= 'x'"));
        let unsigned = execute(0, 0, 1, &[1, 128, 200]);
        assert_eq!(text_of("SET @a=?", &unsigned, 1, &[]).as_deref(), Some("SET @a= 200"));
        assert_eq!(
            text_of("SET @a=7", &execute(0, 0, 0, &[])[..10], 0, &[]).as_deref(),
            Some("SET @a=7")
        );
    }

    #[test]
    fn what_a_literal_may_not_be_has_none() {
        let of = |kind: u8, value: &[u8]| {
            let bytes = execute(0, 0, 1, &[&[kind, 0], value].concat());
            text_of("SET @a=?", &bytes, 1, &[])
        };
        assert_eq!(of(253, &[1, b'x']).as_deref(), Some("SET @a= 'x'"));
        for (kind, value) in [
            (253, &[1, b'\\'][..]),
            (253, &[2, 0xc3, 0x9f]),
            (253, &[1, 0]),
            (252, &[1, b'x']),
            (246, &[1, b'5']),
            (5, &[0; 8]),
            (7, &[0]),
            (3, &[1]),
        ] {
            assert_eq!(of(kind, value), None, "{kind} {value:?}");
        }
        let null = execute(0, 1, 1, &[8, 0]);
        assert_eq!(text_of("SET @a=?", &null, 1, &[]), None, "it has the type of its statement");
        assert_eq!(text_of("SET @a=?", &execute(1, 0, 1, &[1, 0, 7]), 1, &[]), None, "a cursor");
        assert_eq!(text_of("SET @a=?", &execute(0, 0, 0, &[7]), 1, &[]), None, "no types");
    }
}
