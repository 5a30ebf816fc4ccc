//! Addresses as the system writes them. Deliberately knows no sockets.

use std::mem::{offset_of, size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::length;
use crate::addr::Addr;

const PATH_AT: usize = offset_of!(libc::sockaddr_un, sun_path);

/// A family of addresses as the system's structs have it.
fn family(number: libc::c_int) -> libc::sa_family_t {
    libc::sa_family_t::try_from(number).unwrap_or_default()
}

/// An address in the system's form.
pub(crate) struct RawAddress {
    storage: libc::sockaddr_storage,
    len: libc::socklen_t,
}

impl RawAddress {
    /// Room for an address of any family.
    pub(crate) fn empty() -> Self {
        // SAFETY: an all-zero `sockaddr_storage` is a valid value of the plain struct.
        let storage = unsafe { zeroed() };
        RawAddress { storage, len: length(size_of::<libc::sockaddr_storage>()) }
    }

    pub(crate) fn new(addr: &Addr) -> Result<Self, i32> {
        match addr {
            Addr::Tcp(SocketAddr::V4(v4)) => Ok(Self::v4(v4)),
            Addr::Tcp(SocketAddr::V6(v6)) => Ok(Self::v6(v6)),
            Addr::Unix(path) => Self::unix(path.as_os_str().as_bytes()),
        }
    }

    fn v4(v4: &SocketAddrV4) -> Self {
        let address = libc::sockaddr_in {
            sin_family: family(libc::AF_INET),
            sin_port: v4.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
            sin_zero: [0; 8],
        };
        Self::holding(address, size_of::<libc::sockaddr_in>())
    }

    fn v6(v6: &SocketAddrV6) -> Self {
        let address = libc::sockaddr_in6 {
            sin6_family: family(libc::AF_INET6),
            sin6_port: v6.port().to_be(),
            sin6_flowinfo: v6.flowinfo(),
            sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
            sin6_scope_id: v6.scope_id(),
        };
        Self::holding(address, size_of::<libc::sockaddr_in6>())
    }

    fn unix(path: &[u8]) -> Result<Self, i32> {
        let mut address =
            libc::sockaddr_un { sun_family: family(libc::AF_UNIX), sun_path: [0; 108] };
        if path.is_empty() || path.contains(&0) {
            return Err(libc::EINVAL);
        }
        // one byte stays zero: the terminator
        if path.len() >= address.sun_path.len() {
            return Err(libc::ENAMETOOLONG);
        }
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        Ok(Self::holding(address, PATH_AT + path.len() + 1))
    }

    fn holding<T>(address: T, len: usize) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let mut raw = Self::empty();
        // SAFETY: `T` is one of the plain sockaddr structs, fits into the storage (checked at
        // compile time), and the storage is aligned for all of them.
        unsafe { std::ptr::from_mut(&mut raw.storage).cast::<T>().write(address) };
        raw.len = length(len);
        raw
    }

    pub(crate) fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::sockaddr {
        std::ptr::from_mut(&mut self.storage).cast()
    }

    pub(crate) fn len(&self) -> libc::socklen_t {
        self.len
    }

    pub(crate) fn len_mut(&mut self) -> &mut libc::socklen_t {
        &mut self.len
    }

    /// The address in our form; an unnamed or unknown one is an empty path.
    pub(crate) fn to_addr(&self) -> Addr {
        match self.family() {
            libc::AF_INET => {
                // SAFETY: the family says which plain struct the storage holds.
                let v4 = unsafe { self.as_ptr().cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Addr::Tcp(SocketAddr::from((ip, u16::from_be(v4.sin_port))))
            }
            libc::AF_INET6 => {
                // SAFETY: the family says which plain struct the storage holds.
                let v6 = unsafe { self.as_ptr().cast::<libc::sockaddr_in6>().read() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                let v6 = SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id);
                Addr::Tcp(SocketAddr::V6(v6))
            }
            libc::AF_UNIX => Addr::Unix(self.unix_path()),
            _ => Addr::Unix(PathBuf::new()),
        }
    }

    fn unix_path(&self) -> PathBuf {
        // SAFETY: the family says which plain struct the storage holds.
        let unix = unsafe { self.as_ptr().cast::<libc::sockaddr_un>().read() };
        let len = (self.len as usize).saturating_sub(PATH_AT);
        let path = unix.sun_path.iter().take(len).take_while(|byte| **byte != 0);
        let path: Vec<u8> = path.map(|byte| *byte as u8).collect();
        PathBuf::from(std::ffi::OsString::from(std::ffi::OsStr::from_bytes(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_systems_form() {
        for text in ["127.0.0.1:3306", "[::1]:6033", "[fe80::1%3]:1"] {
            let addr = Addr::Tcp(text.parse().unwrap());
            assert_eq!(RawAddress::new(&addr).unwrap().to_addr(), addr);
        }
        let unix = Addr::Unix("/tmp/some.sock".into());
        assert_eq!(RawAddress::new(&unix).unwrap().to_addr(), unix);
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        let long = Addr::Unix("x".repeat(108).into());
        assert_eq!(RawAddress::new(&long).err(), Some(libc::ENAMETOOLONG));
        let empty = Addr::Unix(PathBuf::new());
        assert_eq!(RawAddress::new(&empty).err(), Some(libc::EINVAL));
    }
}
