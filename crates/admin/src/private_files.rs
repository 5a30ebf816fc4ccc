//! Files that hold passwords: only their owner may read them, whatever the umask is.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Result, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Makes the file that is to be opened by somebody else, if it is not there; one that is there and
/// that others may read or write is theirs no more.
pub(crate) fn prepare(path: &Path) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).mode(OWNERS).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    match mode & OTHERS {
        0 => Ok(()),
        _ => file.set_permissions(Permissions::from_mode(mode & !OTHERS)),
    }
}

/// Makes a directory, with those above it, where there is none.
pub(crate) fn make_dir(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes an empty file where there is none.
pub(crate) fn make(path: &Path) {
    // when it is there, or cannot be made, whoever opens it is told
    drop(OpenOptions::new().write(true).create_new(true).mode(OWNERS).open(path));
}

/// Writes a whole file: it is there with all of `bytes`, or as it was.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    // a link stays one; what is no file cannot be replaced by one
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if path.exists() && !path.is_file() {
        return File::options().write(true).open(&path)?.write_all(bytes);
    }
    let beside = beside(&path);
    drop(std::fs::remove_file(&beside));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNERS).open(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let done = written.and_then(|()| std::fs::rename(&beside, &path));
    if done.is_err() {
        // the first fault is the one to tell
        drop(std::fs::remove_file(&beside));
    }
    done
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    path.with_file_name(name)
}

/// Rights of the owner alone.
const OWNERS: u32 = 0o600;
/// Rights of everybody else.
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn whatever_rights_a_file_had_only_its_owner_has_some_afterwards() {
        let dir = std::env::temp_dir().join(format!("tidegate-private-{}", std::process::id()));
        make_dir(&dir).expect("a directory");
        assert_eq!(mode(&dir), 0o700);
        let open_to_all = |name: &str| {
            let path = dir.join(name);
            std::fs::write(&path, "old").expect("written");
            std::fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("its owner may");
            path
        };
        let old = open_to_all("old");
        prepare(&old).expect("it is ours");
        assert_eq!((mode(&old), std::fs::read(&old).expect("read")), (0o600, b"old".to_vec()));
        let new = dir.join("new");
        prepare(&new).expect("it is made");
        assert_eq!(mode(&new), 0o600);

        let saved = open_to_all("saved");
        let link = dir.join("link");
        std::os::unix::fs::symlink(&saved, &link).expect("a link");
        for path in [saved.clone(), dir.join("another"), link] {
            write(&path, b"whole").expect("written");
            assert_eq!(
                (mode(&path), std::fs::read(&path).expect("read")),
                (0o600, b"whole".into())
            );
        }
        assert_eq!(std::fs::read(saved).expect("read"), b"whole", "the link leads there");
        write(Path::new("/dev/null"), b"gone").expect("what is no file is written to");
        write(&dir.join("none/such"), b"x").expect_err("there is no such directory");
        let left = std::fs::read_dir(&dir).expect("a directory").count();
        assert_eq!(left, 5, "nothing else is left");
        std::fs::remove_dir_all(dir).expect("gone");
    }
}
