//! The thread, and what it may be told from others.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::rows::{RestapiRouteRow, SchedulerRow};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::http::{self, LOOKS_MAX, Shared};
use crate::program::{Program, ProgramKind};
use crate::schedule::Schedule;
use crate::view::Process;

/// Where to say what went wrong.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The thread, until it is dropped; programs that it started end with it.
pub struct Web {
    tell: UnboundedSender<Tell>,
    bound: Mutex<Option<Bound>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Has programs run on the thread as long as there is one, for whoever waits for them.
#[derive(Clone)]
pub struct Launcher(UnboundedSender<Tell>);

/// A program that somebody waits for.
struct Launch {
    program: Program,
    limit: Duration,
    answer: Sender<Result<String, String>>,
}

/// Where it answers.
#[derive(Clone, Copy)]
struct Bound {
    /// As it was asked for: port 0 lets the system choose.
    wanted: SocketAddr,
    /// As it is.
    at: SocketAddr,
}

/// What the thread is told.
enum Tell {
    /// Answer here instead of where it does; `None` for nowhere.
    Listen(Option<TcpListener>),
    /// Say that everything before is done.
    Answer(Sender<()>),
    /// The rows of `restapi_routes` in force.
    Routes(Vec<RestapiRouteRow>),
    /// The rows of `scheduler` in force.
    Schedule(Vec<SchedulerRow>),
    /// Run a program.
    Launch(Launch),
    /// End.
    Stop,
}

impl Web {
    /// Starts the thread; it listens nowhere and runs nothing.
    pub fn start(process: Arc<dyn Process>, log: Log) -> io::Result<Self> {
        let (tell, told) = unbounded_channel();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(2 * LOOKS_MAX)
            .thread_keep_alive(Duration::from_secs(1))
            .build()?;
        let run = move || {
            runtime.block_on(obey(told, process, log));
            // a look that waits for workers is not waited for
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(run)?;
        Ok(Self { tell, bound: Mutex::default(), thread: Some(thread) })
    }

    /// Answers at this place; `None` answers nowhere, and port 0 lets the system choose. When the
    /// place cannot be had everything stays as it was.
    pub fn listen(&self, wanted: Option<SocketAddr>) -> io::Result<Option<SocketAddr>> {
        let mut bound = self.bound();
        let same = |bound: &Bound| Some(bound.wanted) == wanted || Some(bound.at) == wanted;
        if bound.as_ref().map_or(wanted.is_none(), same) {
            return Ok(bound.map(|bound| bound.at));
        }
        let opened = match (wanted, *bound) {
            (Some(wanted), Some(before)) if wanted.port() == before.at.port() => {
                self.move_to(wanted, before)?
            }
            (Some(wanted), _) => Some(open(wanted)?),
            (None, _) => None,
        };
        let (listener, at) = opened.unzip();
        *bound = wanted.zip(at).map(|(wanted, at)| Bound { wanted, at });
        self.tell(Tell::Listen(listener));
        Ok(at)
    }

    /// Opens another address of the port that is listened on: that has to be free first.
    fn move_to(
        &self,
        wanted: SocketAddr,
        before: Bound,
    ) -> io::Result<Option<(TcpListener, SocketAddr)>> {
        let (answer, answered) = channel();
        self.tell(Tell::Listen(None));
        self.tell(Tell::Answer(answer));
        // when the thread is slow the port is still taken, and that is told
        let _ = answered.recv_timeout(MOVE_LIMIT);
        open(wanted).map(Some).inspect_err(|_| {
            self.tell(Tell::Listen(open(before.at).ok().map(|(listener, _)| listener)));
        })
    }

    /// Where it answers.
    pub fn address(&self) -> Option<SocketAddr> {
        self.bound().map(|bound| bound.at)
    }

    /// These are the routes from now on.
    pub fn set_routes(&self, rows: Vec<RestapiRouteRow>) {
        self.tell(Tell::Routes(rows));
    }

    /// These programs run at intervals from now on.
    pub fn set_schedule(&self, rows: Vec<SchedulerRow>) {
        self.tell(Tell::Schedule(rows));
    }

    /// Runs programs for others; it keeps the thread from nothing.
    pub fn launcher(&self) -> Launcher {
        Launcher(self.tell.clone())
    }

    fn bound(&self) -> MutexGuard<'_, Option<Bound>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: Tell) {
        // the thread ends after everybody who could tell it something
        let _ = self.tell.send(what);
    }
}

impl Launcher {
    /// Runs a program with its arguments and that environment, and waits until it has ended, which
    /// it is made to after `limit`. Gives what it wrote; an error says why it did not end well.
    pub fn run(
        &self,
        words: &[String],
        environment: Vec<(String, String)>,
        limit: Duration,
    ) -> Result<String, String> {
        let Some((filename, args)) = words.split_first() else { return Ok(String::new()) };
        let (filename, args) = (filename.clone(), args.to_vec());
        let program = Program { filename, args, environment, kind: ProgramKind::Asked };
        let (answer, answered) = channel();
        let ended = || "it was not run: Tidegate ends".to_owned();
        self.0.send(Tell::Launch(Launch { program, limit, answer })).map_err(|_| ended())?;
        answered.recv().unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.tell(Tell::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn open(wanted: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(wanted)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    Ok((listener, at))
}

/// What the thread does.
async fn obey(mut told: UnboundedReceiver<Tell>, process: Arc<dyn Process>, log: Log) {
    let stop = Arc::new(watch::Sender::new(false));
    let mut schedule = Schedule::new(log.clone(), stop.clone());
    let shared = Shared::new(process, log, stop.clone());
    let mut open = watch::channel(false).0;
    let mut serving: Option<JoinHandle<()>> = None;
    while let Some(tell) = told.recv().await {
        match tell {
            Tell::Listen(listener) => {
                open.send_replace(false);
                if let Some(before) = serving.take() {
                    // it lets its listener go at once; a panic of it has been logged
                    drop(before.await);
                }
                if let Some(listener) = listener {
                    let is_open;
                    (open, is_open) = watch::channel(true);
                    serving = Some(tokio::spawn(http::serve(shared.clone(), listener, is_open)));
                }
            }
            // whoever asked may have given up
            Tell::Answer(answer) => drop(answer.send(())),
            Tell::Routes(rows) => {
                let mut routes = shared.routes.lock().unwrap_or_else(PoisonError::into_inner);
                *routes = Arc::new(rows);
            }
            Tell::Schedule(rows) => schedule.set(rows),
            Tell::Launch(Launch { program, limit, answer }) => {
                let stop = stop.subscribe();
                tokio::spawn(async move {
                    let finished = program.run(Some(limit), stop).await;
                    drop(answer.send(finished.told()));
                });
            }
            Tell::Stop => break,
        }
    }
    schedule.set(Vec::new());
    open.send_replace(false);
    stop.send_replace(true);
    // whoever runs a program listens until the program has ended
    tokio::select! {
        () = stop.closed() => {}
        () = sleep(END_LIMIT) => {}
    }
}

/// Time that the thread has to let a port go.
const MOVE_LIMIT: Duration = Duration::from_secs(2);

/// Time that programs have to end with the process.
const END_LIMIT: Duration = Duration::from_secs(5);
