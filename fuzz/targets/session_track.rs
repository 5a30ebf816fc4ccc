//! Session-track data: reading ends, and the changes read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::reply::{SessionChange, SessionTrack};

fuzz_target!(|data: &[u8]| {
    let changes: Vec<_> = SessionTrack::new(data).collect();
    assert!(changes.len() <= data.len());
    let faults = changes.iter().filter(|change| change.is_err()).count();
    assert!(faults <= usize::from(changes.last().is_some_and(Result::is_err)));
    let sound: Vec<SessionChange<'_>> = changes.into_iter().flatten().collect();
    let mut again = Vec::new();
    sound.iter().for_each(|change| change.encode(&mut again));
    let second: Result<Vec<_>, _> = SessionTrack::new(&again).collect();
    assert_eq!(second.expect("what was written can be read"), sound);
});
