//! When checks begin and end, on the loop.

use std::collections::BTreeSet;

use engine::backend::ServerTls;
use io::{Addr, Driver, Edge, Failure as IoFailure, Listener, Micros, Service, Sock};
use keeper::{Endpoint, Failure};
use tls::{Handshake, Watch};

use crate::link::{Came, Link, SSL_CONNECTION_ERROR};
use crate::plan::{Check, Plan};
use crate::question;
use crate::{Checked, Monitor, MonitorMail, Run, Slot};

/// Timer of what is looked over now and then.
const TICK: u64 = u64::MAX;

/// How often that is.
const TICK_EVERY: Micros = Micros::from_secs(1);

/// First checks of a configuration are spread over this time, or their interval.
const SPREAD_US: u64 = 500_000;

/// How late the loop may come to a deadline and still hold it against the server.
const LATE_US: u64 = 200_000;

/// How long it waits then for what has arrived meanwhile.
const GRACE_US: u64 = 100_000;

/// How a check came out that was not answered.
struct Unmet {
    /// `None` where the keeper is to hear nothing.
    failure: Option<Failure>,
    text: String,
}

impl Unmet {
    fn no_answer(text: impl Into<String>) -> Self {
        Self { failure: Some(Failure::NoAnswer), text: text.into() }
    }

    fn own_delay(late_us: u64) -> Self {
        let text = format!("this process was {} ms late itself", late_us / 1_000);
        Self { failure: Some(Failure::OwnDelay), text }
    }
}

impl Monitor {
    /// Begins; once, before the loop runs.
    pub fn start<D: Driver>(&mut self, io: &mut Edge<D>) {
        self.adopt(io, None);
        io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
    }

    /// Another plan holds. Checks that are in both go on as they are.
    fn adopt<D: Driver>(&mut self, io: &mut Edge<D>, plan: Option<Plan>) {
        let now_us = io.now().0;
        if let Some(plan) = plan {
            let same = plan.account.name == self.plan.account.name
                && plan.account.shown_to_servers() == self.plan.account.shown_to_servers()
                && plan.keys == self.plan.keys;
            self.accounts += u64::from(!same);
            self.plan = plan;
        }
        let gone: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| !self.plan.has(&slot.server, slot.check))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            let run = self.slots.remove(&id).and_then(|slot| slot.run);
            if let Some(sock) = run.and_then(|run| run.sock) {
                self.links.remove(&sock);
                io.close(sock);
            }
        }
        let known: BTreeSet<_> =
            self.slots.values().map(|slot| (slot.server.clone(), slot.check)).collect();
        let all = self.plan.targets.iter().flat_map(|(server, target)| {
            target.checks.iter().map(|check| (server.clone(), *check))
        });
        let mut in_turn: BTreeSet<_> = known.iter().map(|(_, check)| *check).collect();
        let is_new = |key: &(Endpoint, Check)| match key.1.is_in_turn() {
            true => in_turn.insert(key.1),
            false => !known.contains(key),
        };
        let new: Vec<_> = all.filter(is_new).collect();
        let count = new.len() as u64;
        for (number, (server, check)) in new.into_iter().enumerate() {
            let spread_us = SPREAD_US.min(self.plan.timing(check).every_us);
            let due_us = now_us + spread_us * number as u64 / count.max(1);
            let id = self.next_slot;
            self.next_slot = self.next_slot.wrapping_add(1);
            self.slots.insert(id, Slot { server, check, due_us, timer: 0, run: None });
            self.set_timer(io, id, due_us);
        }
        self.hurry(io);
        self.close_unused(io);
    }

    /// Checks that are due later than another interval says are due then.
    fn hurry<D: Driver>(&mut self, io: &mut Edge<D>) {
        let now_us = io.now().0;
        let late = |(id, slot): (&u32, &Slot)| {
            let due_us = now_us + self.plan.timing_of(&slot.server, slot.check).every_us;
            (slot.run.is_none() && slot.due_us > due_us).then_some((*id, due_us))
        };
        let late: Vec<_> = self.slots.iter().filter_map(late).collect();
        for (id, due_us) in late {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.due_us = due_us;
            }
            self.set_timer(io, id, due_us);
        }
    }

    /// The one timer of a check fires then; the one before counts no more.
    fn set_timer<D: Driver>(&mut self, io: &mut Edge<D>, id: u32, at_us: u64) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.timer = slot.timer.wrapping_add(1);
            io.set_timer(u64::from(id) << 32 | u64::from(slot.timer), Micros(at_us));
        }
    }

    /// A check is due.
    fn begin<D: Driver>(&mut self, io: &mut Edge<D>, id: u32, extra: bool) {
        let now_us = io.now().0;
        let began_unix_us = (self.outside.unix_us)();
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let limit_us = self.plan.timing(slot.check).limit_us;
        slot.run = Some(Run {
            sock: None,
            began_unix_us,
            sent_us: now_us,
            deadline_us: now_us + limit_us,
            excused: false,
            reused: false,
            extra,
        });
        let (server, check) = (slot.server.clone(), slot.check);
        let idle = if check == Check::Connect { None } else { self.take_idle(&server) };
        let Some(sock) = idle else { return self.dial(io, id) };
        if let (Some(link), Some(run)) =
            (self.links.get_mut(&sock), self.slots.get_mut(&id).and_then(|slot| slot.run.as_mut()))
        {
            link.slot = Some(id);
            (run.sock, run.reused) = (Some(sock), true);
        }
        self.ask(io, id, sock);
    }

    /// A connection to a server that has no use, the one used last.
    fn take_idle(&mut self, server: &Endpoint) -> Option<Sock> {
        let idle = self.idle.get_mut(server)?;
        while let Some(sock) = idle.pop() {
            // it may be gone, and its number another's
            let link = self.links.get(&sock);
            if link.is_some_and(|link| link.is_idle() && link.server == *server) {
                return Some(sock);
            }
        }
        None
    }

    /// Opens a connection for a check.
    fn dial<D: Driver>(&mut self, io: &mut Edge<D>, id: u32) {
        let now_us = io.now().0;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let Some(run) = &mut slot.run else { return };
        let limit_us = self.plan.timing(slot.check).limit_us;
        (run.sent_us, run.deadline_us, run.reused) = (now_us, now_us + limit_us, false);
        let deadline_us = run.deadline_us;
        let target = self.plan.targets.get(&slot.server);
        let Some(addr) = target.and_then(|target| target.addr.clone()) else {
            let unmet = Unmet::no_answer("the host name is not known");
            return self.end(io, id, Err(unmet));
        };
        match io.connect(&addr) {
            Ok(sock) => {
                run.sock = Some(sock);
                let secure = matches!(addr, Addr::Unix(_));
                let in_tls = target.is_some_and(|target| target.in_tls) && !secure;
                let mut link = Link::new(slot.server.clone(), id, &self.plan, (secure, in_tls));
                link.accounts = self.accounts;
                self.links.insert(sock, link);
                self.set_timer(io, id, deadline_us);
            }
            Err(failure) => self.end(io, id, Err(Unmet::no_answer(failure.to_string()))),
        }
    }

    /// Sends the question of a check.
    fn ask<D: Driver>(&mut self, io: &mut Edge<D>, id: u32, sock: Sock) {
        let now_us = io.now().0;
        let (Some(link), Some(slot)) = (self.links.get_mut(&sock), self.slots.get_mut(&id)) else {
            return;
        };
        let Some(run) = &mut slot.run else { return };
        let limit_us = self.plan.timing(slot.check).limit_us;
        (run.sent_us, run.deadline_us) = (now_us, now_us + limit_us);
        let deadline_us = run.deadline_us;
        let statements = question::statements(slot.check, link.dialect(), &self.plan.vars);
        self.out.clear();
        link.ask(&statements, &mut self.out);
        io.send(sock, &[&self.out]);
        self.set_timer(io, id, deadline_us);
    }

    /// A connection is logged in: it is what was to be seen, or there is a question now.
    fn on_logged_in<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        let Some(link) = self.links.get_mut(&sock) else { return };
        let Some(id) = link.slot else { return };
        if self.plan.vars.monitor_wait_timeout {
            let seconds = (self.plan.idle_us() / 1_000_000).max(1);
            self.out.clear();
            link.prepare(&format!("SET wait_timeout={seconds}"), &mut self.out);
            io.send(sock, &[&self.out]);
        }
        let is_connect = self.slots.get(&id).is_some_and(|slot| slot.check == Check::Connect);
        match is_connect {
            true => self.end(io, id, Ok(Vec::new())),
            false => self.ask(io, id, sock),
        }
    }

    /// A check is over. Its connection is kept where it can be used on.
    fn end<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        id: u32,
        outcome: Result<Vec<crate::answer::ServerAnswer>, Unmet>,
    ) {
        let now_us = io.now().0;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let Some(run) = slot.run.take() else { return };
        let (server, check) = (slot.server.clone(), slot.check);
        let every_us = self.plan.timing_of(&server, check).every_us;
        if check.is_in_turn()
            && let Some(next) = self.plan.turn_after(&server, check)
        {
            slot.server = next.clone();
        }
        // as often as it is wanted, and without making up for what was missed
        if !run.extra {
            slot.due_us += every_us;
        }
        slot.due_us = slot.due_us.max(now_us.saturating_add(1));
        let due_us = slot.due_us;
        self.set_timer(io, id, due_us);
        if let Some(sock) = run.sock
            && let Some(link) = self.links.get_mut(&sock)
        {
            (link.slot, link.idle_since_us) = (None, now_us);
            self.idle.entry(server.clone()).or_default().push(sock);
        }
        let took_us = now_us - run.sent_us;
        let late_us = now_us.saturating_sub(run.deadline_us);
        let outcome = match outcome {
            Ok(_) if late_us > LATE_US => Err(Unmet::own_delay(late_us)),
            Ok(answers) => {
                let times = (run.began_unix_us, took_us);
                let read = question::read(check, &answers, times, &self.plan.vars);
                // what does not say that it takes writes is no writer
                let failure = matches!(check, Check::ReadOnly(_)).then_some(Failure::NoAnswer);
                let text = "the answer is not understood".to_owned();
                read.map_err(|_| Unmet { failure, text })
            }
            Err(unmet) => Err(unmet),
        };
        let is_answered = outcome.is_ok();
        let (found, seen) = match outcome {
            Ok((seen, found)) => (Ok(found), Some(seen)),
            Err(Unmet { failure, text }) => {
                (Err(text), failure.map(|failure| question::failed(check, failure)))
            }
        };
        (self.outside.tell)(Checked {
            server,
            check,
            began_unix_us: run.began_unix_us,
            took_us: is_answered.then_some(took_us),
            found,
            seen: seen.filter(|seen| check != Check::Connect && !(run.extra && seen.is_missed())),
        });
    }

    /// The deadline of a check has come.
    fn on_deadline<D: Driver>(&mut self, io: &mut Edge<D>, id: u32) {
        let now_us = io.now().0;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let Some(run) = &mut slot.run else { return };
        let late_us = now_us.saturating_sub(run.deadline_us);
        if !run.excused && late_us > LATE_US {
            run.excused = true;
            return self.set_timer(io, id, now_us + GRACE_US);
        }
        let (sock, excused) = (run.sock, run.excused);
        let limit_us = run.deadline_us - run.sent_us;
        if let Some(sock) = sock {
            self.links.remove(&sock);
            io.close(sock);
        }
        let unmet = match excused {
            true => Unmet::own_delay(late_us),
            false => Unmet::no_answer(format!("timeout: no answer in {} ms", limit_us / 1_000)),
        };
        self.end(io, id, Err(unmet));
    }

    /// A connection is gone. One that had been used before may have ended long ago: the check is
    /// made on another.
    fn lost<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, text: &str) {
        let Some(link) = self.links.remove(&sock) else { return };
        let Some(id) = link.slot else { return };
        let Some(run) = self.slots.get_mut(&id).and_then(|slot| slot.run.as_mut()) else { return };
        run.sock = None;
        match run.reused {
            true => self.dial(io, id),
            false => self.end(io, id, Err(Unmet::no_answer(text))),
        }
    }

    /// A connection is of no use any more, for a reason that another would meet too.
    fn fail<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, unmet: Unmet) {
        let link = self.links.remove(&sock);
        if let Some(id) = link.and_then(|link| link.slot) {
            self.end(io, id, Err(unmet));
        }
    }

    fn fail_insecure<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: &str) {
        let failure = Some(Failure::Error(SSL_CONNECTION_ERROR));
        self.fail(io, sock, Unmet { failure, text: format!("TLS failed: {why}") });
    }

    /// Puts TLS on a connection; its login goes on in that.
    fn secure<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, may_prove: bool) {
        let Some(link) = self.links.get_mut(&sock) else { return };
        let Endpoint { hostname, port } = &link.server;
        let port = u16::try_from(*port).unwrap_or(0);
        let account = &self.plan.account.name;
        let found = self.outside.connectors.find(hostname, port, account);
        match found.and_then(|it| it.connect((hostname, port), may_prove)) {
            Ok((codec, watch)) => {
                link.securing = Some(watch);
                io.put_on(sock, codec);
                self.out.clear();
                link.respond(&mut self.out);
                io.send(sock, &[&self.out]);
            }
            Err(why) => {
                io.close(sock);
                self.fail_insecure(io, sock, &why);
            }
        }
    }

    /// Closes connections that nobody needs: of servers that are gone, of another account, and
    /// those that were not used for long.
    fn close_unused<D: Driver>(&mut self, io: &mut Edge<D>) {
        let (now_us, idle_us) = (io.now().0, self.plan.idle_us());
        let is_unused = |link: &Link| {
            let target = self.plan.targets.get(&link.server);
            link.is_idle()
                && (link.accounts != self.accounts
                    || target.is_none_or(|target| target.in_tls && !link.in_tls)
                    || now_us.saturating_sub(link.idle_since_us) > idle_us)
        };
        let unused: Vec<_> =
            self.links.iter().filter(|(_, link)| is_unused(link)).map(|(sock, _)| *sock).collect();
        for sock in unused {
            self.links.remove(&sock);
            io.close(sock);
        }
        let links = &self.links;
        self.idle.retain(|_, idle| {
            idle.retain(|sock| links.get(sock).is_some_and(Link::is_idle));
            !idle.is_empty()
        });
    }

    /// Everything but connecting is due at once for a server.
    fn look<D: Driver>(&mut self, io: &mut Edge<D>, server: &Endpoint) {
        let is_due = |slot: &Slot| {
            let is_its = slot.server == *server
                || slot.check.is_in_turn() && self.plan.has(server, slot.check);
            is_its && slot.run.is_none() && slot.check != Check::Connect
        };
        let due: Vec<_> =
            self.slots.iter().filter(|(_, slot)| is_due(slot)).map(|(id, _)| *id).collect();
        for id in due {
            self.begin(io, id, true);
        }
    }
}

/// What a handshake came to, as a login is told.
fn seen(handshake: Handshake) -> ServerTls {
    let agreed = (handshake.version, handshake.cipher);
    let server = handshake.server;
    let verified = server.as_ref().map_or("none", |server| server.verified.name());
    ServerTls::seen(agreed, verified, server.and_then(|server| server.unproved))
}

impl Service for Monitor {
    type Mail = MonitorMail;

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        // it listens nowhere
        io.close(sock);
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), IoFailure>,
    ) {
        if let Err(failure) = result {
            self.lost(io, sock, &failure.to_string());
        }
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let Some(link) = self.links.get_mut(&sock) else { return bytes.len() };
            self.out.clear();
            if let Some(handshake) = link.securing.as_ref().and_then(Watch::handshake).cloned() {
                link.securing = None;
                link.on_secured(seen(handshake));
            }
            let (consumed, came) =
                link.on_bytes(bytes.get(taken..).unwrap_or_default(), &mut self.out);
            taken += consumed;
            let slot = link.slot;
            if !self.out.is_empty() {
                io.send(sock, &[&self.out]);
            }
            match (came, slot) {
                (Came::Nothing, _) => return taken,
                (Came::Secure { may_prove }, _) => {
                    self.secure(io, sock, may_prove);
                    return taken;
                }
                (Came::LoggedIn, _) => self.on_logged_in(io, sock),
                (Came::Answers(answers), Some(id)) => self.end(io, id, Ok(answers)),
                (Came::Refused(code, text), Some(id)) => {
                    let text = format!("{text} ({code})");
                    let unmet = Unmet { failure: Some(Failure::Error(code)), text };
                    self.end(io, id, Err(unmet));
                }
                (Came::Failed(failure, text), _) => {
                    io.close(sock);
                    self.fail(io, sock, Unmet { failure, text });
                    return bytes.len();
                }
                // nobody asked
                (Came::Answers(_) | Came::Refused(..), None) => {
                    self.links.remove(&sock);
                    io.close(sock);
                    return bytes.len();
                }
            }
        }
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<IoFailure>) {
        let link = self.links.get(&sock);
        let watch = link.and_then(|link| link.securing.clone());
        if let Some(why) = watch.as_ref().and_then(Watch::fault) {
            return self.fail_insecure(io, sock, why);
        }
        let text = why.map_or("the server closed the connection".to_owned(), |it| it.to_string());
        self.lost(io, sock, &text);
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        if key == TICK {
            self.close_unused(io);
            io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
            return;
        }
        let id = u32::try_from(key >> 32).unwrap_or(u32::MAX);
        let Some(slot) = self.slots.get(&id) else { return };
        if u64::from(slot.timer) != key & 0xffff_ffff {
            return;
        }
        match slot.run {
            Some(_) => self.on_deadline(io, id),
            None => self.begin(io, id, false),
        }
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: MonitorMail) {
        match mail {
            MonitorMail::Plan(plan) => self.adopt(io, Some(*plan)),
            MonitorMail::Look(server) => self.look(io, &server),
            MonitorMail::Stop => io.stop(),
        }
    }

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}
