//! What a simulated client does next, and what must come back. The choice follows from the dice
//! and from the shadow model; the answers from `answer`. Knows no sockets.

use io::Micros;
use wire::command::{self, code};
use wire::frame;
use wire::reply::{ColumnDef, ColumnFlags, ColumnKind, write_text_result};
use wire::{Caps, Status};

use super::model::{Effect, Model};
use super::reply::Expect;
use crate::answer::{self, Voice};
use crate::board::ToldKept;
use crate::data::{SCHEMA, TABLES};
use crate::dice::Dice;
use crate::meta::{AnswerKind, Meta, Shape};
use crate::mysqld::login::SCHEMAS;

/// A command on its way.
#[derive(Debug, Default)]
pub(super) struct Sending {
    pub(super) bytes: Vec<u8>,
    /// What is awaited; nothing for a command without an answer.
    pub(super) expect: Option<Expect>,
    pub(super) name: &'static str,
    /// The connection it wants killed.
    pub(super) kills: Option<u32>,
    /// The statement that it closes.
    pub(super) closes: Option<u32>,
    /// The statement for which it sends data.
    pub(super) litters: Option<u32>,
    /// It may tie the session to a connection.
    pub(super) sticks: bool,
}

/// What a choice looks at.
pub(super) struct Setting<'a> {
    pub(super) model: &'a Model,
    pub(super) number: u32,
    /// Time.
    pub(super) now: Micros,
    /// Connection ids of sessions, its own included.
    pub(super) connections: &'a [u32],
    pub(super) own_connection: u32,
    /// Answers may be large.
    pub(super) large: bool,
    /// Commands may be longer than what the proxy keeps, or than it allows.
    pub(super) long: bool,
    /// There are query rules for more than routing.
    pub(super) ruled: bool,
    /// Most statements are prepared ones.
    pub(super) prepares: bool,
    /// The same few are executed over and over.
    pub(super) drills: bool,
    /// Variables are set often.
    pub(super) sets: bool,
    /// What is done leaves warnings and errors.
    pub(super) careless: bool,
    /// To the proxy a function may be one that does anything.
    pub(super) stored_code: bool,
    /// What was left on a connection may be gone with it.
    pub(super) losses: bool,
    /// When answers were given that others were told from what was kept.
    pub(super) told: &'a ToldKept,
    /// There are tables whose changes are followed.
    pub(super) follows: bool,
}

fn query(out: &mut Vec<u8>, text: &str) {
    command::write_query(out, text.as_bytes());
}

impl Setting<'_> {
    /// With autocommit off every statement that its server can parse opens a transaction when there
    /// is none.
    pub(super) fn opening(&self, mut meta: Meta) -> Meta {
        let is_parsed = meta.shape.kind != AnswerKind::Refuse;
        if !self.model.autocommit && self.model.transaction == 0 && is_parsed {
            meta.bearing.transaction = self.number;
            meta.opens = true;
        }
        meta
    }

    /// A text with its words behind the verb.
    pub(super) fn text(
        &self,
        name: &'static str,
        verb: &str,
        rest: &str,
        meta: Meta,
        mut effects: Vec<Effect>,
    ) -> Sending {
        let mut bytes = Vec::new();
        query(&mut bytes, &format!("{verb} /*{meta}*/ {rest}"));
        if meta.opens {
            effects.push(Effect::Transaction(meta.bearing.transaction));
        }
        let reads = verb == "SELECT" && !rest.ends_with("FOR UPDATE");
        let expect = self.expect(&meta, reads, false, effects);
        // an insert id that a trigger may have made is asked for where it was made
        let sticks = self.stored_code && WRITES.contains(&verb);
        Sending { bytes, expect: Some(expect), name, sticks, ..Sending::default() }
    }

    pub(super) fn expect(
        &self,
        meta: &Meta,
        reads: bool,
        binary: bool,
        effects: Vec<Effect>,
    ) -> Expect {
        let status = self.model.after(&effects).status();
        let caps = self.model.caps;
        let servers = self.model.servers(meta, reads);
        let candidates = servers
            .iter()
            .map(|server| Voice { server, caps, binary, status, changed: false })
            .map(|voice| answer::answer(meta, &voice))
            .collect();
        let counts = answer::counts(meta);
        Expect { number: self.number, candidates, effects, counts, ..Expect::default() }
    }

    /// An OK that says nothing, from the proxy or from a server.
    pub(super) fn plain(
        &self,
        name: &'static str,
        bytes: Vec<u8>,
        effects: Vec<Effect>,
    ) -> Sending {
        let status = self.model.after(&effects).status();
        let mut candidates = vec![answer::ok(self.model.caps, status, &[])];
        if !self.model.autocommit {
            // after an error nobody has told the proxy whether a transaction is open
            let open = status | Status::IN_TRANS;
            candidates.push(answer::ok(self.model.caps, open, &[]));
        }
        let expect = Expect { number: self.number, candidates, effects, ..Expect::default() };
        Sending { bytes, expect: Some(expect), name, ..Sending::default() }
    }

    /// Any command that the model allows now.
    pub(super) fn any(&self, dice: &mut Dice) -> Sending {
        let model = self.model;
        if model.flagged {
            return self.second(dice);
        }
        if model.must_roll_back {
            return self.end(dice);
        }
        if model.cursor.is_some() {
            return self.fetch(dice);
        }
        if model.warned != 0 && dice.percent(60) {
            return self.warnings(dice);
        }
        if let Some(counts) = model.counts
            && dice.percent(10)
        {
            return self.counted(counts);
        }
        if self.careless {
            return self.careless(dice);
        }
        if self.long && dice.percent(15) {
            return self.long(dice);
        }
        if self.prepares && dice.percent(70) {
            return self.of_statement(dice);
        }
        if self.sets && dice.percent(20) {
            return self.set(dice);
        }
        if self.ruled && dice.percent(25) {
            return self.ruled(dice);
        }
        match dice.below(100) {
            0..=27 => self.read(dice),
            28..=39 => self.write(dice),
            40..=47 if model.transaction == 0 && model.autocommit => self.begin(dice),
            40..=49 => self.end(dice),
            50..=53 => self.failing(dice),
            54..=57 => self.schema(dice),
            58..=60 => self.names(dice),
            61..=62 => self.autocommit(),
            63..=64 => self.pin(dice),
            65..=70 => self.prepare(dice),
            71..=80 if !model.handles.is_empty() => self.execute(dice),
            81 => self.close_statement(dice),
            82 => self.reset_statement(dice),
            83..=84 => self.plain("ping", packet(code::PING, &[]), Vec::new()),
            85..=86 => self.insert_id(),
            87..=88 => self.warn(dice),
            89..=90 => self.kill(dice),
            91..=92 => self.file(dice),
            93 if !model.relayed => self.reset(),
            94 if !model.relayed => self.change_user(dice),
            95 if !model.relayed => self.local(dice),
            96 | 99 => self.locking(dice),
            97 => self.half(),
            98 if dice.percent(60) => self.calculating(dice),
            98 => self.odd_read(dice),
            _ => self.read(dice),
        }
    }

    pub(super) fn write(&self, dice: &mut Dice) -> Sending {
        if dice.percent(25) {
            return self.returning(dice);
        }
        let shape = Shape { rows: dice.below(2) as u32, ..Shape::of(AnswerKind::Write) };
        let meta = self.opening(self.model.meta(self.number, shape));
        let effects = made_by(&meta);
        if self.follows && dice.percent(70) {
            let (verb, rest) = change(dice);
            return self.text("followed write", verb, &rest, meta, effects);
        }
        let (verb, rest) = *dice.pick(&[
            ("INSERT", "INTO t VALUES (1)"),
            ("UPDATE", "t SET v=1"),
            ("DELETE", "FROM t"),
        ]);
        self.text("write", verb, rest, meta, effects)
    }

    /// An `INSERT … RETURNING`.
    fn returning(&self, dice: &mut Dice) -> Sending {
        let warnings = if dice.percent(20) { 2 } else { 0 };
        let rows = dice.below(3) as u32;
        let shape = Shape { rows, warnings, ..Shape::of(AnswerKind::Returning) };
        let meta = self.opening(self.model.meta(self.number, shape));
        let mut effects = made_by(&meta);
        if warnings > 0 {
            effects.push(Effect::Warned(self.number));
        }
        self.text("returning", "INSERT", "INTO t VALUES (1) RETURNING v", meta, effects)
    }

    /// Two statements in one text, of which only the first succeeds.
    fn half(&self) -> Sending {
        let model = self.model;
        let fits = model.caps.contains(Caps::MULTI_STATEMENTS) && model.autocommit;
        let mut meta = model.meta(self.number, Shape::of(AnswerKind::Half));
        if !fits || model.transaction != 0 {
            return self.insert_id();
        }
        meta.bearing.transaction = self.number;
        meta.opens = true;
        self.text("half", "BEGIN; SELECT", "v FROM nowhere", meta, Vec::new())
    }

    fn begin(&self, dice: &mut Dice) -> Sending {
        let mut meta = self.model.meta(self.number, Shape::of(AnswerKind::Plain));
        meta.bearing.transaction = self.number;
        meta.opens = true;
        let verb = *dice.pick(&["BEGIN", "START"]);
        let rest = if verb == "BEGIN" { "" } else { "TRANSACTION" };
        self.text("begin", verb, rest, meta, Vec::new())
    }

    /// `COMMIT` or `ROLLBACK`; with nothing to end the proxy answers itself.
    fn end(&self, dice: &mut Dice) -> Sending {
        let meta = self.model.meta(self.number, Shape::of(AnswerKind::End));
        let verb = *dice.pick(&["COMMIT", "ROLLBACK"]);
        let mut sending = self.text("end", verb, "", meta, vec![Effect::End]);
        if let Some(expect) = &mut sending.expect {
            let local = self.plain("end", Vec::new(), expect.effects.clone());
            expect.candidates.extend(local.expect.into_iter().flat_map(|local| local.candidates));
        }
        sending
    }

    fn schema(&self, dice: &mut Dice) -> Sending {
        let schema = *dice.pick(&SCHEMAS);
        let unknown = dice.percent(10);
        let schema = if unknown { "nowhere" } else { schema };
        let effects = if unknown { Vec::new() } else { vec![Effect::Schema(schema.into())] };
        let bytes = match dice.percent(50) {
            true => packet(code::INIT_DB, schema.as_bytes()),
            false => packet(code::QUERY, format!("USE {schema}").as_bytes()),
        };
        let status = self.model.after(&effects).status();
        let right = match unknown {
            true => answer::error(1049, &format!("Unknown database '{schema}'")),
            false => answer::ok(self.model.caps, status, &answer::schema_track(schema)),
        };
        let number = self.number;
        let expect = Expect { number, candidates: vec![right], effects, ..Expect::default() };
        Sending { bytes, expect: Some(expect), name: "schema", ..Sending::default() }
    }

    fn pin(&self, dice: &mut Dice) -> Sending {
        if dice.percent(25) {
            return self.pin_by_rows(dice);
        }
        let mut meta = self.model.meta(self.number, Shape::of(AnswerKind::Plain));
        // with autocommit off it need not open a transaction; the words leave that alone
        meta.bearing.pin = self.number;
        meta.pins = true;
        let (verb, rest) = *dice.pick(&[
            ("SET", "@v=RAND()"),
            ("FLUSH", "TABLES WITH READ LOCK"),
            ("CREATE", "TEMPORARY TABLE x (a int)"),
            ("SET", "ROLE writer"),
            // nothing but the server's word tells of these
            ("INSERT", "INTO t VALUES (f())"),
            ("DO", "f()"),
        ]);
        let pin = Effect::Pin(self.number);
        self.text("pin", verb, rest, meta, vec![pin])
    }

    /// An OK of a connection that has no part in the open transaction.
    pub(super) fn other_lane_s_ok(&self) -> Vec<Vec<u8>> {
        let mut outside = self.model.clone();
        outside.transaction = 0;
        let mut fresh = outside.clone();
        fresh.autocommit = true;
        [outside, fresh].iter().map(|m| answer::ok(m.caps, m.status(), &[])).collect()
    }

    pub(super) fn kill(&self, dice: &mut Dice) -> Sending {
        let others: Vec<u32> =
            self.connections.iter().copied().filter(|id| *id != self.own_connection).collect();
        if others.is_empty() || self.model.relayed {
            return self.read(dice);
        }
        let id = *dice.pick(&others);
        let text = match dice.below(4) {
            0 => format!("KILL {id}"),
            _ => format!("KILL QUERY {id}"),
        };
        let sending = self.plain("kill", packet(code::QUERY, text.as_bytes()), Vec::new());
        let expect = sending.expect.map(|expect| Expect { kills: true, ..expect });
        Sending { kills: Some(id), expect, ..sending }
    }

    fn file(&self, dice: &mut Dice) -> Sending {
        if !self.model.caps.contains(Caps::LOCAL_FILES) {
            return self.write(dice);
        }
        let (width, rows) = (dice.below(3000) as u32, dice.below(2) as u32);
        let shape = Shape { width, rows, ..Shape::of(AnswerKind::File) };
        let meta = self.opening(self.model.meta(self.number, shape));
        let rest = "LOCAL INFILE 'f' INTO TABLE t";
        let effects = made_by(&meta);
        let mut sending = self.text("file", "LOAD DATA", rest, meta.clone(), effects);
        if let Some(expect) = &mut sending.expect {
            expect.file = Some(meta);
        }
        sending
    }

    fn reset(&self) -> Sending {
        self.plain("reset", packet(code::RESET_CONNECTION, &[]), vec![Effect::Reset])
    }

    fn change_user(&self, dice: &mut Dice) -> Sending {
        let user = crate::mysqld::login::ACCOUNTS[dice.index(3)].0;
        let request = wire::connect::ChangeUser {
            user: user.as_bytes(),
            auth_response: b"",
            schema: self.model.first_schema.as_bytes(),
            collation: Some(self.model.first_collation),
            plugin: Some(b"mysql_native_password"),
            attributes: &[],
        };
        let mut bytes = Vec::new();
        frame::write_with(&mut bytes, &mut 0, |out| request.encode(self.model.caps, out));
        let expect = Expect {
            number: self.number,
            effects: vec![Effect::User(user.into())],
            change_user: Some(user.into()),
            ..Expect::default()
        };
        Sending { bytes, expect: Some(expect), name: "change user", ..Sending::default() }
    }

    /// What the proxy answers by itself.
    fn local(&self, dice: &mut Dice) -> Sending {
        let mut expect = Expect { number: self.number, ..Expect::default() };
        let bytes = match dice.below(4) {
            0 => {
                expect.any = true;
                packet(code::STATISTICS, &[])
            }
            1 => {
                expect.error = Some(1047);
                packet(0x1d, b"what")
            }
            // a function that nobody knows may have told the id of the connection kept for it
            choice if choice == 2 || self.stored_code => {
                expect.error = Some(1243);
                packet(code::STMT_EXECUTE, &[0xee, 0xee, 0xee, 0x0e, 0, 1, 0, 0, 0])
            }
            _ => {
                let id = self.own_connection.to_string();
                let columns = [ColumnDef {
                    kind: ColumnKind::LONGLONG,
                    collation: ColumnDef::BINARY,
                    length: 21,
                    flags: ColumnFlags(0xa1),
                    ..ColumnDef::text(b"CONNECTION_ID()")
                }];
                let row = [Some(id.as_bytes())];
                for open in [Status::NONE, Status::IN_TRANS] {
                    let (caps, status) = (self.model.caps, self.model.status());
                    let status = if self.model.autocommit { status } else { status | open };
                    let mut right = Vec::new();
                    write_text_result(&mut right, &mut 1, caps, &columns, &[&row], status);
                    expect.candidates.push(right);
                }
                packet(code::QUERY, b"SELECT CONNECTION_ID()")
            }
        };
        Sending { bytes, expect: Some(expect), name: "local", ..Sending::default() }
    }
}

/// A statement that changes one of the tables that are followed, or two.
fn change(dice: &mut Dice) -> (&'static str, String) {
    let table = format!("{SCHEMA}.{}", dice.pick(&TABLES));
    match dice.below(4) {
        0 => ("INSERT", format!("INTO {table} VALUES (1)")),
        1 => ("DELETE", format!("FROM {table}")),
        2 => ("UPDATE", format!("{table} SET v=1")),
        _ => ("UPDATE", format!("{table}, {SCHEMA}.{} SET v=1", dice.pick(&TABLES))),
    }
}

/// Statements that may run triggers.
const WRITES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "LOAD DATA"];

/// The packet of a command.
pub(super) fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    command::write(&mut out, first, body);
    out
}

/// What a statement does to the last insert id.
pub(super) fn made_by(meta: &Meta) -> Vec<Effect> {
    match answer::insert_id(meta) {
        0 => Vec::new(),
        id => vec![Effect::InsertId(id)],
    }
}
