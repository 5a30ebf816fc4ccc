//! Whether the memory of a process that crashes is written to a file.

/// Keeps the memory of this process, and of programs that it starts, out of core files, or lets
/// them be as large as the system allows. Who may look at the process while it runs stays as it is.
pub fn write_core_files(allowed: bool) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut limit) } != 0 {
        return;
    }
    limit.rlim_cur = if allowed { limit.rlim_max } else { 0 };
    // SAFETY: `limit` is readable. A soft limit within the hard one is not refused.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) };
}
