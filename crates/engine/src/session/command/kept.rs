//! The command that a session keeps until its reply begins, so that it can be sent once more.
//!
//! Knows bytes and their buffers. Whether a command may be sent once more, `leaving::lost_server`
//! says.

use crate::ids::SessionId;
use crate::proxy::Proxy;

impl Proxy {
    /// The command that a session keeps, for [`Order::SendKept`](crate::orders::Order::SendKept).
    pub fn kept(&self, id: SessionId) -> &[u8] {
        self.sessions.get(id).map_or(&[], |session| &session.serving.kept)
    }

    /// Keeps a command until its reply begins.
    pub(crate) fn keep(&mut self, id: SessionId, raw: &[u8]) {
        self.keep_written(id, |out| out.extend_from_slice(raw));
    }

    /// Keeps a command with this text, framed.
    pub(crate) fn keep_text(&mut self, id: SessionId, code: u8, text: &[u8]) {
        self.keep_written(id, |out| wire::command::write(out, code, text));
    }

    fn keep_written(&mut self, id: SessionId, write: impl FnOnce(&mut Vec<u8>)) {
        let mut buffer = self.blank_buffer();
        write(&mut buffer);
        if let Some(session) = self.sessions.get_mut(id) {
            session.serving.kept = buffer;
        }
    }

    /// An empty buffer, of those that were given back if there is one.
    pub(crate) fn blank_buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Gives back the buffer of a command that is not needed any more.
    pub(crate) fn drop_kept(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.data = None;
        if session.serving.filling.is_some() {
            return self.drop_filling_and_kept(id);
        }
        let buffer = std::mem::take(&mut session.serving.kept);
        self.spare_buffer(buffer);
    }

    /// The same where its answer was to be kept: nothing has come of that.
    #[cold]
    fn drop_filling_and_kept(&mut self, id: SessionId) {
        self.lead_no_more(id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.filling = None;
        let buffer = std::mem::take(&mut session.serving.kept);
        self.spare_buffer(buffer);
    }

    /// Keeps a buffer for the next command, unless it is large.
    pub(crate) fn spare_buffer(&mut self, buffer: Vec<u8>) {
        const SPARE_BUFFERS: usize = 1024;
        const SPARE_BYTES: usize = 1 << 14;
        if (1..=SPARE_BYTES).contains(&buffer.capacity()) && self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}
