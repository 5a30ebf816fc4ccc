//! `COM_CHANGE_USER` under every set of capabilities that matters: read, written, read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Caps;
use wire::connect::ChangeUser;

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let flags = [Caps::SECURE_CONNECTION, Caps::PLUGIN_AUTH, Caps::CONNECT_ATTRS];
    let chosen = (0..flags.len()).filter(|bit| choice >> bit & 1 == 1);
    let caps = chosen.fold(Caps::PROTOCOL_41, |caps, bit| caps | flags[bit]);
    let payload = [&[0x11], body].concat();
    if let Ok(change) = ChangeUser::parse(&payload, caps) {
        let mut again = Vec::new();
        change.encode(caps, &mut again);
        assert_eq!(ChangeUser::parse(&again, caps), Ok(change));
    }
});
