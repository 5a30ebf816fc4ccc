//! Networks: `*` for all addresses, or prefixes such as `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`.

use core::net::IpAddr;
use std::fmt;

/// Addresses that are told together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Networks {
    /// None.
    #[default]
    None,
    /// Those of these networks.
    Of(Box<[Network]>),
    /// Every one, and whoever comes through a Unix socket.
    All,
}

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// The first of them.
    first: IpAddr,
    bits: u8,
}

impl Networks {
    /// Reads several, with `,`, `;` or blanks between them.
    pub fn parse(text: &str) -> Result<Networks, String> {
        let parts = text.split([',', ';', ' ', '\t', '\n']).filter(|part| !part.is_empty());
        let mut list = Vec::new();
        for part in parts {
            if part == "*" {
                return if text.trim() == "*" { Ok(Self::All) } else { Err(beside_all(text)) };
            }
            list.push(Network::parse(part)?);
        }
        Ok(if list.is_empty() { Self::None } else { Self::Of(list.into()) })
    }

    /// Whether an address is among them; `None` is that of a Unix socket.
    pub fn have(&self, address: Option<IpAddr>) -> bool {
        match (self, address.map(|address| address.to_canonical())) {
            (Self::All, _) => true,
            (Self::Of(list), Some(address)) => list.iter().any(|network| network.has(address)),
            (Self::None, _) | (Self::Of(_), None) => false,
        }
    }
}

fn beside_all(text: &str) -> String {
    format!("`{text}` has `*`, which is every network, beside others")
}

impl Network {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither `*` nor an address, alone or with /bits");
        let (first, bits) = match text.split_once('/') {
            Some((first, bits)) => (first, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = first.parse().map_err(|_| wrong())?;
        let width = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= width).ok_or_else(wrong)?,
            None => width,
        };
        let network = match first.to_canonical() {
            IpAddr::V4(v4) if first.is_ipv6() && bits >= 96 => {
                Self { first: IpAddr::V4(v4), bits: bits - 96 }
            }
            _ => Self { first, bits },
        };
        if network.of(network.first) != network.first {
            return Err(format!("`{text}` has bits set behind its first {bits}"));
        }
        Ok(network)
    }

    fn has(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.of(address) == self.first
    }

    /// An address without what is behind the bits.
    fn of(&self, address: IpAddr) -> IpAddr {
        let shift = |width: u32| width.saturating_sub(self.bits.into());
        match address {
            IpAddr::V4(v4) => {
                let kept = u32::MAX.checked_shl(shift(32)).unwrap_or(0);
                IpAddr::V4((v4.to_bits() & kept).into())
            }
            IpAddr::V6(v6) => {
                let kept = u128::MAX.checked_shl(shift(128)).unwrap_or(0);
                IpAddr::V6((v6.to_bits() & kept).into())
            }
        }
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::All => f.write_str("*"),
            Self::Of(list) => list.iter().enumerate().try_for_each(|(at, network)| {
                let comma = if at == 0 { "" } else { "," };
                write!(f, "{comma}{}/{}", network.first, network.bits)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn have(text: &str, address: &str) -> bool {
        Networks::parse(text).expect(text).have(Some(address.parse().expect(address)))
    }

    #[test]
    fn an_address_is_in_the_networks_that_begin_like_it() {
        let list = "10.0.0.0/8, 192.0.2.7;2001:db8::/32 fe80::1/128";
        for inside in ["10.255.0.1", "192.0.2.7", "2001:db8:ffff::", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(have(list, inside), "{inside}");
        }
        for outside in ["11.0.0.0", "192.0.2.8", "2001:db9::", "fe80::2", "::", "::a00:1"] {
            assert!(!have(list, outside), "{outside}");
        }
        assert!(have("0.0.0.0/0", "1.2.3.4") && !have("0.0.0.0/0", "::1"));
        assert!(have("::/0", "::1") && !have("::/0", "1.2.3.4") && !have("", "1.2.3.4"));
        assert!(have(" * ", "1.2.3.4") && have("*", "::1"));
        let unix = |text| Networks::parse(text).expect(text).have(None);
        assert!(unix("*") && !unix("0.0.0.0/0, ::/0") && !unix(""));
    }

    #[test]
    fn they_are_written_in_one_spelling_and_nonsense_is_refused_by_name() {
        let written = |text| Networks::parse(text).map(|networks| networks.to_string());
        assert_eq!(written("127.0.0.1;  2001:DB8::/32").unwrap(), "127.0.0.1/32,2001:db8::/32");
        assert_eq!(written("::ffff:10.0.0.0/104, ::/0").unwrap(), "10.0.0.0/8,::/0");
        assert_eq!((written("*").unwrap(), written(" ").unwrap()), ("*".into(), String::new()));
        for (text, why) in [
            ("lb1", "`lb1` is neither `*` nor an address, alone or with /bits"),
            ("10.0.0.0/33", "`10.0.0.0/33` is neither `*` nor an address, alone or with /bits"),
            ("10.0.0.0/", "`10.0.0.0/` is neither `*` nor an address, alone or with /bits"),
            ("10.0.0.1/8", "`10.0.0.1/8` has bits set behind its first 8"),
            ("10.0.0.1,*", "`10.0.0.1,*` has `*`, which is every network, beside others"),
        ] {
            assert_eq!(written(text).unwrap_err(), why);
        }
    }
}
