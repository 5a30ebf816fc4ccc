//! Digests: never longer than their limits, and the same from a digester that was used before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::{DigestOptions, Digester};

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, query, digest, lists], text)) = data.split_first_chunk() else { return };
    let options = DigestOptions {
        max_query_length: usize::from(query) * 8,
        max_digest_length: usize::from(digest) * 8,
        lowercase: choice & 1 != 0,
        replace_null: choice & 2 != 0,
        no_digits: choice & 4 != 0,
        keep_comment: choice & 8 != 0,
        grouping_limit: usize::from(lists & 15),
        groups_grouping_limit: usize::from(lists >> 4),
    };
    let mut digester = Digester::new();
    let first = digester.digest(text, &options);
    assert!(first.text.len() <= options.max_digest_length);
    assert!(first.text.len() <= options.max_query_length.min(text.len()));
    assert!(first.first_comment.is_none_or(|comment| comment.len() <= 1024));
    let (hash, normalised) = (first.hash, first.text.to_vec());
    digester.digest(b"select 'something', 'else'", &DigestOptions::default());
    let again = digester.digest(text, &options);
    assert_eq!((again.hash, again.text), (hash, normalised.as_slice()));
});
