//! What listeners of clients demand of TLS, as an operator writes it.
//!
//! Only the list is judged here, and whether listeners have what it names; what a client lacks is
//! found out when it logs in.

use core::net::IpAddr;
use std::fmt;

use super::Interface;

/// What a listener demands of its clients. Each has to use TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TlsDemand {
    /// A certificate that an authority vouches for.
    pub certificate: bool,
    /// The least version.
    pub least: LeastTls,
}

/// The least version of TLS that a listener demands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeastTls {
    /// Any that is spoken.
    #[default]
    Any,
    /// TLS 1.3.
    V13,
}

/// The listeners that demand something, and what.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterfacesTls(Vec<(Interface, TlsDemand)>);

impl InterfacesTls {
    /// Reads entries such as `0.0.0.0:6034 certificate TLSv1.3`, separated by `;`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut list = Vec::new();
        for (number, entry) in items(text) {
            let of_item = |reason| format!("item {number}, `{entry}`: {reason}");
            let (interface, demand) = parse_entry(entry).map_err(of_item)?;
            if list.iter().any(|(other, _)| *other == interface) {
                return Err(of_item(format!("`{interface}` is named twice")));
            }
            list.push((interface, demand));
        }
        Ok(Self(list))
    }

    /// Why these demands cannot be met by what listens there, and by these versions of TLS.
    pub(super) fn fault(&self, interfaces: &[Interface], versions: &str) -> Option<String> {
        let speaks_1_3 = versions.is_empty() || versions.split(',').any(|it| it.trim() == V13);
        (1..).zip(&self.0).find_map(|(number, (interface, demand))| {
            let entry = Entry(interface, demand);
            if !interfaces.contains(interface) {
                let reason = "mysql-interfaces has no such address";
                return Some(format!("item {number}, `{entry}`: {reason}"));
            }
            let is_spoken = demand.least != LeastTls::V13 || speaks_1_3;
            (!is_spoken)
                .then(|| format!("item {number}, `{entry}`: mysql-tls_version is without {V13}"))
        })
    }

    /// What is demanded of a client that was accepted there; the path and 0 for a Unix socket.
    pub fn of(&self, (address, port): (&str, u16)) -> Option<TlsDemand> {
        if self.0.is_empty() {
            return None;
        }
        let ip: IpAddr = address.parse().ok()?;
        let there = Interface::Tcp { ip, port };
        self.0.iter().find(|(interface, _)| *interface == there).map(|(_, demand)| *demand)
    }

    /// What each listener demands that demands something.
    pub fn demands(&self) -> impl Iterator<Item = &TlsDemand> {
        self.0.iter().map(|(_, demand)| demand)
    }
}

impl fmt::Display for InterfacesTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (interface, demand)) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{}", Entry(interface, demand))?;
        }
        Ok(())
    }
}

/// An entry in its canonical spelling.
struct Entry<'a>(&'a Interface, &'a TlsDemand);

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(interface, TlsDemand { certificate, least }) = self;
        let words = [
            (REQUIRED, !certificate && *least == LeastTls::Any),
            (CERTIFICATE, *certificate),
            (V13, *least == LeastTls::V13),
        ];
        write!(f, "{interface}")?;
        words.iter().filter(|(_, is_said)| *is_said).try_for_each(|(word, _)| write!(f, " {word}"))
    }
}

fn parse_entry(entry: &str) -> Result<(Interface, TlsDemand), String> {
    let mut words = entry.split_whitespace();
    let interface = Interface::parse(words.next().unwrap_or_default())?;
    match interface {
        Interface::Unix(_) => return Err("a Unix socket has no TLS, and counts as secure".into()),
        Interface::Tcp { port: 0, .. } => {
            return Err("which port the system chooses for 0 is not known before".into());
        }
        Interface::Tcp { .. } => {}
    }
    let (mut demand, mut any) = (TlsDemand::default(), false);
    for word in words {
        any = true;
        match word {
            // each word demands TLS, and every version that is spoken is one of these
            REQUIRED | V12 => {}
            CERTIFICATE => demand.certificate = true,
            V13 => demand.least = LeastTls::V13,
            _ => return Err(format!("`{word}` is no demand; {DEMANDS}")),
        }
    }
    match any {
        true => Ok((interface, demand)),
        false => Err(format!("it demands nothing; {DEMANDS}")),
    }
}

/// The items of a list with their numbers, from 1.
fn items(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
    (1..).zip(items)
}

const REQUIRED: &str = "required";
const CERTIFICATE: &str = "certificate";
const V12: &str = "TLSv1.2";
const V13: &str = "TLSv1.3";

const DEMANDS: &str = "there are required, certificate, TLSv1.2 and TLSv1.3";

#[cfg(test)]
mod tests {
    use super::*;

    const TLS: TlsDemand = TlsDemand { certificate: false, least: LeastTls::Any };

    #[test]
    fn a_listener_demands_what_stands_behind_its_address() {
        let text = "0.0.0.0:6034 required;[::]:6035  certificate TLSv1.3 ; *:6036 TLSv1.2;";
        let list = InterfacesTls::parse(text).expect(text);
        let both = TlsDemand { certificate: true, least: LeastTls::V13 };
        assert_eq!(list.of(("0.0.0.0", 6034)), Some(TLS));
        assert_eq!(list.of(("::", 6035)), Some(both));
        assert_eq!(list.of(("0.0.0.0", 6036)), Some(TLS));
        for other in [("0.0.0.0", 6033), ("127.0.0.1", 6034), ("::", 6034), ("/run/a.sock", 0)] {
            assert_eq!(list.of(other), None, "{other:?}");
        }
        let canonical = "0.0.0.0:6034 required; [::]:6035 certificate TLSv1.3; \
                         0.0.0.0:6036 required";
        assert_eq!(list.to_string(), canonical);
        assert_eq!(InterfacesTls::parse(canonical), Ok(list));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, why) in [
            (
                "*:1 required; 0.0.0.0:2 requird",
                "item 2, `0.0.0.0:2 requird`: `requird` is no demand",
            ),
            ("*:1 TLSv1.1", "item 1, `*:1 TLSv1.1`: `TLSv1.1` is no demand; there are required, "),
            ("*:1", "item 1, `*:1`: it demands nothing; there are required, certificate, TLSv1.2"),
            (
                "*:1 required; 0.0.0.0:1 TLSv1.3",
                "item 2, `0.0.0.0:1 TLSv1.3`: `0.0.0.0:1` is named",
            ),
            ("/run/a required", "item 1, `/run/a required`: a Unix socket has no TLS"),
            ("*:0 required", "item 1, `*:0 required`: which port the system chooses"),
            ("required", "item 1, `required`: `required` has no port; write ip:port"),
        ] {
            let fault = InterfacesTls::parse(text).expect_err(text);
            assert!(fault.starts_with(why), "{fault}");
        }
    }
}
