//! What the first bytes of a connection tell of whose it is: nothing, or a header of the PROXY
//! protocol, which counts from some networks only.

use core::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::proxy_header::{First, ProxyHeader};

use crate::stats::Counters;
use crate::vars::Networks;

/// What the first bytes of a connection are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FirstBytes {
    /// No header.
    Other,
    /// What may become a header, when more has come.
    Begun,
    /// A header that counts.
    Header(ProxyHeader),
    /// A header that ends the connection, for that reason.
    Refused(String),
}

impl FirstBytes {
    /// Looks at them, as far as they have come; `from` gives the address of the connection, `None`
    /// for a Unix socket, and `allowed` the variable of the networks that may send a header.
    #[inline]
    pub fn read(
        bytes: &[u8],
        from: impl Fn() -> Option<IpAddr>,
        allowed: (&str, &Networks),
    ) -> Self {
        // what a header may begin with
        match bytes.first() {
            Some(b'P' | b'\r') | None => Self::read_header(bytes, from, allowed),
            Some(_) => Self::Other,
        }
    }

    #[cold]
    fn read_header(
        bytes: &[u8],
        from: impl Fn() -> Option<IpAddr>,
        (variable, networks): (&str, &Networks),
    ) -> Self {
        match First::of(bytes) {
            First::Other => Self::Other,
            First::Begun => Self::Begun,
            First::Header(header) if networks.have(from()) => Self::Header(header),
            First::Header(_) => {
                let from = from().map_or("a Unix socket".to_owned(), |from| from.to_string());
                let why =
                    format!("a PROXY protocol header from {from}, which is not in {variable}");
                Self::Refused(why)
            }
            First::Malformed(why) => {
                Self::Refused(format!("a PROXY protocol header is malformed: {why}"))
            }
        }
    }
}

/// Headers at the ports that no worker serves.
#[derive(Default, Debug)]
pub struct HeaderCounts {
    taken: AtomicU64,
    refused: AtomicU64,
}

impl HeaderCounts {
    /// Counts one.
    pub fn note(&self, is_taken: bool) {
        let count = if is_taken { &self.taken } else { &self.refused };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds them to those of the workers.
    pub fn add_to(&self, counters: &mut Counters) {
        counters.proxy_headers += self.taken.load(Ordering::Relaxed);
        counters.proxy_headers_refused += self.refused.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_counts_from_its_networks_alone() {
        let networks = Networks::parse("192.0.2.0/24").expect("a network");
        let read = |bytes: &[u8], from: Option<&str>| {
            let from = from.map(|from| from.parse().expect("an address"));
            FirstBytes::read(bytes, || from, ("x-networks", &networks))
        };
        let line = b"PROXY TCP4 10.0.0.1 10.0.0.2 5 6\r\nGET /";
        let FirstBytes::Header(header) = read(line, Some("192.0.2.9")) else { panic!("none") };
        assert_eq!((header.version, header.len), (1, line.len() - 5));
        for (from, told) in [(Some("192.0.3.9"), "192.0.3.9"), (None, "a Unix socket")] {
            let why = format!("a PROXY protocol header from {told}, which is not in x-networks");
            assert_eq!(read(line, from), FirstBytes::Refused(why));
        }
        assert_eq!(read(b"PROX", None), FirstBytes::Begun);
        assert_eq!(read(b"PUT / HTTP/1.1", Some("192.0.2.9")), FirstBytes::Other);
        let FirstBytes::Refused(why) = read(b"PROXY x\r\n", Some("192.0.2.9")) else {
            panic!("taken")
        };
        assert!(why.contains("malformed"), "{why}");
    }

    #[test]
    fn headers_of_all_ports_are_counted_together() {
        let counts = HeaderCounts::default();
        [true, false, false].into_iter().for_each(|is_taken| counts.note(is_taken));
        let mut all = Counters { proxy_headers: 5, ..Counters::default() };
        counts.add_to(&mut all);
        assert_eq!((all.proxy_headers, all.proxy_headers_refused), (6, 2));
    }
}
