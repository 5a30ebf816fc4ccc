//! What a keeper is told, as lines of text: written while it decides, and decided again by
//! `tidegate replay-topology`.
//!
//! A recording begins with a line that names the format and a line with all that the keeper knew.
//! Each line after that is an input and the events that came of it. Files are the caller's.

mod shapes;
mod value;

use serde_json::Value;

use crate::event::StatusChange;
use crate::report::{Endpoint, Report};
use crate::wanted::Wanted;
use crate::{Keeper, Seen};
pub(crate) use value::{Recorded, member, object, recorded};

/// Something that a keeper is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeeperInput {
    /// Another configuration is wanted: [`Keeper::adopt`].
    Adopt {
        /// When, in microseconds.
        at_us: u64,
        /// The configuration.
        wanted: Wanted,
    },
    /// Something was seen: [`Keeper::hear`].
    Hear(Report),
    /// A primary was replaced, or follows the new one: [`Keeper::depose`].
    Depose {
        /// When, in microseconds.
        at_us: u64,
        /// The primary.
        server: Endpoint,
        /// Whether it is left out from now on.
        is_deposed: bool,
    },
}

impl Keeper {
    /// Takes an input; gives what changes by it.
    pub fn take(&mut self, input: &KeeperInput) -> Vec<StatusChange> {
        match input {
            KeeperInput::Adopt { at_us, wanted } => self.adopt(wanted.clone(), *at_us),
            KeeperInput::Hear(report) => self.hear(report),
            KeeperInput::Depose { at_us, server, is_deposed } => {
                self.depose(server, *is_deposed, *at_us)
            }
        }
    }
}

/// The lines that a recording begins with, for a keeper that knows that much.
pub fn beginning(keeper: &Keeper) -> String {
    let head = object([(HEAD, VERSION.into())]);
    let state = object([(STATE, keeper.write())]);
    format!("{head}\n{state}\n")
}

/// The line of an input and what came of it; without events, nothing is compared at a replay.
pub fn line(input: &KeeperInput, events: Option<&[StatusChange]>) -> String {
    let (at_us, name, told) = match input {
        KeeperInput::Adopt { at_us, wanted } => (*at_us, ADOPT, wanted.write()),
        KeeperInput::Hear(Report { at_us, server, seen }) => {
            let told = object([(SERVER, server.write()), (SEEN, seen.write())]);
            (*at_us, HEAR, told)
        }
        KeeperInput::Depose { at_us, server, is_deposed } => {
            let told = object([(SERVER, server.write()), (IS_DEPOSED, is_deposed.write())]);
            (*at_us, DEPOSE, told)
        }
    };
    let mut members = vec![(AT_US, at_us.write()), (name, told)];
    let texts = |events: &[StatusChange]| events.iter().map(told_of).collect::<Vec<_>>().write();
    members.extend(events.map(|events| (EVENTS, texts(events))));
    format!("{}\n", object(members))
}

/// Whether a file that begins like this is a recording, of whatever version.
pub fn is_recording(begins: &str) -> bool {
    begins.starts_with(&format!("{{\"{HEAD}\":"))
}

/// A keeper that is told what a recording says, line by line.
#[derive(Default)]
pub struct Replay {
    keeper: Keeper,
    expects: Expects,
}

/// What a line of a recording came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// What the keeper was told.
    pub input: KeeperInput,
    /// What changed by it.
    pub events: Vec<StatusChange>,
    /// Where something else changed at the time, or in another way: then and now.
    pub differences: Vec<(Option<String>, Option<String>)>,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Expects {
    #[default]
    Head,
    State,
    Input,
}

impl Replay {
    /// Takes the next line; `None` for one that tells the keeper nothing new. The error says what
    /// is wrong with the line.
    pub fn take(&mut self, line: &str) -> Result<Option<Replayed>, String> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
        if let Some(version) = value.get(HEAD) {
            if version.as_u64() != Some(VERSION) {
                let known = format!("this Tidegate reads version {VERSION}");
                return Err(format!("the recording has version {version}; {known}"));
            }
            *self = Self { keeper: Keeper::default(), expects: Expects::State };
            return Ok(None);
        }
        if self.expects == Expects::Head {
            return Err(format!("no recording: there is no `{HEAD}` with a version"));
        }
        let is_first = std::mem::replace(&mut self.expects, Expects::Input) == Expects::State;
        if let Some(state) = value.get(STATE).filter(|_| is_first) {
            self.keeper = Keeper::read(state).map_err(|why| format!("`{STATE}`: {why}"))?;
            return Ok(None);
        }
        let input = read_input(&value)?;
        let events = self.keeper.take(&input);
        let then: Option<Vec<String>> = member(&value, EVENTS)?;
        let now = events.iter().map(told_of);
        let differences = then.map_or(Vec::new(), |then| differences(then, now.collect()));
        Ok(Some(Replayed { input, events, differences }))
    }

    /// The keeper, as far as it was told.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }
}

fn read_input(value: &Value) -> Result<KeeperInput, String> {
    let at_us = member(value, AT_US)?;
    let within = |name: &str, why: String| format!("`{name}`: {why}");
    if let Some(wanted) = value.get(ADOPT) {
        let wanted = Wanted::read(wanted).map_err(|why| within(ADOPT, why))?;
        return Ok(KeeperInput::Adopt { at_us, wanted });
    }
    if let Some(told) = value.get(HEAR) {
        let server = member(told, SERVER).map_err(|why| within(HEAR, why))?;
        let seen: Seen = member(told, SEEN).map_err(|why| within(HEAR, why))?;
        return Ok(KeeperInput::Hear(Report { at_us, server, seen }));
    }
    let Some(told) = value.get(DEPOSE) else {
        return Err(format!("there is none of `{ADOPT}`, `{HEAR}` and `{DEPOSE}`"));
    };
    let server = member(told, SERVER).map_err(|why| within(DEPOSE, why))?;
    let is_deposed = member(told, IS_DEPOSED).map_err(|why| within(DEPOSE, why))?;
    Ok(KeeperInput::Depose { at_us, server, is_deposed })
}

/// Events side by side, where they are not the same.
fn differences(then: Vec<String>, now: Vec<String>) -> Vec<(Option<String>, Option<String>)> {
    let (mut then, mut now) = (then.into_iter(), now.into_iter());
    let mut found = Vec::new();
    loop {
        match (then.next(), now.next()) {
            (None, None) => return found,
            (one, other) if one != other => found.push((one, other)),
            _ => {}
        }
    }
}

/// An event without its time, which is that of its input.
fn told_of(event: &StatusChange) -> String {
    let status = |status: &Option<String>| status.clone().unwrap_or_else(|| "-".to_owned());
    let StatusChange { hostgroup, server, from, to, reason, .. } = event;
    format!("{hostgroup} {server} {} {} {reason}", status(from), status(to))
}

/// Number of the format. It grows when what was written before is read no more.
const VERSION: u64 = 1;

/// Names of members.
const HEAD: &str = "tidegate_topology_recording";
const STATE: &str = "keeper";
const AT_US: &str = "at_us";
const ADOPT: &str = "adopt";
const HEAR: &str = "hear";
const DEPOSE: &str = "depose";
const EVENTS: &str = "events";
const SERVER: &str = "server";
const SEEN: &str = "seen";
const IS_DEPOSED: &str = "is_deposed";
