//! The scheduler: programs at intervals, as the rows of `scheduler` say.
//!
//! A row runs first after one whole interval, and again whether or not the run before has ended,
//! as in ProxySQL; but not more than a few times at once.

use std::sync::Arc;
use std::time::Duration;

use engine::rows::SchedulerRow;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::program::{Program, ProgramEnd, ProgramKind};
use crate::web::Log;

/// The rows in force.
pub(crate) struct Schedule {
    rows: JoinSet<()>,
    log: Log,
    stop: Arc<watch::Sender<bool>>,
}

impl Schedule {
    /// Without rows; what runs ends when `stop` says so.
    pub(crate) fn new(log: Log, stop: Arc<watch::Sender<bool>>) -> Self {
        Self { rows: JoinSet::new(), log, stop }
    }

    /// These are the rows from now on, and all intervals begin anew; what runs goes on.
    pub(crate) fn set(&mut self, rows: Vec<SchedulerRow>) {
        self.rows = JoinSet::new();
        for row in rows.into_iter().filter(|row| row.active != 0) {
            self.rows.spawn(repeat(row, self.log.clone(), self.stop.clone()));
        }
    }
}

async fn repeat(row: SchedulerRow, log: Log, stop: Arc<watch::Sender<bool>>) {
    let program = Arc::new(program(&row));
    let pause = Duration::from_millis(u64::try_from(row.interval_ms).unwrap_or(1).max(1));
    let mut ticks = interval_at(Instant::now() + pause, pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let room = Arc::new(Semaphore::new(RUNS_MAX));
    loop {
        ticks.tick().await;
        let Ok(permit) = room.clone().try_acquire_owned() else {
            let (id, filename) = (row.id, &row.filename);
            log(&format!("scheduler {id}: {filename}: {RUNS_MAX} runs have not ended; skipped"));
            continue;
        };
        let (program, log, stop, id) = (program.clone(), log.clone(), stop.subscribe(), row.id);
        tokio::spawn(async move {
            let finished = program.run(None, stop).await;
            let said = match finished.end {
                ProgramEnd::Exited(status) if status.success() => None,
                ProgramEnd::Exited(status) => Some(status.to_string()),
                ProgramEnd::NotStarted(error) => Some(format!("cannot be started: {error}")),
                ProgramEnd::TimedOut | ProgramEnd::Stopped => None,
            };
            if let Some(said) = said {
                log(&format!("scheduler {id}: {}: {said}", program.filename));
            }
            drop(permit);
        });
    }
}

/// What a row runs: the first argument that is missing ends them.
fn program(row: &SchedulerRow) -> Program {
    let args = [&row.arg1, &row.arg2, &row.arg3, &row.arg4, &row.arg5];
    let args = args.into_iter().map_while(Clone::clone).collect();
    let (filename, environment) = (row.filename.clone(), Vec::new());
    Program { filename, args, environment, kind: ProgramKind::Scheduled }
}

/// Runs of one row at a time.
const RUNS_MAX: usize = 16;
