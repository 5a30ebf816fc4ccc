//! Greetings and what servers say during authentication: read, written, read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::connect::{AuthMore, AuthSwitch, Greeting};

fuzz_target!(|data: &[u8]| {
    if let Ok(greeting) = Greeting::parse(data) {
        assert!(greeting.server_version.ends_with(greeting.version()));
        let mut again = Vec::new();
        greeting.encode(&mut again);
        assert_eq!(Greeting::parse(&again), Ok(greeting));
    }
    if let Ok(switch) = AuthSwitch::parse(data) {
        let mut again = Vec::new();
        switch.encode(&mut again);
        assert_eq!(AuthSwitch::parse(&again), Ok(switch));
    }
    if let Ok(more) = AuthMore::parse(data) {
        let mut again = Vec::new();
        more.encode(&mut again);
        assert_eq!(AuthMore::parse(&again), Ok(more));
    }
});
