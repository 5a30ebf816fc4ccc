//! Stream sockets: making, accepting, connecting, moving bytes. Deliberately knows no loop.

use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::address::RawAddress;
use super::{checked, counted};
use crate::addr::Addr;

/// The most parts that one send takes.
pub(crate) const PARTS_MAX: usize = 16;

/// A new non-blocking stream socket for an address of this family.
pub(crate) fn stream(address: &RawAddress) -> Result<OwnedFd, i32> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let fd = checked(unsafe { libc::socket(address.family(), kind, 0) })?;
    // SAFETY: the call just made this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn bind(fd: &OwnedFd, address: &RawAddress) -> Result<(), i32> {
    // SAFETY: pointer and length describe the address, which lives through the call.
    checked(unsafe { libc::bind(fd.as_raw_fd(), address.as_ptr(), address.len()) })?;
    Ok(())
}

pub(crate) fn start_listening(fd: &OwnedFd, backlog: u32) -> Result<(), i32> {
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    // SAFETY: takes no pointers.
    checked(unsafe { libc::listen(fd.as_raw_fd(), backlog) })?;
    Ok(())
}

/// Starts connecting; says whether that is already done.
pub(crate) fn connect(fd: &impl AsRawFd, address: &RawAddress) -> Result<bool, i32> {
    // SAFETY: pointer and length describe the address, which lives through the call.
    let result = unsafe { libc::connect(fd.as_raw_fd(), address.as_ptr(), address.len()) };
    match checked(result) {
        Ok(_) => Ok(true),
        Err(libc::EINPROGRESS | libc::EINTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Takes a waiting connection, non-blocking, with the address it came from.
pub(crate) fn accept(listener: BorrowedFd<'_>) -> Result<(OwnedFd, Addr), i32> {
    let mut from = RawAddress::empty();
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let len: *mut libc::socklen_t = from.len_mut();
    // SAFETY: the storage is writable and `len` says how large it is.
    let result = unsafe { libc::accept4(listener.as_raw_fd(), from.as_mut_ptr(), len, flags) };
    let fd = checked(result)?;
    // SAFETY: the call just made this descriptor and nobody else knows it.
    Ok((unsafe { OwnedFd::from_raw_fd(fd) }, from.to_addr()))
}

/// The address a listener is bound to.
pub(crate) fn own_address(fd: BorrowedFd<'_>) -> Result<Addr, i32> {
    let mut address = RawAddress::empty();
    let len: *mut libc::socklen_t = address.len_mut();
    // SAFETY: the storage is writable and `len` says how large it is.
    checked(unsafe { libc::getsockname(fd.as_raw_fd(), address.as_mut_ptr(), len) })?;
    Ok(address.to_addr())
}

/// Receives what is there; 0 is the end of the stream.
pub(crate) fn recv(fd: &OwnedFd, into: &mut [u8]) -> Result<usize, i32> {
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: pointer and length describe writable bytes.
    counted(unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags) })
}

/// Sends the first [`PARTS_MAX`] parts with one call; says how many bytes were taken.
pub(crate) fn send(fd: &OwnedFd, parts: &[&[u8]]) -> Result<usize, i32> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    if let [part] = parts {
        // SAFETY: pointer and length describe readable bytes.
        return counted(unsafe {
            libc::send(fd.as_raw_fd(), part.as_ptr().cast(), part.len(), flags)
        });
    }
    let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; PARTS_MAX];
    for (vector, part) in vectors.iter_mut().zip(parts) {
        *vector = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
    }
    // SAFETY: an all-zero `msghdr` is a valid value of the plain struct.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = parts.len().min(PARTS_MAX) as _;
    // SAFETY: the message names that many vectors of readable bytes, all alive; sending does not
    // write through them.
    counted(unsafe { libc::sendmsg(fd.as_raw_fd(), &message, flags) })
}

/// Says that nothing more will be sent.
pub(crate) fn shutdown_send(fd: &OwnedFd) {
    // SAFETY: takes no pointers. A socket that is already gone needs no announcement.
    unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) };
}

/// Ends both directions; a listening socket listens no more.
pub(crate) fn shutdown_both(fd: BorrowedFd<'_>) {
    // SAFETY: takes no pointers. A socket that is already gone is as it should be.
    unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) };
}

/// How many received bytes wait in the system.
pub(crate) fn unread(fd: &OwnedFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: FIONREAD writes one `int`.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &mut count) };
    if result < 0 { 0 } else { usize::try_from(count).unwrap_or(0) }
}

/// The error a connect or the connection ended with; 0 when there is none.
pub(crate) fn pending_error(fd: &OwnedFd) -> i32 {
    let mut error: libc::c_int = 0;
    let mut len = super::length(size_of::<libc::c_int>());
    let at = ptr::from_mut(&mut error).cast();
    // SAFETY: `at` has room for the `int` that `len` announces.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, at, &mut len) };
    if result < 0 { super::errno() } else { error }
}

fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> Result<(), i32> {
    let len = super::length(size_of::<libc::c_int>());
    let at = ptr::from_ref(&value).cast();
    // SAFETY: `at` is the `int` that `len` announces.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, at, len) })?;
    Ok(())
}

/// Sends small packets at once. A socket of another family does so anyway.
pub(crate) fn set_no_delay(fd: BorrowedFd<'_>) {
    let _ = set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
}

/// Lets the system notice connections whose other end vanished, after so many seconds of silence;
/// 0 for as many as it likes.
pub(crate) fn set_keepalive(fd: BorrowedFd<'_>, seconds: u32) {
    let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    if let Ok(seconds @ 1..) = i32::try_from(seconds) {
        let _ = set_option(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds);
    }
}

pub(crate) fn set_reuse_address(fd: &OwnedFd) -> Result<(), i32> {
    use std::os::fd::AsFd;
    set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
}

pub(crate) fn set_reuse_port(fd: &OwnedFd) -> Result<(), i32> {
    use std::os::fd::AsFd;
    set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
}

pub(crate) fn set_only_v6(fd: &OwnedFd) -> Result<(), i32> {
    use std::os::fd::AsFd;
    set_option(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)
}
