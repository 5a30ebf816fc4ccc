//! A planned switchover: the primary lives, and no transaction is lost.
//!
//! Until the new primary is opened everything can be undone, and is when a step fails: the old one
//! is opened again and clients go on there. What fails afterwards leaves a replica behind, and is
//! told.

use std::collections::BTreeMap;
use std::time::Duration;

use keeper::Endpoint;

use crate::hooks::Occasion;
use crate::run::{Follower, OrderRun, Others};
use crate::source_tls::strongest;
use crate::standing::LOCAL;
use crate::{Clients, Former, Hooks, ServerAccount, Servers, Standing, Succeeded, identity};

/// What is to be done.
#[derive(Clone, PartialEq, Eq)]
pub struct Order {
    /// The hostgroup of writers, for programs.
    pub writer_hostgroup: i64,
    /// The server that takes writes; for a failover, in which it does not tell that itself, with
    /// that by which others know it.
    pub primary: Former,
    /// The others of its cluster, the preferred ones first.
    pub others: Vec<Endpoint>,
    /// Those of the others that would get nothing as the primary, and why.
    pub left_out: BTreeMap<Endpoint, String>,
    /// The one that is to take its place; `None` for the one that is the least behind.
    pub target: Option<Endpoint>,
    /// As whom replicas log in to their source.
    pub replication: ServerAccount,
    /// How long clients may wait.
    pub limit: Duration,
    /// Programs that are run before and after.
    pub hooks: Hooks,
    /// Only tells what would be done.
    pub dry: bool,
}

/// Puts another server in the primary's place; an error says why that was not done.
pub fn switch_over(
    order: &Order,
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<Succeeded, String> {
    let mut run = OrderRun { servers, clients };
    let mut cast = run.cast(order, order.target.as_ref())?;
    if order.dry {
        let Cast { new, former, .. } = cast;
        return Ok(Succeeded { new, former, astray: Vec::new() });
    }
    run.lock(&order.primary.server)?;
    run.lock(&cast.new)?;
    let occasion = Occasion { order, operation: "switchover", new: Some(cast.new.clone()) };
    let done = run.before(&occasion).and_then(|has_run| {
        if has_run {
            // what was so before the program need not be any more
            cast = run.cast(order, occasion.new.as_ref())?;
        }
        run.clients.hold();
        let done = run.swap(order, &cast.old, &cast.new);
        run.clients.release();
        done
    });
    // clients need not wait for the others
    let astray = done.as_ref().map(|position| run.left_by_switchover(order, &cast, position));
    let astray = astray.map_err(Clone::clone);
    run.after(&occasion, done.is_ok());
    Ok(Succeeded { astray: astray?, new: cast.new, former: cast.former })
}

/// The servers of a switchover, as they say that they stand.
struct Cast {
    old: Standing,
    former: Former,
    others: Others,
    new: Endpoint,
}

/// Seconds that writes in progress may take to end, once no client has one.
const CLOSE_S: u64 = 5;

impl OrderRun<'_> {
    /// Asks all how they stand, and finds the one that takes the primary's place.
    fn cast(&mut self, order: &Order, target: Option<&Endpoint>) -> Result<Cast, String> {
        let primary = &order.primary.server;
        let old = Standing::ask(self.servers, primary)
            .map_err(|why| format!("the primary {primary} does not answer: {why}"))?;
        if old.read_only {
            return Err(format!("{primary} refuses writes itself: it is no primary"));
        }
        if let Some(channel) = old.channels.first() {
            let place = &channel.place;
            return Err(format!("{primary} has {place} for a source, which it would lose"));
        }
        let others = self.look_at(&order.others);
        self.look_for_events(primary);
        let standings = others.iter().filter_map(|(_, standing)| standing.as_ref().ok());
        let mut former = identity::identified(self.servers, primary, &old, standings);
        let new = self.choose((order, &former, target), &old, &others)?;
        let (own, rest): (Vec<_>, Vec<_>) = others.iter().partition(|(server, _)| *server == new);
        let standings = own.into_iter().chain(rest).filter_map(|(_, it)| it.as_ref().ok());
        former.tls = strongest(standings.map(|standing| standing.tls_from(&former)));
        self.plan_tls(&former);
        Ok(Cast { old, former, others, new })
    }

    /// Has the others follow the new primary, which has what the old one had at that position;
    /// gives those that do not.
    fn left_by_switchover(&mut self, order: &Order, cast: &Cast, position: &str) -> Vec<Endpoint> {
        let Cast { old, former, others, new } = cast;
        let (position, tls) = (Some(position.to_owned()), former.tls.clone());
        let server = order.primary.server.clone();
        let (mut followers, mut astray) = (vec![Follower { server, position, tls }], Vec::new());
        for (server, standing) in others.iter().filter(|(server, _)| server != new) {
            let why = match standing {
                Ok(it) => match it.channel_from(former) {
                    None => continue,
                    Some(channel) if channel.name.is_empty() => {
                        let tls = channel.tls.clone();
                        followers.push(Follower { server: server.clone(), position: None, tls });
                        continue;
                    }
                    Some(channel) => format!("its source has the name {}", channel.name),
                },
                Err(why) => why.clone(),
            };
            self.note(server, &format!("replicate from {new}"), Err(why));
            astray.push(server.clone());
        }
        astray.extend(self.have_follow((old.dialect, &order.replication), followers, new));
        astray.iter().for_each(|server| self.clients.depose(server, true));
        astray
    }

    /// Tells what the old primary gets, which has no options for TLS as a primary.
    fn plan_tls(&mut self, former: &Former) {
        let told = former.tls.told(true);
        if !told.is_empty() {
            let told = format!("it will replicate {told}");
            self.note(&former.server, "TLS of the replication", Ok(told));
        }
    }

    /// Tells that events are left to the operator: they run on at the server that has them enabled.
    fn look_for_events(&mut self, primary: &Endpoint) {
        let scheduler = self.value(primary, "SELECT @@global.event_scheduler");
        if scheduler.ok().flatten().as_deref() == Some("ON") {
            let told = "it is ON: events go on here, and are not enabled on another server";
            self.note(primary, "event_scheduler", Ok(told.to_owned()));
        }
    }

    /// The server that takes the primary's place. Why another one cannot is a step of its own.
    fn choose(
        &mut self,
        (order, former, target): (&Order, &Former, Option<&Endpoint>),
        old: &Standing,
        others: &Others,
    ) -> Result<Endpoint, String> {
        // one that is delayed on purpose comes last
        let mut fit: Vec<(bool, u64, &Endpoint)> = Vec::new();
        let mut refused: Vec<(&Endpoint, String)> = Vec::new();
        let follows_in_tls = |(_, it): &(_, Result<Standing, _>)| {
            it.as_ref().is_ok_and(|it| it.tls_from(former).is_on)
        };
        let is_in_tls = others.iter().any(follows_in_tls);
        for (server, standing) in others {
            let told = match standing {
                Ok(it) => self
                    .judge((order, former), old, (server, it))
                    .and_then(|()| self.judge_tls(is_in_tls, server, it))
                    .map(|()| it),
                Err(why) => Err(why.clone()),
            };
            match &told {
                Ok(it) => fit.push((it.is_delayed(), it.behind_s(), server)),
                Err(why) => refused.push((server, why.clone())),
            }
            let told = told.map(|it| format!("{} s behind", it.behind_s()));
            self.note(server, "may it be the primary", told);
        }
        let Some(target) = target else {
            let least = fit.iter().min_by_key(|(is_delayed, behind_s, _)| (*is_delayed, *behind_s));
            let none = || "no replica can take its place".to_owned();
            return least.map(|(.., server)| (*server).clone()).ok_or_else(none);
        };
        if fit.iter().any(|(.., server)| *server == target) {
            return Ok(target.clone());
        }
        let why = refused.into_iter().find(|(server, _)| *server == target).map(|(_, why)| why);
        let why = why.unwrap_or_else(|| "it is no server of this cluster".to_owned());
        Err(format!("{target} cannot take its place: {why}"))
    }

    /// Why a server cannot take the primary's place, if so.
    fn judge(
        &mut self,
        (order, former): (&Order, &Former),
        old: &Standing,
        (server, own): (&Endpoint, &Standing),
    ) -> Result<(), String> {
        if server.port == 0 {
            return Err(LOCAL.to_owned());
        }
        if let Some(why) = order.left_out.get(server) {
            return Err(why.clone());
        }
        if own.dialect != old.dialect {
            return Err("it is of another kind".to_owned());
        }
        if let Some(why) = own.unfit(former) {
            return Err(why);
        }
        match self.errant(server, own, &[&old.written])? {
            errant if errant.is_empty() => Ok(()),
            errant => Err(format!("it has transactions of its own: {errant}")),
        }
    }

    /// Why a server cannot be followed as the primary is, if so.
    fn judge_tls(
        &mut self,
        is_in_tls: bool,
        server: &Endpoint,
        own: &Standing,
    ) -> Result<(), String> {
        let lacks = if is_in_tls { self.lacks_tls(own.dialect, server)? } else { None };
        let told = |why| Err(format!("replicas follow in TLS, and it has none: {why}"));
        lacks.map_or(Ok(()), told)
    }

    /// With clients held: the primary is closed, the other one has all that it has, and is opened.
    /// Gives what both have then.
    fn swap(&mut self, order: &Order, old: &Standing, new: &Endpoint) -> Result<String, String> {
        let primary = &order.primary.server;
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
            let closed = self.all(new, old.dialect.close());
            let _ = self.all(new, &[old.dialect.start()]);
            return match closed {
                Ok(()) => Err(self.undo(primary, old, why)),
                Err(_) => Err(format!("{why}; {primary} stays closed: see which is to be opened")),
            };
        }
        // a step that fails is told
        let _ = self.all(new, &[old.dialect.forget()]);
        self.await_writer(order, new);
        Ok(position)
    }

    /// Closes the old one; gives what it has, and the new one has then, too.
    fn close(&mut self, order: &Order, old: &Standing, new: &Endpoint) -> Result<String, String> {
        let (primary, dialect) = (&order.primary.server, old.dialect);
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
        self.all(new, &[old.dialect.stop()])?;
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
