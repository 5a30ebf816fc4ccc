//! Writes what the keeper is told to a file, on a thread of its own: no decision waits for a disk.
//! A file that is long enough is put aside, and another one begins with all that is known.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;

use engine::vars::Vars;
use keeper::{Keeper, KeeperInput, StatusChange};

/// The recording of a keeper, where one is wanted.
#[derive(Default)]
pub(crate) struct Recording {
    path: String,
    /// `None` also where it could not be written.
    scribe: Option<Scribe>,
}

/// The thread that writes.
struct Scribe {
    entries: SyncSender<Entry>,
    told: Arc<Size>,
}

/// How long the file may be, and whether it is.
#[derive(Default)]
struct Size {
    bytes_max: AtomicU64,
    is_reached: AtomicBool,
}

enum Entry {
    /// A file begins, with a keeper that knows this.
    Begin(Box<Keeper>),
    /// The keeper was told something, and this came of it.
    Input(Box<KeeperInput>, Vec<StatusChange>),
}

impl Recording {
    /// The one that these variables ask for.
    pub(crate) fn of(vars: &Vars, keeper: &Keeper) -> Self {
        let mut recording = Self::default();
        recording.follow(vars, keeper);
        recording
    }

    /// These variables are in force. A recording that failed is begun anew.
    pub(crate) fn follow(&mut self, vars: &Vars, keeper: &Keeper) {
        if self.path != vars.topology_recording {
            self.scribe = None;
            self.path.clone_from(&vars.topology_recording);
        }
        if self.path.is_empty() {
            return;
        }
        if self.scribe.is_none() {
            let scribe = Scribe::start(PathBuf::from(&self.path));
            self.scribe = scribe.inspect_err(|error| self.tell(&error.to_string())).ok();
            self.send(Entry::Begin(Box::new(keeper.clone())));
        }
        if let Some(scribe) = &self.scribe {
            scribe.told.bytes_max.store(vars.topology_recording_bytes_max, Ordering::Relaxed);
        }
    }

    /// The keeper was told that, and is now as it is.
    pub(crate) fn note(&mut self, input: KeeperInput, events: &[StatusChange], keeper: &Keeper) {
        let Some(scribe) = &self.scribe else { return };
        let begins = scribe.told.is_reached.swap(false, Ordering::Relaxed);
        self.send(Entry::Input(Box::new(input), events.to_vec()));
        if begins {
            self.send(Entry::Begin(Box::new(keeper.clone())));
        }
    }

    fn send(&mut self, entry: Entry) {
        let Some(scribe) = &self.scribe else { return };
        match scribe.entries.try_send(entry) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.scribe = None;
                self.tell("it takes longer to write than to happen");
            }
            // the thread has told why
            Err(TrySendError::Disconnected(_)) => self.scribe = None,
        }
    }

    fn tell(&self, why: &str) {
        ends(Path::new(&self.path), why);
    }
}

/// Tells that nothing more is recorded.
fn ends(path: &Path, why: &str) {
    let file = path.display();
    tracing::error!(%file, "the topology is no longer recorded: {why}; the next LOAD tries again");
}

impl Scribe {
    fn start(path: PathBuf) -> io::Result<Self> {
        let (entries, told) = sync_channel(ENTRIES_MAX);
        let size = Arc::<Size>::default();
        size.bytes_max.store(u64::MAX, Ordering::Relaxed);
        let of_thread = size.clone();
        thread::Builder::new().name("recording".to_owned()).spawn(move || {
            match write_out(&path, &told, &of_thread) {
                Ok(()) => tracing::info!(file = %path.display(), "the recording has ended"),
                Err(error) => ends(&path, &error.to_string()),
            }
        })?;
        Ok(Self { entries, told: size })
    }
}

/// Writes what comes until nothing can come any more.
fn write_out(path: &Path, entries: &Receiver<Entry>, size: &Size) -> io::Result<()> {
    let (mut sheet, mut bytes, mut least) = (None, 0_u64, 0_u64);
    loop {
        let entry = match entries.try_recv() {
            Ok(entry) => entry,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                sheet.as_mut().map_or(Ok(()), Write::flush)?;
                let Ok(entry) = entries.recv() else { break };
                entry
            }
        };
        let text = match entry {
            Entry::Begin(keeper) => {
                sheet.as_mut().map_or(Ok(()), Write::flush)?;
                sheet = Some(BufWriter::new(begin(path)?));
                let text = keeper::beginning(&keeper);
                // as much again at least, or each input would begin another file
                (bytes, least) = (0, 2 * text.len() as u64);
                text
            }
            Entry::Input(input, events) => keeper::line(&input, Some(&events)),
        };
        let Some(sheet) = &mut sheet else { continue };
        sheet.write_all(text.as_bytes())?;
        let before = bytes;
        bytes += text.len() as u64;
        let bytes_max = size.bytes_max.load(Ordering::Relaxed).max(least);
        if before < bytes_max && bytes >= bytes_max {
            size.is_reached.store(true, Ordering::Relaxed);
        }
    }
    sheet.as_mut().map_or(Ok(()), Write::flush)
}

/// A file of that name, with nothing in it; a recording that had the name gets another one.
fn begin(path: &Path) -> io::Result<File> {
    if has_recording(path)? {
        let aside = aside(path);
        has_recording(&aside)?;
        fs::rename(path, aside)?;
    }
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
    tracing::info!(file = %path.display(), "the topology is recorded");
    Ok(file)
}

/// The name of a recording that was put aside.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Whether there is a recording; an error where there is something else.
fn has_recording(path: &Path) -> io::Result<bool> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut begins = Vec::new();
    if metadata.is_file() {
        File::open(path)?.take(HEAD_BYTES_MAX).read_to_end(&mut begins)?;
    }
    let is_empty = metadata.is_file() && begins.is_empty();
    match is_empty || keeper::is_recording(&String::from_utf8_lossy(&begins)) {
        true => Ok(!is_empty),
        false => Err(io::Error::other(format!("{} is no recording", path.display()))),
    }
}

/// Inputs that wait for the disk.
const ENTRIES_MAX: usize = 4096;

/// What a file begins with, at least.
const HEAD_BYTES_MAX: u64 = 64;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use keeper::{Endpoint, Replay, Report, Seen, Wanted};

    use super::*;

    /// A file of one test; what has its name, or was put aside, is removed in the end.
    struct Place(PathBuf);

    impl Place {
        fn of(name: &str) -> Self {
            let name = format!("tidegate-recording-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            for path in [&self.0, &aside(&self.0)] {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn keeper() -> Keeper {
        let mut keeper = Keeper::default();
        let row = engine::rows::ServerRow { hostname: "a".into(), ..Default::default() };
        keeper.adopt(Wanted { servers: vec![row], ..Wanted::default() }, 1);
        keeper
    }

    fn ping(at_us: u64) -> KeeperInput {
        let server = Endpoint { hostname: "a".into(), port: 3306 };
        KeeperInput::Hear(Report { at_us, server, seen: Seen::Ping(Ok(at_us)) })
    }

    /// The keeper of a recording, and how many lines that has.
    fn read(path: &Path) -> (Keeper, usize) {
        let text = fs::read_to_string(path).expect("written");
        let mut replay = Replay::default();
        let lines = text.lines().map(|line| replay.take(line).expect(line)).count();
        (replay.keeper().clone(), lines)
    }

    #[test]
    fn a_file_that_is_full_is_put_aside_and_each_is_whole() {
        let place = Place::of("full");
        let path = &place.0;
        let (mut keeper, size) = (keeper(), Size::default());
        size.bytes_max.store(1, Ordering::Relaxed);
        for turn in 0..2 {
            let (tell, told) = sync_channel(99);
            tell.send(Entry::Begin(Box::new(keeper.clone()))).expect("room");
            for at_us in 1..30 {
                let events = keeper.take(&ping(at_us + turn));
                tell.send(Entry::Input(Box::new(ping(at_us + turn)), events)).expect("room");
            }
            drop(tell);
            write_out(path, &told, &size).expect("written");
            assert_eq!(read(path), (keeper.clone(), 31));
            assert!(size.is_reached.swap(false, Ordering::Relaxed));
        }
        assert_eq!(read(&aside(path)).1, 31, "the one of before is there");
    }

    #[test]
    fn one_that_is_reached_is_told_once_and_the_next_file_begins_with_what_is_known() {
        let place = Place::of("next");
        let path = &place.0;
        let mut keeper = keeper();
        let text = path.to_str().expect("text").to_owned();
        let mut vars = Vars::default();
        vars.topology_recording = text;
        let mut recording = Recording::of(&vars, &keeper);
        let told = recording.scribe.as_ref().expect("begun").told.clone();
        told.is_reached.store(true, Ordering::Relaxed);
        for at_us in 1..4 {
            let events = keeper.take(&ping(at_us));
            recording.note(ping(at_us), &events, &keeper);
        }
        recording.follow(&Vars::default(), &keeper);
        assert!(recording.scribe.is_none());
        let deadline = Instant::now() + Duration::from_secs(20);
        while Arc::strong_count(&told) > 1 {
            assert!(Instant::now() < deadline, "the thread has not ended");
            thread::yield_now();
        }
        assert_eq!((read(path), read(&aside(path)).1), ((keeper, 4), 3));
    }

    #[test]
    fn a_disk_that_stands_still_ends_the_recording_and_holds_nobody_up() {
        let (entries, _standing_still) = sync_channel(1);
        let scribe = Some(Scribe { entries, told: Arc::default() });
        let mut recording = Recording { path: "here".into(), scribe };
        recording.note(ping(1), &[], &keeper());
        assert!(recording.scribe.is_some(), "there is room for one");
        recording.note(ping(2), &[], &keeper());
        assert!(recording.scribe.is_none());
    }

    #[test]
    fn what_is_no_recording_is_not_overwritten() {
        let place = Place::of("other");
        let path = &place.0;
        fs::write(path, "precious\n").expect("written");
        let why = begin(path).expect_err("refused").to_string();
        assert!(why.ends_with("is no recording"), "{why}");
        fs::write(path, keeper::beginning(&keeper())).expect("written");
        fs::write(aside(path), "precious\n").expect("written");
        assert!(begin(path).is_err());
        assert_eq!(fs::read(aside(path)).expect("there"), b"precious\n");
        assert!(begin(Path::new("/dev/null")).is_err());
    }
}
