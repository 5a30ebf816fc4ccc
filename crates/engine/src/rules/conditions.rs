//! The columns of a rule that ask.
//!
//! They stand in the order of their cost. All but `match_pattern` ask for what is the same
//! whenever the same client sends a query of the same digest.

use std::sync::Arc;

use serde_json::Value;

use super::backtracking::LimitReached;
use super::cells::{Cells, bytes, text};
use super::observe::Condition;
use super::pattern::{Options, Pattern, PatternScratch};
use super::patterns::KnownPattern;
use super::{Engine, RuleInput};
use crate::json;

/// What a query must satisfy, all of it; `None` asks for nothing.
#[derive(Debug)]
pub(super) struct Conditions {
    pub(super) flag_in: u32,
    pub(super) username: Option<Box<[u8]>>,
    pub(super) schemaname: Option<Box<[u8]>>,
    pub(super) client_addr: Option<Address>,
    pub(super) proxy_addr: Option<Box<[u8]>>,
    pub(super) proxy_port: Option<u16>,
    pub(super) server_names: Option<Box<[Box<[u8]>]>>,
    pub(super) digest: Option<u64>,
    pub(super) match_digest: Option<Arc<Pattern>>,
    pub(super) match_pattern: Option<Arc<Pattern>>,
    pub(super) negate: bool,
    /// The proxy answers what satisfies them.
    pub(super) answers: bool,
    /// It does so with an error: a search that was given up satisfies them, too. An OK would tell
    /// of what was not done.
    refuses: bool,
}

/// What a client's address must be.
#[derive(Debug)]
pub(super) enum Address {
    Exact(Box<[u8]>),
    Prefix(Box<[u8]>),
}

impl Address {
    fn matches(&self, found: &[u8]) -> bool {
        match self {
            Self::Exact(address) => **address == *found,
            Self::Prefix(prefix) => found.starts_with(prefix),
        }
    }
}

impl Conditions {
    pub(super) fn compile(cells: &mut Cells<'_, '_>, engine: Engine) -> Self {
        let row = cells.row;
        cells.flag("active", row.active);
        let options = modifiers(cells, engine);
        Self {
            flag_in: cells.optional("flagIN", Some(row.flag_in), 0).unwrap_or(0),
            username: bytes(&row.username),
            schemaname: bytes(&row.schemaname),
            client_addr: client_addr(cells),
            proxy_addr: bytes(&row.proxy_addr),
            proxy_port: row.proxy_port.and_then(|port| {
                let port = cells.number("proxy_port", port, 0, u32::from(u16::MAX))?;
                u16::try_from(port).ok()
            }),
            server_names: server_names(cells),
            digest: digest(cells),
            match_digest: pattern(cells, "match_digest", &row.match_digest, options),
            match_pattern: pattern(
                cells,
                "match_pattern",
                &row.match_pattern,
                Options { replaces: row.replace_pattern.is_some(), ..options },
            ),
            negate: cells.flag("negate_match_pattern", row.negate_match_pattern),
            answers: row.error_msg.is_some() || row.ok_msg.is_some(),
            refuses: row.error_msg.is_some(),
        }
    }

    /// The first column that does not match among those that are the same for every query of a
    /// digest and client; the flag is not looked at.
    pub(super) fn miss_of_stable(
        &self,
        input: &RuleInput<'_>,
        scratch: &mut PatternScratch,
    ) -> Option<Condition> {
        if !is_exactly(self.username.as_deref(), input.username) {
            return Some(Condition::Username);
        }
        if !is_exactly(self.schemaname.as_deref(), input.schemaname) {
            return Some(Condition::Schemaname);
        }
        if let Some(asked) = &self.client_addr
            && !input.client_addr.is_empty()
            && !asked.matches(input.client_addr)
        {
            return Some(Condition::ClientAddr);
        }
        if !input.proxy_addr.is_empty() && !is_exactly(self.proxy_addr.as_deref(), input.proxy_addr)
        {
            return Some(Condition::ProxyAddr);
        }
        if self.proxy_port.is_some_and(|port| port != input.proxy_port) {
            return Some(Condition::ProxyPort);
        }
        if self.server_names.is_some() && !self.is_called_by(input.server_name) {
            return Some(Condition::ServerName);
        }
        let digest = input.digest?;
        if self.digest.is_some_and(|asked| asked != digest.hash) {
            return Some(Condition::Digest);
        }
        let pattern = self.match_digest.as_ref()?;
        (!self.holds(pattern, digest.text, scratch)).then_some(Condition::MatchDigest)
    }

    #[cold]
    fn is_called_by(&self, name: &[u8]) -> bool {
        let mut asked = self.server_names.iter().flatten();
        asked.any(|asked| asked.eq_ignore_ascii_case(name))
    }

    /// Whether the text as it stands satisfies `match_pattern`.
    pub(super) fn match_text(&self, text: &[u8], scratch: &mut PatternScratch) -> bool {
        let pattern = self.match_pattern.as_ref();
        pattern.is_none_or(|pattern| self.holds(pattern, text, scratch))
    }

    fn holds(&self, pattern: &Pattern, text: &[u8], scratch: &mut PatternScratch) -> bool {
        match pattern.is_match(text, scratch) {
            Ok(found) => found != self.negate,
            // as if it had found nothing, but nobody passes a rule that refuses by that
            Err(LimitReached) => self.negate || self.refuses,
        }
    }
}

fn is_exactly(asked: Option<&[u8]>, found: &[u8]) -> bool {
    asked.is_none_or(|asked| asked == found)
}

fn client_addr(cells: &mut Cells<'_, '_>) -> Option<Address> {
    let asked = text(&cells.row.client_addr)?;
    match asked.split_once('%') {
        None => Some(Address::Exact(asked.as_bytes().into())),
        Some(("", "")) => None,
        Some((prefix, "")) => Some(Address::Prefix(prefix.as_bytes().into())),
        Some(_) => {
            let reason = format!("`{asked}`: a % is allowed at the end only");
            cells.fault("client_addr", reason);
            None
        }
    }
}

/// The hosts that `attributes` ask for.
fn server_names(cells: &mut Cells<'_, '_>) -> Option<Box<[Box<[u8]>]>> {
    match read_server_names(&cells.row.attributes) {
        Ok(names) if names.is_empty() => None,
        Ok(names) => Some(names.into_iter().map(|name| name.into_bytes().into()).collect()),
        Err(reason) => {
            cells.fault("attributes", reason);
            None
        }
    }
}

/// The same of a column; empty where it asks for none.
pub(super) fn read_server_names(attributes: &str) -> Result<Vec<String>, String> {
    let named = |value: Value| match value {
        Value::String(name) if !name.is_empty() => Ok(name),
        _ => Err(r#"sni is no host; write {"sni":["db.example"]}"#.to_owned()),
    };
    match json::member(attributes, "sni")? {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) if !list.is_empty() => list.into_iter().map(named).collect(),
        Some(value) => named(value).map(|name| vec![name]),
    }
}

fn digest(cells: &mut Cells<'_, '_>) -> Option<u64> {
    let asked = text(&cells.row.digest)?;
    let digits = asked.strip_prefix("0x").or_else(|| asked.strip_prefix("0X"));
    let hash = digits
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if hash.is_none() {
        let reason = format!("`{asked}` is no digest; write 0x and up to 16 hexadecimal digits");
        cells.fault("digest", reason);
    }
    hash
}

fn modifiers(cells: &mut Cells<'_, '_>, engine: Engine) -> Options {
    let mut options = Options { engine, caseless: false, replaces: false, global: false };
    let words = cells.row.re_modifiers.as_deref().unwrap_or_default();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if word.eq_ignore_ascii_case("CASELESS") {
            options.caseless = true;
        } else if word.eq_ignore_ascii_case("GLOBAL") {
            options.global = true;
        } else {
            let reason = format!("`{word}` is not allowed; allowed: CASELESS, GLOBAL");
            cells.fault("re_modifiers", reason);
        }
    }
    options
}

/// The pattern of an active row; that of an inactive one may be anything.
fn pattern(
    cells: &mut Cells<'_, '_>,
    column: &str,
    cell: &Option<String>,
    options: Options,
) -> Option<Arc<Pattern>> {
    let text = text(cell).filter(|_| cells.is_active())?;
    match cells.pattern(text, options) {
        Ok(KnownPattern { pattern, slow }) => {
            if let Some(why) = slow {
                cells.slow(column, &why.to_string());
            }
            Some(pattern)
        }
        Err(refusal) => {
            let reason = format!("rule {}: {refusal}", cells.row.rule_id);
            cells.fault(column, reason);
            None
        }
    }
}
