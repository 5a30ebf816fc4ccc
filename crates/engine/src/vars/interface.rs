//! Listening addresses as an operator writes them.
//!
//! Only the spelling is judged here; whether an address can be listened on is found out by trying.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Interface {
    /// An IP address of this machine and a port.
    Tcp {
        /// Address to bind; the unspecified one means all.
        ip: IpAddr,
        /// Port to bind; 0 lets the system choose.
        port: u16,
    },
    /// Absolute path of a Unix socket.
    Unix(String),
}

impl Interface {
    /// Reads one address: `ip:port`, `[ipv6]:port`, `*:port` or an absolute path.
    pub fn parse(text: &str) -> Result<Interface, String> {
        if text.starts_with('/') {
            return match text.len() {
                0..=UNIX_PATH_BYTES_MAX => Ok(Interface::Unix(text.to_owned())),
                len => Err(format!(
                    "the path `{text}` has {len} bytes; \
                     a Unix socket's may have {UNIX_PATH_BYTES_MAX}"
                )),
            };
        }
        let Some((ip, port)) = text.rsplit_once(':') else {
            return Err(format!("`{text}` has no port; {FORMS}"));
        };
        let Ok(port) = port.parse::<u16>() else {
            return Err(format!("`{port}` is not a port; allowed are 0 to 65535"));
        };
        let ip =
            Self::parse_ip(ip).ok_or_else(|| format!("`{ip}` is not an IP address; {FORMS}"))?;
        Ok(Interface::Tcp { ip, port })
    }

    /// Reads several addresses separated by `;`, with the same one not named twice.
    pub fn parse_list(text: &str) -> Result<Vec<Interface>, String> {
        let mut interfaces = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let interface = Self::parse(part)?;
            let ephemeral = matches!(interface, Interface::Tcp { port: 0, .. });
            if !ephemeral && interfaces.contains(&interface) {
                return Err(format!("`{part}` is named twice"));
            }
            interfaces.push(interface);
        }
        Ok(interfaces)
    }

    fn parse_ip(text: &str) -> Option<IpAddr> {
        if text == "*" {
            return Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        }
        match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interface::Tcp { ip: IpAddr::V4(ip), port } => write!(f, "{ip}:{port}"),
            Interface::Tcp { ip: IpAddr::V6(ip), port } => write!(f, "[{ip}]:{port}"),
            Interface::Unix(path) => f.write_str(path),
        }
    }
}

/// What `sockaddr_un` holds beside its terminating zero byte.
const UNIX_PATH_BYTES_MAX: usize = 107;

const FORMS: &str = "write ip:port, [ipv6]:port or /path/of.sock";
