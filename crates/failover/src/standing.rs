//! What a server says of itself, and whether it can take a primary's place.

use keeper::Endpoint;
use wire::text_result::TextResult;

use crate::Servers;
use crate::dialect::Dialect;

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
    /// It counts transactions.
    pub has_gtid: bool,
    /// Its sources.
    pub channels: Vec<Channel>,
}

/// A source that a server replicates from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channel {
    /// The source's `@@server_id`; 0 where it was never reached.
    pub source: u64,
    /// As its replica calls it.
    pub host: String,
    /// The replica receives from it.
    pub receives: bool,
    /// The replica applies what it has received.
    pub applies: bool,
    /// It has applied all of that.
    pub is_through: bool,
    /// It asks for transactions by their numbers, not by a place in a file.
    pub by_gtid: bool,
    /// Seconds behind; `None` where the replica does not know.
    pub behind_s: Option<u64>,
}

impl Standing {
    /// Asks a server.
    pub fn ask(servers: &mut dyn Servers, server: &Endpoint) -> Result<Self, String> {
        let version = servers.ask(server, "SELECT VERSION()")?;
        let dialect = Dialect::of(version.value(0).unwrap_or_default())?;
        let itself = servers.ask(server, dialect.itself())?;
        let number = |at: usize| itself.value(at)?.parse::<u64>().ok();
        let sources = servers.ask(server, dialect.sources())?;
        Ok(Self {
            dialect,
            read_only: number(0) != Some(0),
            id: number(1).ok_or("it does not say its server_id")?,
            has_log: number(2) == Some(1),
            has_gtid: number(3) == Some(1),
            channels: channels(&sources, dialect),
        })
    }

    /// Why it cannot take the place of a primary with that `server_id`, which lives, if so.
    pub(crate) fn unfit(&self, primary: u64) -> Option<String> {
        self.unfit_after(primary).or_else(|| {
            let receives = self.channels.iter().all(|channel| channel.receives);
            (!receives).then(|| "it receives nothing from its source".to_owned())
        })
    }

    /// The same of one that does not.
    pub(crate) fn unfit_after(&self, primary: u64) -> Option<String> {
        let said = |text: &str| Some(text.to_owned());
        let [channel] = &*self.channels else {
            return match self.channels.len() {
                0 => said("it is no replica"),
                number => Some(format!("it has {number} sources")),
            };
        };
        if channel.source != primary {
            return Some(format!("its source is {}, another server", channel.host));
        }
        if !self.has_log {
            return said("it keeps no binary log of what it replicates");
        }
        if !(self.has_gtid && channel.by_gtid) {
            return said("it does not replicate by GTID");
        }
        match channel.applies {
            true => None,
            false => said("it applies nothing of what it receives"),
        }
    }

    /// Seconds behind.
    pub(crate) fn behind_s(&self) -> u64 {
        self.channels.iter().map(|it| it.behind_s.unwrap_or(u64::MAX)).max().unwrap_or(u64::MAX)
    }
}

fn channels(answer: &TextResult, dialect: Dialect) -> Vec<Channel> {
    let at = |name: &str| answer.columns.iter().position(|column| column == name);
    let places = dialect.columns().map(at);
    let channel = |row: &Vec<Option<String>>| {
        let [source, host, port, receives, applies, by_gtid, behind, doing] =
            places.map(|place| place.and_then(|place| row.get(place)?.as_deref()));
        Channel {
            source: source.and_then(|it| it.parse().ok()).unwrap_or(0),
            host: format!("{}:{}", host.unwrap_or_default(), port.unwrap_or_default()),
            receives: receives == Some("Yes"),
            applies: applies == Some("Yes"),
            is_through: doing.is_some_and(|it| it.contains("has read all relay log")),
            by_gtid: by_gtid.is_some_and(|it| it != "No" && it != "0"),
            behind_s: behind.and_then(|it| it.parse().ok()),
        }
    };
    answer.rows.iter().map(channel).collect()
}
