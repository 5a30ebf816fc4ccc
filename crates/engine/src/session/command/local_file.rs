//! Files of clients: when a server may ask for one, and the file that a client sends for
//! `LOAD DATA LOCAL INFILE`, packets until an empty one.
//!
//! Only lengths are looked at; the bytes go to the server as they come.

use sql::{Effects, Facts};
use wire::Caps;
use wire::frame::Span;

use crate::error;
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::{Phase, Stage};

/// How far the file is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InfileScan {
    span: Span,
}

impl InfileScan {
    /// Before the first packet.
    pub(crate) fn begin() -> Self {
        Self { span: Span::begin() }
    }

    /// The sequence number of the last packet seen.
    pub(crate) fn last_seq(&self) -> u8 {
        self.span.last_seq()
    }

    /// Takes what belongs to the file; tells whether it ended.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut taken = 0;
        loop {
            let fed = self.span.feed(bytes.get(taken..).unwrap_or_default());
            taken += fed.consumed;
            if !fed.done {
                return (taken, false);
            }
            if self.span.payload_bytes() == 0 {
                return (taken, true);
            }
            self.span = Span::begin();
        }
    }
}

impl Proxy {
    /// Refuses a statement that loads a file of its client while that is not allowed.
    pub(crate) fn refused_file(
        &mut self,
        id: SessionId,
        facts: &Facts,
        upload: Option<Span>,
    ) -> bool {
        let refused = facts.effects.intersects(Effects::LOAD_LOCAL)
            && !self.snapshot.vars.enable_load_data_local_infile;
        if refused {
            self.refuse_command(id, upload, error::local_files_unsupported());
        }
        refused
    }

    /// Whether the command of a session loads a file, of a client that lets it be asked for: then
    /// the server may, and at no other time.
    pub(crate) fn may_be_asked_for_file(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        let Phase::Running(running) = &session.phase else { return false };
        self.snapshot.vars.enable_load_data_local_infile
            && session.class.contains(Caps::LOCAL_FILES)
            && running.job.effects.intersects(Effects::LOAD_LOCAL)
    }

    /// The client sends a file.
    pub(crate) fn await_file(&mut self, id: SessionId) {
        if let Some(running) = self.running(id) {
            running.stage = Stage::Infile(InfileScan::begin());
        }
        self.read_on(id);
    }

    /// Passes on a part of a file to the server that asked for it.
    pub(super) fn infile_bytes(&mut self, id: SessionId, taken: usize, rest: &[u8]) -> usize {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        let Phase::Running(running) = &mut session.phase else { return 0 };
        let Stage::Infile(scan) = &mut running.stage else { return 0 };
        let (bytes, over) = scan.feed(rest);
        if over {
            running.file_seq = Some(scan.last_seq());
            running.stage = Stage::Sent;
        }
        let lane = running.lane;
        self.relay_to_lane(lane, taken..taken + bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_ends_with_an_empty_packet_wherever_the_bytes_are_cut() {
        let bytes = [3, 0, 0, 2, b'a', b'b', b'c', 1, 0, 0, 3, b'd', 0, 0, 0, 4, 9, 9];
        for cut in 0..=bytes.len() {
            let mut scan = InfileScan::begin();
            let (first, over) = scan.feed(&bytes[..cut]);
            let (rest, over) = if over { (0, true) } else { scan.feed(&bytes[first..]) };
            assert_eq!((first + rest, over), (16, true), "cut at {cut}");
        }
    }
}
