//! One connection of a fake server: what it remembers, and whether a statement may find it so.

use std::collections::BTreeMap;

use io::Micros;
use wire::auth::nonce_of;
use wire::execute::ParamType;
use wire::{Caps, Status};

use super::login::MysqldLogin;
use super::{Mysqld, Reaction};
use crate::answer::{self, Voice};
use crate::board::Board;
use crate::data::{self, FEEDS, LoggedAs, TableSet};
use crate::dice::Dice;
use crate::meta::{AnswerKind, Counts, Home, Meta};
use crate::planted::Planted;
use crate::settings::Settings;

/// An answer that is not out yet.
#[derive(Debug)]
pub(super) struct Busy {
    pub(super) key: u64,
    pub(super) reply: Vec<u8>,
    pub(super) sent: usize,
    pub(super) dies: bool,
    pub(super) killable: bool,
}

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Stmt {
    pub(super) meta: Meta,
    /// What its connection was when it was prepared.
    pub(super) home: Home,
    pub(super) types: Vec<ParamType>,
    pub(super) long: Vec<u8>,
    /// Rows that wait behind a cursor.
    pub(super) cursor: Option<(Meta, u32)>,
    /// When it was refused last, before its types were looked at.
    pub(super) refused_at: Micros,
    /// The error by which the server tells that it does not execute it any more.
    pub(super) gone: Option<u16>,
}

/// A file under way.
#[derive(Debug)]
pub(super) struct Infile {
    meta: Meta,
    bytes: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) server: usize,
    pub(super) server_name: &'static str,
    pub(super) thread: u32,
    pub(super) scramble: [u8; 20],
    pub(super) login: Option<MysqldLogin>,
    pub(super) busy: Option<Busy>,
    /// It has ended its side and hears nothing any more.
    pub(super) mute: bool,
    /// What runs now is a client's statement, not a step of the proxy's.
    pub(super) killable: bool,
    /// When something was received last.
    pub(super) now: Micros,
    pub(super) infile: Option<Infile>,
    /// It sends a binary log that has no end.
    pub(super) dumping: bool,
    pub(super) caps: Caps,
    pub(super) user: String,
    pub(super) schema: String,
    pub(super) collation: u16,
    pub(super) autocommit: bool,
    pub(super) settings: Settings,
    /// The collation and mode that the proxy has put aside.
    pub(super) aside: Option<(u16, Option<String>)>,
    pub(super) transaction: Option<(u32, u32)>,
    pub(super) pin: Option<(u32, u32)>,
    /// The followed tables that its transaction has written to.
    pub(super) written: TableSet,
    /// Until when what it did cannot be seen, of which it is to tell.
    pub(super) hidden_until: Option<Micros>,
    pub(super) insert_id: u64,
    /// It answers to what it does not do, by these dice.
    forgetful: Option<Dice>,
    /// It was asked to tell of changes in its session.
    pub(super) tells_changes: bool,
    /// A bug that is looked for and shows in what it does.
    pub(super) bug: Option<Planted>,
    pub(super) warned: Option<(u32, u32)>,
    /// What its last statement came to, whoever's it was.
    pub(super) counts: Counts,
    pub(super) stmts: BTreeMap<u32, Stmt>,
    pub(super) next_stmt: u32,
    /// The statement prepared last, unless that failed.
    pub(super) last_stmt: Option<u32>,
    /// There was such a statement when another one was to be prepared: had the server been full, it
    /// would be the last one still.
    pub(super) last_could_stay: bool,
}

impl Conn {
    pub(super) fn new(server: usize, made: u32, of: &Mysqld, dice: &mut Dice) -> Self {
        let forgetful = of.bug == Some(Planted::StateNotReplayed);
        Self {
            server,
            server_name: of.name,
            // far from the ids that the proxy gives its clients
            thread: 1_000_000 + made,
            scramble: nonce_of(dice.bytes20()),
            login: Some(MysqldLogin::new(of.sha2, dice.percent(10))),
            busy: None,
            mute: false,
            killable: false,
            now: Micros(0),
            infile: None,
            dumping: false,
            caps: Caps::NONE,
            user: String::new(),
            schema: String::new(),
            collation: 0,
            autocommit: true,
            settings: Settings::default(),
            aside: None,
            forgetful: forgetful.then(|| dice.split()),
            transaction: None,
            pin: None,
            written: 0,
            hidden_until: None,
            insert_id: 0,
            tells_changes: false,
            bug: of.bug,
            warned: None,
            counts: NOTHING,
            stmts: BTreeMap::new(),
            next_stmt: dice.below(1000) as u32,
            last_stmt: None,
            last_could_stay: false,
        }
    }

    /// The status flags now.
    pub(super) fn status(&self) -> Status {
        let mut status = Status::NONE;
        if self.autocommit {
            status = status | Status::AUTOCOMMIT;
        }
        if self.transaction.is_some() {
            status = status | Status::IN_TRANS;
        }
        status
    }

    /// Whether it leaves undone what it was told to.
    pub(super) fn forgets(&mut self, board: &mut Board) -> bool {
        let forgets = self.forgetful.as_mut().is_some_and(|dice| dice.percent(5));
        if forgets {
            board.count("planted: forgotten");
        }
        forgets
    }

    pub(super) fn plain_ok(&self, session_track: &[u8]) -> Vec<u8> {
        answer::ok(self.caps, self.status(), session_track)
    }

    pub(super) fn voice(&self, binary: bool) -> Voice<'_> {
        let (server, caps, status) = (self.server_name, self.caps, self.status());
        Voice { server, caps, binary, status, changed: false }
    }

    /// Whether anything that another session left is still here.
    pub(super) fn check_owner(&self, tag: u32, board: &mut Board) {
        let others = [
            ("a transaction", self.transaction.map(|(owner, _)| owner)),
            ("session state", self.pin.map(|(owner, _)| owner)),
        ];
        for (what, owner) in others {
            if let Some(owner) = owner.filter(|owner| *owner != tag) {
                let (name, thread) = (self.server_name, self.thread);
                board.wrong(format!("{name}/{thread}: s{tag} meets {what} of s{owner}"));
            }
        }
    }

    /// Whether a session left something that is still here although it was told that it begins
    /// anew. Of a server that fails, nobody waits for that.
    pub(super) fn check_left(&self, board: &mut Board) {
        for (tag, number) in self.transaction.into_iter().chain(self.pin) {
            let told = board.anew.get(&tag).is_some_and(|anew| number <= *anew);
            if told && !board.losses {
                let (name, thread) = (self.server_name, self.thread);
                board.wrong(format!("{name}/{thread}: s{tag} begins anew before q{number} ends"));
            }
        }
    }

    /// Whether the connection looks as the statement expects it.
    pub(super) fn check(&self, meta: &Meta, of: &Mysqld, board: &mut Board) {
        self.check_owner(meta.tag, board);
        let want = &meta.bearing;
        let (tag, number) = (meta.tag, meta.number);
        let owned = |pair: Option<(u32, u32)>| pair.map_or(0, |(_, which)| which);
        let mut differ = |what: &str, have: String, wanted: String| {
            if have != wanted {
                let (name, thread) = (self.server_name, self.thread);
                let said = format!("s{tag} q{number} found {what} {have}, not {wanted}");
                board.wrong(format!("{name}/{thread}: {said}"));
            }
        };
        differ("user", self.user.clone(), want.user.clone());
        differ("schema", self.schema.clone(), want.schema.clone());
        differ("collation", self.collation.to_string(), want.collation.to_string());
        differ("autocommit", self.autocommit.to_string(), want.autocommit.to_string());
        differ("settings", self.settings.to_string(), want.settings.clone());
        let transaction = owned(self.transaction);
        if !(meta.opens && transaction == 0) {
            differ("transaction", transaction.to_string(), want.transaction.to_string());
        }
        let pin = owned(self.pin);
        if !meta.pins {
            differ("pin", pin.to_string(), want.pin.to_string());
        }
        if let Some(id) = meta.insert_id {
            differ("insert id", self.insert_id.to_string(), id.to_string());
        }
        if !of.writable && needs_primary(meta) {
            differ("a server", of.name.into(), "a writable one".into());
        }
        if meta.warned != 0 && !board.losses && self.warned != Some((tag, meta.warned)) {
            let found = format!("warnings of {:?}, not of q{}", self.warned, meta.warned);
            board.wrong(format!("{}: s{tag} q{number} found {found}", self.server_name));
        }
    }

    /// Does what a statement does, and answers.
    pub(super) fn run(&mut self, meta: &Meta, binary: bool, board: &mut Board) -> Reaction {
        let (tag, number) = (meta.tag, meta.number);
        self.count(answer::counts(meta).unwrap_or(FAILED));
        if meta.opens {
            self.transaction = Some((tag, meta.bearing.transaction));
        }
        if meta.pins {
            self.pin = Some((tag, meta.bearing.pin));
        }
        match meta.shape.kind {
            AnswerKind::Write | AnswerKind::Returning | AnswerKind::File => {
                *board.writes.entry((tag, number)).or_default() += 1;
                if answer::insert_id(meta) != 0 {
                    self.insert_id = answer::insert_id(meta);
                }
            }
            AnswerKind::End | AnswerKind::Deadlock => self.transaction = None,
            _ => {}
        }
        if meta.warned != 0 {
            // to ask about them leaves them there
            let told = answer::diagnostics(self.warned, &self.voice(binary));
            let alone = meta.shape.kind == AnswerKind::Diagnostics;
            return Reaction::Reply(match alone {
                true => told,
                false => answer::answer(meta, &self.voice(binary)),
            });
        }
        let warns = meta.shape.warnings > 0 || FAILS.contains(&meta.shape.kind);
        self.warned = warns.then_some((tag, number));
        let plain = meta.shape.kind == AnswerKind::Rows && meta.shape.warnings == 0;
        self.killable = plain && !meta.opens && !meta.pins;
        if meta.shape.kind == AnswerKind::File {
            self.infile = Some(Infile { meta: meta.clone(), bytes: Vec::new() });
        }
        let changed = meta.pins && self.tells_changes && !self.keeps_quiet(meta);
        Reaction::Reply(answer::answer(meta, &Voice { changed, ..self.voice(binary) }))
    }

    /// What a statement did to followed tables is there when its transaction is over.
    pub(super) fn change_tables(
        &mut self,
        text: &str,
        meta: &Meta,
        of: &Mysqld,
        board: &mut Board,
    ) {
        let is_write = matches!(meta.shape.kind, AnswerKind::Write | AnswerKind::Returning)
            || text.contains(FEEDS);
        if is_write && of.writable {
            self.written |= data::tables_in(text);
        }
        let undoes = match meta.shape.kind {
            AnswerKind::End => !text.starts_with("COMMIT"),
            kind => kind == AnswerKind::Deadlock,
        };
        if undoes {
            self.written = 0;
        }
        if self.transaction.is_none() {
            self.commit(Some((meta.tag, meta.number)), board);
        }
    }

    /// What was written to followed tables is written for good, by the end of a statement.
    pub(super) fn commit(&mut self, by: Option<(u32, u32)>, board: &mut Board) {
        let tables = std::mem::take(&mut self.written);
        let Some(data) = board.data.as_mut().filter(|_| tables != 0) else { return };
        // the rest is logged by rows
        let logged_as = match data.writes.len() % 16 {
            5 => LoggedAs::Text,
            11 => LoggedAs::Definition,
            _ => LoggedAs::Rows,
        };
        let visible = data.write((self.server, self.now), (tables, logged_as), by);
        self.hidden_until = Some(visible);
        board.count("server: followed table written");
    }

    /// A statement came to this.
    pub(super) fn count(&mut self, counts: Counts) {
        self.counts = Counts { found: counts.found.or(self.counts.found), ..counts };
    }

    /// Whether a text that asks what the session's statement before came to says what that was, or
    /// comes where it ran.
    pub(super) fn check_counts(&self, text: &str, meta: &Meta, board: &mut Board) {
        let Some(want) = meta.counts else { return };
        let told = |function: &str| {
            let value = text.rsplit_once(&format!(",{function})"))?.0.rsplit_once("IF(1,")?.1;
            value.parse().ok()
        };
        let told = |function| told(function).filter(|_| self.bug != Some(Planted::CountsOfOthers));
        let found = told("FOUND_ROWS()").or(self.counts.found.map(|found| found as i64));
        let affected = told("ROW_COUNT()").unwrap_or(self.counts.affected);
        let wanted = want.found.map(|found| found as i64);
        let is_right = affected == want.affected && (wanted.is_none() || found == wanted);
        board.count("server: tells counts");
        // what only a connection knew is lost with it
        if !is_right && !board.losses {
            let (tag, number, name) = (meta.tag, meta.number, self.server_name);
            let have = format!("{found:?} and {affected}");
            board.wrong(format!("{name}: s{tag} q{number} found counts {have}, not {want:?}"));
        }
    }

    /// A bug that is looked for: what a statement changed is not told.
    fn keeps_quiet(&self, meta: &Meta) -> bool {
        match self.bug {
            Some(Planted::ChangeNotTold) => true,
            Some(Planted::ChangeInRowsNotTold) => meta.shape.kind == AnswerKind::Rows,
            _ => false,
        }
    }

    /// A packet of a file.
    pub(super) fn on_file_packet(
        &mut self,
        payload: &[u8],
        seq: u8,
        board: &mut Board,
    ) -> Reaction {
        let Some(infile) = &mut self.infile else { return Reaction::Close };
        if !payload.is_empty() {
            infile.bytes.extend_from_slice(payload);
            return Reaction::Silent;
        }
        let Some(infile) = self.infile.take() else { return Reaction::Close };
        if !board.tolerant && infile.bytes != answer::file(&infile.meta) {
            let (got, meta) = (infile.bytes.len(), &infile.meta);
            board.wrong(format!("{got} bytes of a file are not those of {meta}"));
        }
        board.count("server: file taken");
        let seq = seq.wrapping_add(1);
        Reaction::Reply(answer::file_taken(&infile.meta, &self.voice(false), seq))
    }
}

/// What a connection's last statement came to before there was one.
pub(super) const NOTHING: Counts = Counts { found: Some(0), affected: 0 };

/// What a statement came to that has failed.
const FAILED: Counts = Counts { found: None, affected: -1 };

/// Answers that are errors, and so leave one behind.
const FAILS: [AnswerKind; 4] =
    [AnswerKind::Break, AnswerKind::Half, AnswerKind::Refuse, AnswerKind::Deadlock];

/// Whether a statement belongs on the primary.
fn needs_primary(meta: &Meta) -> bool {
    matches!(
        meta.shape.kind,
        AnswerKind::Write | AnswerKind::Returning | AnswerKind::End | AnswerKind::File
    ) || meta.bearing.transaction != 0
        || meta.bearing.pin != 0
}
