//! Annotations: numbers within their bounds, and nothing followed that was not understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::{DigestOptions, Digester, parse_hints};

fuzz_target!(|comment: &[u8]| {
    let hints = parse_hints(comment);
    assert!(hints.max_lag_ms.is_none_or(|ms| ms <= 600_000));
    let signed = [
        hints.hostgroup,
        hints.cache_ttl_ms,
        hints.timeout_ms,
        hints.delay_ms,
        hints.retries,
        hints.mirror,
    ];
    assert!(signed.iter().flatten().all(|number| i32::try_from(*number).is_ok()));
    assert!(hints.min_gtid.is_none_or(|gtid| gtid.contains(&b':')));
    assert!(hints.not_understood.is_none_or(|pair| pair.contains(&b'=')));

    let query = [b"/*".as_slice(), comment, b"*/ select 1"].concat();
    let mut digester = Digester::new();
    if let Some(first) = digester.digest(&query, &DigestOptions::default()).first_comment {
        parse_hints(first);
    }
});
