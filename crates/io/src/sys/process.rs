//! Ending programs that this process started.

/// How a program is told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It may tidy up first.
    Ask,
    /// It may not.
    Kill,
}

/// Tells every process of the group that `leader` leads to end. To be called only while the
/// leader is not waited for yet, so that its number is nobody else's.
pub fn end_group(leader: u32, how: Ending) {
    let signal = match how {
        Ending::Ask => libc::SIGTERM,
        Ending::Kill => libc::SIGKILL,
    };
    // 0 and 1 would mean this process's own group and everybody
    if let Ok(leader @ 2..) = i32::try_from(leader) {
        // SAFETY: takes no pointers.
        unsafe { libc::kill(-leader, signal) };
    }
}
