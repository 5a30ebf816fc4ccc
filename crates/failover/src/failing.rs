//! A failover: the primary is gone, and the replica that has the most takes its place. And its
//! return: the old one follows, unless it has what nobody else has.
//!
//! That it is gone is not this side's word alone: at least half of its replicas have to answer, and
//! none of them may still receive from it.

use keeper::Endpoint;

use crate::dialect::Dialect;
use crate::run::{Others, Run};
use crate::{Clients, Order, Servers, Standing, positions};

/// Why no replica is the primary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// In words.
    pub why: String,
    /// This one may be open: no other one is to be opened before somebody has looked.
    pub may_be_open: Option<Endpoint>,
}

/// Puts the replica that has the most in the place of a primary that does not answer; gives which.
pub fn fail_over(
    order: &Order,
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<Endpoint, Failed> {
    let failed = |why| Failed { why, may_be_open: None };
    let mut run = Run { servers, clients };
    let others = run.look_at(&order.others);
    run.attest(order, &others).map_err(failed)?;
    let (dialect, fit) = run.eligible(&others).map_err(failed)?;
    run.clients.hold();
    run.clients.depose(&order.primary, true);
    let done = match run.pick(order, dialect, &fit) {
        Ok(new) => run.open_alone(order, dialect, &fit, new),
        Err(why) => Err(failed(why)),
    };
    if matches!(&done, Err(failed) if failed.may_be_open.is_none()) {
        // as it was: the primary may come back
        fit.iter().for_each(|server| drop(run.all(server, &[dialect.receive()])));
        run.clients.depose(&order.primary, false);
    }
    run.clients.release();
    done
}

/// A primary of before has come back: it follows the one that took its place. An error says why it
/// is left out.
pub fn rejoin(
    order: &Order,
    old: &Endpoint,
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<(), String> {
    let mut run = Run { servers, clients };
    let standing = Standing::ask(run.servers, old)?;
    let dialect = standing.dialect;
    if !standing.read_only {
        run.all(old, dialect.close())?;
    }
    let own = run.value(old, dialect.written())?.unwrap_or_default();
    let new = run.value(&order.primary, dialect.written())?.unwrap_or_default();
    let lacking = match dialect {
        Dialect::MariaDb => positions::lacking(&own, &new).join(", "),
        Dialect::MySql => run.value(old, &Dialect::lacking(&own, &new))?.unwrap_or_default(),
    };
    if !lacking.is_empty() {
        return Err(format!("it has transactions that {} has not: {lacking}", order.primary));
    }
    let position = run.value(old, dialect.position())?.unwrap_or_default();
    run.follow((dialect, &order.replication), old, &order.primary, Some(&position))?;
    run.clients.depose(old, false);
    Ok(())
}

impl Run<'_> {
    /// Whether the primary is gone, as others see it.
    fn attest(&mut self, order: &Order, others: &Others) -> Result<(), String> {
        let primary = &order.primary;
        if self.servers.greets(primary) {
            return Err(format!("{primary} answers"));
        }
        let answered = others.iter().filter(|(_, standing)| standing.is_ok()).count();
        if answered == 0 || answered * 2 < others.len() {
            return Err(format!("{answered} of {} replicas answer", others.len()));
        }
        let receives = others.iter().find(|(_, standing)| {
            let channels = standing.iter().flat_map(|standing| &standing.channels);
            channels.into_iter().any(|channel| channel.receives)
        });
        match receives {
            Some((server, _)) => Err(format!("{server} still receives from {primary}")),
            None => Ok(()),
        }
    }

    /// The replicas that may take its place. Why another one may not is a step of its own.
    fn eligible(&mut self, others: &Others) -> Result<(Dialect, Vec<Endpoint>), String> {
        let standings = others.iter().filter_map(|(_, standing)| standing.as_ref().ok());
        let mut sources = standings.flat_map(|it| it.channels.iter().map(|of| of.source));
        // one that has started since the primary is gone does not know
        let source = sources.find(|id| *id != 0).unwrap_or_default();
        let mut fit = Vec::new();
        let mut dialect = None;
        for (server, standing) in others {
            let outcome = match standing {
                Ok(it) => it.unfit_after(source).map_or(Ok(it.dialect), Err),
                Err(why) => Err(why.clone()),
            };
            if let Ok(own) = outcome
                && *dialect.get_or_insert(own) == own
            {
                fit.push(server.clone());
            }
            self.note(server, "may it be the primary", outcome.map(|_| String::new()));
        }
        dialect.map(|dialect| (dialect, fit)).ok_or("no replica can take its place".to_owned())
    }

    /// Lets all of them apply what they have; gives the one that has the most.
    fn pick(
        &mut self,
        order: &Order,
        dialect: Dialect,
        fit: &[Endpoint],
    ) -> Result<Endpoint, String> {
        let mut best: Option<(Endpoint, String)> = None;
        for server in fit {
            self.all(server, &[dialect.stop_receiving()])?;
            let position = match self.apply(order, dialect, server) {
                Ok(position) => position,
                Err(why) => {
                    self.note(server, "apply what it has", Err(why));
                    continue;
                }
            };
            self.note(server, "apply what it has", Ok(position.replace('\n', "")));
            let is_ahead = match &best {
                Some((_, most)) => !self.covers(dialect, server, most, &position)?,
                None => true,
            };
            if is_ahead {
                best = Some((server.clone(), position));
            }
        }
        let (new, _) = best.ok_or("no replica has applied what it has in time")?;
        self.lock(&new)?;
        Ok(new)
    }

    /// Opens one of them, and has the others follow it.
    fn open_alone(
        &mut self,
        order: &Order,
        dialect: Dialect,
        fit: &[Endpoint],
        new: Endpoint,
    ) -> Result<Endpoint, Failed> {
        let left = self.all(&new, dialect.leave());
        if let Err(why) = left.and_then(|()| self.all(&new, dialect.open())) {
            let is_closed = self.all(&new, dialect.close()).is_ok();
            return Err(Failed { why, may_be_open: (!is_closed).then_some(new) });
        }
        for server in fit.iter().filter(|server| **server != new) {
            let _ = self.follow((dialect, &order.replication), server, &new, None);
        }
        let is_seen = self.clients.await_writer(&new, order.limit);
        let told = is_seen.then(String::new).ok_or("the checks do not say so yet".to_owned());
        self.note(&new, "wait until it is the only writer", told);
        Ok(new)
    }

    /// Waits until a replica has applied all that it received; gives where it is then.
    fn apply(
        &mut self,
        order: &Order,
        dialect: Dialect,
        server: &Endpoint,
    ) -> Result<String, String> {
        loop {
            let standing = Standing::ask(self.servers, server)?;
            if standing.channels.iter().all(|channel| channel.is_through) {
                return Ok(self.value(server, dialect.position())?.unwrap_or_default());
            }
            if self.clients.elapsed() >= order.limit {
                return Err("it has not applied all that it received in time".to_owned());
            }
            self.value(server, "SELECT SLEEP(0.05)")?;
        }
    }

    /// Whether one at `own` has all that one at `other` has.
    fn covers(
        &mut self,
        dialect: Dialect,
        asked: &Endpoint,
        own: &str,
        other: &str,
    ) -> Result<bool, String> {
        Ok(match dialect {
            Dialect::MariaDb => positions::covers(own, other),
            Dialect::MySql => {
                self.value(asked, &Dialect::lacking(other, own))?.unwrap_or_default().is_empty()
            }
        })
    }
}
