//! Parameters of prepared statements: as many values as were asked for, each of which can be
//! written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::execute::Params;
use wire::reader::Reader;
use wire::value::Value;

fuzz_target!(|data: &[u8]| {
    let Some(([count, long, split], data)) = data.split_first_chunk() else { return };
    let (first, second) = data.split_at(usize::from(*split).min(data.len()));
    let is_long = |param: u16| param < 8 && long >> param & 1 == 1;
    let Ok(params) = Params::parse(first, (*count).into(), &[], is_long) else { return };
    assert_eq!(params.values.len(), usize::from(*count));
    assert_eq!(params.types.len(), usize::from(*count));
    for (value, of) in params.values.iter().zip(&params.types) {
        let mut again = Vec::new();
        value.write(of.kind, &mut again);
        if !matches!(value, Value::Null) {
            let mut read = Reader::new(&again);
            Value::read(&mut read, of.kind, of.unsigned).expect("what was written can be read");
            assert!(read.is_empty());
        }
    }
    let _ = Params::parse(second, (*count).into(), &params.types, is_long);
});
