//! A planned switchover: the primary lives, and no transaction is lost.
//!
//! Until the new primary is opened everything can be undone, and is when a step fails: the old one
//! is opened again and clients go on there. What fails afterwards leaves a replica behind, and is
//! told.

use std::time::Duration;

use keeper::Endpoint;

use crate::run::{Others, Run};
use crate::{Account, Clients, Servers, Standing};

/// What is to be done.
#[derive(Clone, PartialEq, Eq)]
pub struct Order {
    /// The server that takes writes.
    pub primary: Endpoint,
    /// The others of its cluster, the preferred ones first.
    pub others: Vec<Endpoint>,
    /// The one that is to take its place; `None` for the one that is the least behind.
    pub target: Option<Endpoint>,
    /// As whom replicas log in to their source.
    pub replication: Account,
    /// How long clients may wait.
    pub limit: Duration,
    /// Only tells what would be done.
    pub dry: bool,
}

/// Puts another server in the primary's place; gives which, or why that was not done.
pub fn switch_over(
    order: &Order,
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<Endpoint, String> {
    let primary = &order.primary;
    let mut run = Run { servers, clients };
    let old = Standing::ask(run.servers, primary)
        .map_err(|why| format!("the primary {primary} does not answer: {why}"))?;
    if old.read_only {
        return Err(format!("{primary} refuses writes itself: it is no primary"));
    }
    let others = run.look_at(&order.others);
    let new = run.choose(order, &old, &others)?;
    if order.dry {
        return Ok(new);
    }
    run.lock(primary)?;
    run.lock(&new)?;
    run.clients.hold();
    let done = run.swap(order, &old, &others, &new);
    run.clients.release();
    done.map(|()| new)
}

/// Seconds that writes in progress may take to end, once no client has one.
const CLOSE_S: u64 = 5;

impl Run<'_> {
    /// The server that takes the primary's place. Why another one cannot is a step of its own.
    fn choose(
        &mut self,
        order: &Order,
        old: &Standing,
        others: &Others,
    ) -> Result<Endpoint, String> {
        let mut fit: Vec<(u64, &Endpoint)> = Vec::new();
        for (server, standing) in others {
            let outcome = match standing {
                Ok(it) if it.dialect != old.dialect => Err("it is of another kind".to_owned()),
                Ok(it) => it.unfit(old.id).map_or(Ok(it.behind_s()), Err),
                Err(why) => Err(why.clone()),
            };
            if let Ok(behind_s) = outcome {
                fit.push((behind_s, server));
            }
            let told = outcome.map(|behind_s| format!("{behind_s} s behind"));
            self.note(server, "may it be the primary", told);
        }
        let Some(target) = &order.target else {
            let least = fit.iter().min_by_key(|(behind_s, _)| *behind_s);
            let none = || "no replica can take its place".to_owned();
            return least.map(|(_, server)| (*server).clone()).ok_or_else(none);
        };
        if fit.iter().any(|(_, server)| *server == target) {
            return Ok(target.clone());
        }
        let why = others.iter().find(|(server, _)| server == target).map(|(_, it)| match it {
            Ok(it) => it.unfit(old.id).unwrap_or_else(|| "it is of another kind".to_owned()),
            Err(why) => why.clone(),
        });
        let why = why.unwrap_or_else(|| "it is no server of this cluster".to_owned());
        Err(format!("{target} cannot take its place: {why}"))
    }

    /// With clients held: the primary is closed, the other one has all that it has, and is opened.
    fn swap(
        &mut self,
        order: &Order,
        old: &Standing,
        others: &Others,
        new: &Endpoint,
    ) -> Result<(), String> {
        let primary = &order.primary;
        let left = self.clients.drain(order.limit);
        let drained = match left {
            0 => Ok(String::new()),
            _ => Err(format!("{left} connections are still in use")),
        };
        self.note(primary, "wait for transactions to end", drained.clone());
        drained?;
        let position = match self.close(order, old, new) {
            Ok(position) => position,
            Err(why) => return Err(self.undo(primary, old, why)),
        };
        if let Err(why) = self.open(old, new) {
            // one that may be open already must not become the second
            return match self.all(new, old.dialect.close()) {
                Ok(()) => Err(self.undo(primary, old, why)),
                Err(_) => Err(format!("{why}; {primary} stays closed: see which is to be opened")),
            };
        }
        let how = (old.dialect, &order.replication);
        let _ = self.follow(how, primary, new, Some(&position));
        for (server, standing) in others.iter().filter(|(server, _)| server != new) {
            match standing {
                Ok(it) if it.channels.iter().any(|channel| channel.source == old.id) => {
                    let _ = self.follow(how, server, new, None);
                }
                Ok(_) => {}
                Err(why) => self.note(server, "replicate from the new primary", Err(why.clone())),
            }
        }
        let is_seen = self.clients.await_writer(new, order.limit);
        let told = is_seen.then(String::new).ok_or("the checks do not say so yet".to_owned());
        self.note(new, "wait until it is the only writer", told);
        Ok(())
    }

    /// Closes the old one; gives what it has, and the new one has then, too.
    fn close(&mut self, order: &Order, old: &Standing, new: &Endpoint) -> Result<String, String> {
        let (primary, dialect) = (&order.primary, old.dialect);
        self.value(primary, &format!("SET SESSION lock_wait_timeout={CLOSE_S}"))?;
        self.all(primary, dialect.close())?;
        let position = self.value(primary, dialect.position())?.unwrap_or_default();
        let left = order.limit.saturating_sub(self.clients.elapsed());
        let wait = dialect.wait(&position, left.as_secs().max(1));
        let caught_up = match self.value(new, &wait)?.as_deref() {
            Some("0") => Ok(position.replace('\n', "")),
            _ => Err(format!("it has not caught up with {primary} in time")),
        };
        self.note(new, "wait for all transactions", caught_up.clone());
        caught_up.map(|_| position)
    }

    /// Opens the new one.
    fn open(&mut self, old: &Standing, new: &Endpoint) -> Result<(), String> {
        self.all(new, old.dialect.leave())?;
        self.all(new, old.dialect.open())
    }

    /// The old primary takes writes again; gives why.
    fn undo(&mut self, primary: &Endpoint, old: &Standing, why: String) -> String {
        match self.all(primary, old.dialect.open()) {
            Ok(()) => format!("{why}; {primary} is the primary again"),
            Err(failed) => format!("{why}; and {failed}"),
        }
    }
}
