//! Two other sessions that see to it that the one under test gets a connection one of them has
//! just had, wherever it does not keep its own.
//!
//! The proxy has two connections. One neighbour keeps the first in a transaction. Before each
//! statement of the session under test the other one begins a transaction, which can only be on the
//! connection that session has just left, and marks it. Then the first ends its transaction, and
//! its connection is the only one that is free. Nothing in the proxy knows of this: it cannot be
//! switched on, and the pool is the one that everybody has.

use std::time::{Duration, Instant};

use live::{Proxy, client};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::end::{Answer, End, shown};
use crate::marks_table::{IN_TRANSACTION, LAST, LEFT_BEHIND, USER_VARIABLES, VARIABLES};
use crate::script::Line;

/// What is in the text by which a neighbour begins to mark a connection.
pub(crate) const MARK: &str = "/* neighbour */";
/// And where the connection is to be one to a reader.
pub(crate) const OF_READERS: &str = "/* of readers */";

/// How many turns come before a neighbour resets its connection, and before it leaves.
const RESET_TURNS: u64 = 7;
const LEAVE_TURNS: u64 = 31;

/// The neighbours.
pub(crate) struct Neighbours {
    port: u16,
    pub(crate) kind: Kind,
    admin: Conn,
    both: [Neighbour; 2],
    /// Which of them has its transaction open.
    open: usize,
    turn: u64,
    /// How often a connection was marked.
    pub(crate) marks: u64,
}

/// Whose connections neighbours share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// That of sessions which know results that end without EOF packets: others get connections of
    /// their own.
    pub(crate) no_eof: bool,
    /// Those to the server that takes no writes.
    pub(crate) of_reader: bool,
}

struct Neighbour {
    end: End,
    kind: Kind,
    number: usize,
    /// What it sees of its own session.
    own: Option<Answer>,
}

impl Neighbours {
    /// Both log in, and one begins.
    pub(crate) fn new(proxy: &Proxy, kind: Kind) -> Self {
        let admin = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
        live::eventually("the interface greets", Duration::from_secs(10), || {
            live::greeting_of(proxy.admin_port).is_ok()
        });
        let both = [0, 1].map(|number| Neighbour::new(proxy.port, kind, number));
        let admin = client::connect(admin);
        let mut all = Self { port: proxy.port, kind, admin, both, open: 0, turn: 0, marks: 1 };
        all.both[0].begin(true);
        all
    }

    /// Marks the connection that a session has left, and frees the one that was marked before;
    /// `false` where the session keeps its own. `quiet` is without writing.
    pub(crate) fn mark(&mut self, session: u32, quiet: bool) -> bool {
        self.turn += 1;
        let quiet = quiet || self.kind.of_reader;
        if let Some(why) = self.held(session) {
            // whoever keeps one for what its server can tell only yields it
            let yields = is_told(&why) && self.turn.is_multiple_of(2);
            if !yields {
                return false;
            }
        }
        let (opens, ends) = (1 - self.open, self.open);
        let neighbour = &mut self.both[opens];
        if self.turn.is_multiple_of(LEAVE_TURNS) {
            neighbour.leave_behind();
            neighbour.end.leave();
            *neighbour = Neighbour::new(self.port, self.kind, opens);
        } else if self.turn.is_multiple_of(RESET_TURNS) {
            neighbour.leave_behind();
            neighbour.run_lines(&[Line::Reset]);
            neighbour.settle();
        }
        neighbour.begin(quiet);
        self.marks += 1;
        let turns = usize::try_from(self.turn / 2).expect("few turns");
        let last = LAST[turns % LAST.len()];
        self.both[ends].end(if quiet { &[] } else { last });
        self.open = opens;
        let kept = self.held(self.both[ends].end.id()).unwrap_or_default();
        assert!(is_told(&kept), "a neighbour keeps it for {kept:?}");
        true
    }

    /// Waits until a session that has left has left nothing that is in anybody's way, and there are
    /// only so many neighbours.
    pub(crate) fn await_end(&mut self, neighbours: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        let used = "SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool";
        let sessions = "SELECT extended_info FROM stats_mysql_processlist";
        loop {
            let used: Option<usize> = self.admin.query_first(used).expect("told");
            let sessions: Vec<String> = self.admin.query(sessions).expect("told");
            let kept = sessions.iter().filter(|told| backends(told).is_some()).count();
            if sessions.len() == neighbours && used == Some(kept) {
                return;
            }
            assert!(Instant::now() < deadline, "{used:?} in use by {sessions:?}");
        }
    }

    /// For what a session keeps a connection here; `None` where it has none.
    fn held(&mut self, session: u32) -> Option<Vec<String>> {
        let query = format!(
            "SELECT extended_info FROM stats_mysql_processlist WHERE SessionID = {session}"
        );
        let hostgroup = usize::from(self.kind.of_reader);
        let begun = Instant::now();
        loop {
            let told: String = self.admin.query_first(&query).expect("told").expect("a session");
            let mut backends = backends(&told)?;
            backends.retain(|backend| backend["hostgroup_id"] == hostgroup);
            let reasons = backends.iter().map(|backend| &backend["conn"]["held_for"]);
            let reasons = reasons.filter_map(|reasons| reasons.as_array()).flatten();
            let reasons = reasons.filter_map(|reason| reason.as_str());
            let reasons: Vec<String> = reasons.map(str::to_owned).collect();
            // its server is being asked, or will be when somebody needs the connection
            let is_asked = reasons == ["last_insert_id"];
            let (new, others): (Vec<_>, Vec<_>) =
                reasons.iter().cloned().partition(|reason| reason == "new_table");
            let is_read = !new.is_empty() && is_told(&others);
            let wait_ms = if is_read { READING_MS } else { 100 * u64::from(is_asked) };
            if begun.elapsed() >= Duration::from_millis(wait_ms) {
                return (!backends.is_empty()).then_some(reasons);
            }
        }
    }
}

/// How long a reading that is due may take, in milliseconds.
const READING_MS: u64 = 10_000;

/// Whether the server can tell all that a session keeps a connection for.
fn is_told(reasons: &[String]) -> bool {
    reasons.iter().all(|reason| reason == "has_warnings" || reason == "last_insert_id")
}

/// The connections that a session has, of what the process list tells of it.
fn backends(told: &str) -> Option<Vec<serde_json::Value>> {
    let told: serde_json::Value = serde_json::from_str(told).expect("JSON");
    told["backends"].as_array().cloned()
}

/// Whether it is this error.
fn is_error(packet: &[u8], code: u16) -> bool {
    packet.starts_with(&[&[0xff], &code.to_le_bytes()[..]].concat())
}

impl Neighbour {
    fn new(port: u16, kind: Kind, number: usize) -> Self {
        let end = End::login(port, kind.no_eof, 0).expect("a neighbour logs in");
        let mut neighbour = Self { end, kind, number, own: None };
        neighbour.settle();
        neighbour
    }

    /// Sets everything to values of its own.
    fn settle(&mut self) {
        let variables = VARIABLES.iter().map(|(name, first, second)| {
            format!("SET SESSION {name} = {}", if self.number == 0 { first } else { second })
        });
        let mut texts: Vec<String> = variables.collect();
        let users = USER_VARIABLES.iter().map(|name| format!("@{name} = 'neighbour'"));
        texts.push(format!("SET {}", users.collect::<Vec<_>>().join(", ")));
        let level = if self.number == 0 { "SERIALIZABLE" } else { "READ UNCOMMITTED" };
        texts.push(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        texts.push(format!("SET NAMES {}", if self.number == 0 { "latin1" } else { "utf8mb3" }));
        texts.push(format!("SET autocommit = {}", 1 - self.number));
        let mut lines = vec![Line::Schema("other".into())];
        lines.extend(texts.into_iter().map(Line::Text));
        if self.kind.of_reader {
            // there, as others may have all connections to the other server
            self.open("");
        }
        let mut unset = 0;
        for (line, answer) in lines.iter().zip(self.run_lines(&lines)) {
            let packet = answer.first().map_or(&[][..], |(_, packet)| packet);
            // there, or with more rights, only on the other kind of server
            let is_known = [1193_u16, 1227, 1766].iter().all(|code| !is_error(packet, *code));
            assert!(packet.first() == Some(&0) || !is_known, "{line}: {}", shown(&answer));
            unset += usize::from(!is_known);
        }
        assert!(unset < 7, "{unset} variables are not set");
        if self.kind.of_reader {
            self.end(&[]);
        }
    }

    /// Marks a connection and keeps it.
    fn begin(&mut self, quiet: bool) {
        self.open(MARK);
        if !quiet && self.number == 0 {
            self.run(&["INSERT INTO written (b) VALUES (4), (5)"]);
        }
        self.run(IN_TRANSACTION);
        let own = "SELECT @@sql_mode, @@time_zone, @@autocommit, @@character_set_client, \
                   @@character_set_results, @@collation_connection, @@sql_select_limit, \
                   @@lc_time_names, @a, @hidden, @seen, DATABASE()";
        let told = self.run(&[own]).swap_remove(0);
        let own = self.own.get_or_insert_with(|| told.clone());
        // how many are in the column's length and character set, too
        assert_eq!(shown(own), shown(&told), "a neighbour keeps its own");
    }

    /// Has things on a connection that a reset is to undo.
    fn leave_behind(&mut self) {
        self.open("");
        self.run(LEFT_BEHIND);
    }

    /// Gets a connection.
    fn open(&mut self, mark: &str) {
        let of = if self.kind.of_reader { OF_READERS } else { "" };
        self.run(&[&format!("BEGIN {mark} {of}")]);
    }

    /// Lets go of the connection.
    fn end(&mut self, last: &[&str]) {
        self.run(&["ROLLBACK AND NO CHAIN"]);
        if self.number == 0 {
            self.run(last);
        }
    }

    fn run(&mut self, texts: &[&str]) -> Vec<Answer> {
        let lines: Vec<_> = texts.iter().map(|text| Line::Text((*text).into())).collect();
        self.run_lines(&lines)
    }

    fn run_lines(&mut self, lines: &[Line]) -> Vec<Answer> {
        let lines: Vec<_> = lines.iter().collect();
        self.end.run(&lines, false).expect("a neighbour is answered")
    }
}
