//! The commands of a fake server.

use engine::catalog::Part;
use io::Micros;
use wire::Status;
use wire::command::{self, Command};
use wire::execute::{Params, cursor};
use wire::reply::{ResultWriter, write_cursor, write_prepare_ok};
use wire::value::Value;

use super::conn::{Conn, NOTHING, Stmt};
use super::login::SCHEMAS;
use super::{Mysqld, Reaction};
use crate::answer::{self, CALCULATES};
use crate::board::Board;
use crate::data::{self, SCHEMA};
use crate::meta::{AnswerKind, Counts, Home, Meta};
use crate::planted::Planted;
use crate::settings::Settings;
use crate::shared_questions::{GivenAnswer, SharedQuestion, home_of};
use crate::sim::rules::NEVER_SEEN;

/// `mysql-max_stmts_per_connection`.
pub(crate) const STATEMENTS_MAX: usize = 3;

/// Statements beyond these that stay because nobody could prepare them alike once more: not more
/// than a client prepares.
const STATEMENTS_KEPT: usize = 16;

/// Longest parameter of an execution that the proxy keeps whole.
const WORDS_MAX: usize = 1000;

/// The tables of all statements.
const TABLES: [&str; 15] = [
    "bridged_t",
    "joint_t",
    "kept_t",
    "child_t",
    "paying_t",
    "t",
    "forbidden_t",
    "gone_t",
    "ignored_t",
    "mirrored_t",
    "nowhere",
    "slow_t",
    "twice_t",
    "twice_nowhere_t",
    "twice_changed_t",
];

/// The server does not know the statement.
const LOST: u16 = 1243;

/// The server could not prepare the statement anew by itself.
const OUT_OF_DATE: u16 = 1615;

/// The account whose bytes are relayed.
const RELAYED: &str = "fay";

/// What the words of an execution say whose client sent no types.
pub(crate) const UNTYPED: &str = " untyped";

/// So long after an answer was sent it may not have arrived.
const UNHEARD_US: u64 = 500;

impl Stmt {
    /// Bugs that are looked for: the types of an execution get lost which the client did not send.
    fn loses_types(&self, bug: Option<Planted>, now: Micros) -> bool {
        self.types.is_empty()
            && match bug {
                Some(Planted::TypesNotAdded) => true,
                Some(Planted::TypesReliedOn) => now.0 < self.refused_at.0 + UNHEARD_US,
                _ => false,
            }
    }
}

/// The thread that a `KILL QUERY` names.
pub(super) fn killed_thread(payload: &[u8]) -> Option<u32> {
    let text = payload.strip_prefix(&[command::code::QUERY])?.strip_prefix(b"KILL QUERY ")?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Conn {
    /// Serves a command.
    pub(super) fn on_command(
        &mut self,
        payload: &[u8],
        of: &Mysqld,
        board: &mut Board,
    ) -> Reaction {
        self.killable = false;
        board.tell(|| {
            let (name, thread) = (self.server_name, self.thread);
            format!("  {name}/{thread} gets {}", payload.escape_ascii())
        });
        match Command::parse(payload) {
            Command::Query(text) => self.on_query(text, of, board),
            Command::InitDb(schema) => self.on_schema(&String::from_utf8_lossy(schema)),
            Command::StmtPrepare(text) => self.on_prepare(text, board),
            Command::StmtExecute { id, flags, rest } => self.on_execute(id, flags, rest, of, board),
            Command::SendLongData { id, param: 0, data } => {
                match self.stmts.get_mut(&id) {
                    Some(stmt) => stmt.long.extend_from_slice(data),
                    None => self.complain(board, &format!("long data for no statement {id}")),
                }
                Reaction::Silent
            }
            Command::StmtClose(id) => {
                if self.stmts.remove(&id).is_none() {
                    self.complain(board, &format!("a close of no statement {id}"));
                }
                self.last_stmt = self.last_stmt.filter(|last| *last != id);
                Reaction::Silent
            }
            Command::StmtReset(id) => match self.stmts.get_mut(&id) {
                Some(stmt) => {
                    stmt.long.clear();
                    stmt.cursor = None;
                    Reaction::Reply(self.plain_ok(&[]))
                }
                None => self.no_statement(id, board),
            },
            Command::StmtFetch { id, rows } => self.on_fetch(id, rows, board),
            Command::ResetConnection => self.on_reset(board),
            Command::RegisterReplica(text) => self.on_register(text),
            Command::BinlogDump(text) | Command::BinlogDumpGtid(text) => self.on_dump(text),
            Command::Ping => Reaction::Reply(self.plain_ok(&[])),
            Command::Quit => {
                self.check_left(board);
                Reaction::Close
            }
            other => {
                self.complain(board, &format!("the command {}", other.name()));
                Reaction::Reply(answer::error(1047, "Unknown command"))
            }
        }
    }

    fn home(&self) -> Home {
        let (schema, settings) = (self.schema.clone(), self.settings.to_string());
        Home { schema, collation: self.collation, settings }
    }

    fn on_reset(&mut self, board: &mut Board) -> Reaction {
        board.count("server: reset");
        if self.bug == Some(Planted::ResetNotDone) {
            return Reaction::Reply(self.plain_ok(&[]));
        }
        self.counts = NOTHING;
        self.check_left(board);
        (self.autocommit, self.transaction, self.pin) = (true, None, None);
        (self.insert_id, self.warned, self.last_stmt) = (0, None, None);
        self.written = 0;
        self.stmts.clear();
        self.tells_changes = false;
        (self.settings, self.aside) = (Settings::default(), None);
        // as MySQL: its own, whatever the client had logged in with
        self.collation = 255;
        Reaction::Reply(self.plain_ok(&[]))
    }

    pub(super) fn complain(&self, board: &mut Board, what: &str) {
        if board.tolerant {
            return board.count("server: nonsense");
        }
        board.wrong(format!("{}/{} got {what}", self.server_name, self.thread));
    }

    fn no_statement(&self, id: u32, board: &mut Board) -> Reaction {
        self.complain(board, &format!("a command about no statement {id}"));
        Reaction::Reply(answer::error(1243, "Unknown prepared statement"))
    }

    fn on_query(&mut self, text: &[u8], of: &Mysqld, board: &mut Board) -> Reaction {
        self.check_table(text, board);
        if let Some(question) = SharedQuestion::in_text(text) {
            return self.on_shared(question, board);
        }
        if let Some(meta) = Meta::in_text(text) {
            self.check(&meta, of, board);
            return self.on_words(&String::from_utf8_lossy(text), &meta, of, board);
        }
        if !text.starts_with(b"SHOW") {
            // what the proxy asks or sets
            let found = text.starts_with(b"SELECT").then_some(1);
            self.count(Counts { found, affected: if found.is_some() { -1 } else { 0 } });
        }
        if let Some(part) = Part::asked_by(text) {
            return Reaction::Reply(self.catalog(part, board));
        }
        if text == b"SELECT @@wait_timeout" {
            return Reaction::Reply(answer::number(28_800, &self.voice(false)));
        }
        if text == b"SELECT @@sql_mode, @@autocommit, @@completion_type, @@init_connect<>''" {
            return Reaction::Reply(answer::defaults(&self.voice(false)));
        }
        if text == b"SELECT DATABASE()" {
            board.count("server: tells the schema");
            return Reaction::Reply(answer::value(&self.schema, &self.voice(false)));
        }
        if text == b"ROLLBACK AND NO CHAIN NO RELEASE" {
            // what the proxy read may have begun one; a session's it may not end
            if self.transaction.is_some() {
                self.complain(board, "the proxy rolls back a session's transaction");
            }
            return Reaction::Reply(self.plain_ok(&[]));
        }
        if text == b"ROLLBACK WORK AND NO CHAIN NO RELEASE" {
            (self.transaction, self.written) = (None, 0);
            return Reaction::Reply(self.plain_ok(&[]));
        }
        if text == b"SELECT LAST_INSERT_ID() LIMIT 1" {
            board.count("server: tells the last insert id");
            return Reaction::Reply(answer::number(self.insert_id, &self.voice(false)));
        }
        if let Some(told) = self.on_diagnostics(text, board) {
            return told;
        }
        let text = String::from_utf8_lossy(text);
        if let Some(assignments) = text.strip_prefix("SET ") {
            return self.on_set(assignments, board);
        }
        match text.strip_prefix("USE ") {
            Some(schema) => self.on_schema(schema),
            None => {
                self.complain(board, &text);
                Reaction::Reply(answer::error(1064, "nonsense"))
            }
        }
    }

    /// A question that many ask.
    fn on_shared(&mut self, question: SharedQuestion, board: &mut Board) -> Reaction {
        self.count(Counts { found: Some(question.rows().into()), affected: -1 });
        (self.warned, self.killable) = (None, true);
        let home = home_of(&self.user, &self.home());
        let given = GivenAnswer { question, home, server: self.server_name, at: self.now };
        let reply = given.bytes(self.caps, self.status());
        if let Some(data) = &mut board.data {
            data.advance(self.now);
        }
        board.given.push(given);
        Reaction::Reply(reply)
    }

    /// A client's text.
    fn on_words(&mut self, text: &str, meta: &Meta, of: &Mysqld, board: &mut Board) -> Reaction {
        self.check_counts(text, meta, board);
        let reaction = self.run(meta, false, board);
        self.change_tables(text, meta, of, board);
        if text.contains(CALCULATES) {
            self.counts.found = Some(answer::of_whole(meta.shape.rows));
        }
        reaction
    }

    /// What there is: tables, one with a trigger, and a view of a function that writes. Some
    /// connections are not told.
    fn catalog(&self, part: Part, board: &mut Board) -> Vec<u8> {
        board.count("server: tells what there is");
        if part == Part::Views && self.thread % 8 == 7 {
            return answer::error(1142, "SELECT command denied");
        }
        let rows: Vec<_> = match part {
            Part::Sight => vec![["", "10.11.0-MariaDB", "", ""]],
            Part::Tables => {
                let plain = TABLES.map(|table| ["", table, "", ""]);
                plain.into_iter().chain(data::TABLES.map(|table| [SCHEMA, table, "", ""])).collect()
            }
            Part::Views => vec![
                ["", "paying_t", "", "select pay(1) AS v"],
                [SCHEMA, data::VIEW, "", "select side_t.v AS v from side_t"],
            ],
            Part::Routines => {
                let pays = "BEGIN INSERT INTO t VALUES (x); RETURN x; END";
                let tunes = "BEGIN SET sql_mode = ''; RETURN 1; END";
                let marks = "BEGIN SET @marked = 1; RETURN 1; END";
                vec![
                    ["FUNCTION", "pay", "", pays],
                    ["FUNCTION", "feed", "", "BEGIN INSERT INTO live_t VALUES (x); RETURN x; END"],
                    ["FUNCTION", "mark", "", marks],
                    ["FUNCTION", "tune", "", tunes],
                    ["FUNCTION", "clean", "", "RETURN x + 1"],
                ]
            }
            Part::Triggers => vec![["", "child_t", "", "SET NEW.parent = LAST_INSERT_ID()"]],
            Part::Columns => {
                let all = TABLES.into_iter().chain(data::TABLES).chain([data::VIEW]);
                all.map(|table| ["NUMBER", table, "", "v"]).collect()
            }
        };
        answer::cells(&rows, &self.voice(false))
    }

    /// What the proxy asks about warnings on behalf of a session, or raises once more for it.
    fn on_diagnostics(&mut self, text: &[u8], board: &mut Board) -> Option<Reaction> {
        let voice = self.voice(false);
        let reply = match text {
            b"SHOW WARNINGS" => {
                board.count("server: tells of warnings");
                let forgets = self.bug == Some(Planted::WarningsForgotten);
                answer::diagnostics(self.warned.filter(|_| !forgets), &voice)
            }
            // it reads a table
            b"DO (SELECT 1 FROM (SELECT 1) AS t)" => {
                board.count("server: clears warnings of others");
                self.warned = None;
                self.plain_ok(&[])
            }
            b"SHOW COUNT(*) WARNINGS" | b"SHOW COUNT(*) ERRORS" => {
                answer::number(u64::from(self.warned.is_some()), &voice)
            }
            _ => {
                let (_, hex) =
                    std::str::from_utf8(text).ok()?.split_once("MESSAGE_TEXT=_utf8mb4 X'")?;
                self.warned = raised(hex.trim_end_matches('\''));
                answer::error(1064, "raised")
            }
        };
        Some(Reaction::Reply(reply))
    }

    fn on_schema(&mut self, schema: &str) -> Reaction {
        if !SCHEMAS.contains(&schema) {
            let message = format!("Unknown database '{schema}'");
            return Reaction::Reply(answer::error(1049, &message));
        }
        self.schema = schema.into();
        let track = answer::schema_track(schema);
        Reaction::Reply(self.plain_ok(&track))
    }

    /// Complains about tables that query rules keep from every server.
    fn check_table(&self, text: &[u8], board: &mut Board) {
        let text = String::from_utf8_lossy(text);
        if let Some(table) = NEVER_SEEN.iter().find(|table| text.contains(*table)) {
            self.complain(board, &format!("a statement about {table}"));
        }
        if text.contains("mirrored_t") {
            board.count("server: mirrored");
        }
    }

    fn on_prepare(&mut self, text: &[u8], board: &mut Board) -> Reaction {
        self.check_table(text, board);
        let Some(meta) = Meta::in_text(text) else {
            self.complain(board, "a statement without words");
            return Reaction::Reply(answer::error(1064, "no words"));
        };
        self.last_could_stay = self.last_stmt.take().is_some();
        if meta.shape.kind == AnswerKind::Refuse {
            return Reaction::Reply(answer::answer(&meta, &self.voice(false)));
        }
        self.next_stmt += 1;
        let id = self.next_stmt;
        self.last_stmt = Some(id);
        let mut out = Vec::new();
        let columns = [answer::column()];
        let columns: &[_] = if meta.shape.rows > 0 { &columns } else { &[] };
        let params = [answer::column()];
        write_prepare_ok(&mut out, &mut 1, self.caps, id, &params, columns, self.status());
        let home = self.home();
        let (types, long) = (Vec::new(), Vec::new());
        let stmt =
            Stmt { meta, home, types, long, cursor: None, refused_at: Micros(0), gone: None };
        self.stmts.insert(id, stmt);
        let lost = |stmt: &&Stmt| stmt.gone == Some(LOST);
        let there = self.stmts.len() - self.stmts.values().filter(lost).count();
        if there > STATEMENTS_MAX + STATEMENTS_KEPT && self.user != RELAYED {
            self.complain(board, &format!("{there} statements"));
        }
        board.count("server: prepared");
        Reaction::Reply(out)
    }

    fn on_execute(
        &mut self,
        id: u32,
        flags: u8,
        rest: &[u8],
        of: &Mysqld,
        board: &mut Board,
    ) -> Reaction {
        if id == command::LAST_PREPARED && self.last_could_stay && self.user != RELAYED {
            self.complain(board, "an execution that a full server would take for another one's");
        }
        let id = match (id, self.last_stmt) {
            (command::LAST_PREPARED, Some(last)) => last,
            (command::LAST_PREPARED, None) => {
                // it was sent before the answer to the prepare was seen
                return Reaction::Reply(answer::error(1243, "Unknown prepared statement"));
            }
            _ => id,
        };
        let Some(stmt) = self.stmts.get_mut(&id) else { return self.no_statement(id, board) };
        let long = std::mem::take(&mut stmt.long);
        let plain = long.is_empty() && stmt.cursor.is_none();
        let Ok(params) = Params::parse(rest, 1, &stmt.types, |_| !long.is_empty()) else {
            self.complain(board, "parameters that cannot be read");
            return Reaction::Reply(answer::error(1210, "Incorrect arguments"));
        };
        let words = match params.values.first() {
            _ if !long.is_empty() => long,
            Some(Value::Bytes(words)) => words.to_vec(),
            _ => Vec::new(),
        };
        stmt.cursor = None;
        let kind = params.types.first().map_or(0, |of| of.kind.0);
        // names that were looked up without a schema mean the same in all of them
        let anywhere = Home { schema: String::new(), ..stmt.home.clone() };
        let homes = [stmt.home.clone(), stmt.home.as_read(), anywhere.as_read(), anywhere];
        let these = homes.map(|home| executed(&stmt.meta, &home, kind));
        let Some(meta) = std::str::from_utf8(&words).ok().and_then(Meta::parse) else {
            self.complain(board, "an execution without words");
            return Reaction::Reply(answer::error(1210, "Incorrect arguments"));
        };
        let meant = String::from_utf8_lossy(&words);
        let untyped = meant.contains(UNTYPED);
        if untyped && stmt.loses_types(self.bug, self.now) {
            self.complain(board, "parameters of types that it was never told");
            return Reaction::Reply(answer::error(1210, "Incorrect arguments"));
        }
        match meta.shape.kind {
            // it did not come so far
            AnswerKind::Refuse => stmt.refused_at = self.now,
            _ => stmt.types = params.types,
        }
        if untyped {
            board.count("server: executed by types told before");
        }
        if !these.iter().any(|this| meant.contains(this)) {
            let this = &these[0];
            self.complain(board, &format!("an execution of {this} by mistake: {meant}"));
        }
        if let Some(code) = self.refusal(id, &meta, plain && words.len() < WORDS_MAX, board) {
            return Reaction::Reply(answer::error(code, "The statement is not there any more"));
        }
        self.check(&meta, of, board);
        board.count("server: executed");
        if flags == cursor::READ_ONLY && meta.shape.kind == AnswerKind::Rows {
            return self.open_cursor(id, meta, board);
        }
        self.run(&meta, true, board)
    }

    /// The error of a server that does not have a statement any more, or cannot prepare it anew for
    /// tables that have changed. Some executions meet it, each once. Nobody can do anything about
    /// it where parameter data or a cursor are lost, too, or where the proxy does not keep the
    /// execution; and where connections may break, more happens than is done about.
    fn refusal(&mut self, id: u32, meta: &Meta, mended: bool, board: &mut Board) -> Option<u16> {
        if board.losses || board.tolerant || self.user == RELAYED || !mended {
            return None;
        }
        let stmt = self.stmts.get_mut(&id)?;
        let strikes = match (meta.tag + meta.number) % 12 {
            0 => Some(LOST),
            6 => Some(OUT_OF_DATE),
            _ => None,
        };
        if stmt.gone.is_none() && strikes.is_some() {
            // but what is prepared anew does
            let is_first = board.refused.insert((meta.tag, meta.number));
            stmt.gone = strikes.filter(|_| is_first);
        }
        match stmt.gone? {
            LOST => board.count("server: lost a statement"),
            _ => board.count("server: wants a statement prepared anew"),
        }
        stmt.gone
    }

    fn open_cursor(&mut self, id: u32, meta: Meta, board: &mut Board) -> Reaction {
        let _ = self.run(&meta, true, board);
        self.killable = false;
        let mut out = Vec::new();
        write_cursor(&mut out, &mut 1, self.caps, &[answer::column()], self.status());
        if let Some(stmt) = self.stmts.get_mut(&id) {
            stmt.cursor = Some((meta, 0));
        }
        board.count("server: cursor opened");
        Reaction::Reply(out)
    }

    fn on_fetch(&mut self, id: u32, count: u32, board: &mut Board) -> Reaction {
        let status = self.status();
        let Some(stmt) = self.stmts.get_mut(&id) else { return self.no_statement(id, board) };
        let Some((meta, at)) = &mut stmt.cursor else {
            self.complain(board, "a fetch without a cursor");
            return Reaction::Reply(answer::error(1421, "The statement has no open cursor."));
        };
        let (meta, from) = (meta.clone(), *at);
        *at = (from + count).min(meta.shape.rows);
        let to = *at;
        if to == meta.shape.rows {
            stmt.cursor = None;
        }
        Reaction::Reply(fetched(&meta, self.server_name, self.caps, status, from..to))
    }
}

/// The statement that left a condition, by what that says in hexadecimal digits.
fn raised(hex: &str) -> Option<(u32, u32)> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let text: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let text = String::from_utf8(text?).ok()?;
    let (tag, number) = text.strip_prefix('s')?.split_once(" q")?;
    Some((tag.parse().ok()?, number.parse().ok()?))
}

/// What the words of an execution say of its statement: the text, what the connection was that it
/// was prepared on, and the type of its parameter.
pub(crate) fn executed(text: &Meta, home: &Home, kind: u8) -> String {
    format!("of=s{}q{} in={home} as={kind};", text.tag, text.number)
}

/// The answer to a fetch of some of a statement's rows.
pub(crate) fn fetched(
    meta: &Meta,
    server: &str,
    caps: wire::Caps,
    status: Status,
    rows: std::ops::Range<u32>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let last = rows.end == meta.shape.rows;
    let flag = if last { Status::LAST_ROW_SENT } else { Status::CURSOR_EXISTS };
    let mut seq = 1;
    let mut writer = ResultWriter::resume(&mut out, &mut seq, caps);
    for row in rows {
        let text = answer::row_text(meta, server, 0, row);
        writer.binary_row(&[answer::column()], &[Value::Bytes(&text)]);
    }
    writer.end(status | flag, 0);
    out
}
