//! The header of the PROXY protocol, by which a proxy in front tells whose connection it passes on.
//!
//! Source: "The PROXY protocol, versions 1 & 2", `doc/proxy-protocol.txt` of HAProxy. It comes in
//! front of everything else; no packet of a client begins like it, since a login has sequence
//! number 1 in its fourth byte.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Both ends of a connection that is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The client.
    pub from: SocketAddr,
    /// Where it connected to.
    pub to: SocketAddr,
}

/// A header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProxyHeader {
    /// 1 or 2.
    pub version: u8,
    /// Whose connection it is; `None` for the proxy's own, or one that it cannot tell of.
    pub ends: Option<Ends>,
    /// Its length in bytes.
    pub len: usize,
}

/// What the first bytes of a connection are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// No header.
    Other,
    /// What may become a header, when more has come.
    Begun,
    /// A header.
    Header(ProxyHeader),
    /// What begins like a header and is none, for that reason.
    Malformed(&'static str),
}

const TEXT: &[u8] = b"PROXY ";
const BYTES: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The longest header of version 1, its end of line included.
const TEXT_MAX: usize = 107;

/// What is in front of the addresses of version 2: what it begins with, version and command,
/// family, length.
const FIXED: usize = 16;

/// Bytes behind that: addresses, and what else a proxy tells. More is no header of anybody's.
const TOLD_MAX: usize = 4096;

impl First {
    /// Looks at the first bytes of a connection, as far as they have come.
    pub fn of(bytes: &[u8]) -> Self {
        if let Some(rest) = bytes.strip_prefix(TEXT) {
            of_text(rest)
        } else if bytes.starts_with(BYTES) {
            of_bytes(bytes)
        } else if TEXT.starts_with(bytes) || BYTES.starts_with(bytes) {
            Self::Begun
        } else {
            Self::Other
        }
    }
}

/// Writes a header; `ends` are of one family of addresses, and `None` for a connection of nobody
/// that has an address.
pub fn write(version: u8, ends: Option<Ends>, out: &mut Vec<u8>) {
    match version {
        1 => write_text(ends, out),
        _ => write_bytes(ends, out),
    }
}

fn write_text(ends: Option<Ends>, out: &mut Vec<u8>) {
    let line = match ends {
        None => "UNKNOWN".to_owned(),
        Some(Ends { from, to }) => {
            let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
            format!("{family} {} {} {} {}", from.ip(), to.ip(), from.port(), to.port())
        }
    };
    out.extend_from_slice(TEXT);
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn write_bytes(ends: Option<Ends>, out: &mut Vec<u8>) {
    let (mut told, mut command, mut family) = (Vec::new(), 0x20, 0x00);
    if let Some(Ends { from, to }) = ends {
        (command, family) = (0x21, if from.is_ipv4() { 0x11 } else { 0x21 });
        for address in [from.ip(), to.ip()] {
            match address {
                IpAddr::V4(address) => told.extend_from_slice(&address.octets()),
                IpAddr::V6(address) => told.extend_from_slice(&address.octets()),
            }
        }
        told.extend([from.port(), to.port()].into_iter().flat_map(u16::to_be_bytes));
    }
    let length: u16 = match family {
        0x11 => 12,
        0x21 => 36,
        _ => 0,
    };
    out.extend_from_slice(BYTES);
    out.extend([command, family]);
    out.extend(length.to_be_bytes());
    out.append(&mut told);
}

/// Version 1, without what it begins with.
fn of_text(rest: &[u8]) -> First {
    let max = TEXT_MAX - TEXT.len();
    let seen = rest.get(..max).unwrap_or(rest);
    let Some(end) = seen.windows(2).position(|pair| pair == b"\r\n") else {
        let over = rest.len() >= max;
        return if over { First::Malformed("its line does not end") } else { First::Begun };
    };
    let len = TEXT.len() + end + 2;
    let header = |ends| First::Header(ProxyHeader { version: 1, ends, len });
    let line = seen.get(..end).and_then(|line| str::from_utf8(line).ok());
    let Some(line) = line else { return First::Malformed("its line is no text") };
    let mut words = line.split(' ');
    let is_v4 = match words.next() {
        Some("UNKNOWN") => return header(None),
        Some("TCP4") => true,
        Some("TCP6") => false,
        _ => return First::Malformed("its protocol is none of TCP4, TCP6, UNKNOWN"),
    };
    let mut next = || words.next().unwrap_or_default();
    let addresses = [address(next(), is_v4), address(next(), is_v4)];
    let ports = [port(next()), port(next())];
    match (addresses, ports, words.next()) {
        ([Some(from), Some(to)], [Some(from_port), Some(to_port)], None) => {
            header(Some(Ends { from: (from, from_port).into(), to: (to, to_port).into() }))
        }
        _ => First::Malformed("its line is not two addresses and two ports"),
    }
}

fn address(word: &str, is_v4: bool) -> Option<IpAddr> {
    match is_v4 {
        true => word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        false => word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
    }
}

fn port(word: &str) -> Option<u16> {
    // a sign or leading zeros are no port
    word.parse().ok().filter(|port: &u16| port.to_string() == word)
}

/// Version 2, whole.
fn of_bytes(bytes: &[u8]) -> First {
    let Some(&[command, family, high, low]) = bytes.get(BYTES.len()..FIXED) else {
        return First::Begun;
    };
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return First::Malformed("its version or command is unknown"),
    };
    let told = usize::from(u16::from_be_bytes([high, low]));
    if told > TOLD_MAX {
        return First::Malformed("it is longer than 4112 bytes");
    }
    let len = FIXED + told;
    let Some(told) = bytes.get(FIXED..len) else { return First::Begun };
    let ends = match family {
        _ if is_local => None,
        // no family, datagrams, and sockets of the proxy's machine: nothing that names a client
        0x00..=0x02 | 0x10 | 0x12 | 0x20 | 0x22 | 0x30..=0x32 => None,
        0x11 => match ends::<4>(told) {
            Some(ends) => Some(ends),
            None => return First::Malformed("it has no room for its addresses"),
        },
        0x21 => match ends::<16>(told) {
            Some(ends) => Some(ends),
            None => return First::Malformed("it has no room for its addresses"),
        },
        _ => return First::Malformed("its family of addresses is unknown"),
    };
    First::Header(ProxyHeader { version: 2, ends, len })
}

/// Two addresses of so many bytes, and two ports.
fn ends<const LEN: usize>(told: &[u8]) -> Option<Ends>
where
    IpAddr: From<[u8; LEN]>,
{
    let (from, rest) = told.split_first_chunk::<LEN>()?;
    let (to, rest) = rest.split_first_chunk::<LEN>()?;
    let (from_port, rest) = rest.split_first_chunk::<2>()?;
    let to_port = rest.first_chunk::<2>()?;
    let end = |address: [u8; LEN], port| SocketAddr::new(address.into(), u16::from_be_bytes(port));
    Some(Ends { from: end(*from, *from_port), to: end(*to, *to_port) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, from: &str, to: &str, len: usize) -> First {
        let ends = Ends { from: from.parse().unwrap(), to: to.parse().unwrap() };
        First::Header(ProxyHeader { version, ends: Some(ends), len })
    }

    fn bytes(command: u8, family: u8, told: &[u8]) -> Vec<u8> {
        let len = u16::try_from(told.len()).unwrap().to_be_bytes();
        [BYTES, &[command, family], &len, told].concat()
    }

    #[test]
    fn a_line_tells_both_ends() {
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 40000 3306\r\n";
        let whole = header(1, "192.0.2.7:40000", "198.51.100.1:3306", line.len());
        assert_eq!(First::of(line), whole);
        assert_eq!(First::of(&[line.as_slice(), b"\x01\0\0\x01x"].concat()), whole);
        for cut in 0..line.len() {
            assert_eq!(First::of(&line[..cut]), First::Begun, "{cut}");
        }
        let line = b"PROXY TCP6 2001:db8::7 ::1 65535 0\r\n";
        assert_eq!(First::of(line), header(1, "[2001:db8::7]:65535", "[::1]:0", line.len()));
        let longest: &[u8] = b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
        for line in [b"PROXY UNKNOWN\r\n".as_slice(), longest] {
            let header = ProxyHeader { version: 1, ends: None, len: line.len() };
            assert_eq!(First::of(line), First::Header(header));
        }
    }

    #[test]
    fn bytes_tell_both_ends_and_what_else_they_tell_is_passed_over() {
        let v4 = [&[192, 0, 2, 7, 198, 51, 100, 1, 0x9c, 0x40, 0x0c, 0xea][..], b"\x04\0\x01x"];
        let whole = bytes(0x21, 0x11, &v4.concat());
        assert_eq!(First::of(&whole), header(2, "192.0.2.7:40000", "198.51.100.1:3306", 32));
        for cut in 0..whole.len() {
            assert_eq!(First::of(&whole[..cut]), First::Begun, "{cut}");
        }
        let v6 = [&[0x20; 16][..], &[0x30; 16], &[0, 1, 0, 2]].concat();
        let ends = [
            "[2020:2020:2020:2020:2020:2020:2020:2020]:1",
            "[3030:3030:3030:3030:3030:3030:3030:3030]:2",
        ];
        assert_eq!(First::of(&bytes(0x21, 0x21, &v6)), header(2, ends[0], ends[1], 52));
        for (command, family) in
            [(0x20, 0x11), (0x20, 0xff), (0x21, 0x00), (0x21, 0x12), (0x21, 0x31)]
        {
            let local = bytes(command, family, b"more");
            let header = ProxyHeader { version: 2, ends: None, len: local.len() };
            assert_eq!(First::of(&local), First::Header(header), "{command:x}, {family:x}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let ends = [
            ("192.0.2.7:40000", "198.51.100.1:3306"),
            ("[2001:db8::7]:1", "[::]:65535"),
            ("[::ffff:192.0.2.7]:1", "[::1]:2"),
        ];
        let ends = ends.map(|(from, to)| Ends {
            from: from.parse().expect("an address"),
            to: to.parse().expect("an address"),
        });
        for version in [1, 2] {
            for ends in ends.map(Some).into_iter().chain([None]) {
                let mut bytes = Vec::new();
                write(version, ends, &mut bytes);
                let len = bytes.len();
                let header = First::Header(ProxyHeader { version, ends, len });
                assert_eq!(First::of(&bytes), header, "{version} {ends:?}");
            }
        }
        let mut line = Vec::new();
        write(1, ends[0].into(), &mut line);
        assert_eq!(line, b"PROXY TCP4 192.0.2.7 198.51.100.1 40000 3306\r\n");
    }

    #[test]
    fn what_only_begins_like_a_header_is_malformed_and_a_login_is_none() {
        let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 96]].concat();
        let lines: [&[u8]; 11] = [
            b"PROXY TCP5 1.1.1.1 2.2.2.2 1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            b"PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n",
            b"PROXY TCP4 ::1 ::1 1 2\r\n",
            b"PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n",
            b"PROXY \xff\r\n",
            &long,
        ];
        for line in lines {
            let first = First::of(line);
            assert!(matches!(first, First::Malformed(_)), "{first:?} of {line:?}");
        }
        for wrong in [
            bytes(0x11, 0x11, &[0; 12]),
            bytes(0x22, 0x11, &[0; 12]),
            bytes(0x21, 0x13, &[0; 12]),
            bytes(0x21, 0x41, &[0; 12]),
            bytes(0x21, 0x11, &[0; 11]),
            bytes(0x21, 0x21, &[0; 35]),
            bytes(0x21, 0x11, &[0; TOLD_MAX + 1])[..FIXED].to_vec(),
        ] {
            let first = First::of(&wrong);
            assert!(matches!(first, First::Malformed(_)), "{first:?} of {wrong:?}");
        }
        // logins of 0x50 and 0x0d bytes
        for login in
            [&b"\x50\0\0\x01"[..], b"\x0d\0\0\x01", b"\x20", b"PROXZ", b"\r\n\r\n\0\r\nQUIT\r"]
        {
            assert_eq!(First::of(login), First::Other, "{login:?}");
        }
    }
}
