//! By what servers know each other. A number is no proof: another cluster's servers may have the
//! same, and MariaDB keeps that of the last source that was reached. A name may lead elsewhere.

use std::collections::BTreeMap;

use keeper::Endpoint;

use crate::standing::{Channel, Receiver};
use crate::{Servers, SourceTls, Standing};

/// By what others know a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Identity {
    /// Its `@@server_id`; 0 where that is not known.
    pub id: u64,
    /// Its `@@server_uuid`; empty with MariaDB, which has none.
    pub uuid: String,
    /// Places that replicas receive from, and whether they are this server, which was looked at
    /// while it lived.
    pub places: BTreeMap<Endpoint, bool>,
}

/// A server that takes, or took, writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Former {
    /// Where it is.
    pub server: Endpoint,
    /// By what others know it.
    pub identity: Identity,
    /// How its replicas protected what they had from it, once another server is in its place.
    pub tls: SourceTls,
}

impl Former {
    /// One that has not told anything of itself yet.
    pub fn unknown(server: Endpoint) -> Self {
        Self { server, identity: Identity::default(), tls: SourceTls::default() }
    }

    /// Whether it is the source of a channel; `None` where that cannot be told.
    pub(crate) fn feeds(&self, channel: &Channel) -> Option<bool> {
        let Identity { id, uuid, places } = &self.identity;
        if !uuid.is_empty() && !channel.uuid.is_empty() {
            return Some(*uuid == channel.uuid);
        }
        if channel.source != 0 && channel.source != *id {
            return Some(false);
        }
        match channel.place == self.server {
            true => Some(true),
            false => places.get(&channel.place).copied(),
        }
    }
}

/// What a primary that lives says of itself, and which places that its replicas receive from it is.
pub fn identify(
    servers: &mut dyn Servers,
    primary: &Endpoint,
    replicas: &[Endpoint],
) -> Result<Former, String> {
    let own = Standing::ask(servers, primary)?;
    let replicas = replicas.iter().filter_map(|server| Standing::ask(servers, server).ok());
    let replicas: Vec<_> = replicas.collect();
    Ok(identified(servers, primary, &own, replicas.iter()))
}

/// The same of servers that have been asked.
pub(crate) fn identified<'a>(
    servers: &mut dyn Servers,
    primary: &Endpoint,
    own: &Standing,
    replicas: impl Iterator<Item = &'a Standing>,
) -> Former {
    let identity = Identity { id: own.id, uuid: own.uuid.clone(), places: BTreeMap::new() };
    let mut former = Former { identity, ..Former::unknown(primary.clone()) };
    for channel in replicas.flat_map(|replica| &replica.channels) {
        let may_be = channel.receiver == Receiver::Runs && former.feeds(channel).is_none();
        if let Some(is_it) = may_be.then(|| is_at(servers, primary, &channel.place)).flatten() {
            former.identity.places.insert(channel.place.clone(), is_it);
        }
    }
    former
}

/// Whether a server is to be found at a place: a lock that one connection takes is seen by others.
fn is_at(servers: &mut dyn Servers, server: &Endpoint, place: &Endpoint) -> Option<bool> {
    let taken =
        servers.ask(server, "SELECT GET_LOCK('tidegate_place', 1), CONNECTION_ID()").ok()?;
    let holder = taken.value(1).filter(|_| taken.value(0) == Some("1"))?.to_owned();
    let seen = servers.ask(place, "SELECT IS_USED_LOCK('tidegate_place')");
    // it goes with the connection as well
    let _ = servers.ask(server, "SELECT RELEASE_LOCK('tidegate_place')");
    Some(seen.ok()?.value(0) == Some(holder.as_str()))
}

/// Who the primary is, as its replicas have it: the source of all of them that answer.
pub fn source_of(servers: &mut dyn Servers, replicas: &[Endpoint]) -> Option<Former> {
    let standings = replicas.iter().filter_map(|server| Standing::ask(servers, server).ok());
    let mut sources = standings.flat_map(|it| it.channels);
    let first = sources.find(|channel| channel.source != 0)?;
    let identity = Identity { id: first.source, uuid: first.uuid, places: BTreeMap::new() };
    let former = Former { identity, ..Former::unknown(first.place) };
    sources.all(|other| former.feeds(&other) == Some(true)).then_some(former)
}
