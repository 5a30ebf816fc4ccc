//! Where a server would rather have a client connect: what it says in the OK packet of a login.
//!
//! Two forms are known. MariaDB tracks the system variable `redirect_url`; Azure begins the text
//! for people with `Location: `. Both name a server by a url. Whether a connection goes there is
//! decided elsewhere.

use core::fmt;
use core::net::Ipv6Addr;

use crate::reply::{OkPacket, SessionChange, SessionTrack};

/// The system variable that MariaDB tells it by.
pub const VARIABLE: &[u8] = b"redirect_url";

/// The longest url that is read.
pub const URL_BYTES_MAX: usize = 512;

/// The port of a url that names none.
const PORT: u16 = 3306;

/// How the text for people begins where it is a redirect.
const LOCATION: &[u8] = b"Location: ";

const HOST_BYTES_MAX: usize = 255;
const USER_BYTES_MAX: usize = 128;

/// A server that a url names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Name or address, in lower case and without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The name to log in with; `None` for the one that was logged in with before.
    pub user: Option<Vec<u8>>,
    /// For how many seconds it holds; `None` where the url does not say.
    pub ttl_s: Option<u32>,
}

/// Why a text is no redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadUrl {
    /// It is longer than [`URL_BYTES_MAX`].
    Long,
    /// It begins neither with `mysql://` nor with `mariadb://`.
    Scheme,
    /// What stands for the host is neither a name nor an address.
    Host,
    /// What stands for the port is none.
    Port,
    /// The user is no name that a server can have.
    User,
    /// It has a password, which is nobody's to choose but the account's.
    Password,
    /// The time to live is no number of seconds.
    TimeToLive,
    /// It goes on behind the host with something else than parameters.
    Path,
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Long => "the url is too long",
            Self::Scheme => "the url begins neither with mysql:// nor with mariadb://",
            Self::Host => "the url names no host",
            Self::Port => "the url has no valid port",
            Self::User => "the url has no valid user",
            Self::Password => "the url has a password",
            Self::TimeToLive => "the url has no valid ttl",
            Self::Path => "the url names a path",
        })
    }
}

/// The url in the OK packet that ended a login; `None` where the server offers no other place.
pub fn offered<'a>(ok: &OkPacket<'a>) -> Option<&'a [u8]> {
    let tracked = SessionTrack::new(ok.session_track).flatten().find_map(|change| match change {
        SessionChange::SystemVariable { name, value } if name == VARIABLE => Some(value),
        _ => None,
    });
    let told = || {
        let url = ok.info.strip_prefix(LOCATION)?;
        url.split(|byte| matches!(byte, b'\r' | b'\n')).next()
    };
    tracked.or_else(told).filter(|url| !url.is_empty())
}

/// Appends, as session-track data, that a client is to connect to that server.
pub fn write_tracked(host: &str, port: u16, out: &mut Vec<u8>) {
    let url = match host.contains(':') {
        true => format!("mysql://[{host}]:{port}"),
        false => format!("mysql://{host}:{port}"),
    };
    SessionChange::SystemVariable { name: VARIABLE, value: url.as_bytes() }.encode(out);
}

impl Redirect {
    /// Reads a url: `mysql://` or `mariadb://`, then `[user@]host[:port]`, then parameters behind
    /// `/?` or, as Azure had it first, behind `/`. Of these `user` and `ttl` count.
    pub fn parse(url: &[u8]) -> Result<Self, BadUrl> {
        if url.len() > URL_BYTES_MAX {
            return Err(BadUrl::Long);
        }
        let rest = without_scheme(url).ok_or(BadUrl::Scheme)?;
        let (place, parameters) = split(rest, b"/?");
        let (user, place) = match place.iter().rposition(|byte| *byte == b'@') {
            Some(at) => (place.get(..at), place.get(at + 1..).unwrap_or_default()),
            None => (None, place),
        };
        let (host, port) = host_and_port(place)?;
        let user = user.map(named_user).transpose()?;
        let mut redirect = Self { host, port, user, ttl_s: None };
        redirect.read_parameters(parameters)?;
        Ok(redirect)
    }

    fn read_parameters(&mut self, rest: &[u8]) -> Result<(), BadUrl> {
        let list = rest.strip_prefix(b"/").unwrap_or(rest);
        let list = match list.strip_prefix(b"?") {
            Some(list) => list,
            None if list.is_empty() || is_parameter(list) => list,
            None => return Err(BadUrl::Path),
        };
        for parameter in list.split(|byte| *byte == b'&') {
            let (name, value) = split(parameter, b"=");
            let value = value.get(1..).unwrap_or_default();
            match name {
                b"user" => self.user = Some(user_of(value)?),
                b"ttl" => self.ttl_s = Some(number(value).ok_or(BadUrl::TimeToLive)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a path is the list of parameters itself.
fn is_parameter(path: &[u8]) -> bool {
    path.starts_with(b"user=") || path.starts_with(b"ttl=")
}

fn without_scheme(url: &[u8]) -> Option<&[u8]> {
    let at = url.windows(3).position(|three| three == b"://")?;
    let (scheme, rest) = url.split_at_checked(at)?;
    let is_known = ["mysql", "mariadb"].iter().any(|it| scheme.eq_ignore_ascii_case(it.as_bytes()));
    is_known.then(|| rest.get(3..))?
}

/// What stands before the first of these bytes, and the rest with it.
fn split<'a>(text: &'a [u8], at: &[u8]) -> (&'a [u8], &'a [u8]) {
    let end = text.iter().position(|byte| at.contains(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

fn host_and_port(place: &[u8]) -> Result<(String, u16), BadUrl> {
    let (host, port) = match place.strip_prefix(b"[") {
        Some(rest) => {
            let (host, rest) = split(rest, b"]");
            (host, rest.strip_prefix(b"]").ok_or(BadUrl::Host)?)
        }
        None => split(place, b":"),
    };
    let port = match port {
        [] => PORT,
        [b':', port @ ..] => {
            number(port).and_then(|port| u16::try_from(port).ok()).ok_or(BadUrl::Port)?
        }
        _ => return Err(BadUrl::Port),
    };
    if port == 0 {
        return Err(BadUrl::Port);
    }
    let host = str::from_utf8(host).map_err(|_| BadUrl::Host)?.to_ascii_lowercase();
    if is_host(&host) { Ok((host, port)) } else { Err(BadUrl::Host) }
}

/// Whether a text can be what a host is called.
fn is_host(text: &str) -> bool {
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    match text.contains(':') {
        true => text.parse::<Ipv6Addr>().is_ok(),
        false => {
            !text.is_empty()
                && text.len() <= HOST_BYTES_MAX
                && !text.starts_with(['-', '.'])
                && text.bytes().all(is_named)
        }
    }
}

/// The user in front of an `@`.
fn named_user(text: &[u8]) -> Result<Vec<u8>, BadUrl> {
    if text.contains(&b':') { Err(BadUrl::Password) } else { user_of(text) }
}

/// A user's name, in which `%` and two hexadecimal digits stand for a byte.
fn user_of(text: &[u8]) -> Result<Vec<u8>, BadUrl> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let byte = match (byte, behind) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low).ok_or(BadUrl::User)?
            }
            (b'%', _) => return Err(BadUrl::User),
            (byte, _) => *byte,
        };
        name.push(byte);
    }
    let is_fine = !name.is_empty() && name.len() <= USER_BYTES_MAX;
    if is_fine && !name.iter().any(u8::is_ascii_control) { Ok(name) } else { Err(BadUrl::User) }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// A number of decimal digits alone.
fn number(text: &[u8]) -> Option<u32> {
    let is_plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_plain.then(|| str::from_utf8(text).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests;
