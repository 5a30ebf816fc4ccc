//! M14: memory that two workers share and write for queries, in lines of the cache.
//!
//! Decides what counts: a line of 64 bytes that one worker writes and the other one uses, in more
//! than half of the steps in which each relays two queries. Whatever is written so is carried from
//! core to core, whether the two mean the same value or only lie side by side. What happens by the
//! clock, as once a second, is in fewer steps. Valgrind's lackey tells every access of the two
//! workers of `bench/icount`, which are its second and third thread; nothing depends on when they
//! happen to run. The kernel's memory is not seen.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::gate::GateOutcome;
use crate::icount;
use crate::step::installed;

/// Holds both ways of serving against none, answers from the query cache against what they take,
/// and the measurement against what is planted.
pub(crate) fn check() -> Result<GateOutcome> {
    if !installed("valgrind") {
        return Ok(GateOutcome::Skipped("valgrind is not installed".into()));
    }
    // without assertions, which would be watched too
    let program = icount::build("two-workers")?;
    let (mut complaints, mut said) = (Vec::new(), Vec::new());
    for (word, way) in [("0", "a lane each"), ("16", "shared lanes"), ("cached", CACHED)] {
        let watched = watch(&program, word)?;
        let [relayed, planted] = &watched.windows[..] else { bail!("not watched twice") };
        let contended = relayed.contended().count();
        if contended > if way == CACHED { CONTENDED_BY_HITS } else { 0 } {
            complaints.extend(relayed.contended().map(|line| relayed.complaint(way, line)));
        }
        if planted.contended().count() != 1 + contended {
            complaints.push(format!("{way}: what is planted is not seen"));
        }
        if (word == "16") != (watched.on_shared_lanes >= relayed.queries) {
            let count = watched.on_shared_lanes;
            complaints.push(format!("{way}: {count} queries went on shared lanes"));
        }
        if (way == CACHED) != (watched.from_cache >= relayed.queries) {
            let count = watched.from_cache;
            complaints.push(format!("{way}: {count} queries were answered from the cache"));
        }
        let (lines, queries) = (relayed.lines.len(), relayed.queries);
        said.push(format!("{way}: {contended} contended of {lines} lines in {queries} queries"));
    }
    if !complaints.is_empty() {
        return Ok(GateOutcome::Red(complaints));
    }
    Ok(GateOutcome::Ok(said.join("; ")))
}

/// Prints what the gate says.
pub(crate) fn run() -> Result<()> {
    match check()? {
        GateOutcome::Red(complaints) => bail!("{}", complaints.join("\n")),
        GateOutcome::Ok(what) | GateOutcome::Skipped(what) => println!("{what}"),
    }
    Ok(())
}

/// All clients ask the same two, which are in the query cache.
const CACHED: &str = "from the query cache";
/// Of each of the two answers, the lock of its part of the store, what is noted of its use, and how
/// many have it. Where these lie changes from run to run: four to six lines were seen.
const CONTENDED_BY_HITS: usize = 8;

/// Bytes that a core has or has not.
const LINE_BYTES: u64 = 64;
/// Where valgrind loads a program.
const BASE: u64 = 0x10_8000;
/// The workers, by valgrind's numbers of threads.
const WORKERS: [u32; 2] = [2, 3];

/// What the workers did with memory while they were watched.
#[derive(Default)]
struct Watched {
    windows: Vec<Window>,
    /// Queries on shared lanes, those before the windows among them.
    on_shared_lanes: u64,
    /// Queries that were answered from the query cache, likewise.
    from_cache: u64,
    is_watching: bool,
    /// Who runs.
    worker: Option<usize>,
    /// Where its code is.
    at: u64,
}

/// A number of queries, in steps.
#[derive(Default)]
struct Window {
    queries: u64,
    steps: u64,
    lines: BTreeMap<u64, Uses>,
}

/// What became of one line: by worker, how often it was read and written, and where last.
#[derive(Clone, Copy, Default)]
struct Uses {
    reads: [u64; 2],
    writes: [u64; 2],
    at: [u64; 2],
    /// Steps in which it was written, and the last of them.
    steps: u64,
    step: u64,
}

fn watch(program: &Path, depth: &str) -> Result<Watched> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=lackey", "--basic-counts=no", "--trace-mem=yes", "--trace-sched=yes"]);
    command.args(["--log-fd=1"]).arg(program).arg(depth);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start valgrind")?;
    let mut told = BufReader::with_capacity(1 << 20, child.stdout.take().context("its output")?);
    let (mut watched, mut line) = (Watched::default(), Vec::new());
    while told.read_until(b'\n', &mut line)? > 0 {
        watched.take(std::str::from_utf8(&line).unwrap_or_default().trim_end());
        line.clear();
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} {depth}: {status}", program.display());
    }
    Ok(watched)
}

impl Watched {
    /// Takes a line of the output: an access, who runs, or what the program says.
    fn take(&mut self, line: &str) {
        let Some((kind, rest)) = line.split_at_checked(3) else { return };
        match kind {
            "I  " if self.is_watching => self.at = access(rest).map_or(0, |(at, _)| at),
            " L " | " S " | " M " if self.is_watching => self.note(kind, rest),
            "beg" => {
                self.windows.push(Window { queries: number(line), ..Window::default() });
                self.is_watching = true;
            }
            "ste" => self.windows.iter_mut().last().into_iter().for_each(|now| now.steps += 1),
            "end" => self.is_watching = false,
            "sha" => self.on_shared_lanes += number(line),
            "hit" => self.from_cache += number(line),
            _ if line.contains("acquired lock") => {
                let thread = line.split("SCHED[").nth(1).and_then(|rest| rest.split(']').next());
                let thread = thread.and_then(|number| number.parse().ok());
                self.worker = WORKERS.iter().position(|&worker| Some(worker) == thread);
            }
            _ => {}
        }
    }

    fn note(&mut self, kind: &str, place: &str) {
        let Some((worker, window)) = self.worker.zip(self.windows.last_mut()) else { return };
        let Some((start, len)) = access(place) else { return };
        for line in start / LINE_BYTES..=(start + len.max(1) - 1) / LINE_BYTES {
            let uses = window.lines.entry(line).or_default();
            uses.at[worker] = self.at;
            if kind == " L " {
                uses.reads[worker] += 1;
                continue;
            }
            uses.writes[worker] += 1;
            uses.steps += u64::from(uses.step != window.steps);
            uses.step = window.steps;
        }
    }
}

impl Window {
    /// Lines that are written for queries by a worker and used by the other one.
    fn contended(&self) -> impl Iterator<Item = (&u64, &Uses)> {
        let both = |uses: &Uses| {
            let used = |worker: usize| uses.reads[worker] + uses.writes[worker] > 0;
            (uses.writes[0] > 0 && used(1)) || (uses.writes[1] > 0 && used(0))
        };
        self.lines.iter().filter(move |(_, uses)| both(uses) && 2 * uses.steps > self.steps)
    }

    fn complaint(&self, way: &str, (line, uses): (&u64, &Uses)) -> String {
        let Uses { reads, writes, at, .. } = uses;
        let at = at.map(|at| format!("{:#x}", at.saturating_sub(BASE)));
        let (line, queries) = (line * LINE_BYTES, self.queries);
        format!(
            "{way}: line {line:#x} is read {reads:?} times and written {writes:?} times in \
             {queries} queries, last by {at:?} of two-workers (addr2line -i -f -C -e)"
        )
    }
}

/// The number after a word.
fn number(line: &str) -> u64 {
    line.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Address and length.
fn access(place: &str) -> Option<(u64, u64)> {
    let (address, len) = place.split_once(',')?;
    Some((u64::from_str_radix(address, 16).ok()?, len.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contended(lines: &[&str]) -> Vec<u64> {
        let mut watched = Watched::default();
        ["begin 1", "step"].iter().chain(lines).for_each(|line| watched.take(line));
        let window = &watched.windows[0];
        window.contended().map(|(line, _)| line * LINE_BYTES).collect()
    }

    const FIRST: &str = "--7--   SCHED[2]:  acquired lock (VG_(scheduler):timeslice)";
    const SECOND: &str = "--7--   SCHED[3]:  acquired lock (VG_(scheduler):timeslice)";
    const OTHER: &str = "--7--   SCHED[5]:  acquired lock (VG_(scheduler):timeslice)";

    #[test]
    fn a_line_is_contended_where_one_writes_and_the_other_is_there() {
        assert_eq!(contended(&[FIRST, " S 1000,8", SECOND, " L 1038,8"]), [0x1000]);
        assert_eq!(contended(&[FIRST, " L 1000,8", SECOND, " M 1038,8"]), [0x1000]);
        assert_eq!(contended(&[FIRST, " S 103c,8", SECOND, " L 1040,8"]), [0x1040]);
    }

    #[test]
    fn what_is_read_or_ones_own_is_not() {
        assert_eq!(contended(&[FIRST, " L 1000,8", SECOND, " L 1000,8"]), [0; 0]);
        assert_eq!(contended(&[FIRST, " S 1000,8", SECOND, " S 1040,8"]), [0; 0]);
        assert_eq!(contended(&[FIRST, " S 1000,8", OTHER, " S 1000,8"]), [0; 0]);
        assert_eq!(contended(&[FIRST, " S 1000,8", "end", SECOND, " S 1000,8"]), [0; 0]);
    }

    #[test]
    fn what_is_written_now_and_then_is_not_for_queries() {
        let step = [FIRST, " L 1000,8", SECOND, " L 1000,8", "step"];
        let [once, twice] = [1, 2].map(|times| {
            let written = [FIRST, " S 1000,8", "step"].repeat(times);
            contended(&[&written[..], &step, &step].concat())
        });
        assert_eq!((once, twice), (vec![], vec![]));
        let written = [FIRST, " S 1000,8", SECOND, " L 1000,8", "step"].repeat(4);
        assert_eq!(contended(&written), [0x1000]);
    }
}
