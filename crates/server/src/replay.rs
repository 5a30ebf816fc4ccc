//! `tidegate replay-topology`: decides again what a recording says was decided.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use admin::calendar;
use anyhow::{Context, bail};
use keeper::{Endpoint, Keeper, KeeperInput, Lag, Replay, Replayed, Report, Seen, StatusChange};

use crate::tree::{self, Standpoint};

/// Prints each change and where servers stand then; 1 where something is not as it was.
pub(crate) fn run(file: &Path) -> anyhow::Result<ExitCode> {
    let name = file.display();
    let from = File::open(file).with_context(|| format!("cannot read {name}"))?;
    let mut out = BufWriter::new(stdout().lock());
    let (mut replay, mut last) = (Replay::default(), Last::default());
    let (mut differences, mut is_empty) = (0, true);
    let mut lines = BufReader::new(from);
    for number in 1_u64.. {
        let mut line = Vec::new();
        let read = lines.read_until(b'\n', &mut line);
        if read.with_context(|| format!("cannot read {name}"))? == 0 {
            break;
        }
        is_empty = false;
        match step(&mut replay, &line) {
            Ok(None) => {}
            Ok(Some(replayed)) => {
                replayed.events.iter().try_for_each(|event| writeln!(out, "{}", told(event)))?;
                for (then, now) in &replayed.differences {
                    let [then, now] = [then, now].map(|it| it.as_deref().unwrap_or("nothing"));
                    writeln!(out, "line {number}: then {then}, now {now}")?;
                }
                differences += replayed.differences.len();
                last.note(replayed);
            }
            Err(why) => {
                out.flush()?;
                bail!("{name}:{number}: {why}");
            }
        }
    }
    if is_empty {
        bail!("{name}:1: no recording: the file is empty");
    }
    write!(out, "\n{}", tree::shown(&last.tree(replay.keeper())))?;
    if differences == 0 {
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "\n{differences} changes are not as they were")?;
    out.flush()?;
    Ok(ExitCode::from(1))
}

fn step(replay: &mut Replay, line: &[u8]) -> Result<Option<Replayed>, String> {
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err("the line has no end: the file was cut off".to_owned());
    };
    replay.take(std::str::from_utf8(line).map_err(|error| error.to_string())?)
}

/// Time, hostgroup, server, from, to, reason.
fn told(event: &StatusChange) -> String {
    let StatusChange { at_us, hostgroup, server, from, to, reason } = event;
    let [from, to] = [from, to].map(|status| status.as_deref().unwrap_or("-"));
    let (time, us) = (time(*at_us), at_us % 1_000_000);
    format!("{time}.{us:06} {hostgroup} {server} {from} {to} {reason}")
}

fn time(at_us: u64) -> String {
    calendar(i64::try_from(at_us / 1_000_000).unwrap_or(i64::MAX))
}

/// What was told of servers last.
#[derive(Default)]
struct Last {
    events: BTreeMap<(i64, Endpoint), StatusChange>,
    /// How far they were behind, in seconds.
    lags: BTreeMap<Endpoint, u64>,
}

impl Last {
    fn note(&mut self, replayed: Replayed) {
        for event in replayed.events {
            self.events.insert((event.hostgroup, event.server.clone()), event);
        }
        if let KeeperInput::Hear(Report { server, seen: Seen::Lag(_, outcome), .. }) =
            replayed.input
        {
            match outcome {
                Ok(Lag::Micros(lag_us)) => self.lags.insert(server, lag_us / 1_000_000),
                _ => self.lags.remove(&server),
            };
        }
    }

    fn tree(&self, keeper: &Keeper) -> Vec<Standpoint> {
        let standpoint = |placed: &engine::topology::Placed| {
            let server = Endpoint::of(&placed.row);
            let hostgroup = placed.row.hostgroup_id;
            let event = self.events.get(&(hostgroup, server.clone()));
            let number = |number: Option<u64>| number.map(|it| it.to_string()).unwrap_or_default();
            let columns = [
                server.to_string(),
                placed.told().to_owned(),
                number(self.lags.get(&server).copied()),
                number(keeper.latency_us(&server)),
                event.map(|event| time(event.at_us)).unwrap_or_default(),
                event.map(|event| event.reason.to_string()).unwrap_or_default(),
            ];
            Standpoint { hostgroup, role: keeper.clusters().role(hostgroup).to_owned(), columns }
        };
        keeper.decided().iter().map(standpoint).collect()
    }
}
