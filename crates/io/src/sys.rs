//! The system calls that `std` does not offer, as safe functions that return the error number.
//! Deliberately knows no loop and no policy.

pub(crate) mod address;
pub(crate) mod core_file;
pub(crate) mod disk;
pub(crate) mod epoll;
pub(crate) mod fds;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod socket;

/// The error number the last failed call of this thread left.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A length as the system takes those of addresses and options.
pub(crate) fn length(bytes: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(bytes).unwrap_or(libc::socklen_t::MAX)
}

/// The result of a call that says -1 when it failed.
pub(crate) fn checked(result: libc::c_int) -> Result<libc::c_int, i32> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

/// The result of a call that counts bytes, or says -1 when it failed.
pub(crate) fn counted(result: libc::ssize_t) -> Result<usize, i32> {
    usize::try_from(result).map_err(|_| errno())
}
