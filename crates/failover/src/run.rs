//! What every order does with servers: asks them, tells them, and notes what came of it.

use keeper::{Endpoint, positions};

use crate::dialect::Dialect;
use crate::standing::Receiver;
use crate::{Clients, FailoverStep, Order, ServerAccount, Servers, SourceTls, Standing};

/// An order that is being carried out.
pub(crate) struct OrderRun<'a> {
    pub(crate) servers: &'a mut dyn Servers,
    pub(crate) clients: &'a mut dyn Clients,
}

/// How the other servers of a cluster stand.
pub(crate) type Others = Vec<(Endpoint, Result<Standing, String>)>;

/// One that is to follow the new primary.
pub(crate) struct Follower {
    pub(crate) server: Endpoint,
    /// It was a primary, and has these transactions.
    pub(crate) position: Option<String>,
    /// What it has of TLS, or is to have where it was a primary.
    pub(crate) tls: SourceTls,
}

/// Looks at a replica until it receives, twenty in a second.
const LOOKS: usize = 100;

impl OrderRun<'_> {
    pub(crate) fn look_at(&mut self, others: &[Endpoint]) -> Others {
        let look = |server: &Endpoint| (server.clone(), Standing::ask(self.servers, server));
        others.iter().map(look).collect()
    }

    /// Of two orders about one server, one is carried out: the lock is held until the connections
    /// are closed.
    pub(crate) fn lock(&mut self, server: &Endpoint) -> Result<(), String> {
        let taken = self.value(server, "SELECT GET_LOCK('tidegate_switchover', 0)")?;
        match taken.as_deref() {
            Some("1") => Ok(()),
            _ => Err(format!("somebody else switches {server} over")),
        }
    }

    /// Has servers follow the new primary; gives those that do not receive from it.
    pub(crate) fn have_follow(
        &mut self,
        how: (Dialect, &ServerAccount),
        followers: Vec<Follower>,
        new: &Endpoint,
    ) -> Vec<Endpoint> {
        let told: Vec<_> = followers
            .into_iter()
            .map(|follower| {
                let follows = self.follow(how, &follower, new).is_ok();
                (follower.server, follows)
            })
            .collect();
        let astray = told
            .into_iter()
            .filter(|(server, follows)| !follows || self.receives(server, new).is_err());
        astray.map(|(server, _)| server).collect()
    }

    /// Waits until clients get to the new primary.
    pub(crate) fn await_writer(&mut self, order: &Order, new: &Endpoint) {
        let is_seen = self.clients.await_writer(new, order.limit);
        let told = is_seen.then(String::new).ok_or("the checks do not say so yet".to_owned());
        self.note(new, "wait until it is the only writer", told);
    }

    /// A server replicates from the new primary, which is to be seen by [`OrderRun::receives`].
    pub(crate) fn follow(
        &mut self,
        how: (Dialect, &ServerAccount),
        follower: &Follower,
        new: &Endpoint,
    ) -> Result<(), String> {
        let followed = self.tell_to_follow(how, follower, new);
        let told = followed.clone().map(|()| follower.tls.told(follower.position.is_some()));
        // statements have the password
        self.note(&follower.server, &format!("replicate from {new}"), told);
        followed
    }

    fn tell_to_follow(
        &mut self,
        (dialect, account): (Dialect, &ServerAccount),
        Follower { server, position, tls }: &Follower,
        new: &Endpoint,
    ) -> Result<(), String> {
        if tls.is_on
            && let Some(why) = self.lacks_tls(dialect, new)?
        {
            return Err(format!("it follows in TLS, and {new} has none: {why}"));
        }
        for statement in dialect.follow(new, account, position.as_deref(), tls) {
            let told = self.value(server, &statement);
            // the text of an error may quote the password
            told.map_err(|why| match statement.contains("PASSWORD") {
                true => why.chars().take_while(|it| *it != ':').collect(),
                false => why,
            })?;
        }
        Ok(())
    }

    /// Waits until a server receives from the new primary.
    pub(crate) fn receives(&mut self, server: &Endpoint, new: &Endpoint) -> Result<(), String> {
        let received = self.await_receiver(server);
        self.note(server, &format!("receive from {new}"), received.clone().map(|()| String::new()));
        received
    }

    fn await_receiver(&mut self, server: &Endpoint) -> Result<(), String> {
        let mut why = String::new();
        for _ in 0..LOOKS {
            let standing = Standing::ask(self.servers, server)?;
            match standing.channels.first().map(|channel| &channel.receiver) {
                Some(Receiver::Runs) => return Ok(()),
                Some(Receiver::CutOff) => why = "it cannot reach it".to_owned(),
                Some(Receiver::Stopped(told)) => why.clone_from(told),
                None => return Err("it is no replica".to_owned()),
            }
            self.value(server, "SELECT SLEEP(0.05)")?;
        }
        Err(why)
    }

    /// Which of its own transactions a replica has that it never got from its source, of which
    /// others have these.
    pub(crate) fn errant(
        &mut self,
        server: &Endpoint,
        standing: &Standing,
        others: &[&str],
    ) -> Result<String, String> {
        let own = (standing.written.as_str(), standing.applied.as_str());
        Ok(match standing.dialect {
            Dialect::MariaDb => {
                let source = others.first().copied();
                positions::errant(&standing.origin, own, source).join(", ")
            }
            Dialect::MySql if others.is_empty() => String::new(),
            Dialect::MySql => {
                let lacking = Dialect::lacking(own.0, &others.join(","));
                let lacking = self.value(server, &lacking)?.unwrap_or_default().replace('\n', "");
                let is_own = |part: &&str| part.trim().starts_with(&standing.origin);
                lacking.split(',').filter(is_own).collect::<Vec<_>>().join(", ")
            }
        })
    }

    /// Whether one at `own` has all that one at `other` has.
    pub(crate) fn covers(
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

    /// Runs statements up to the first that fails, each a step.
    pub(crate) fn all(&mut self, server: &Endpoint, statements: &[&str]) -> Result<(), String> {
        for statement in statements {
            let done = self.value(server, statement).map(|_| String::new());
            self.note(server, statement, done.clone());
            done.map_err(|why| format!("{server}: {statement}: {why}"))?;
        }
        Ok(())
    }

    pub(crate) fn value(
        &mut self,
        server: &Endpoint,
        statement: &str,
    ) -> Result<Option<String>, String> {
        let answer = self.servers.ask(server, statement)?;
        Ok(answer.value(0).map(str::to_owned))
    }

    pub(crate) fn note(&mut self, server: &Endpoint, what: &str, outcome: Result<String, String>) {
        let (server, what) = (server.clone(), what.to_owned());
        self.clients.note(FailoverStep { server, what, outcome });
    }
}
