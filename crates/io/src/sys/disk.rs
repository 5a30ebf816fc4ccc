//! How much room there is for files.

use std::ffi::CString;
use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this process may still write to the file system that a path is on.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero, and there is room for the answer.
    if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the call above filled it.
    let found = unsafe { found.assume_init() };
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_has_room() {
        assert!(free_bytes(&std::env::temp_dir()).expect("it is there") > 0);
        assert_eq!(free_bytes(Path::new("/proc")).expect("it is there"), 0);
        free_bytes(Path::new("/nonexistent")).expect_err("it is not there");
    }
}
