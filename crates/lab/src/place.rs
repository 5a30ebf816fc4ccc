//! Where the lab's files lie and which ports it takes. Directories of a run carry the number of
//! the process they belong to, so that what a killed run left behind is removed by the next one.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const RUN_PREFIX: &str = "tglab-";
const PORTS: std::ops::Range<u16> = 15_000..31_000;

/// A loopback TCP port that nobody listens on just now, and that no process of this machine gets
/// from here again before all others: servers may take it later, in any order. It is below those
/// that the system gives to outgoing connections, so that a server finds it free again when it is
/// restarted.
pub fn free_port() -> Result<u16> {
    free_port_after(&cache_dir()?.join("port"))
}

/// The next free one after the one in that file, which is there from now on.
fn free_port_after(path: &Path) -> Result<u16> {
    let within = || format!("cannot keep a port in {}", path.display());
    let mut options = fs::File::options();
    let options = options.create(true).read(true).write(true).truncate(false);
    let mut file = options.open(path).with_context(within)?;
    file.lock().with_context(within)?;
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(within)?;
    let last = text.trim().parse().ok().filter(|port| PORTS.contains(port));
    let next = last.map_or(PORTS.start, |last| last + 1);
    let port = (next..PORTS.end)
        .chain(PORTS.start..next)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no free loopback port")?;
    file.set_len(0).and_then(|()| file.rewind()).with_context(within)?;
    writeln!(file, "{port}").with_context(within)?;
    Ok(port)
}

/// Where templates and unpacked server software are kept between runs.
pub(crate) fn cache_dir() -> Result<PathBuf> {
    let base = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) if !home.is_empty() => Path::new(&home).join(".cache"),
        _ => std::env::temp_dir(),
    };
    let dir = base.join("tidegate-lab");
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

/// Waits until nobody else makes something in the cache, in this process or another; others wait
/// until the file is dropped.
pub(crate) fn lock_cache(cache: &Path) -> Result<fs::File> {
    let lock = fs::File::create(cache.join("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// A directory for the files of one run, removed when it is dropped.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    removed: bool,
}

impl RunDir {
    /// A new one. Its path is short, because socket paths may have 107 bytes only.
    pub fn create() -> Result<Self> {
        Self::below(std::env::temp_dir())
    }

    /// The same in memory, where the machine has such a place: for runs that make schemas by the
    /// hundred, each of which a disk takes a tenth of a second for.
    pub(crate) fn in_memory() -> Result<Self> {
        let memory = Path::new("/dev/shm");
        Self::below(if memory.is_dir() { memory.into() } else { std::env::temp_dir() })
    }

    fn below(usual: PathBuf) -> Result<Self> {
        let base = std::env::var_os("TIDEGATE_LAB_DIR").map_or(usual, PathBuf::from);
        fs::create_dir_all(&base).with_context(|| format!("cannot create {}", base.display()))?;
        remove_abandoned(&base);
        for count in 0..10_000 {
            let path = base.join(format!("{RUN_PREFIX}{}-{count}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunDir { path, removed: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).context(format!("cannot create {}", path.display()));
                }
            }
        }
        bail!("too many runs below {}", base.display())
    }

    /// One that the caller names and that is left in place afterwards.
    pub(crate) fn kept(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(RunDir { path: fs::canonicalize(path)?, removed: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.removed {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// Removes the directories of runs whose process is gone.
fn remove_abandoned(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(run_owner) else { continue };
        if !Path::new("/proc").join(owner.to_string()).exists() {
            // Another run may be removing it too; what is left is tried again next time.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

fn run_owner(name: &str) -> Option<u32> {
    name.strip_prefix(RUN_PREFIX)?.split('-').next()?.parse().ok()
}

/// Copies a directory with everything in it; sockets and the like are left out.
pub(crate) fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// The last lines of a text file, for the text of a failure.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_is_read_from_the_name_of_a_run() {
        assert_eq!(run_owner("tglab-123-4"), Some(123));
        assert_eq!(run_owner("tglab-x-4"), None);
        assert_eq!(run_owner("other-123-4"), None);
    }

    #[test]
    fn directories_of_dead_runs_are_removed_and_those_of_living_ones_kept() {
        let base = std::env::temp_dir().join(format!("tglabtest-{}", std::process::id()));
        let dead = base.join("tglab-4194999-0");
        let alive = base.join(format!("tglab-{}-0", std::process::id()));
        fs::create_dir_all(&dead).expect("made");
        fs::create_dir_all(&alive).expect("made");
        remove_abandoned(&base);
        assert!(!dead.exists());
        assert!(alive.exists());
        fs::remove_dir_all(&base).expect("removed");
    }

    #[test]
    fn ports_go_round_and_those_in_use_are_left_out() {
        let file = std::env::temp_dir().join(format!("tglabport-{}", std::process::id()));
        let next = || free_port_after(&file).expect("a port");
        let mut seen = vec![next(), next()];
        seen.push(next());
        seen.dedup();
        assert!(seen.len() == 3 && seen.is_sorted(), "{seen:?}");
        let held = (seen[2] + 1..PORTS.end).find_map(|port| {
            let listener = TcpListener::bind(("127.0.0.1", port)).ok();
            listener.map(|listener| (port, listener))
        });
        let (held, _listener) = held.expect("a port");
        assert!(next() > held);
        for known in ["30999", "65535", "nothing", ""] {
            fs::write(&file, known).expect("written");
            assert!((PORTS.start..held).contains(&next()), "{known}");
        }
        fs::remove_file(&file).expect("removed");
    }

    #[test]
    fn tail_gives_the_last_lines() {
        let file = std::env::temp_dir().join(format!("tglabtail-{}", std::process::id()));
        fs::write(&file, "a\nb\nc\n").expect("written");
        assert_eq!(tail(&file, 2), "b\nc");
        assert_eq!(tail(&file, 9), "a\nb\nc");
        fs::remove_file(&file).expect("removed");
    }
}
