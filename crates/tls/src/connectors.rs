//! Which connector a connection to a server has.

use std::sync::Arc;

use io::Lock;

use crate::connector::Connector;

/// A connector, or why there is none.
type Found = Result<Arc<Connector>, String>;

/// The connectors of all servers: those in force, whoever makes connections.
#[derive(Default)]
pub struct Connectors(Lock<Arc<ByServer>>);

/// Connectors by what they are for.
#[derive(Default)]
pub struct ByServer {
    /// For servers that have none of their own.
    pub others: Option<Found>,
    /// For a host, a port and an account; for all of them where that has no name.
    pub own: Vec<((String, u16, String), Found)>,
}

impl ByServer {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Found> {
        self.others.iter().chain(self.own.iter().map(|(_, found)| found))
    }

    fn find(&self, host: &str, port: u16, account: &str) -> Found {
        let own = |account: &str| {
            let is_it = |(key, _): &&((String, u16, String), _)| {
                (key.0.as_str(), key.1, key.2.as_str()) == (host, port, account)
            };
            self.own.iter().find(is_it).map(|(_, found)| found)
        };
        let found = own(account).or_else(|| own("")).or(self.others.as_ref());
        found.cloned().unwrap_or_else(|| Err("there are no settings for TLS to servers".to_owned()))
    }
}

impl Connectors {
    /// The one for connections to a server as an account. An error says why there is none.
    pub fn find(&self, host: &str, port: u16, account: &str) -> Result<Arc<Connector>, String> {
        self.current().find(host, port, account)
    }

    /// Those in force.
    pub fn current(&self) -> Arc<ByServer> {
        self.0.take().clone()
    }

    /// Others come into force, for connections that are made from now on.
    pub fn replace(&self, by_server: ByServer) {
        *self.0.take() = Arc::new(by_server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_fits_first() {
        let told = |text: &str| Err(text.to_owned());
        let key = |account: &str| ("db1".to_owned(), 3306, account.to_owned());
        let connectors = Connectors::default();
        let find = |host, port, account| connectors.find(host, port, account).err();
        let none = Some("there are no settings for TLS to servers".to_owned());
        assert_eq!(find("db1", 3306, "app"), none);
        let own = vec![(key(""), told("server")), (key("app"), told("account"))];
        connectors.replace(ByServer { others: Some(told("others")), own });
        for (host, port, account, found) in [
            ("db1", 3306, "app", "account"),
            ("db1", 3306, "other", "server"),
            ("db1", 3307, "app", "others"),
            ("db2", 3306, "app", "others"),
        ] {
            assert_eq!(find(host, port, account).as_deref(), Some(found));
        }
    }
}
