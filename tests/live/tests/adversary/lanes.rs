//! Which connection each statement ran on, from the server's own log: proof that the session under
//! test was given connections that somebody else had marked.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use lab::Server;

use crate::neighbours::MARK;
use crate::script::Line;

/// A server's log of statements, read as it grows.
pub(crate) struct Lanes {
    path: PathBuf,
    /// Threads that replicate.
    others: Vec<u32>,
    read: u64,
    /// How often anybody has marked a connection.
    turn: u64,
    /// By connection, the turn in which the session under test used it first since somebody marked
    /// it.
    used: HashMap<u32, Option<u64>>,
}

/// A line of the session under test.
#[derive(Clone)]
pub(crate) struct Ran<'a> {
    pub(crate) line: &'a Line,
    /// Whether the session had to get a connection for it.
    pub(crate) free: bool,
    /// How often neighbours had marked a connection by then.
    pub(crate) turn: u64,
}

/// How statements of the session under test were served.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Served {
    /// On a connection that somebody else had marked.
    pub(crate) marked: usize,
    /// On the one that the session kept.
    pub(crate) kept: usize,
    /// On a connection that nobody had used.
    pub(crate) fresh: usize,
    /// Without a server, or in words of the proxy's own.
    pub(crate) elsewhere: usize,
}

impl Lanes {
    /// The log of a server from now on, in this directory.
    pub(crate) fn of(server: &Server, dir: &Path) -> Self {
        let path = dir.join(format!("statements-{}.log", server.id));
        let shown = path.display();
        server
            .sql(&format!("SET GLOBAL general_log_file = '{shown}'; SET GLOBAL general_log = ON"))
            .expect("the server keeps a log");
        let others = "SELECT id FROM information_schema.processlist WHERE user = 'system user'";
        let others = server.sql(others).expect("told").into_iter().flatten().flatten();
        let others = others.map(|id| id.parse().expect("a number")).collect();
        Self { path, others, read: 0, turn: 0, used: HashMap::new() }
    }

    /// Begins anew: others mark, and count how often.
    pub(crate) fn forget(&mut self) {
        self.events();
        (self.turn, self.used) = (0, HashMap::new());
    }

    /// How these lines were served since the last call; an error names the one that ran on a
    /// connection nobody had marked.
    pub(crate) fn served(&mut self, ran: &[Ran<'_>]) -> Result<Served, String> {
        let mut served = Served::default();
        let mut rest = ran;
        let mut log = String::new();
        for (thread, text) in self.events() {
            log += &format!("{thread} {text:.100}\n");
            if text.contains(MARK) {
                self.turn += 1;
                self.used.insert(thread, None);
                continue;
            }
            let is_of = |ran: &Ran<'_>| {
                let same = ran.line.text() == Some(&text) && ran.turn == self.turn;
                same && !is_asked_by_the_proxy(&text)
            };
            let Some(at) = rest.iter().position(is_of) else { continue };
            served.elsewhere += at;
            let Ran { line, free, .. } = rest[at];
            rest = &rest[at + 1..];
            match (self.used.get(&thread), free) {
                (Some(None), _) => served.marked += 1,
                (None, _) => served.fresh += 1,
                // what was put off until a statement goes in front of it
                (Some(Some(turn)), true) if *turn == self.turn => served.marked += 1,
                (Some(Some(_)), false) => served.kept += 1,
                (Some(Some(_)), true) => {
                    return Err(format!("nobody had marked it for {line}\n{log}"));
                }
            }
            self.used.insert(thread, Some(self.turn));
        }
        served.elsewhere += rest.len();
        Ok(served)
    }

    /// The texts that ran since the last call, each with its connection's number.
    fn events(&mut self) -> Vec<(u32, String)> {
        let mut file = File::open(&self.path).expect("the log");
        file.seek(SeekFrom::Start(self.read)).expect("the log grows");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("readable");
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += end as u64;
        let text = String::from_utf8_lossy(&bytes[..end]);
        let event = |line: &str| {
            let fields: Vec<_> = line.split('\t').collect();
            let at = fields.iter().position(|field| {
                let mut words = field.split_whitespace();
                let number = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
                number && matches!(words.next(), Some("Query" | "Execute"))
            })?;
            let thread = fields[at].split_whitespace().next()?.parse().ok()?;
            Some((thread, fields.get(at + 1..)?.join("\t")))
        };
        let events = text.lines().filter_map(event);
        events.filter(|(thread, _)| !self.others.contains(thread)).collect()
    }
}

/// Whether the proxy itself may ask this.
fn is_asked_by_the_proxy(text: &str) -> bool {
    text.starts_with("SHOW WARNINGS") || text.starts_with("SHOW COUNT(*)")
}

impl std::ops::AddAssign for Served {
    fn add_assign(&mut self, other: Self) {
        self.marked += other.marked;
        self.kept += other.kept;
        self.fresh += other.fresh;
        self.elsewhere += other.elsewhere;
    }
}
