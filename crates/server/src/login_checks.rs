//! Asks PAM and LDAP about passwords, away from the workers: both take as long as they like.
//!
//! One thread hands checks out, each to a thread that ends with it. A check that no session waits
//! for any more is not begun; what is under way cannot be interrupted. See ADR 027.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use engine::login_checks::{CheckAt, CheckOutcome, LoginCheck};
use io::Mailbox;
use worker::Mail;

use crate::listening;

#[cfg(feature = "ldap")]
mod ldap;
#[cfg(feature = "pam")]
mod pam;

/// What the thread that hands checks out is told.
pub(crate) enum CheckNews {
    /// A worker wants one.
    Asked(AskedCheck),
    /// A thread has ended.
    Ended,
}

/// A check, and whose it is.
pub(crate) struct AskedCheck {
    /// The number of the worker.
    pub(crate) worker: usize,
    /// The check.
    pub(crate) check: Arc<LoginCheck>,
    /// Since when it waits.
    pub(crate) since: Instant,
}

/// How often checks that wait for a thread are looked at: a place that nobody waits in is free
/// again within that time.
const LOOK: Duration = Duration::from_millis(100);

/// Starts the thread that hands out what is `asked`, and mails what came of it to the worker.
pub(crate) fn follow(
    workers: Vec<Mailbox<Mail>>,
    news: Sender<CheckNews>,
    asked: Receiver<CheckNews>,
) -> std::io::Result<()> {
    let workers: Arc<[_]> = workers.into();
    let run = move || {
        let mut queue = VecDeque::<AskedCheck>::new();
        let mut running = 0;
        loop {
            match if queue.is_empty() { next(&asked) } else { asked.recv_timeout(LOOK) } {
                Ok(CheckNews::Asked(check)) => queue.push_back(check),
                Ok(CheckNews::Ended) => running -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            queue.retain(|asked| asked.check.is_awaited());
            while queue.front().is_some_and(|next| running < next.check.threads_max) {
                let Some(next) = queue.pop_front() else { break };
                running += u32::from(begin(next, &workers, &news));
            }
        }
    };
    thread::Builder::new().name("login-checks".to_owned()).spawn(run).map(drop)
}

fn next(asked: &Receiver<CheckNews>) -> Result<CheckNews, RecvTimeoutError> {
    asked.recv().map_err(|_| RecvTimeoutError::Disconnected)
}

/// Starts the thread of a check; whether there is one.
fn begin(asked: AskedCheck, workers: &Arc<[Mailbox<Mail>]>, news: &Sender<CheckNews>) -> bool {
    let (worker, ticket) = (asked.worker, asked.check.ticket.clone());
    let (answers, news) = (workers.clone(), news.clone());
    let run = move || {
        let ticket = asked.check.ticket.clone();
        let outcome = catch_unwind(AssertUnwindSafe(|| ask(&asked)));
        let outcome = outcome.unwrap_or_else(|_| CheckOutcome::Failed(PANICKED.to_owned()));
        // its place is free before anybody hears of it
        drop(asked);
        tell(&answers, worker, Mail::LoginChecked(ticket, outcome));
        // nobody hears it when the process ends
        let _ = news.send(CheckNews::Ended);
    };
    let spawned = thread::Builder::new().name("login-check".to_owned()).spawn(run);
    if let Err(error) = &spawned {
        let outcome = CheckOutcome::Failed(format!("there is no thread for it: {error}"));
        tell(workers, worker, Mail::LoginChecked(ticket, outcome));
    }
    spawned.is_ok()
}

fn tell(workers: &[Mailbox<Mail>], worker: usize, mail: Mail) {
    if let Some(worker) = workers.get(worker) {
        listening::post(worker, mail);
    }
}

fn ask(asked: &AskedCheck) -> CheckOutcome {
    let check = &asked.check;
    // a part of the time is left so that the log hears which server was silent
    let until = asked.since + Duration::from_millis(check.timeout_ms) * 9 / 10;
    match &check.at {
        CheckAt::Pam(service) => by_pam(service, check),
        CheckAt::Ldap(settings) => by_ldap(settings, check, until),
    }
}

#[cfg(feature = "pam")]
fn by_pam(service: &str, check: &LoginCheck) -> CheckOutcome {
    pam::check(service, &check.user, check.password.bytes(), &check.client)
}

#[cfg(not(feature = "pam"))]
fn by_pam(_: &str, _: &LoginCheck) -> CheckOutcome {
    CheckOutcome::Failed("this build of Tidegate has no feature `pam`".to_owned())
}

#[cfg(feature = "ldap")]
fn by_ldap(
    settings: &engine::login_checks::LdapSettings,
    check: &LoginCheck,
    until: Instant,
) -> CheckOutcome {
    ldap::check(settings, &check.user, check.password.bytes(), until)
}

#[cfg(not(feature = "ldap"))]
fn by_ldap(_: &engine::login_checks::LdapSettings, _: &LoginCheck, _: Instant) -> CheckOutcome {
    CheckOutcome::Failed("this build of Tidegate has no feature `ldap`".to_owned())
}

const PANICKED: &str = "the check panicked: a defect";
