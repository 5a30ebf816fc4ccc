//! What comes back after a switchover or a failover: an old primary follows, unless it has what no
//! other server has. So does a replica that could not be told.
//!
//! A server that is not as it was when it was the primary is left to its operator, to be made anew:
//! it is neither closed nor told anything.

use keeper::{Endpoint, positions};

use crate::dialect::Dialect;
use crate::failing::joined;
use crate::run::{Follower, OrderRun};
use crate::source_tls::strongest;
use crate::standing::Receiver;
use crate::{Clients, Former, Order, Servers, SourceTls, Standing, identity};

/// Why a server does not follow the primary.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Left {
    /// In words.
    pub why: String,
    /// What was found wrong with what it has. It is its operator's from then on: it is looked at,
    /// and not touched.
    pub judged: Option<String>,
}

impl Left {
    fn judged(why: String) -> Self {
        Self { judged: Some(why.clone()), why }
    }
}

impl From<String> for Left {
    fn from(why: String) -> Self {
        Self { why, judged: None }
    }
}

/// Why a server is left to its operator.
const ANEW: &str = "it is not as it was when it was the primary: have it follow by hand";

/// A server that does not follow the primary is to: a primary of before that has come back, or a
/// replica of one. `left` is what came of it the last time.
pub fn rejoin(
    order: &Order,
    (server, left): (&Endpoint, &Left),
    former: &[Former],
    servers: &mut dyn Servers,
    clients: &mut dyn Clients,
) -> Result<(), Left> {
    let mut run = OrderRun { servers, clients };
    let primary = &order.primary.server;
    let new = Standing::ask(run.servers, primary)?;
    let own = Standing::ask(run.servers, server)?;
    if own.dialect != new.dialect {
        return Err(format!("it is of another kind than {primary}").into());
    }
    let standings = [&own].into_iter();
    let source = identity::identified(run.servers, primary, &new, standings);
    let follows = own.channel_from(&source).map(|channel| &channel.receiver);
    match (follows, &*own.channels) {
        // also beside others, as its operator has it; it is no second writer
        (Some(Receiver::Runs), _) => run.shut(server, &own)?,
        (Some(Receiver::CutOff), _) => return Err(format!("it cannot reach {primary}").into()),
        (Some(Receiver::Stopped(why)), _) => return Err(why.clone().into()),
        (None, _) if left.judged.is_some() => {
            let why = left.judged.clone().unwrap_or_default();
            return Err(Left::judged(why));
        }
        (None, []) => run.rejoin_former((order, &source, former), server, own, &new)?,
        (None, [channel]) if former.iter().any(|it| own.channel_from(it).is_some()) => {
            if !channel.name.is_empty() {
                return Err(format!("its source has the name {}", channel.name).into());
            }
            run.shut(server, &own)?;
            let has = joined(&[&own.applied, &channel.received]);
            run.lacks_nothing(order, (server, &own), &has, &new)?;
            let (server, tls) = (server.clone(), channel.tls.clone());
            let follower = Follower { server, position: None, tls };
            run.follow((own.dialect, &order.replication), &follower, primary)?;
            let server = &follower.server;
            run.receives(server, primary)?;
        }
        (None, [channel]) => {
            return Err(format!("it replicates from {} already", channel.place).into());
        }
        (None, channels) => return Err(format!("it has {} sources", channels.len()).into()),
    }
    run.clients.depose(server, false);
    Ok(())
}

impl OrderRun<'_> {
    /// Nobody writes to a server any more.
    fn shut(&mut self, server: &Endpoint, own: &Standing) -> Result<(), String> {
        match own.read_only {
            true => Ok(()),
            false => self.all(server, own.dialect.close()),
        }
    }

    /// An error names the transactions that a server has and the new primary has not.
    fn lacks_nothing(
        &mut self,
        order: &Order,
        (server, own): (&Endpoint, &Standing),
        has: &str,
        new: &Standing,
    ) -> Result<(), Left> {
        let lacking = match own.dialect {
            Dialect::MariaDb => {
                positions::lacking(has, &joined(&[&new.written, &new.applied])).join(", ")
            }
            Dialect::MySql => {
                self.value(server, &Dialect::lacking(has, &new.written))?.unwrap_or_default()
            }
        };
        let primary = &order.primary.server;
        match lacking.is_empty() {
            true => Ok(()),
            false => {
                let why = format!("it has transactions that {primary} has not: {lacking}");
                Err(Left::judged(why))
            }
        }
    }

    /// A primary of before follows the one that took its place.
    fn rejoin_former(
        &mut self,
        (order, source, former): (&Order, &Former, &[Former]),
        server: &Endpoint,
        mut own: Standing,
        new: &Standing,
    ) -> Result<(), Left> {
        let anew = || Left::judged(ANEW.to_owned());
        let dialect = own.dialect;
        let mut position = self.value(server, dialect.position())?.unwrap_or_default();
        if !own.has_logged(&position) {
            return Err(anew());
        }
        if !own.read_only {
            self.shut(server, &own)?;
            own = Standing::ask(self.servers, server)?;
            position = self.value(server, dialect.position())?.unwrap_or_default();
        }
        self.lacks_nothing(order, (server, &own), &own.written, new)?;
        let wrote_the_same = match dialect {
            Dialect::MariaDb => {
                let others = joined(&[&new.written, &new.applied]);
                positions::agree_on(&own.origin, &own.written, &others)
            }
            Dialect::MySql => {
                let lacking = Dialect::lacking(&new.written, &own.written);
                let lacking = self.value(server, &lacking)?.unwrap_or_default();
                !lacking.contains(&own.origin)
            }
        };
        self.value(server, "SELECT SLEEP(1)")?;
        let later = self.value(server, dialect.position())?.unwrap_or_default();
        if !(wrote_the_same && later == position && own.has_logged(&position)) {
            return Err(anew());
        }
        let how = (dialect, &order.replication);
        let tls = self.tls_of_others((order, source, former), server, new);
        let follower = Follower { server: server.clone(), position: Some(position), tls };
        self.follow(how, &follower, &order.primary.server)?;
        Ok(self.receives(server, &order.primary.server)?)
    }

    /// How replicas protected what they had from a primary of before; where that is not known, how
    /// they protect what they have from the one that took its place.
    fn tls_of_others(
        &mut self,
        (order, source, former): (&Order, &Former, &[Former]),
        server: &Endpoint,
        new: &Standing,
    ) -> SourceTls {
        let known = former.iter().filter(|it| it.server == *server).map(|it| it.tls.clone());
        let before = former.iter().map(|it| new.tls_from(it));
        let known = strongest(known.chain(before));
        if known.says_anything() {
            return known;
        }
        let others = order.others.iter().filter(|other| *other != server);
        let others = others.filter_map(|other| Standing::ask(self.servers, other).ok());
        strongest(others.map(|it| it.tls_from(source)))
    }
}
