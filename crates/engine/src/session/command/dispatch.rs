//! A client's bytes become packets of a login or commands: framing, limits, and which file serves
//! which of them.
//!
//! Nothing is decided about lanes here.

use std::ops::Range;

use wire::command::{Command, code};
use wire::frame::{self, Framed, HEADER_BYTES, Header, Span};
use wire::result::ReplyKind;

use crate::error;
use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::command::long_text::BEGINS_BYTES;
use crate::session::{Phase, Stage};

/// Bytes of a client that may wait while its session serves a command, before it is not read from.
const INPUT_BYTES_MAX: usize = 1 << 16;

/// Bytes of answers given here before it is looked whether the client takes them.
const ANSWERS_BYTES_MAX: u64 = 1 << 18;

/// Longest packet before a login is complete; the attributes of drivers have some hundred bytes.
const LOGIN_BYTES_MAX: usize = 1 << 14;

/// Commands about a statement that are answered; they are unknown where they are too short.
const ASKS_OF_STATEMENTS: [u8; 4] =
    [code::STMT_EXECUTE, code::STMT_BULK_EXECUTE, code::STMT_FETCH, code::STMT_RESET];

impl Proxy {
    /// Serves what can be served of a client's bytes; returns how many were taken.
    pub(crate) fn client_bytes(&mut self, id: SessionId, bytes: &[u8]) -> usize {
        let mut taken = 0;
        let answered_max = self.orders.client_bytes + ANSWERS_BYTES_MAX;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                return taken;
            }
            let Some(session) = self.sessions.get_mut(id) else { return bytes.len() };
            session.input.waits = false;
            let waits = session.is_held_up();
            let step = match &mut session.phase {
                Phase::Idle if waits => self.hold_input(id, rest),
                Phase::Idle => self.next_command(id, rest),
                Phase::Greeting { .. } | Phase::Login(_) => self.next_login_packet(id, rest),
                // what comes by way of a handshake that is not over, or of an address to be judged
                Phase::Securing { .. } | Phase::Presented { .. } => 0,
                Phase::Running(running) => {
                    let sent = matches!(running.stage, Stage::Sent);
                    if let Stage::Infile(_) = running.stage {
                        self.infile_bytes(id, taken, rest)
                    } else if running.job.upload.is_some() && sent {
                        self.upload_bytes(id, taken, rest)
                    } else if running.job.reply == ReplyKind::Binlog && sent {
                        self.dump_bytes(id, taken, rest)
                    } else {
                        self.hold_input(id, rest)
                    }
                }
                Phase::Unjudged(_)
                | Phase::Checking(_)
                | Phase::Clearing(_)
                | Phase::Delayed(_)
                | Phase::Joined(_)
                | Phase::Waiting(_)
                | Phase::Dialing { .. } => self.hold_input(id, rest),
                Phase::Collecting(span) => {
                    let span = *span;
                    self.collect(id, span, rest)
                }
                Phase::Relaying(lane) => {
                    let lane = *lane;
                    self.relay_unread(lane, taken, rest)
                }
                Phase::Skipping { span, .. } => {
                    let fed = span.feed(rest);
                    if fed.done {
                        self.skipped(id, fed.consumed < rest.len());
                    }
                    fed.consumed
                }
                Phase::Discarding { scan, .. } => {
                    let (bytes, over) = scan.feed(rest);
                    if over {
                        self.discarded(id, bytes < rest.len());
                    }
                    bytes
                }
            };
            if step == 0 {
                return taken;
            }
            taken += step;
            if self.orders.client_bytes > answered_max && taken < bytes.len() {
                // whether the client takes its answers is known once they are sent
                self.orders.push(Order::Redeliver(End::Client(id)));
                return taken;
            }
        }
    }

    /// Leaves bytes where they are until the session can serve them.
    pub(crate) fn hold_input(&mut self, id: SessionId, rest: &[u8]) -> usize {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        if rest.len() > INPUT_BYTES_MAX && !std::mem::replace(&mut session.input.full, true) {
            self.orders.push(Order::Pause(End::Client(id)));
        }
        0
    }

    /// Reads from the client again once most of what it sent was taken, or what is left is the
    /// beginning of something that it has to go on with.
    #[cold]
    pub(crate) fn end_fullness(&mut self, id: SessionId, left: usize) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let is_begun = session.is_in_a_command()
            || matches!(session.phase, Phase::Greeting { .. } | Phase::Login(_));
        if left > INPUT_BYTES_MAX / 2 && !is_begun {
            return;
        }
        session.input.full = false;
        if session.input.paused_for.is_none() {
            self.orders.push(Order::Resume(End::Client(id)));
        }
    }

    fn next_login_packet(&mut self, id: SessionId, rest: &[u8]) -> usize {
        if let Some(taken) = self.take_proxy_header(id, rest) {
            return taken;
        }
        let Some(Header { len, seq }) = Header::parse(rest) else { return 0 };
        if len > LOGIN_BYTES_MAX {
            let why = format!("a packet of {len} bytes, where a login may have {LOGIN_BYTES_MAX}");
            self.bad_handshake(id, seq.wrapping_add(1), &why);
            return rest.len();
        }
        match frame::next_packet(rest) {
            Framed::Packet(packet) => {
                let Some(session) = self.sessions.get(id) else {
                    return self.impossible(rest.len());
                };
                match session.phase {
                    Phase::Greeting { scramble } => self.on_handshake(id, &packet, scramble),
                    _ => self.on_login_packet(id, &packet),
                }
                packet.len
            }
            Framed::Need(_) | Framed::Long { .. } => 0,
        }
    }

    fn next_command(&mut self, id: SessionId, rest: &[u8]) -> usize {
        let Some(header) = Header::parse(rest) else { return 0 };
        if header.seq != 0 {
            let fault = format!("a command begins with sequence number {}", header.seq);
            self.client_fault(id, &fault);
            self.send_error(id, header.seq.wrapping_add(1), &error::packets_out_of_order());
            self.close_session(id, None);
            return rest.len();
        }
        let max = self.snapshot.vars.max_allowed_packet as usize;
        let whole = self.snapshot.vars.threshold_query_length as usize;
        if header.len > max {
            // so much of it tells what it is
            return if rest.len() < BEGINS_BYTES { 0 } else { self.skip_packet(id, rest) };
        }
        match frame::next_packet(rest) {
            Framed::Packet(packet) => {
                let raw = rest.get(..packet.len).unwrap_or_default();
                if packet.len < rest.len() {
                    self.more_waits(id);
                }
                self.on_command(id, raw, packet.payload, None);
                packet.len
            }
            _ if rest.len() > whole.max(HEADER_BYTES) => {
                let mut span = Span::begin();
                if self.must_be_whole(id, rest.get(HEADER_BYTES..).unwrap_or_default()) {
                    self.keep(id, &[]);
                    return self.collect(id, span, rest);
                }
                let fed = span.feed(rest);
                if fed.consumed < rest.len() {
                    self.more_waits(id);
                }
                let raw = rest.get(..fed.consumed).unwrap_or_default();
                let first = raw.len().min(HEADER_BYTES + header.len);
                let payload = raw.get(HEADER_BYTES..first).unwrap_or_default();
                self.on_command(id, raw, payload, Some(span).filter(|_| !fed.done));
                fed.consumed
            }
            _ => 0,
        }
    }

    /// A client has sent more behind the command that is looked at.
    #[cold]
    fn more_waits(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.input.waits = true;
    }

    fn skip_packet(&mut self, id: SessionId, rest: &[u8]) -> usize {
        let then = self.told_of_skipped(id, rest, error::packet_too_large());
        let mut span = Span::begin();
        let fed = span.feed(rest);
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Skipping { span, then };
        }
        if fed.done {
            self.skipped(id, fed.consumed < rest.len());
        }
        fed.consumed
    }

    /// The end of a packet that was too long: now the client may be told. `more` came behind it.
    pub(crate) fn skipped(&mut self, id: SessionId, more: bool) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.input.waits = more;
        let Phase::Skipping { span, then } = std::mem::replace(&mut session.phase, Phase::Idle)
        else {
            return self.impossible(());
        };
        self.tell(id, span.last_seq().wrapping_add(1), &then);
    }

    /// The end of a file that no server takes any more: now the client may be told. `more` came
    /// behind it.
    fn discarded(&mut self, id: SessionId, more: bool) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.input.waits = more;
        let Phase::Discarding { scan, error } = std::mem::replace(&mut session.phase, Phase::Idle)
        else {
            return self.impossible(());
        };
        self.fail_reply(id, scan.last_seq().wrapping_add(1), &error);
    }

    /// A whole command, or the beginning of one whose rest `upload` follows.
    ///
    /// `raw` is what was received of it, headers included; `payload` is what its first frame says.
    pub(crate) fn on_command(
        &mut self,
        id: SessionId,
        raw: &[u8],
        payload: &[u8],
        upload: Option<Span>,
    ) {
        let command = Command::parse(payload);
        if !matches!(command.reply_kind(), Some(ReplyKind::None)) {
            self.stats.queries += 1;
        }
        if self.told_of_loss(id, &command, upload) {
            return;
        }
        match command {
            Command::Query(text) => self.on_query(id, raw, text, upload),
            Command::StmtPrepare(text) => self.on_prepare(id, raw, text, upload),
            Command::StmtExecute { id: stmt, .. } | Command::StmtBulkExecute { id: stmt, .. } => {
                self.on_execute(id, raw, stmt, upload);
            }
            Command::SendLongData { id: stmt, param, .. } => {
                self.on_long_data(id, raw, (stmt, param));
            }
            _ if upload.is_some() => {
                let fault = format!("{} of that length", command.name());
                self.refuse_command(id, upload, error::malformed_packet(&fault));
            }
            Command::StmtClose(stmt) => self.on_stmt_close(id, stmt),
            Command::StmtReset(stmt) | Command::StmtFetch { id: stmt, .. } => {
                self.on_stmt_other(id, raw, &command, stmt);
            }
            Command::InitDb(_) => self.on_init_db(id, raw),
            Command::FieldList { .. } | Command::ProcessInfo | Command::Debug => {
                self.on_plain(id, raw, &command);
            }
            Command::SetOption(option) => self.on_set_option(id, raw, option),
            Command::Quit => self.close_session(id, None),
            Command::Ping => self.answer_ok(id),
            Command::Statistics => self.answer_statistics(id),
            Command::ProcessKill(connection) => self.answer_kill(id, connection.into(), false),
            Command::ResetConnection => self.on_reset(id),
            Command::ChangeUser(_) => self.on_change_user_command(id, payload),
            Command::BinlogDump(_) | Command::BinlogDumpGtid(_) | Command::RegisterReplica(_) => {
                self.on_replication(id, raw, &command);
            }
            Command::Unknown(code) if payload.is_empty() || ASKS_OF_STATEMENTS.contains(&code) => {
                let fault = if payload.is_empty() { "an empty packet" } else { "it is cut short" };
                self.client_fault(id, fault);
                self.answer_error(id, &error::malformed_packet(fault));
            }
            Command::Unknown(code) => {
                let name = format!("0x{code:02x}");
                self.client_fault(id, &format!("unknown command: {name}"));
                self.answer_error(id, &error::unknown_command(&name));
            }
        }
    }

    /// Answers the first command after something was lost with a server, and ends the session. What
    /// was lost cannot be had again, and the client has to know before anything else runs.
    fn told_of_loss(&mut self, id: SessionId, command: &Command<'_>, upload: Option<Span>) -> bool {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(true) };
        let anew =
            matches!(command, Command::ResetConnection | Command::ChangeUser(_) | Command::Quit);
        let Some(error) = session.last.lost.take_if(|_| !anew) else { return false };
        match command.reply_kind() {
            Some(ReplyKind::None) => self.swallow(id, upload),
            _ => self.answer_error(id, &error),
        }
        self.close_session(id, None);
        true
    }

    /// Passes bytes of a client on to its server.
    pub(crate) fn relay_to_lane(&mut self, lane_id: LaneId, range: Range<usize>) {
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.traffic.bytes_sent += range.len() as u64;
        }
        self.orders.relay(End::Lane(lane_id), range);
    }

    /// Notes that a client broke the protocol.
    pub(crate) fn client_fault(&mut self, id: SessionId, fault: &str) {
        self.stats.client_faults += 1;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let event = LogEvent::ClientFault {
            connection: session.client.connection,
            client: session.client.addr.to_string(),
            phase: session.doing(),
            fault: fault.into(),
        };
        self.report_client(event);
    }

    /// `COM_SET_OPTION`: multi-statements on (0) or off (1).
    fn on_set_option(&mut self, id: SessionId, raw: &[u8], option: u16) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if !session.held.is_empty() {
            return self.on_pinning(id, raw, Holds::OPTION);
        }
        match option {
            0 => session.class = session.class.union(wire::Caps::MULTI_STATEMENTS),
            1 => session.class = session.class.without(wire::Caps::MULTI_STATEMENTS),
            _ => return self.answer_error(id, &error::unknown_command("COM_SET_OPTION")),
        }
        self.answer_eof(id);
    }
}
