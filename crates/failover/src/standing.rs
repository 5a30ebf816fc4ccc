//! What a server says of itself, and whether it can take a primary's place.

use keeper::{Endpoint, positions};
use wire::text_result::TextResult;

use crate::dialect::Dialect;
use crate::{Former, Servers, SourceTls};

/// How a server stands in its cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    pub(crate) dialect: Dialect,
    /// It refuses writes.
    pub read_only: bool,
    /// `@@server_id`.
    pub id: u64,
    /// It keeps a binary log, also of what it replicates.
    pub has_log: bool,
    /// It leaves nothing out of that, or why it is not known to do so.
    logs_all: Result<(), String>,
    /// It counts transactions.
    pub has_gtid: bool,
    /// Which transactions it has replicated, or with MySQL has at all.
    pub(crate) applied: String,
    /// Which transactions it has written to its log.
    pub(crate) written: String,
    /// With MySQL, which of its transactions are in its log still.
    logged: String,
    /// What its own transactions begin with.
    pub(crate) origin: String,
    /// `@@server_uuid`; empty with MariaDB.
    pub(crate) uuid: String,
    /// Its sources.
    pub channels: Vec<Channel>,
}

/// A source that a server replicates from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channel {
    /// How its replica names it; empty for the one without a name.
    pub name: String,
    /// The `@@server_id` of the source that was reached last; 0 where none was.
    pub source: u64,
    /// Its `@@server_uuid`; empty where it was not reached, or has none.
    pub(crate) uuid: String,
    /// Where the source is.
    pub place: Endpoint,
    /// Whether the replica receives from it.
    pub receiver: Receiver,
    /// The replica applies what it has received.
    pub applies: bool,
    /// Which transactions it has received.
    pub(crate) received: String,
    /// It asks for transactions by their numbers, not by a place in a file.
    pub by_gtid: bool,
    /// Seconds behind; `None` where the replica does not know.
    pub behind_s: Option<u64>,
    /// It leaves out some of what it receives.
    pub has_filters: bool,
    /// How many seconds late it applies that on purpose.
    delay_s: u64,
    /// How it protects that.
    pub(crate) tls: SourceTls,
}

/// Whether a replica receives from its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Receiver {
    /// It does.
    Runs,
    /// It cannot reach the source.
    CutOff,
    /// It does not, for another reason, which says nothing of whether the source lives.
    Stopped(String),
}

/// Errors of a client that does not reach a server, or is no longer heard by it (`errmsg.h` and the
/// network errors of `mysqld_error.h`).
const CUT_OFF: [u32; 9] = [2002, 2003, 2005, 2006, 2013, 1158, 1159, 1160, 1161];

/// Why a server with a Unix socket for an address is no primary.
pub(crate) const LOCAL: &str = "replicas cannot reach its Unix socket";

impl Standing {
    /// Asks a server.
    pub fn ask(servers: &mut dyn Servers, server: &Endpoint) -> Result<Self, String> {
        let version = servers.ask(server, "SELECT VERSION()")?;
        let dialect = Dialect::of(version.value(0).unwrap_or_default())?;
        let itself = servers.ask(server, dialect.itself())?;
        let number = |at: usize| itself.value(at)?.parse::<u64>().ok();
        let text = |at: usize| itself.value(at).unwrap_or_default().replace('\n', "");
        let sources = servers.ask(server, dialect.sources())?;
        let log = servers.ask(server, dialect.log(version.value(0).unwrap_or_default()));
        let uuid = match dialect {
            Dialect::MariaDb => String::new(),
            Dialect::MySql => text(6),
        };
        let channels = channels(&sources, dialect, |host, port| servers.place(server, host, port));
        Ok(Self {
            dialect,
            read_only: number(0) != Some(0),
            id: number(1).ok_or("it does not say its server_id")?,
            has_log: number(2) == Some(1),
            logs_all: logs_all(log),
            has_gtid: number(3) == Some(1),
            applied: text(4),
            written: text(5),
            origin: text(6),
            logged: text(7),
            uuid,
            channels,
        })
    }

    /// The channel by which it replicates from a server.
    pub(crate) fn channel_from(&self, primary: &Former) -> Option<&Channel> {
        self.channels.iter().find(|channel| primary.feeds(channel) == Some(true))
    }

    /// One by which it receives what may come from that server.
    pub(crate) fn may_receive_from(&self, primary: &Former) -> Option<&Channel> {
        let may_be = |channel: &&Channel| {
            channel.receiver == Receiver::Runs && primary.feeds(channel).is_none()
        };
        self.channels.iter().find(may_be)
    }

    /// How it protects what it has from that server.
    pub(crate) fn tls_from(&self, primary: &Former) -> SourceTls {
        self.channel_from(primary).map(|channel| channel.tls.clone()).unwrap_or_default()
    }

    /// Which transactions it has, applied or received from that server.
    pub(crate) fn has_of(&self, primary: &Former) -> String {
        let received = self.channel_from(primary).map(|channel| channel.received.as_str());
        self.dialect.union(&[&self.applied, received.unwrap_or_default()])
    }

    /// Whether its log has what it has at that position, its own transactions at least: it was
    /// not loaded with it.
    pub(crate) fn has_logged(&self, position: &str) -> bool {
        let Self { written, logged, origin, .. } = self;
        match self.dialect {
            Dialect::MariaDb => positions::ends_at(written, position),
            Dialect::MySql => {
                !logged.is_empty() && (logged.contains(origin) || !written.contains(origin))
            }
        }
    }

    /// Why it cannot take the place of a primary that lives, if so.
    pub(crate) fn unfit(&self, primary: &Former) -> Option<String> {
        self.unfit_after(primary).or_else(|| {
            let receives = self.channels.iter().all(|channel| channel.receiver == Receiver::Runs);
            (!receives).then(|| "it receives nothing from its source".to_owned())
        })
    }

    /// The same of one that does not.
    pub(crate) fn unfit_after(&self, primary: &Former) -> Option<String> {
        let said = |text: &str| Some(text.to_owned());
        let [channel] = &*self.channels else {
            return match self.channels.len() {
                0 => said("it is no replica"),
                number => Some(format!("it has {number} sources")),
            };
        };
        let place = &channel.place;
        match primary.feeds(channel) {
            Some(true) => {}
            Some(false) => return Some(format!("its source is {place}, another server")),
            None => {
                let primary = &primary.server;
                return Some(format!("its source is {place}, which is not known to be {primary}"));
            }
        }
        if !channel.name.is_empty() {
            return Some(format!(
                "its source has the name {}; only one without is known",
                channel.name
            ));
        }
        if channel.has_filters {
            return said("it leaves out some of what it receives (Replicate_…)");
        }
        if !self.has_log {
            return said("it keeps no binary log of what it replicates");
        }
        if let Err(why) = &self.logs_all {
            return said(why);
        }
        if !(self.has_gtid && channel.by_gtid) {
            return said("it does not replicate by GTID");
        }
        match channel.applies {
            true => None,
            false => said("it applies nothing of what it receives"),
        }
    }

    /// It applies later on purpose.
    pub(crate) fn is_delayed(&self) -> bool {
        self.channels.iter().any(|channel| channel.delay_s != 0)
    }

    /// Whether it receives from anybody.
    pub(crate) fn receives(&self) -> bool {
        self.channels.iter().any(|channel| channel.receiver == Receiver::Runs)
    }

    /// Seconds behind.
    pub(crate) fn behind_s(&self) -> u64 {
        self.channels.iter().map(|it| it.behind_s.unwrap_or(u64::MAX)).max().unwrap_or(u64::MAX)
    }
}

/// Whether a server logs all that is written there, by what it says of its log.
fn logs_all(log: Result<TextResult, String>) -> Result<(), String> {
    let log = log.map_err(|why| format!("it does not tell of its binary log: {why}"))?;
    let row = log.rows.first().into_iter().flatten();
    let mut filters = log.columns.iter().zip(row).filter(|(name, value)| {
        ["Binlog_Do_DB", "Binlog_Ignore_DB"].contains(&name.as_str())
            && value.as_ref().is_some_and(|value| !value.is_empty())
    });
    match filters.next() {
        None => Ok(()),
        Some((name, _)) => Err(format!("it leaves out some of what it logs ({name})")),
    }
}

fn channels(
    answer: &TextResult,
    dialect: Dialect,
    mut place: impl FnMut(&str, i64) -> Endpoint,
) -> Vec<Channel> {
    let at = |name: &str| answer.columns.iter().position(|column| column == name);
    let places = dialect.columns().map(at);
    let is_filter = |name: &String| name.starts_with("Replicate_");
    let filters: Vec<_> =
        answer.columns.iter().enumerate().filter(|(_, name)| is_filter(name)).collect();
    let mut channel = |row: &Vec<Option<String>>| {
        let [name, source, host, port, receives, error, told, applies, rest @ ..] =
            places.map(|place| place.and_then(|place| row.get(place)?.as_deref()));
        let [by_gtid, behind, received, uuid, delay] = rest;
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        let error = error.and_then(|it| it.parse::<u32>().ok()).unwrap_or(0);
        let receiver = match receives {
            Some("Yes") => Receiver::Runs,
            // one that was stopped keeps its last error
            Some("Connecting") if CUT_OFF.contains(&error) => Receiver::CutOff,
            _ if error != 0 => Receiver::Stopped(format!("{} ({error})", text(told))),
            _ => Receiver::Stopped("it does not receive".to_owned()),
        };
        Channel {
            name: text(name),
            source: source.and_then(|it| it.parse().ok()).unwrap_or(0),
            uuid: text(uuid),
            place: place(host.unwrap_or_default(), port),
            receiver,
            applies: applies == Some("Yes"),
            received: text(received).replace('\n', ""),
            by_gtid: by_gtid.is_some_and(|it| it != "No" && it != "0"),
            delay_s: delay.and_then(|it| it.parse().ok()).unwrap_or(0),
            tls: SourceTls::of(dialect, |name| row.get(at(name)?)?.as_deref()),
            behind_s: behind.and_then(|it| it.parse().ok()),
            has_filters: filters.iter().any(|(place, _)| {
                row.get(*place).and_then(Option::as_ref).is_some_and(|filter| !filter.is_empty())
            }),
        }
    };
    answer.rows.iter().map(&mut channel).collect()
}
