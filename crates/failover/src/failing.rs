//! A failover: the primary is gone, and the replica that has the most takes its place.
//!
//! That the primary is gone is not this side's word alone. More than half of its replicas have to
//! say that they do not reach it, and none may receive from it. One whose receiver was stopped says
//! nothing.

use std::time::Duration;

use keeper::Endpoint;

use crate::dialect::Dialect;
use crate::hooks::Occasion;
use crate::run::{Follower, OrderRun, Others};
use crate::source_tls::strongest;
use crate::standing::{Channel, LOCAL, Receiver};
use crate::{Clients, Former, Order, Servers, SourceTls, Standing};

/// Why no replica is the primary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// In words.
    pub why: String,
    /// This one may be open: no other one is to be opened before somebody has looked.
    pub may_be_open: Option<Endpoint>,
}

/// A server is the primary now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Succeeded {
    /// That one.
    pub new: Endpoint,
    /// The one that was.
    pub former: Former,
    /// Servers of the cluster that do not follow it.
    pub astray: Vec<Endpoint>,
}

/// A replica of the primary that is gone.
struct Replica {
    server: Endpoint,
    standing: Standing,
    /// Which transactions it has, applied or not; and those that it has applied.
    has: String,
    applied: String,
    is_fit: bool,
}

/// How long a server may take to say how it stands.
const LOOK: Duration = Duration::from_secs(1);

/// Puts the replica that has the most in the place of a primary that does not answer.
pub fn fail_over(
    order: &Order,
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<Succeeded, Failed> {
    let mut run = OrderRun { servers, clients };
    let mut replicas = run.evidence(order)?;
    let mut occasion = Occasion { order, operation: "failover", new: None };
    let gate = run.before(&occasion).map_err(failed).and_then(|has_run| {
        if has_run {
            // the primary may have come back meanwhile
            replicas = run.evidence(order)?;
        }
        Ok(())
    });
    let done = gate.and_then(|()| run.replace(order, &mut replicas));
    let done = done.map(|new| Succeeded {
        astray: run.left_by_failover(order, &replicas, &new),
        former: Former { tls: had(order, &replicas, &new), ..order.primary.clone() },
        new,
    });
    occasion.new = done.as_ref().ok().map(|done| done.new.clone());
    run.after(&occasion, done.is_ok());
    done
}

/// How replicas protected what they had from the primary, that one before others that are as
/// strict.
fn had(order: &Order, replicas: &[Replica], new: &Endpoint) -> SourceTls {
    let (new, others): (Vec<_>, Vec<_>) = replicas.iter().partition(|it| it.server == *new);
    strongest(new.into_iter().chain(others).map(|it| it.standing.tls_from(&order.primary)))
}

fn failed(why: String) -> Failed {
    Failed { why, may_be_open: None }
}

/// Several positions as one, each part as it is.
pub(crate) fn joined(positions: &[&str]) -> String {
    let parts = positions.iter().copied().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(",")
}

/// All that a server has: what it has applied, written itself and received.
fn has(standing: &Standing) -> String {
    let received = standing.channels.iter().map(|channel| channel.received.as_str());
    let own = [standing.applied.as_str(), &standing.written];
    standing.dialect.union(&own.into_iter().chain(received).collect::<Vec<_>>())
}

impl OrderRun<'_> {
    /// The replicas of a primary that is gone; an error where it lives, or none may replace it.
    fn evidence(&mut self, order: &Order) -> Result<Vec<Replica>, Failed> {
        // one that hangs does not hold up the others
        self.servers.be_patient(LOOK);
        let others = self.look_at(&order.others);
        self.attest(order, &others).map_err(failed)?;
        let replicas = self.replicas(order, &others).map_err(failed)?;
        self.servers.be_patient(order.limit + LOOK);
        Ok(replicas)
    }

    /// Opens the one that has the most, or leaves all as they were.
    fn replace(&mut self, order: &Order, replicas: &mut [Replica]) -> Result<Endpoint, Failed> {
        self.clients.hold();
        self.clients.depose(&order.primary.server, true);
        let done = match self.pick(order, replicas) {
            Ok(new) => self.open_alone(order, replicas, new),
            Err(why) => Err(failed(why)),
        };
        if matches!(&done, Err(failed) if failed.may_be_open.is_none()) {
            // as it was: the primary may come back
            self.clients.depose(&order.primary.server, false);
        }
        self.clients.release();
        done
    }

    /// Has the others follow the new primary; gives those that do not.
    fn left_by_failover(
        &mut self,
        order: &Order,
        replicas: &[Replica],
        new: &Endpoint,
    ) -> Vec<Endpoint> {
        let is_told =
            |server: &&Endpoint| replicas.iter().any(|it| it.is_fit && it.server == **server);
        let others = order.others.iter().filter(|server| *server != new);
        let (told, left): (Vec<_>, Vec<_>) = others.partition(is_told);
        let told = told.into_iter().filter_map(|it| replicas.iter().find(|at| at.server == *it));
        let followers = told.map(|Replica { server, standing, .. }| {
            let tls = standing.tls_from(&order.primary);
            Follower { server: server.clone(), position: None, tls }
        });
        let followers = followers.collect();
        let dialect = replicas.first().map_or(Dialect::MariaDb, |it| it.standing.dialect);
        let mut astray = self.have_follow((dialect, &order.replication), followers, new);
        // one that follows another server goes on with that
        let mut is_anothers = |server: &&Endpoint| {
            let is_replica = replicas.iter().any(|replica| replica.server == **server);
            !is_replica && Standing::ask(self.servers, server).is_ok_and(|it| it.receives())
        };
        let left: Vec<_> = left.into_iter().filter(|server| !is_anothers(server)).collect();
        astray.extend(left.into_iter().cloned());
        astray.iter().for_each(|server| self.clients.depose(server, true));
        astray.push(order.primary.server.clone());
        astray
    }

    /// Whether the primary is gone, as others see it.
    fn attest(&mut self, order: &Order, others: &Others) -> Result<(), String> {
        let primary = &order.primary.server;
        if self.servers.greets(primary) {
            return Err(format!("{primary} answers"));
        }
        let (mut cut_off, mut all, mut others_say) = (0, 0, Vec::new());
        for (server, standing) in others {
            let unknown = standing.as_ref().ok().and_then(|it| it.may_receive_from(&order.primary));
            if let Some(Channel { place, .. }) = unknown {
                return Err(format!("{server} receives from {place}, which may be {primary}"));
            }
            let channel = standing.as_ref().map(|it| it.channel_from(&order.primary));
            match channel.map(|channel| channel.map(|channel| &channel.receiver)) {
                Ok(Some(Receiver::Runs)) => {
                    return Err(format!("{server} still receives from {primary}"));
                }
                Ok(Some(Receiver::CutOff)) => (cut_off, all) = (cut_off + 1, all + 1),
                // one that does not answer may be one that receives
                Ok(Some(Receiver::Stopped(why))) | Err(why) => {
                    all += 1;
                    others_say.push(format!("{server}: {why}"));
                }
                // it never knew
                Ok(None) => {}
            }
        }
        match cut_off * 2 <= all {
            false => Ok(()),
            true => {
                let count = format!("{cut_off} of {all} replicas say that {primary} is gone");
                others_say.insert(0, count);
                Err(others_say.join("; "))
            }
        }
    }

    /// The replicas of the primary. Why one of them may not take its place is a step of its own.
    fn replicas(&mut self, order: &Order, others: &Others) -> Result<Vec<Replica>, String> {
        let mut replicas: Vec<Replica> = Vec::new();
        for (server, standing) in others {
            let outcome = match standing {
                _ if server.port == 0 => Err(LOCAL.to_owned()),
                _ if let Some(why) = order.left_out.get(server) => Err(why.clone()),
                Ok(it) => it.unfit_after(&order.primary).map_or(Ok(()), Err),
                Err(why) => Err(why.clone()),
            };
            let is_fit = outcome.is_ok();
            if !is_fit {
                self.note(server, "may it be the primary", outcome.map(|()| String::new()));
            }
            if let Ok(it) = standing
                && it.channel_from(&order.primary).is_some()
                && replicas.first().is_none_or(|first| first.standing.dialect == it.dialect)
            {
                let (server, standing) = (server.clone(), it.clone());
                let (has, applied) = Default::default();
                replicas.push(Replica { server, standing, has, applied, is_fit });
            }
        }
        // of those that have the same, one that is delayed on purpose comes last
        replicas.sort_by_key(|replica| replica.standing.is_delayed());
        for at in 0..replicas.len() {
            let theirs = replicas.iter().enumerate().filter(|(other, _)| *other != at);
            let theirs: Vec<_> = theirs.map(|(_, it)| has(&it.standing)).collect();
            let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
            let Some(replica) = replicas.get_mut(at).filter(|replica| replica.is_fit) else {
                continue;
            };
            let theirs = match replica.standing.dialect {
                // a number of a domain says nothing of who has it
                Dialect::MariaDb => &[],
                Dialect::MySql => &*theirs,
            };
            let outcome = match self.errant(&replica.server, &replica.standing, theirs)? {
                errant if errant.is_empty() => Ok(String::new()),
                errant => Err(format!("it has transactions of its own: {errant}")),
            };
            replica.is_fit = outcome.is_ok();
            self.note(&replica.server, "may it be the primary", outcome);
        }
        match replicas.iter().any(|replica| replica.is_fit) {
            true => Ok(replicas),
            false => Err("no replica can take its place".to_owned()),
        }
    }

    /// Lets all of them apply what they have; gives the one that has the most. None is opened while
    /// another one has more: that would be lost.
    fn pick(&mut self, order: &Order, replicas: &mut [Replica]) -> Result<Endpoint, String> {
        for Replica { server, has, applied, .. } in &mut *replicas {
            let now = Standing::ask(self.servers, server)?;
            *has = now.has_of(&order.primary);
            *applied = now.applied;
        }
        let mut best: Option<&Replica> = self.through(replicas)?;
        let waits_for = if best.is_some() { &[] } else { &*replicas };
        for replica in waits_for.iter().filter(|replica| replica.is_fit) {
            let Replica { server, standing, has, .. } = replica;
            let applied = self.apply(order, standing.dialect, server, has);
            let told = applied.clone().map(|()| has.clone());
            self.note(server, "apply what it has", told);
            let is_ahead = match best {
                Some(best) => !self.covers(standing.dialect, server, &best.has, has)?,
                None => true,
            };
            if applied.is_ok() && is_ahead {
                best = Some(replica);
            }
        }
        let best = best.ok_or("no replica has applied what it has in time")?;
        let new = best.server.clone();
        self.lock(&new)?;
        self.confirm(order, replicas, best)?;
        Ok(new)
    }

    /// An error where the primary is there again, or another replica has what that one has not.
    fn confirm(
        &mut self,
        order: &Order,
        replicas: &[Replica],
        best: &Replica,
    ) -> Result<(), String> {
        let (primary, new) = (&order.primary.server, &best.server);
        // those that did not answer are not waited for
        for Replica { server, has, .. } in replicas {
            let now = Standing::ask(self.servers, server)?;
            let channel = now.channel_from(&order.primary);
            if channel.is_some_and(|channel| channel.receiver == Receiver::Runs) {
                return Err(format!("{server} still receives from {primary}"));
            }
            let theirs = joined(&[has, &now.has_of(&order.primary)]);
            if !self.covers(now.dialect, new, &best.has, &theirs)? {
                return Err(format!(
                    "{server} has received what {new} has not, and cannot be the primary: it has \
                     to apply that, or to be set OFFLINE_SOFT, and then it is lost"
                ));
            }
        }
        match self.servers.greets(primary) {
            true => Err(format!("{primary} answers")),
            false => Ok(()),
        }
    }

    /// One that has applied all that any of them has: nobody has to be waited for.
    fn through<'r>(&mut self, replicas: &'r [Replica]) -> Result<Option<&'r Replica>, String> {
        let fit = replicas.iter().filter(|replica| replica.is_fit && !replica.applied.is_empty());
        for replica in fit {
            let mut has_all = true;
            for other in replicas {
                let dialect = replica.standing.dialect;
                has_all &= self.covers(dialect, &replica.server, &replica.applied, &other.has)?;
            }
            if has_all {
                self.note(&replica.server, "apply what it has", Ok(replica.applied.clone()));
                return Ok(Some(replica));
            }
        }
        Ok(None)
    }

    /// Opens one of them.
    fn open_alone(
        &mut self,
        order: &Order,
        replicas: &[Replica],
        new: Endpoint,
    ) -> Result<Endpoint, Failed> {
        let dialect = replicas.first().map_or(Dialect::MariaDb, |it| it.standing.dialect);
        let stopped = self.all(&new, &[dialect.stop()]);
        if let Err(why) = stopped.and_then(|()| self.all(&new, dialect.open())) {
            let is_closed = self.all(&new, dialect.close()).is_ok();
            if is_closed {
                // as it was; a step that fails is told
                let _ = self.all(&new, &[dialect.start()]);
            }
            return Err(Failed { why, may_be_open: (!is_closed).then_some(new) });
        }
        // a step that fails is told
        let _ = self.all(&new, &[dialect.forget()]);
        self.await_writer(order, &new);
        Ok(new)
    }

    /// Waits until a replica has applied all that it received.
    fn apply(
        &mut self,
        order: &Order,
        dialect: Dialect,
        server: &Endpoint,
        has: &str,
    ) -> Result<(), String> {
        if has.is_empty() {
            return Err("it has no transactions that are counted".to_owned());
        }
        let left = order.limit.saturating_sub(self.clients.elapsed());
        let seconds = left.max(Duration::from_secs(1)).as_secs();
        match self.value(server, &dialect.wait(has, seconds))?.as_deref() {
            Some("0") => Ok(()),
            _ => Err("it has not applied all that it received in time".to_owned()),
        }
    }
}
