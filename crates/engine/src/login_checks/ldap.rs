//! What an LDAP server is asked, and where: read from variables, with names of clients put in so
//! that they stand for nothing but themselves.
//!
//! Outside formats: distinguished names as text (RFC 4514), search filters as text (RFC 4515), LDAP
//! URLs of which only scheme, host and port are taken (RFC 4516).

use core::net::{IpAddr, Ipv6Addr};
use std::fmt;

use crate::vars::Vars;

/// Where LDAP servers are, and how the entry of a user is found.
#[derive(Clone, PartialEq, Eq)]
pub struct LdapSettings {
    /// The servers, which are tried in this order while one is not reached.
    pub urls: Vec<LdapUrl>,
    /// Whether TLS begins by StartTLS where the URL is not one of TLS; always so but on loopback.
    pub starttls: bool,
    /// The file of authorities that vouch for them; empty for those of the system.
    pub ca: String,
    /// How the entry of a user is found.
    pub user: LdapUser,
}

/// One server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LdapUrl {
    /// TLS from the first byte on: `ldaps`.
    pub tls: bool,
    /// Name or address, the latter of IPv6 in brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// How the entry of a user is found.
#[derive(Clone, PartialEq, Eq)]
pub enum LdapUser {
    /// By a distinguished name that is made of the user's.
    Named(LdapName),
    /// By a search.
    Found(LdapSearch),
}

/// The distinguished names of users' entries: a text with a place for the user's name.
#[derive(Clone, PartialEq, Eq)]
pub struct LdapName(String);

/// A search for the entry of a user.
#[derive(Clone, PartialEq, Eq)]
pub struct LdapSearch {
    /// The entry below which is searched.
    pub base: String,
    /// The filter, with the user's name in place of `{user}`.
    filter: String,
    /// Whose account searches; empty for an anonymous search.
    pub account: String,
    /// Its password.
    pub secret: String,
}

impl fmt::Debug for LdapSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LdapSettings({:?})", self.urls)
    }
}

/// A variable that does not fit the others, and why.
type Misfit = (&'static str, String);

impl LdapSettings {
    /// What the variables say, `None` where they name no server; an error names the variable that
    /// does not fit the others.
    pub fn of(vars: &Vars) -> Result<Option<Self>, Misfit> {
        const URL: &str = "mysql-ldap_url";
        let urls: Result<Vec<_>, _> =
            vars.ldap_url.split_whitespace().map(LdapUrl::parse).collect();
        let urls = urls.map_err(|reason| (URL, reason))?;
        let user = user(vars)?;
        if urls.is_empty() {
            return Ok(None);
        }
        let starttls = vars.ldap_starttls;
        if let Some(open) = urls.iter().find(|url| !url.tls && !starttls && !url.is_loopback()) {
            let reason = format!(
                "`{open}` would be shown passwords in clear text: take ldaps://, or \
                 mysql-ldap_starttls; without either it has to be an address of loopback"
            );
            return Err((URL, reason));
        }
        let ca = vars.ldap_ca.clone();
        Ok(user.map(|user| Self { urls, starttls, ca, user }))
    }
}

/// How the variables have a user's entry found; `None` where they do not say.
fn user(vars: &Vars) -> Result<Option<LdapUser>, Misfit> {
    let (named, base, filter) =
        (&vars.ldap_user_dn, &vars.ldap_search_base, &vars.ldap_search_filter);
    let lacks = |name, text: &str| {
        let reason = format!("`{text}` has no {PLACE}, where the name of the user is to stand");
        (!text.contains(PLACE)).then_some((name, reason))
    };
    match (named.is_empty(), base.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => {
            let reason = "leave it empty, or mysql-ldap_user_dn: one of them finds the user";
            Err(("mysql-ldap_search_base", reason.to_owned()))
        }
        (false, true) => match lacks("mysql-ldap_user_dn", named) {
            Some(misfit) => Err(misfit),
            None => Ok(Some(LdapUser::Named(LdapName(named.clone())))),
        },
        (true, false) => match lacks("mysql-ldap_search_filter", filter) {
            Some(misfit) => Err(misfit),
            // a bind with a name and no password is none, to many servers
            None if vars.ldap_search_dn.is_empty() != vars.ldap_search_secret.is_empty() => {
                let reason =
                    "give it with mysql-ldap_search_dn, or neither for an anonymous search";
                Err(("mysql-ldap_search_secret", reason.to_owned()))
            }
            None => Ok(Some(LdapUser::Found(LdapSearch {
                base: base.clone(),
                filter: filter.clone(),
                account: vars.ldap_search_dn.clone(),
                secret: vars.ldap_search_secret.clone(),
            }))),
        },
    }
}

impl LdapUrl {
    /// Reads `ldap://host:port` or `ldaps://host:port`; the port may be left out.
    fn parse(text: &str) -> Result<Self, String> {
        let fault = |why: &str| format!("`{text}` {why}: write ldaps://host or ldap://host:port");
        let (scheme, rest) = text.split_once("://").ok_or_else(|| fault("is no URL"))?;
        let tls = match scheme {
            "ldaps" => true,
            "ldap" => false,
            _ => return Err(fault("is neither of ldaps:// nor of ldap://")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // the colons of an address of IPv6 stand in brackets
        let from = rest.find(']').unwrap_or(0);
        let colon = rest.get(from..).and_then(|rest| rest.find(':')).map(|at| from + at);
        let (host, port) = match colon.and_then(|at| rest.split_at_checked(at)) {
            Some((host, port)) => (host, port.get(1..).unwrap_or_default().parse().ok()),
            None => (rest, Some(if tls { 636 } else { 389 })),
        };
        let port =
            port.filter(|port| *port > 0).ok_or_else(|| fault("has no port from 1 to 65535"))?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = |host: &str| {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            !host.is_empty() && host.bytes().all(is_of_name)
        };
        let is_host = match bracketed {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => is_name(host),
        };
        if !is_host {
            return Err(fault("has no host"));
        }
        Ok(Self { tls, host: host.to_owned(), port })
    }

    /// Whether it is an address of this machine alone. A name may be anybody's.
    fn is_loopback(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for LdapUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "ldaps" } else { "ldap" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl LdapName {
    /// The name of a user's entry.
    pub fn of(&self, user: &str) -> String {
        put_in(&self.0, user)
    }
}

impl LdapSearch {
    /// The filter for a user.
    pub fn filter_of(&self, user: &str) -> String {
        put_in(&self.filter, user)
    }
}

/// Where the name of a user goes.
const PLACE: &str = "{user}";

fn put_in(template: &str, user: &str) -> String {
    template.replace(PLACE, &escaped(user))
}

/// A value that stands for itself, in a distinguished name as in a filter: both may have any octet
/// as a backslash and two hexadecimal digits, so that all have it which may mean anything.
fn escaped(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'@' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("\\{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<Option<LdapSettings>, Misfit> {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, it)| (format!("mysql-ldap_{name}"), (*it).to_owned()))
            .collect();
        LdapSettings::of(&Vars::from_pairs(&pairs).expect("each is valid"))
    }

    fn misfit(pairs: &[(&str, &str)]) -> (&'static str, String) {
        settings(pairs).expect_err("refused")
    }

    const NAMED: (&str, &str) = ("user_dn", "uid={user},dc=example");

    #[test]
    fn a_name_stands_for_itself_in_a_name_and_in_a_filter() {
        let plain = "Ann.B_c-9@example.org";
        assert_eq!(put_in("uid={user},dc=x", plain), format!("uid={plain},dc=x"));
        for (user, shown) in [
            ("a,dc=y", "a\\2cdc\\3dy"),
            ("*)(uid=*", "\\2a\\29\\28uid\\3d\\2a"),
            (" #a ", "\\20\\23a\\20"),
            ("\\2a\"+<>;\0\n", "\\5c2a\\22\\2b\\3c\\3e\\3b\\00\\0a"),
            ("ä", "\\c3\\a4"),
            // nothing is put in twice
            ("{user}", "\\7buser\\7d"),
        ] {
            assert_eq!(
                LdapName("uid={user}".to_owned()).of(user),
                format!("uid={shown}"),
                "{user:?}"
            );
            let pairs = [
                ("url", "ldaps://x"),
                ("search_base", "dc=x"),
                ("search_filter", "(|(a={user})(b={user}))"),
            ];
            let Ok(Some(LdapSettings { user: LdapUser::Found(search), .. })) = settings(&pairs)
            else {
                panic!("it searches");
            };
            assert_eq!(search.filter_of(user), format!("(|(a={shown})(b={shown}))"));
        }
    }

    #[test]
    fn a_password_crosses_no_network_in_clear_text() {
        let url = |url, starttls| settings(&[("url", url), ("starttls", starttls), NAMED]);
        for good in ["ldaps://ldap.example", "ldap://127.0.0.1:3890", "ldap://[::1]/"] {
            assert!(url(good, "false").is_ok(), "{good}");
        }
        assert!(url("ldap://ldap.example", "true").is_ok());
        for bad in
            ["ldap://ldap.example", "ldap://10.0.0.1", "ldap://localhost", "ldaps://a ldap://b"]
        {
            let (name, reason) = url(bad, "false").expect_err("refused");
            assert_eq!(name, "mysql-ldap_url");
            assert!(reason.contains("would be shown passwords in clear text"), "{reason}");
        }
    }

    #[test]
    fn urls_have_a_scheme_a_host_and_a_port() {
        let urls = |text| {
            let urls = settings(&[("url", text), NAMED]).expect("valid").expect("some").urls;
            urls.iter().map(LdapUrl::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            urls("ldaps://a ldap://b:1/  ldap://[::2]"),
            "ldaps://a:636 ldap://b:1 ldap://[::2]:389"
        );
        for (text, why) in [
            ("ldap.example", "is no URL"),
            ("http://x", "is neither of ldaps:// nor of ldap://"),
            ("ldapi://x", "is neither of ldaps:// nor of ldap://"),
            ("ldap://", "has no host"),
            ("ldap://a/dc=x", "has no host"),
            ("ldap://me:secret@a", "has no port from 1 to 65535"),
            ("ldap://a:0", "has no port from 1 to 65535"),
            ("ldap://a:70000", "has no port from 1 to 65535"),
            ("ldap://[::g]", "has no host"),
            ("ldap://::1", "has no port from 1 to 65535"),
        ] {
            let (name, reason) = misfit(&[("url", text), NAMED]);
            assert_eq!(name, "mysql-ldap_url");
            assert!(reason.starts_with(&format!("`{text}` {why}: ")), "{text}: {reason}");
        }
    }

    #[test]
    fn a_user_is_found_in_one_way() {
        assert_eq!(settings(&[]), Ok(None));
        assert_eq!(settings(&[("url", "ldaps://a")]), Ok(None), "nothing finds a user");
        let (base, both) = (("search_base", "dc=x"), misfit(&[NAMED, ("search_base", "dc=x")]));
        assert_eq!(both.0, "mysql-ldap_search_base");
        assert_eq!(misfit(&[("user_dn", "uid=ann")]).0, "mysql-ldap_user_dn");
        assert_eq!(misfit(&[base, ("search_filter", "(uid=ann)")]).0, "mysql-ldap_search_filter");
        // a bind without a password proves nothing
        assert_eq!(misfit(&[base, ("search_dn", "cn=x")]).0, "mysql-ldap_search_secret");
        assert_eq!(misfit(&[base, ("search_secret", "x")]).0, "mysql-ldap_search_secret");
    }
}
