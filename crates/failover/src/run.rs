//! What every order does with servers: asks them, tells them, and notes what came of it.

use keeper::Endpoint;

use crate::dialect::Dialect;
use crate::{Account, Clients, Servers, Standing, Step};

/// An order that is being carried out.
pub(crate) struct Run<'a> {
    pub(crate) servers: &'a mut dyn Servers,
    pub(crate) clients: &'a mut dyn Clients,
}

/// How the other servers of a cluster stand.
pub(crate) type Others = Vec<(Endpoint, Result<Standing, String>)>;

impl Run<'_> {
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

    /// A server replicates from the new primary.
    pub(crate) fn follow(
        &mut self,
        (dialect, account): (Dialect, &Account),
        server: &Endpoint,
        new: &Endpoint,
        stands: Option<&str>,
    ) -> Result<(), String> {
        let statements = dialect.follow(new, account, stands);
        let mut followed = Ok(String::new());
        for statement in statements {
            followed = self.value(server, &statement).map(|_| String::new());
            if followed.is_err() {
                break;
            }
        }
        // statements have the password
        self.note(server, &format!("replicate from {new}"), followed.clone());
        followed.map(|_| ())
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
        self.clients.note(Step { server, what, outcome });
    }
}
