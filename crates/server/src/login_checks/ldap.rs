//! Asks an LDAP server: a simple bind as the user, whose entry is named or searched before.

use std::path::Path;
use std::time::{Duration, Instant};

use engine::login_checks::{CheckOutcome, LdapSearch, LdapSettings, LdapUrl, LdapUser};
use ldap3::{LdapConn, LdapConnSettings, LdapResult, Scope, SearchEntry, SearchOptions};

/// Result codes of RFC 4511.
mod code {
    pub(super) const SUCCESS: u32 = 0;
    pub(super) const SIZE_LIMIT_EXCEEDED: u32 = 4;
    pub(super) const CONSTRAINT_VIOLATION: u32 = 19;
    pub(super) const NO_SUCH_OBJECT: u32 = 32;
    pub(super) const INAPPROPRIATE_AUTHENTICATION: u32 = 48;
    pub(super) const INVALID_CREDENTIALS: u32 = 49;
    pub(super) const UNWILLING_TO_PERFORM: u32 = 53;
}

/// Whether `password` is right for `user`, by the first server that says so or says no.
pub(super) fn check(
    settings: &LdapSettings,
    user: &str,
    password: &[u8],
    until: Instant,
) -> CheckOutcome {
    // passwords of LDAP are texts; one that is empty binds nobody, and most servers say yes to it
    let Some(password) = std::str::from_utf8(password).ok().filter(|it| !it.is_empty()) else {
        return CheckOutcome::Wrong;
    };
    let mut reasons = Vec::new();
    let urls = settings.urls.iter().zip((1..=settings.urls.len() as u32).rev());
    for (url, left) in urls {
        // one that is silent leaves time for those behind it
        let share = until.saturating_duration_since(Instant::now()) / left;
        let asked = Asked { settings, url, until: Instant::now() + share };
        match asked.ask(user, password) {
            Ok(outcome) => return outcome,
            Err(reason) => reasons.push(format!("{url}: {reason}")),
        }
    }
    CheckOutcome::Failed(reasons.join("; "))
}

/// A server that is asked, until that time.
struct Asked<'a> {
    settings: &'a LdapSettings,
    url: &'a LdapUrl,
    until: Instant,
}

/// What a server could not say, and why.
type Unsaid = String;

impl Asked<'_> {
    fn ask(&self, user: &str, password: &str) -> Result<CheckOutcome, Unsaid> {
        let mut server = self.connect()?;
        let entry = match &self.settings.user {
            LdapUser::Named(name) => Some(name.of(user)),
            LdapUser::Found(search) => self.find(&mut server, search, user)?,
        };
        // a bind without a name is anonymous, and right
        let Some(entry) = entry.filter(|entry| !entry.is_empty()) else {
            return Ok(CheckOutcome::Wrong);
        };
        let result = self.bind(&mut server, &entry, password)?;
        let _ = server.unbind();
        match result.rc {
            code::SUCCESS => Ok(CheckOutcome::Right),
            code::INVALID_CREDENTIALS
            | code::NO_SUCH_OBJECT
            | code::INAPPROPRIATE_AUTHENTICATION => Ok(CheckOutcome::Wrong),
            code::CONSTRAINT_VIOLATION | code::UNWILLING_TO_PERFORM => {
                Ok(CheckOutcome::Refused(result.to_string()))
            }
            _ => Err(result.to_string()),
        }
    }

    fn connect(&self) -> Result<LdapConn, Unsaid> {
        let connector = tls::Connector::new(&tls::ServerTerms {
            authorities: self.authorities()?,
            ..tls::ServerTerms::default()
        });
        let connector = connector.map_err(|fault| fault.to_string())?;
        let settings = LdapConnSettings::new()
            .set_conn_timeout(self.left())
            .set_config(connector.config())
            .set_starttls(self.settings.starttls);
        LdapConn::with_settings(settings, &self.url.to_string()).map_err(|error| error.to_string())
    }

    fn authorities(&self) -> Result<Vec<tls::Pem>, Unsaid> {
        match self.settings.ca.as_str() {
            "" => Ok(Vec::new()),
            file => match tls::Pem::read("mysql-ldap_ca", Path::new(file)) {
                Ok(pem) => Ok(vec![pem]),
                Err(fault) => Err(fault.to_string()),
            },
        }
    }

    /// The entry of a user; `None` where there is none.
    fn find(
        &self,
        server: &mut LdapConn,
        search: &LdapSearch,
        user: &str,
    ) -> Result<Option<String>, Unsaid> {
        if !search.account.is_empty() {
            let result = self.bind(server, &search.account, &search.secret)?;
            if result.rc != code::SUCCESS {
                return Err(format!("mysql-ldap_search_dn is not let in: {result}"));
            }
        }
        server.with_timeout(self.left());
        // one more than there may be
        server.with_search_options(SearchOptions::new().sizelimit(2));
        let filter = search.filter_of(user);
        let found = server.search(&search.base, Scope::Subtree, &filter, ["1.1"]);
        let found = found.map_err(|error| format!("the search for the user: {error}"))?;
        let (entries, result) = (found.0, found.1);
        let mut entries = entries.into_iter().filter(|it| !it.is_ref() && !it.is_intermediate());
        match (entries.next(), entries.next(), result.rc) {
            (entry, None, code::SUCCESS) => Ok(entry.map(|entry| SearchEntry::construct(entry).dn)),
            (_, Some(_), _) | (_, _, code::SIZE_LIMIT_EXCEEDED) => {
                Err("the search for the user finds several entries".to_owned())
            }
            _ => Err(format!("the search for the user: {result}")),
        }
    }

    fn bind(&self, server: &mut LdapConn, dn: &str, secret: &str) -> Result<LdapResult, Unsaid> {
        server.with_timeout(self.left());
        server.simple_bind(dn, secret).map_err(|error| error.to_string())
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}
