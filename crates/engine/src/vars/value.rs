//! Values of variables: from text to a typed value and back.
//!
//! Knows kinds and their bounds; knows no variable by name.

use core::net::IpAddr;
use std::fmt;

use wire::auth::sha2;

use super::{Interface, InterfacesTls, KeyHash, Kind, Networks};

/// A validated value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Of a [`Kind::Bool`].
    Bool(bool),
    /// Of a [`Kind::Int`].
    Int(i64),
    /// Of every other kind, in its canonical spelling.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Text(value) => f.write_str(value),
        }
    }
}

/// Validates `text`; the error says what is wrong and what is allowed.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Bool => parse_bool(text).map(Value::Bool),
        Kind::Int { min, max } => parse_int(text, min, max).map(Value::Int),
        Kind::Text => Ok(Value::Text(unset_when_null(text).to_owned())),
        Kind::OneOf(words) => parse_word(text, words).map(|word| Value::Text(word.to_owned())),
        Kind::Interfaces => parse_interfaces(text).map(Value::Text),
        Kind::InterfacesTls => {
            InterfacesTls::parse(unset_when_null(text)).map(|it| Value::Text(it.to_string()))
        }
        Kind::Credentials => parse_credentials(text).map(Value::Text),
        Kind::Tokens => parse_tokens(unset_when_null(text)).map(Value::Text),
        Kind::KeyHashes => parse_key_hashes(text).map(Value::Text),
        Kind::Networks => {
            Networks::parse(unset_when_null(text)).map(|it| Value::Text(it.to_string()))
        }
        Kind::Ip => parse_ip(text).map(Value::Text),
        Kind::ReadOnly => Err("is read-only".to_owned()),
    }
}

/// What a kind allows, for people.
pub(super) fn allowed(kind: Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Int { min, max } => format!("{min} to {max}"),
        Kind::Text => "text".to_owned(),
        Kind::OneOf(words) => words
            .iter()
            .map(|word| if word.is_empty() { "\"\"" } else { word })
            .collect::<Vec<_>>()
            .join(", "),
        Kind::Interfaces => "ip:port, [ipv6]:port or /path/of.sock, separated by ;".to_owned(),
        Kind::InterfacesTls => {
            "addresses of mysql-interfaces, each with required, certificate, TLSv1.2 or TLSv1.3 \
             behind it, separated by ;"
                .to_owned()
        }
        Kind::Credentials => "user:password, separated by ;".to_owned(),
        Kind::Tokens => "tokens or their * hashes, separated by ;".to_owned(),
        Kind::KeyHashes => "SHA256: and 64 hexadecimal digits, separated by ;".to_owned(),
        Kind::Networks => "* or networks such as 10.0.0.0/8, separated by ,".to_owned(),
        Kind::Ip => "an IP address".to_owned(),
        Kind::ReadOnly => "nothing (read-only)".to_owned(),
    }
}

fn parse_bool(text: &str) -> Result<bool, String> {
    if text == "1" || text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text == "0" || text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(format!("`{text}` is not true or false"))
    }
}

fn parse_int(text: &str, min: i64, max: i64) -> Result<i64, String> {
    // some drivers write every number with decimals
    let whole = text.split_once('.').filter(|(_, rest)| is_zeros(rest)).map(|(whole, _)| whole);
    let Ok(value) = whole.unwrap_or(text).parse::<i64>() else {
        return Err(format!("`{text}` is not a number; allowed are {min} to {max}"));
    };
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{value} is out of range; allowed are {min} to {max}"))
    }
}

fn is_zeros(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit == b'0')
}

fn parse_word(text: &str, words: &'static [&'static str]) -> Result<&'static str, String> {
    let found = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        format!("`{text}` is not allowed; allowed are {}", allowed(Kind::OneOf(words)))
    })
}

fn parse_interfaces(text: &str) -> Result<String, String> {
    let parsed = Interface::parse_list(text)?;
    Ok(parsed.iter().map(Interface::to_string).collect::<Vec<_>>().join(";"))
}

fn parse_key_hashes(text: &str) -> Result<String, String> {
    let parsed = KeyHash::parse_list(text)?;
    Ok(parsed.iter().map(KeyHash::to_string).collect::<Vec<_>>().join(";"))
}

fn parse_credentials(text: &str) -> Result<String, String> {
    for (at, account) in (1..).zip(accounts(text)) {
        match account.split_once(':') {
            // what stands there may be a password
            None => return Err(format!("account {at} has no password; {CREDENTIALS}")),
            Some(("", _)) => return Err(format!("an account has no name; {CREDENTIALS}")),
            Some((_, stored)) if stored.starts_with(SHA2) => {
                match sha2::rounds(stored.as_bytes()) {
                    None => {
                        return Err(format!("account {at} has {SHA2}, and no hash of 70 bytes"));
                    }
                    Some(ROUNDS_BEYOND..) => {
                        return Err(format!(
                            "the hash of account {at} has more than 20,000 rounds"
                        ));
                    }
                    Some(_) => {}
                }
            }
            Some(_) => {}
        }
    }
    Ok(text.to_owned())
}

/// Tokens are looked for in every request: a hash that takes milliseconds is none of them.
fn parse_tokens(text: &str) -> Result<String, String> {
    let mut tokens = (1..).zip(text.split(';').map(str::trim).filter(|token| !token.is_empty()));
    match tokens.find(|(_, token)| token.starts_with(SHA2)) {
        // the token itself may be a secret
        Some((at, _)) => Err(format!(
            "token {at} begins with {SHA2}, as hashes of caching_sha2_password do, which no token \
             is compared with; allowed are {}",
            allowed(Kind::Tokens)
        )),
        None => Ok(text.to_owned()),
    }
}

/// The password of an account in a list of `user:password`, separated by `;`.
pub fn password_in<'a>(list: &'a str, user: &str) -> Option<&'a str> {
    credentials(list).find(|(name, _)| *name == user).map(|(_, password)| password)
}

/// Names and passwords in such a list.
pub fn credentials(list: &str) -> impl Iterator<Item = (&str, &str)> {
    accounts(list).filter_map(|account| account.split_once(':'))
}

/// The accounts in such a list. A hash of `caching_sha2_password` is taken whole: there may be a
/// `;` in its salt.
fn accounts(mut list: &str) -> impl Iterator<Item = &str> {
    let next = move || {
        let end_of_hash = list.find([':', ';']).and_then(|colon| {
            let end = colon.checked_add(1 + sha2::STORED_BYTES)?;
            let stored = list.get(colon..end)?.strip_prefix(':')?;
            let is_last = list.get(end..)?.is_empty() || list.get(end..)?.starts_with(';');
            (is_last && sha2::rounds(stored.as_bytes()).is_some()).then_some(end)
        });
        let end = end_of_hash.or_else(|| list.find(';')).unwrap_or(list.len());
        let (account, rest) = list.split_at_checked(end)?;
        let is_over = list.is_empty();
        list = rest.strip_prefix(';').unwrap_or(rest);
        (!is_over).then_some(account)
    };
    std::iter::from_fn(next).filter(|account| !account.is_empty())
}

fn parse_ip(text: &str) -> Result<String, String> {
    let ip = text.parse::<IpAddr>().map_err(|_| format!("`{text}` is not an IP address"))?;
    Ok(ip.to_string())
}

/// The interface shows an unset text as `(null)`; reading it back means unset again.
fn unset_when_null(text: &str) -> &str {
    if text == "(null)" { "" } else { text }
}

/// What a hash of `caching_sha2_password` begins with.
const SHA2: &str = "$A$";
/// More rounds than the password of an administrator may take.
const ROUNDS_BEYOND: u32 = 20_001;
const CREDENTIALS: &str = "write user:password, several separated by ;";
