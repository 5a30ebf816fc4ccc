//! A secret that outlives the process. From it follows what a name is asked that does not exist: it
//! must not change where what accounts are asked stays the same, as it would at each start.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Result, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::threads;

/// The secret of a data directory, which is made where there is none. Without a directory, or where
/// it can be neither read nor made, which the log tells, one for as long as the process runs.
pub(crate) fn of(dir: Option<&Path>) -> [u8; BYTES] {
    let mut random = [0; BYTES];
    threads::fill(&mut random);
    let Some(path) = dir.map(|dir| dir.join(FILE)) else { return random };
    let kept = match read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => make(&path, random),
        Ok(None) => {
            tracing::warn!("{}: it is no secret of {BYTES} bytes, and made anew", path.display());
            make(&path, random)
        }
        Ok(Some(secret)) => Ok(secret),
        Err(error) => Err(error),
    };
    kept.unwrap_or_else(|error| {
        let what = "names that do not exist may be told from others after the next start";
        tracing::warn!("{}: {error}; {what}", path.display());
        random
    })
}

/// What a file has, if that is a secret; from then on it is its owner's alone.
fn read(path: &Path) -> Result<Option<[u8; BYTES]>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(mode & !OTHERS))?;
    }
    let mut bytes = Vec::new();
    file.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().ok())
}

/// Writes one: the file has all of it, or is as it was.
fn make(path: &Path, secret: [u8; BYTES]) -> Result<[u8; BYTES]> {
    let beside = path.with_extension("new");
    drop(std::fs::remove_file(&beside));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNERS).open(&beside)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    Ok(secret)
}

const BYTES: usize = 32;

/// Its name in the data directory.
const FILE: &str = "tidegate-secret.bin";

/// Rights of the owner alone, and of everybody else.
const OWNERS: u32 = 0o600;
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_secret_for_its_owner_alone() {
        let dir = std::env::temp_dir().join(format!("tidegate-secret-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let path = dir.join(FILE);
        let mode = || path.metadata().expect("it is there").permissions().mode() & 0o777;
        let first = of(Some(&dir));
        assert_eq!((of(Some(&dir)), mode()), (first, OWNERS));
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("set");
        assert_eq!((of(Some(&dir)), mode()), (first, OWNERS));
        // what is no secret is replaced, and kept
        std::fs::write(&path, "short").expect("written");
        let second = of(Some(&dir));
        assert_ne!(second, first);
        assert_eq!((of(Some(&dir)), mode()), (second, OWNERS));
        // where none can be kept, there is one all the same
        let nowhere = dir.join("nowhere");
        assert_ne!(of(Some(&nowhere)), of(Some(&nowhere)));
        assert_ne!(of(None), of(None));
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
