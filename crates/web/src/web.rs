//! The thread, and what it may be told from others.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::rows::{RestapiRouteRow, SchedulerRow};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::http::{self, Shared};
use crate::schedule::Schedule;
use crate::view::Process;

/// Where to say what went wrong.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The thread, until it is dropped; programs that it started end with it.
pub struct Web {
    tell: UnboundedSender<Tell>,
    bound: Mutex<Option<SocketAddr>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is told.
enum Tell {
    /// Answer here instead of where it does; `None` for nowhere.
    Listen(Option<TcpListener>),
    /// The rows of `restapi_routes` in force.
    Routes(Vec<RestapiRouteRow>),
    /// The rows of `scheduler` in force.
    Schedule(Vec<SchedulerRow>),
    /// End.
    Stop,
}

impl Web {
    /// Starts the thread; it listens nowhere and runs nothing.
    pub fn start(process: Arc<dyn Process>, log: Log) -> io::Result<Self> {
        let (tell, told) = unbounded_channel();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOKS_MAX)
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

    /// Answers on this port of every address; `None` answers nowhere, and 0 lets the system
    /// choose. When the port cannot be had everything stays as it was.
    pub fn listen(&self, port: Option<u16>) -> io::Result<Option<SocketAddr>> {
        let mut bound = self.bound();
        if bound.map(|address| address.port()) == port {
            return Ok(*bound);
        }
        let listener = match port {
            Some(port) => Some(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?),
            None => None,
        };
        let address = match &listener {
            Some(listener) => {
                listener.set_nonblocking(true)?;
                Some(listener.local_addr()?)
            }
            None => None,
        };
        *bound = address;
        self.tell(Tell::Listen(listener));
        Ok(address)
    }

    /// Where it answers.
    pub fn address(&self) -> Option<SocketAddr> {
        *self.bound()
    }

    /// These are the routes from now on.
    pub fn set_routes(&self, rows: Vec<RestapiRouteRow>) {
        self.tell(Tell::Routes(rows));
    }

    /// These programs run at intervals from now on.
    pub fn set_schedule(&self, rows: Vec<SchedulerRow>) {
        self.tell(Tell::Schedule(rows));
    }

    fn bound(&self) -> MutexGuard<'_, Option<SocketAddr>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: Tell) {
        // the thread ends after everybody who could tell it something
        let _ = self.tell.send(what);
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

/// What the thread does.
async fn obey(mut told: UnboundedReceiver<Tell>, process: Arc<dyn Process>, log: Log) {
    let stop = Arc::new(watch::Sender::new(false));
    let mut schedule = Schedule::new(log.clone(), stop.clone());
    let shared = Shared::new(process, log, stop.clone());
    let mut open = watch::channel(false).0;
    while let Some(tell) = told.recv().await {
        match tell {
            Tell::Listen(listener) => {
                open.send_replace(false);
                if let Some(listener) = listener {
                    let is_open;
                    (open, is_open) = watch::channel(true);
                    tokio::spawn(http::serve(shared.clone(), listener, is_open));
                }
            }
            Tell::Routes(rows) => {
                let mut routes = shared.routes.lock().unwrap_or_else(PoisonError::into_inner);
                *routes = Arc::new(rows);
            }
            Tell::Schedule(rows) => schedule.set(rows),
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

/// Looks at the process that may wait for workers at a time.
const LOOKS_MAX: usize = 2;

/// Time that programs have to end with the process.
const END_LIMIT: Duration = Duration::from_secs(5);
