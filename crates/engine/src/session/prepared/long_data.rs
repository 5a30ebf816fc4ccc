//! Parameter data that a client sends ahead of an execution (`COM_STMT_SEND_LONG_DATA`).
//!
//! It is kept here and goes out in front of the execution, on the lane which that gets: what the
//! client does in between may change where its statement belongs. Decides how much is kept, and
//! what is refused. Where an execution goes, and whether it runs again, is not known here.

use wire::command::{Command, STMT_ID};
use wire::frame::{HEADER_BYTES, Header};

use crate::error::{self, SqlError};
use crate::ids::{ClientStmtId, LaneId, ServerStmtId, SessionId};
use crate::orders::Order;
use crate::proxy::Proxy;

/// Parameter data of a statement, kept until it is executed.
#[derive(Debug, Default)]
pub(crate) struct SentAhead {
    /// The commands that it came by, one behind the other.
    commands: Vec<u8>,
    /// Why executions are refused: not all of it could be kept, or it is for no parameter.
    pub refused: Option<SqlError>,
}

impl SentAhead {
    /// Bytes of the commands.
    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Takes one command more, unless there is a reason to refuse it, or was one before.
    pub(crate) fn add(&mut self, raw: &[u8], refused: Option<SqlError>) {
        match refused {
            _ if self.refused.is_some() => {}
            None => self.commands.extend_from_slice(raw),
            refused => *self = Self { commands: Vec::new(), refused },
        }
    }

    /// Puts a server's id of the statement into every command.
    fn address(&mut self, stmt: ServerStmtId) {
        let mut rest = self.commands.as_mut_slice();
        let mut begins = true;
        while let Some(header) = Header::parse(rest) {
            let end = (HEADER_BYTES + header.len).min(rest.len());
            let (frame, after) = rest.split_at_mut(end);
            let at = HEADER_BYTES + STMT_ID.start..HEADER_BYTES + STMT_ID.end;
            if begins && let Some(place) = frame.get_mut(at) {
                place.copy_from_slice(&stmt.0.to_le_bytes());
            }
            begins = !header.is_continued();
            rest = after;
        }
    }
}

impl Proxy {
    pub(crate) fn on_long_data(&mut self, id: SessionId, raw: &[u8], (stmt_id, param): (u32, u16)) {
        // an unknown statement has no answer either: its execute will be told
        let Some(stmt) = self.resolve(id, stmt_id) else { return };
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.timing.idle_since_us = now_us;
        let Some(handle) = session.handle(stmt) else { return self.impossible(()) };
        if handle.data.as_ref().is_some_and(|data| data.refused.is_some()) {
            return;
        }
        let refused = match param < handle.params {
            true => self.room_for_data(id, raw.len()).err(),
            false => Some(error::wrong_arguments("mysqld_stmt_send_long_data")),
        };
        if let Some(stmts) = self.sessions.get_mut(id).and_then(|it| it.stmts.as_mut()) {
            stmts.add_data(stmt, raw, refused);
        }
    }

    /// A long command is not kept: if it is parameter data, it has no answer, and the execution is
    /// told. Whether it was.
    pub(crate) fn data_refused(&mut self, id: SessionId, command: &[u8], error: &SqlError) -> bool {
        let Some(Command::SendLongData { id: stmt, .. }) =
            command.get(HEADER_BYTES..).map(Command::parse)
        else {
            return false;
        };
        if let Some(stmt) = self.resolve(id, stmt)
            && let Some(stmts) = self.sessions.get_mut(id).and_then(|it| it.stmts.as_mut())
        {
            stmts.add_data(stmt, &[], Some(error.clone()));
        }
        true
    }

    /// Keeps the data of a statement with the command that executes it.
    #[cold]
    pub(crate) fn keep_data(&mut self, id: SessionId, stmt: ClientStmtId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(stmts) = &mut session.stmts else { return self.impossible(()) };
        session.serving.data = stmts.take_data(stmt);
    }

    /// A statement was executed in a way that needs no data.
    #[cold]
    pub(crate) fn drop_data(&mut self, id: SessionId, stmt: ClientStmtId) {
        if let Some(stmts) = self.sessions.get_mut(id).and_then(|it| it.stmts.as_mut())
            && stmts
                .get(stmt)
                .and_then(|it| it.data.as_ref())
                .is_some_and(|it| it.refused.is_none())
        {
            stmts.take_data(stmt);
        }
    }

    /// Sends the data of the command that a session keeps, which comes right behind it.
    #[cold]
    pub(crate) fn send_data(&mut self, id: SessionId, lane_id: LaneId, stmt: ServerStmtId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(data) = &mut session.serving.data else { return self.impossible(()) };
        data.address(stmt);
        let bytes = data.len() as u64;
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.traffic.bytes_sent += bytes;
        }
        self.orders.push(Order::SendData { session: id, lane: lane_id });
    }

    /// The data of the command that a session keeps, for
    /// [`Order::SendData`].
    pub fn kept_data(&self, id: SessionId) -> &[u8] {
        let session = self.sessions.get(id);
        let data = session.and_then(|session| session.serving.data.as_ref());
        data.map_or(&[], |data| &data.commands)
    }

    /// Whether so many bytes more of data may be kept for a session.
    fn room_for_data(&mut self, id: SessionId, more: usize) -> Result<(), SqlError> {
        let max = self.snapshot.vars.max_allowed_packet as usize;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(Ok(())) };
        let Some(stmts) = &mut session.stmts else { return Ok(()) };
        let len = stmts.data_bytes + more;
        if len > max {
            return Err(error::long_data_too_long(max));
        }
        // all sessions are looked at when one's has doubled
        let granted = stmts.data_granted;
        if len > granted && !self.has_room_for(granted, len) {
            self.stats.long_commands_refused += 1;
            return Err(self.no_room());
        }
        if let Some(stmts) = self.sessions.get_mut(id).and_then(|it| it.stmts.as_mut()) {
            stmts.data_granted = granted.max(len.next_power_of_two());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::command::{code, write};
    use wire::frame::MAX_PAYLOAD;

    #[test]
    fn every_command_gets_the_server_s_id_and_nothing_else_changes() {
        let command = |stmt: u32, bytes: usize| {
            let mut out = Vec::new();
            let body = [&stmt.to_le_bytes()[..], &[1, 0], &vec![b'x'; bytes]].concat();
            write(&mut out, code::STMT_SEND_LONG_DATA, &body);
            out
        };
        let lengths = [0, 1, 300, MAX_PAYLOAD - 7, MAX_PAYLOAD + 5, 2];
        let all = |stmt| lengths.map(|bytes| command(stmt, bytes)).concat();
        let mut data = SentAhead::default();
        lengths.iter().for_each(|bytes| data.add(&command(7, *bytes), None));
        assert_eq!(data.len(), all(7).len());
        data.address(ServerStmtId(0x0102_0304));
        assert!(data.commands == all(0x0102_0304), "only ids differ");
    }

    #[test]
    fn what_is_refused_keeps_nothing_and_stays_refused() {
        let mut data = SentAhead::default();
        data.add(b"some", None);
        data.add(b"more", Some(error::wrong_arguments("a")));
        data.add(b"more", Some(error::wrong_arguments("b")));
        data.add(b"more", None);
        assert_eq!(data.len(), 0);
        assert_eq!(data.refused, Some(error::wrong_arguments("a")));
    }
}
