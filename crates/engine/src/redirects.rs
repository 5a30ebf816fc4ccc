//! Where servers would rather have connections: what they offered, and how that went.
//!
//! One worker's knowledge; each learns by itself, from the first login of an account. Whether
//! offers are followed at all, and what a connection that fails means, is not known here.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use wire::redirect::{Redirect, URL_BYTES_MAX};

use crate::stats::RedirectRow;
use crate::topology::{Server, ServerRef, Topology};

/// Most offers that a worker remembers.
pub const ROWS_MAX: usize = 256;

/// How long an offer is left alone after it failed.
const PAUSE_US: u64 = 30_000_000;

/// How long the first connection to a place, or the look at a name, is waited for.
const TRIAL_US: u64 = 10_000_000;

/// The place of an offer.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: Arc<str>,
    /// TCP port.
    pub port: u16,
    /// The name to log in with, where it is another one.
    pub user: Option<Box<[u8]>>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Where a connection goes in place of its server's own address.
#[derive(Clone, Debug)]
pub struct Via {
    /// The place.
    pub target: Arc<Target>,
    /// Its address.
    pub addr: SocketAddr,
}

/// What is to be done about an offer.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// It is new, and new connections follow it.
    New(Arc<Target>),
    /// It is new, and the name has to be looked up.
    LookUp(Arc<Target>),
    /// It is not followed; `told` where the same was not said before.
    Refused {
        /// Why.
        reason: String,
        /// Whether it is worth a line in the log.
        told: bool,
    },
}

/// So much is remembered of what a place said.
const LAST_ERROR_CHARS: usize = 300;

/// How far it is with an offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// Its name is being looked up.
    Looking { since_us: u64 },
    /// Nobody was there yet.
    Untried,
    /// The first connection is on its way; all others go to the server itself.
    Trying { since_us: u64 },
    /// Connections are let in.
    Proven,
    /// It is left alone until then.
    Failing { until_us: u64 },
    /// It is none that can be followed.
    Refused,
}

/// What a server offered.
struct Row {
    server: ServerRef,
    /// The only account that it is for, if so.
    only: Option<Arc<str>>,
    /// The account whose login it was offered to.
    from: Arc<str>,
    offered: Box<[u8]>,
    target: Option<Arc<Target>>,
    addr: Option<SocketAddr>,
    standing: Standing,
    ttl_us: u64,
    since_us: u64,
    until_us: u64,
    followed: u64,
    failed: u64,
    last_error: String,
}

/// Whose login a url was offered to, where, and when.
#[derive(Clone, Copy)]
pub struct RedirectLogin<'a> {
    /// The server.
    pub server: &'a ServerRef,
    /// The account's name.
    pub account: &'a Arc<str>,
    /// Now, in microseconds.
    pub now_us: u64,
}

/// All offers that a worker remembers.
#[derive(Default)]
pub struct Redirects {
    rows: Vec<Row>,
    told_full: bool,
}

impl Redirects {
    /// Takes what the OK packet of a login at the server itself offered; `ttl_max_us` is for how
    /// long an offer holds at most.
    pub fn hear(&mut self, login: RedirectLogin<'_>, url: Option<&[u8]>, ttl_max_us: u64) -> Heard {
        let Some(url) = url else {
            // what is left alone is still left alone should it be offered later
            let is_kept = |row: &Row| {
                let is_its = row.is_of(login.server) && row.from == *login.account;
                !is_its || row.is_paused(login.now_us)
            };
            self.rows.retain(is_kept);
            return Heard::Nothing;
        };
        let url = url.get(..=URL_BYTES_MAX).unwrap_or(url);
        let is_same = |row: &&mut Row| row.is_of(login.server) && *row.offered == *url;
        let known = self.rows.iter_mut().filter(is_same);
        if let Some(row) = known.into_iter().find(|row| row.is_for(login.account)) {
            return row.hear_again(login.now_us, ttl_max_us);
        }
        let row = Row::new(login, url, ttl_max_us);
        self.rows.retain(|other| {
            let is_replaced = other.is_of(login.server) && other.only == row.only;
            !is_replaced && other.until_us > login.now_us
        });
        if self.rows.len() >= ROWS_MAX {
            let told = !std::mem::replace(&mut self.told_full, true);
            let reason = format!("{ROWS_MAX} others are remembered");
            return Heard::Refused { reason, told };
        }
        let heard = row.heard();
        self.rows.push(row);
        heard
    }

    /// Where the next connection of an account to a server goes, if not to the server itself.
    pub fn via(&mut self, login: RedirectLogin<'_>) -> Option<Via> {
        let now_us = login.now_us;
        let is_meant = |row: &&mut Row| row.is_of(login.server) && row.is_for(login.account);
        let rows = self.rows.iter_mut().filter(is_meant);
        let row = rows.filter(|row| row.may_follow(now_us)).max_by_key(|row| row.only.is_some())?;
        let (target, addr) = (row.target.clone()?, row.addr?);
        if row.standing != Standing::Proven {
            row.standing = Standing::Trying { since_us: now_us };
        }
        Some(Via { target, addr })
    }

    /// A name that was looked up has this address, or none. Gives the servers whose offers fail
    /// for want of one.
    pub fn found(&mut self, host: &str, addr: Option<IpAddr>, now_us: u64) -> Vec<Lost> {
        let mut lost = Vec::new();
        for row in &mut self.rows {
            let Some(target) = row.target.clone().filter(|target| *target.host == *host) else {
                continue;
            };
            if !matches!(row.standing, Standing::Looking { .. }) {
                continue;
            }
            row.addr = addr.map(|ip| SocketAddr::new(ip, target.port));
            row.standing = Standing::Untried;
            if row.addr.is_none() {
                row.fail("the name has no address", now_us);
                lost.push((row.server.clone(), target));
            }
        }
        lost
    }

    /// A connection that went there was let in.
    pub fn note_success(&mut self, via: &Via) {
        if let Some(row) = self.row_of(via) {
            row.followed += 1;
            row.standing = Standing::Proven;
        }
    }

    /// A connection that went there was not let in, which says nothing of the place.
    pub fn note_undecided(&mut self, via: &Via) {
        if let Some(row) = self.row_of(via)
            && matches!(row.standing, Standing::Trying { .. })
        {
            row.standing = Standing::Untried;
        }
    }

    /// A connection that went there failed: nobody goes there for a while.
    pub fn note_failure(&mut self, via: &Via, why: &str, now_us: u64) {
        if let Some(row) = self.row_of(via) {
            row.fail(why, now_us);
        }
    }

    /// The place of an offer offers another one, which nobody follows. The reason, where the same
    /// was not said before; `None` where it offers itself.
    pub fn hear_hop(&mut self, via: &Via, url: &[u8]) -> Option<(String, bool)> {
        if Redirect::parse(url).is_ok_and(|it| via.target.is(&it.host, it.port)) {
            return None;
        }
        let reason = format!("{} redirects again, and only one step is followed", via.target);
        let row = self.row_of(via);
        let told = row.is_some_and(|row| {
            let is_new = row.last_error != reason;
            row.last_error.clone_from(&reason);
            is_new
        });
        Some((reason, told))
    }

    /// Forgets what is about servers that are none any more.
    pub fn adopt(&mut self, topology: &Topology) {
        let is_there = |server: &Server| topology.find(server.index).is_some();
        self.rows.retain(|row| is_there(&row.server));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.told_full = false;
    }

    /// What there is to show.
    pub fn rows(&self, now_us: u64) -> impl Iterator<Item = RedirectRow> {
        let rows = self.rows.iter().filter(move |row| row.until_us > now_us);
        rows.map(move |row| {
            let text = || String::from_utf8_lossy(&row.offered).into_owned();
            let user = row.target.as_ref().and_then(|target| target.user.as_deref());
            RedirectRow {
                server: row.server.clone(),
                to: row.target.as_ref().map_or_else(text, ToString::to_string),
                user: user.map(|user| String::from_utf8_lossy(user).into_owned()),
                ttl_us: if row.is_live(now_us) { row.until_us - now_us } else { 0 },
                since_us: row.since_us,
                followed: row.followed,
                failed: row.failed,
                last_error: row.last_error.clone(),
            }
        })
    }

    /// The very offer that a connection followed, unless it is forgotten.
    fn row_of(&mut self, via: &Via) -> Option<&mut Row> {
        let is_it = |row: &&mut Row| {
            row.target.as_ref().is_some_and(|target| Arc::ptr_eq(target, &via.target))
        };
        self.rows.iter_mut().find(is_it)
    }
}

/// A server, and the place that it offered.
pub type Lost = (ServerRef, Arc<Target>);

impl Target {
    fn is(&self, host: &str, port: u16) -> bool {
        self.host.eq_ignore_ascii_case(host) && self.port == port
    }
}

impl Row {
    fn new(login: RedirectLogin<'_>, url: &[u8], ttl_max_us: u64) -> Self {
        let RedirectLogin { server, account, now_us } = login;
        let mut row = Self {
            server: server.clone(),
            only: None,
            from: account.clone(),
            offered: url.into(),
            target: None,
            addr: None,
            standing: Standing::Refused,
            ttl_us: ttl_max_us,
            since_us: now_us,
            until_us: now_us.saturating_add(ttl_max_us),
            followed: 0,
            failed: 0,
            last_error: String::new(),
        };
        match Redirect::parse(url) {
            Err(bad) => row.last_error = bad.to_string(),
            Ok(it) if it.ttl_s == Some(0) => {
                row.last_error = "the url has a ttl of 0: there is nothing to remember".into();
            }
            Ok(it) => row.take(it, ttl_max_us),
        }
        row
    }

    fn take(&mut self, redirect: Redirect, ttl_max_us: u64) {
        let Redirect { host, port, user, ttl_s } = redirect;
        self.only = user.is_some().then(|| self.from.clone());
        let user = user.filter(|user| **user != *self.from.as_bytes()).map(Vec::into_boxed_slice);
        let is_itself = self.server.hostname.eq_ignore_ascii_case(&host)
            && self.server.port == port
            && user.is_none();
        if is_itself {
            self.last_error = "the url names the server itself".into();
            return;
        }
        let ttl_us = ttl_s.map_or(ttl_max_us, |ttl_s| u64::from(ttl_s) * 1_000_000);
        self.ttl_us = ttl_us;
        self.until_us = self.since_us.saturating_add(ttl_us.min(ttl_max_us));
        let ip = host.parse::<IpAddr>().ok();
        self.addr = ip.map(|ip| SocketAddr::new(ip, port));
        self.standing = match ip {
            Some(_) => Standing::Untried,
            None => Standing::Looking { since_us: self.since_us },
        };
        self.target = Some(Arc::new(Target { host: host.into(), port, user }));
    }

    /// What is to be done about a row that is new.
    fn heard(&self) -> Heard {
        match (&self.target, self.standing) {
            (Some(target), Standing::Looking { .. }) => Heard::LookUp(target.clone()),
            (Some(target), _) => Heard::New(target.clone()),
            (None, _) => Heard::Refused { reason: self.last_error.clone(), told: true },
        }
    }

    /// The server offers the same again.
    fn hear_again(&mut self, now_us: u64, ttl_max_us: u64) -> Heard {
        let is_over = self.until_us <= now_us;
        match self.standing {
            Standing::Refused => {
                self.until_us = now_us.saturating_add(ttl_max_us);
                return Heard::Refused { reason: self.last_error.clone(), told: is_over };
            }
            Standing::Failing { until_us } if until_us > now_us => return Heard::Nothing,
            Standing::Looking { since_us } if now_us < since_us.saturating_add(TRIAL_US) => {
                return Heard::Nothing;
            }
            Standing::Failing { .. } | Standing::Looking { .. } => {}
            _ if !is_over => return Heard::Nothing,
            _ => {}
        }
        self.since_us = now_us;
        self.until_us = now_us.saturating_add(self.ttl_us.min(ttl_max_us));
        let is_name = self.target.as_ref().is_some_and(|it| it.host.parse::<IpAddr>().is_err());
        self.standing = match is_name {
            true => Standing::Looking { since_us: now_us },
            false => Standing::Untried,
        };
        match (&self.target, is_name) {
            (Some(target), true) => Heard::LookUp(target.clone()),
            _ => Heard::Nothing,
        }
    }

    fn is_of(&self, server: &Server) -> bool {
        self.server.index == server.index
    }

    fn is_for(&self, account: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == account)
    }

    /// Whether it may be followed, now or as soon as the first connection says so.
    fn is_live(&self, now_us: u64) -> bool {
        self.until_us > now_us
            && !matches!(self.standing, Standing::Failing { .. } | Standing::Refused)
    }

    fn is_paused(&self, now_us: u64) -> bool {
        matches!(self.standing, Standing::Failing { until_us } if until_us > now_us)
    }

    fn may_follow(&self, now_us: u64) -> bool {
        self.until_us > now_us
            && match self.standing {
                Standing::Untried | Standing::Proven => true,
                Standing::Trying { since_us } => now_us >= since_us.saturating_add(TRIAL_US),
                Standing::Looking { .. } | Standing::Failing { .. } | Standing::Refused => false,
            }
    }

    fn fail(&mut self, why: &str, now_us: u64) {
        self.failed += 1;
        self.last_error = why.chars().take(LAST_ERROR_CHARS).collect();
        let until_us = now_us.saturating_add(PAUSE_US);
        self.standing = Standing::Failing { until_us };
        // it is shown for as long as it is left alone
        self.until_us = self.until_us.max(until_us);
    }
}

#[cfg(test)]
mod tests;
