//! What both ends of a simulation write down together, and what they find wrong.
//! Decides nothing; the simulation reads it after every step.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use io::Micros;

use crate::data::Followable;
use crate::shared_questions::{GivenAnswer, SharedQuestion};
use crate::sim::SimLimits;

/// When answers were given that anybody was told from what was kept last, by what was asked, on
/// what connection, and with which capabilities.
pub(crate) type ToldKept = BTreeMap<(SharedQuestion, String, u64), Micros>;

/// The shared notes of one run.
#[derive(Default, Debug)]
pub struct Board {
    /// What must not have happened, in order.
    pub trouble: Vec<String>,
    /// Connections, servers or listeners may fail in this run.
    pub losses: bool,
    /// The proxy reads what stored code there is: until it has, a function may be anything to it.
    pub stored_code: bool,
    /// What there is little of: for its sake clients may be sent away.
    pub limits: SimLimits,
    /// Clients may send anything: servers answer nonsense by errors and say no more of it.
    pub tolerant: bool,
    /// The tags of sessions by the connection ids they were told.
    pub connections: BTreeMap<u32, u32>,
    /// Sessions that somebody asked to be killed, or their queries.
    pub kills_asked: BTreeSet<u32>,
    /// By which command a session was told last, with OK, that it begins anew.
    pub anew: BTreeMap<u32, u32>,
    /// What servers said to questions that many ask.
    pub given: Vec<GivenAnswer>,
    /// When the answers that the proxy keeps were flushed last.
    pub flushed: Option<Micros>,
    /// Answers that are kept give way to younger ones only.
    pub(crate) in_turn: bool,
    pub(crate) told: ToldKept,
    /// The tables whose changes are followed, if there are any.
    pub(crate) data: Option<Followable>,
    /// How often each write was executed.
    pub writes: BTreeMap<(u32, u32), u32>,
    /// Executions whose statement the server did not have any more.
    pub refused: BTreeSet<(u32, u32)>,
    /// When a client last got or did something.
    pub progress: Micros,
    /// How often what happened.
    pub tally: BTreeMap<&'static str, u64>,
    /// Tells the story of the run on the standard error.
    pub story: bool,
}

impl Board {
    /// Notes something wrong.
    pub fn wrong(&mut self, what: String) {
        self.trouble.push(what);
    }

    /// Tells a line of the story.
    pub fn tell(&self, line: impl FnOnce() -> String) {
        if self.story {
            eprintln!("{}", line());
        }
    }

    /// Counts something that happened.
    pub fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }
}

/// The notes, shared by the services of one thread.
pub type SharedBoard = Rc<RefCell<Board>>;
