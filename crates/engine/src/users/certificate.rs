//! What an account demands of the certificate that its client shows over TLS. Deliberately knows no
//! X.509: `tls` has read the certificate.

use core::net::IpAddr;
use std::fmt;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::json;

/// A certificate that a client has shown, and holds the key of. Who can read one is not known here.
pub trait ClientCertificate: fmt::Debug + Send + Sync {
    /// Its subject, with a backslash in front of commas and backslashes in it: `C=DE, CN=app`.
    fn subject(&self) -> &str;

    /// Who has signed it, written alike.
    fn issuer(&self) -> &str;

    /// Its further names: `DNS:app`, `IP:10.0.0.1`, `URI:spiffe://x/app`, `email:a@x`.
    fn names(&self) -> &[String];

    /// Whether nobody had a doubt about it before, by the authorities of its handshake.
    fn was_good(&self) -> bool;

    /// Why no authority that is trusted vouches for it; `None` where one does. It may take
    /// milliseconds to find out.
    fn doubt(&self) -> Option<String>;
}

/// What the certificate has to be like; nothing, where all of it is empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Demands {
    /// Any that is vouched for.
    any: bool,
    subject: Option<String>,
    issuer: Option<String>,
    /// One of its further names.
    name: Option<Wanted>,
    /// The one of them that says who the client is, so that it needs no password.
    spiffe_id: Option<Wanted>,
}

/// A text as it is, or all that a pattern behind `!` matches from end to end.
#[derive(Clone)]
enum Wanted {
    Text(String),
    Like { pattern: String, regex: Box<Regex> },
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(own), Self::Text(other)) => own == other,
            (Self::Like { pattern: own, .. }, Self::Like { pattern: other, .. }) => own == other,
            _ => false,
        }
    }
}

impl Eq for Wanted {}

/// What a certificate lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lack {
    /// There is none, or not even TLS.
    None,
    /// Nobody who is trusted vouches for it.
    Doubted(String),
    /// It is another one than the account's, as that part of it says.
    Other(&'static str),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("A certificate of the client is required"),
            Self::Doubted(why) => write!(f, "The client's certificate is not trusted: {why}"),
            Self::Other(part) => write!(f, "The {part} of the client's certificate is another one"),
        }
    }
}

impl Demands {
    /// What a user's attributes say of it. A demand that nobody knows is an error: it would demand
    /// nothing.
    pub(super) fn read(attributes: &str) -> Result<Self, String> {
        for name in json::names(attributes)? {
            let is_demand = starts_with(&name, "require_") || starts_with(&name, "spiffe");
            if is_demand && !NAMES.contains(&name.as_str()) {
                return Err(format!("{name} is no demand; there are {}", NAMES.join(", ")));
            }
        }
        let text = |name| match json::member(attributes, name)? {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) if !text.is_empty() => Ok(Some(text.to_owned())),
                _ => Err(format!("{name} is no text")),
            },
        };
        Ok(Self {
            any: json::flag(attributes, "require_x509")?,
            subject: text("require_subject")?.map(distinguished),
            issuer: text("require_issuer")?.map(distinguished),
            name: san(text("require_san")?)?,
            spiffe_id: wanted("spiffe_id", text("spiffe_id")?)?,
        })
    }

    /// Any certificate that is vouched for.
    pub(crate) fn any() -> Self {
        Self { any: true, ..Self::default() }
    }

    /// Whether a client that meets them needs no password.
    pub(crate) fn replace_password(&self) -> bool {
        self.spiffe_id.is_some()
    }

    /// What a client's certificate lacks, if anything.
    pub(crate) fn lack(&self, shown: Option<&dyn ClientCertificate>) -> Option<Lack> {
        // what takes longest is looked at last
        let doubt = || shown.filter(|_| self.demand_one())?.doubt().map(Lack::Doubted);
        self.differ_from(shown).or_else(doubt)
    }

    fn demand_one(&self) -> bool {
        let Self { any, subject, issuer, name, spiffe_id } = self;
        let parts = [subject.is_some(), issuer.is_some(), name.is_some(), spiffe_id.is_some()];
        *any || parts.contains(&true)
    }

    /// What a client's certificate says otherwise, whoever vouches for it.
    pub(crate) fn differ_from(&self, shown: Option<&dyn ClientCertificate>) -> Option<Lack> {
        let Self { any: _, subject, issuer, name, spiffe_id } = self;
        if !self.demand_one() {
            return None;
        }
        let Some(shown) = shown else { return Some(Lack::None) };
        let is = |wanted: &Option<String>, own: &str| wanted.as_ref().is_none_or(|it| it == own);
        let has = |wanted: &Option<Wanted>, kind: &str| {
            let mut names = shown.names().iter().filter_map(|name| name.strip_prefix(kind));
            wanted.as_ref().is_none_or(|wanted| names.any(|name| wanted.is(name)))
        };
        let checks = [
            ("subject", is(subject, shown.subject())),
            ("issuer", is(issuer, shown.issuer())),
            ("alternative name", has(name, "")),
            ("SPIFFE id", has(spiffe_id, "URI:")),
        ];
        let other = checks.into_iter().find(|(_, is_met)| !is_met);
        other.map(|(part, _)| Lack::Other(part))
    }
}

impl Wanted {
    fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(own) => own == text,
            Self::Like { regex, .. } => regex.is_match(text),
        }
    }
}

fn wanted(name: &str, text: Option<String>) -> Result<Option<Wanted>, String> {
    let Some(text) = text else { return Ok(None) };
    let Some(pattern) = text.strip_prefix('!') else { return Ok(Some(Wanted::Text(text))) };
    if pattern.is_empty() {
        return Err(format!("{name} has no pattern behind the !"));
    }
    let whole = format!(r"\A(?:{pattern})\z");
    let config = Regex::config().nfa_size_limit(Some(PATTERN_BYTES_MAX)).dfa(false);
    let regex = Regex::builder().configure(config).syntax(syntax::Config::new()).build(&whole);
    match regex {
        Ok(regex) => Ok(Some(Wanted::Like { pattern: pattern.to_owned(), regex: Box::new(regex) })),
        Err(error) => Err(format!("{name}: {error}: `{pattern}`")),
    }
}

/// A further name with its kind in front, or a pattern for that.
fn san(text: Option<String>) -> Result<Option<Wanted>, String> {
    const KINDS: [&str; 4] = ["DNS:", "IP:", "URI:", "email:"];
    match &text {
        Some(name) if !name.starts_with('!') && !KINDS.iter().any(|it| name.starts_with(it)) => {
            Err(format!("require_san begins with none of {}", KINDS.join(", ")))
        }
        Some(name) if KINDS.contains(&name.as_str()) => {
            Err(format!("require_san has no name behind {name}"))
        }
        Some(name) if name.starts_with("IP:") => wanted("require_san", Some(address(name)?)),
        _ => wanted("require_san", text),
    }
}

/// An address as those of certificates are written here.
fn address(name: &str) -> Result<String, String> {
    let address = name.strip_prefix("IP:").and_then(|address| address.parse::<IpAddr>().ok());
    let why = || format!("require_san has no address behind the IP: `{name}`");
    address.map(|address| format!("IP:{address}")).ok_or_else(why)
}

/// A name as certificates' are written here, from that or from MySQL's `/C=DE/CN=app`.
fn distinguished(name: String) -> String {
    let Some(parts) = name.strip_prefix('/') else { return name };
    let part = |part: &str| {
        let part = part.replace('\\', "\\\\").replace(',', "\\,");
        part.strip_prefix("emailAddress=").map_or(part.clone(), |value| format!("Email={value}"))
    };
    parts.split('/').map(part).collect::<Vec<_>>().join(", ")
}

fn starts_with(name: &str, beginning: &str) -> bool {
    name.get(..beginning.len()).is_some_and(|part| part.eq_ignore_ascii_case(beginning))
}

/// The attributes that demand something.
const NAMES: [&str; 5] =
    ["require_issuer", "require_san", "require_subject", "require_x509", "spiffe_id"];

/// Largest compiled form of a pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// One of the application, of which an authority says that.
    #[derive(Debug)]
    struct Of(Option<&'static str>, [String; 2]);

    fn shown(doubt: Option<&'static str>) -> Of {
        Of(doubt, ["DNS:app.example", "URI:spiffe://example/app"].map(Into::into))
    }

    impl ClientCertificate for Of {
        fn subject(&self) -> &str {
            "C=DE, CN=app"
        }

        fn issuer(&self) -> &str {
            "CN=authority"
        }

        fn names(&self) -> &[String] {
            &self.1
        }

        fn was_good(&self) -> bool {
            false
        }

        fn doubt(&self) -> Option<String> {
            self.0.map(Into::into)
        }
    }

    fn lack(attributes: &str, shown: Option<&dyn ClientCertificate>) -> Option<String> {
        Demands::read(attributes).expect("valid").lack(shown).map(|lack| lack.to_string())
    }

    #[test]
    fn each_part_is_demanded_by_itself() {
        let shown = shown(None);
        for (attributes, what) in [
            ("", None),
            (r#"{"require_x509": true}"#, None),
            (r#"{"require_subject": "C=DE, CN=app", "require_issuer": "CN=authority"}"#, None),
            (r#"{"require_subject": "/C=DE/CN=app"}"#, None),
            (r#"{"require_subject": "CN=app"}"#, Some("subject")),
            // one part with a comma is not two
            (r#"{"require_subject": "/C=DE, CN=app"}"#, Some("subject")),
            (r#"{"require_issuer": "/CN=other"}"#, Some("issuer")),
            (r#"{"require_san": "DNS:app.example"}"#, None),
            (r#"{"require_san": "!DNS:.*\\.example"}"#, None),
            (r#"{"require_san": "DNS:example"}"#, Some("alternative name")),
            (r#"{"spiffe_id": "spiffe://example/app"}"#, None),
            (r#"{"spiffe_id": "!spiffe://example/.*"}"#, None),
            // from end to end
            (r#"{"spiffe_id": "!spiffe://example"}"#, Some("SPIFFE id")),
            (r#"{"spiffe_id": "!a|spiffe://example"}"#, Some("SPIFFE id")),
        ] {
            let told =
                what.map(|part| format!("The {part} of the client's certificate is another one"));
            assert_eq!(lack(attributes, Some(&shown)), told, "{attributes}");
        }
    }

    #[test]
    fn what_nobody_vouches_for_is_worth_nothing() {
        let doubted = shown(Some("expired"));
        let spiffe = r#"{"spiffe_id": "spiffe://example/app"}"#;
        let told = Some("The client's certificate is not trusted: expired".to_owned());
        assert_eq!(lack(spiffe, Some(&doubted)), told);
        assert_eq!(lack("", Some(&doubted)), None);
        let none = Some("A certificate of the client is required".to_owned());
        assert_eq!(lack(spiffe, None), none);
        assert_eq!(lack(r#"{"require_x509": true}"#, None), none);
    }

    #[test]
    fn wrong_demands_are_named() {
        let fault = |attributes: &str| Demands::read(attributes).err().expect("wrong");
        assert_eq!(fault(r#"{"spiffe_id": 1}"#), "spiffe_id is no text");
        assert_eq!(fault(r#"{"spiffe_id": ""}"#), "spiffe_id is no text");
        assert_eq!(fault(r#"{"require_x509": 1}"#), "require_x509 is neither true nor false");
        assert!(fault(r#"{"require_san": "!("}"#).ends_with("`(`"));
        assert_eq!(fault(r#"{"spiffe_id": "!"}"#), "spiffe_id has no pattern behind the !");
        let kinds = "require_san begins with none of DNS:, IP:, URI:, email:";
        assert_eq!(fault(r#"{"require_san": "app.example"}"#), kinds);
        assert_eq!(fault(r#"{"require_san": "URI:"}"#), "require_san has no name behind URI:");
        let address = "require_san has no address behind the IP: `IP:999.1.1.1`";
        assert_eq!(fault(r#"{"require_san": "IP:999.1.1.1"}"#), address);
        for unknown in ["require_X509", "spiffe_ID", "require_name"] {
            let told = fault(&format!("{{\"{unknown}\": true}}"));
            assert!(told.starts_with(&format!("{unknown} is no demand; there are ")), "{told}");
        }
    }
}
