//! Handshake responses and TLS requests: read, written, read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::connect::{Attributes, HandshakeResponse, SslRequest};

fuzz_target!(|data: &[u8]| {
    if let Ok(response) = HandshakeResponse::parse(data) {
        assert!(Attributes::new(response.attributes).count() <= response.attributes.len());
        let mut again = Vec::new();
        response.encode(&mut again);
        let second = HandshakeResponse::parse(&again).expect("what was written can be read");
        // the flags of parts that were promised but left out are not written
        assert_eq!(HandshakeResponse { caps: response.caps, ..second }, response);
        assert_eq!(second.caps.without(response.caps), wire::Caps::NONE);
    }
    if let Some(request) = SslRequest::parse(data) {
        let mut again = Vec::new();
        request.encode(&mut again);
        assert_eq!(SslRequest::parse(&again), Some(request));
    }
});
