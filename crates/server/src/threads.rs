//! Where threads are made: listeners, workers and what it takes to stop them.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use aws_lc_rs::rand;
use engine::ids::HostgroupId;
use engine::proxy::{Offer, Proxy};
use engine::snapshot::Snapshot;
use engine::topology::Topology;
use engine::vars::Vars;
use io::{Addr, EpollDriver, Loop, Mailbox, Options};
use keeper::{Endpoint, Keeper, Wanted};
use web::Web;
use worker::{ClientHosts, Mail, Outside, ServerAddresses, Shared, Worker};

use crate::certificates::Certificates;
use crate::collector::Collector;
use crate::config::Loaded;
use crate::following::Following;
use crate::listeners::Listeners;
use crate::listening::Listening;
use crate::login_checks::{AskedCheck, CheckNews};
use crate::metrics_source::{self, MetricsSource};
use crate::monitoring::{self, Checks, Heard};
use crate::publisher::Publisher;
use crate::signals::{Notice, Workers};
use crate::statistics::Reporter;
use crate::switching::Switching;
use crate::{
    clock, lasting_secret, listening, login_checks, logs, name_lookup, passwords, publisher,
    reload, server_greetings,
};

/// The workers of this process, serving.
pub(crate) struct Running {
    /// Where it listened for clients at the start.
    listeners: Vec<Addr>,
    listening: Arc<Listening>,
    mailboxes: Vec<Mailbox<Mail>>,
    reporter: Reporter,
    collector: Arc<Mutex<Collector>>,
    publisher: Arc<Publisher>,
    switching: Switching,
    checks: Checks,
    following: Arc<Following>,
    hosts: ClientHosts,
    offer: Arc<Offer>,
    shared: Arc<Shared>,
    metrics_source: Arc<MetricsSource>,
    web: Arc<Web>,
    /// The administrative interface, once there is one.
    interface: Option<Mailbox<admin::Mail>>,
    /// File that the configuration came from; `None` when it is a database's.
    origin: Option<PathBuf>,
}

/// How workers are reached by whoever is on another thread.
pub(crate) struct Reach {
    /// Of every worker.
    pub(crate) mailboxes: Vec<Mailbox<Mail>>,
    /// Adds up what they count.
    pub(crate) collector: Arc<Mutex<Collector>>,
    /// Changes their configuration.
    pub(crate) publisher: Arc<Publisher>,
    /// Puts servers in others' places.
    pub(crate) switching: Switching,
    /// Where they listen.
    pub(crate) listening: Arc<Listening>,
    /// What clients are offered.
    pub(crate) offer: Arc<Offer>,
    /// Client addresses that failed to log in.
    pub(crate) hosts: ClientHosts,
    /// The process as it is seen.
    pub(crate) metrics_source: Arc<MetricsSource>,
    /// Shows it, and runs programs.
    pub(crate) web: Arc<Web>,
}

/// How many names wait to be looked up for workers.
const NAMES_MAX: usize = 64;

/// What every worker is made from.
#[derive(Clone)]
struct Plan {
    snapshot: Arc<Snapshot>,
    offer: Arc<Offer>,
    shared: Arc<Shared>,
    addresses: Arc<ServerAddresses>,
    /// Gives connections to servers TLS.
    connectors: Arc<tls::Connectors>,
    /// Gives clients TLS, where they can have it.
    acceptor: Option<Arc<tls::Acceptor>>,
    /// What is listened on, in the order of every worker's sockets.
    listening: Arc<[Addr]>,
    /// Hears of servers that workers have doubts about.
    doubts: Sender<Heard>,
    /// Takes names that servers send connections to, for their addresses.
    names: SyncSender<Arc<str>>,
    /// Takes passwords that PAM or LDAP checks.
    checks: Sender<CheckNews>,
}

/// Opens the listeners and starts the workers of `loaded`; each says when it ends.
pub(crate) fn start(
    loaded: &Loaded,
    datadir: Option<&Path>,
    stats_file: Option<&Path>,
    notices: &Sender<Notice>,
) -> anyhow::Result<Running> {
    let (snapshot, keeper) = placed(&loaded.snapshot)?;
    let vars = snapshot.vars.clone();
    let nowhere = (&Topology::default(), &ServerAddresses::default());
    let addresses: Vec<_> = publisher::places_of_new(nowhere, &snapshot.topology).collect();
    let places = addresses.iter().filter_map(|(_, addr)| addr.clone());
    let offer = Arc::new(server_greetings::find(places, lasting_secret::of(datadir))?);
    let workers = vars.threads as usize;
    let mut listeners = Listeners::open(&vars.interfaces, workers, vars.listen_backlog)?;
    let (doubts, heard) = channel();
    let (names, asked) = sync_channel(NAMES_MAX);
    let (passwords, to_check) = channel();
    let certificates = Certificates::new(datadir.map(Path::to_path_buf), &snapshot);
    let plan = Plan {
        acceptor: certificates.current(),
        connectors: certificates.connectors(),
        names,
        checks: passwords.clone(),
        doubts: doubts.clone(),
        shared: Arc::<Shared>::default(),
        addresses: Arc::new(ServerAddresses::default().with(addresses)),
        listening: listeners.addresses().into(),
        snapshot: snapshot.clone(),
        offer,
    };
    let mailboxes = spawn_all(&plan, listeners.take(), notices)?;
    let addresses = listeners.addresses();
    let listening = Arc::new(Listening::new(listeners, mailboxes.clone(), &vars));
    let decided = (snapshot, keeper);
    let secured = certificates.tell(mailboxes.clone());
    let outside = (listening.clone(), secured, plan.offer.cache.clone());
    let publisher = Arc::new(Publisher::new(mailboxes.clone(), decided, plan.addresses, outside));
    let checks = monitoring::start(publisher.clone(), (doubts, heard))
        .context("cannot start the threads that check servers")?;
    follow(&publisher, asked, (mailboxes.clone(), passwords, to_check))?;
    let following = Following::begin(publisher.clone(), plan.offer.cache.clone())
        .context("cannot start the thread that follows servers' logs")?;
    let headers = publisher.header_counts().clone();
    let collector = Arc::new(Mutex::new(Collector::new(mailboxes.clone(), headers)));
    let reporter = Reporter::new(collector.clone(), stats_file);
    let told_by = (collector.clone(), publisher.clone(), listening.clone(), following.clone());
    let (metrics_source, web) = show(told_by, &vars)?;
    let switching = Switching::new(publisher.clone(), collector.clone(), web.launcher());
    switching.clone().watch().context("cannot start the thread that watches primaries")?;
    let (origin, hosts) = (loaded.origin.clone(), plan.shared.hosts.clone());
    Ok(Running {
        shared: plan.shared,
        offer: plan.offer,
        listeners: addresses,
        listening,
        mailboxes,
        reporter,
        collector,
        publisher,
        switching,
        checks,
        following,
        hosts,
        metrics_source,
        web,
        interface: None,
        origin,
    })
}

/// Starts the thread that shows the process.
fn show(
    (collector, publisher, listening, following): (
        Arc<Mutex<Collector>>,
        Arc<Publisher>,
        Arc<Listening>,
        Arc<Following>,
    ),
    vars: &Vars,
) -> anyhow::Result<(Arc<MetricsSource>, Arc<Web>)> {
    let metrics_source = MetricsSource::new(collector, publisher, listening, following);
    let metrics_source = Arc::new(metrics_source);
    let web = metrics_source::show(metrics_source.clone(), vars)
        .context("cannot start the thread of metrics")?;
    Ok((metrics_source, Arc::new(web)))
}

/// Starts the threads that look names up, read passwords on servers, and have passwords checked.
fn follow(
    publisher: &Arc<Publisher>,
    names: Receiver<Arc<str>>,
    (workers, checks, to_check): (Vec<Mailbox<Mail>>, Sender<CheckNews>, Receiver<CheckNews>),
) -> anyhow::Result<()> {
    name_lookup::follow(publisher.clone(), names).context("cannot start the thread of names")?;
    passwords::follow(publisher.clone()).context("cannot start the thread of passwords")?;
    login_checks::follow(workers, checks, to_check)
        .context("cannot start the thread that has passwords checked")
}

/// A configuration with its servers where they stand before anything is known of them. Hostgroups
/// of writers are held until the first checks: else writes went to replicas that are typed there.
fn placed(loaded: &Snapshot) -> anyhow::Result<(Arc<Snapshot>, Keeper)> {
    let mut keeper = Keeper::default();
    keeper.adopt(Wanted::of(loaded), clock::unix_us());
    let placed = loaded.clone().place(keeper.decided(), loaded);
    let placed =
        placed.map_err(|faults| anyhow::anyhow!("servers cannot be placed: {faults:?}"))?;
    let pairs = placed.clusters.pairs.iter().map(|pair| pair.writer);
    let unknown = pairs.filter(|writer| !keeper.knows_pair(*writer));
    let held = unknown.filter_map(|writer| Some(HostgroupId(u32::try_from(writer).ok()?)));
    let held = held.collect();
    Ok((Arc::new(placed.holding(held)), keeper))
}

/// Starts the workers, each with its listening sockets, and tells them of each other.
fn spawn_all(
    plan: &Plan,
    sockets: Vec<Vec<OwnedFd>>,
    notices: &Sender<Notice>,
) -> anyhow::Result<Vec<Mailbox<Mail>>> {
    let mut mailboxes = Vec::new();
    for (number, sockets) in sockets.into_iter().enumerate() {
        mailboxes.push(spawn(number, plan, sockets, notices)?);
    }
    for (number, mailbox) in mailboxes.iter().enumerate() {
        // a mailbox that was just made has room
        let _ = mailbox.post(Mail::Peers(mailboxes.clone(), number));
    }
    Ok(mailboxes)
}

/// Starts one worker; returns when its loop stands.
fn spawn(
    number: usize,
    plan: &Plan,
    sockets: Vec<OwnedFd>,
    notices: &Sender<Notice>,
) -> anyhow::Result<Mailbox<Mail>> {
    let (plan, notices) = (plan.clone(), notices.clone());
    let (started, standing) = channel();
    let run = move || {
        let mut events = match make(number, &plan, sockets) {
            Ok(events) => events,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let _ = started.send(Ok(events.mailbox()));
        let ended = catch_unwind(AssertUnwindSafe(|| events.run()));
        let ended = ended.map_err(|_| format!("worker {number} panicked; see above"));
        let _ = notices.send(Notice::WorkerEnded(ended));
    };
    thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(run)
        .with_context(|| format!("cannot start the thread of worker {number}"))?;
    standing.recv().with_context(|| format!("worker {number} ended at its start"))?
}

fn make(
    number: usize,
    plan: &Plan,
    sockets: Vec<OwnedFd>,
) -> anyhow::Result<Loop<EpollDriver, Worker>> {
    let driver =
        EpollDriver::new().map_err(|failure| anyhow::anyhow!("worker {number}: {failure}"))?;
    let mut secret = [0; 32];
    fill(&mut secret);
    let mut seed = [0; 8];
    fill(&mut seed);
    let seed = u64::from_le_bytes(seed);
    let mut proxy = Proxy::new(plan.snapshot.clone(), plan.offer.clone(), seed, secret);
    proxy.time_with(clock::ns);
    let (doubts, names, checks) = (plan.doubts.clone(), plan.names.clone(), plan.checks.clone());
    let outside = Outside {
        // whoever wants to know asks again
        look_up: Box::new(move |name| drop(names.try_send(name.clone()))),
        check_login: Box::new(move |check| {
            let asked = AskedCheck { worker: number, check, since: Instant::now() };
            // nobody checks any when the process ends
            drop(checks.send(CheckNews::Asked(asked)));
        }),
        shared: plan.shared.clone(),
        addresses: plan.addresses.clone(),
        connectors: plan.connectors.clone(),
        random: Box::new(|| {
            let mut bytes = [0; 20];
            fill(&mut bytes);
            bytes
        }),
        log: Box::new(move |event| {
            logs::write(number, event);
            if let Some(server) = event.doubts() {
                let (hostname, port) = (server.hostname.clone(), i64::from(server.port));
                // nobody hears it when the process ends
                drop(doubts.send(Heard::Doubted(Endpoint { hostname, port })));
            }
        }),
    };
    let mut worker = Worker::new(proxy, outside, publisher::backlog_max(&plan.snapshot.vars));
    worker.secure_with(plan.acceptor.clone());
    plan.listening.iter().for_each(|door| worker.add_door(door));
    let mut events = Loop::new(driver, worker, Options::default());
    for socket in sockets {
        events.add_listener(socket);
    }
    let (worker, edge) = events.parts_mut();
    worker.start(edge);
    Ok(events)
}

/// Fills with random bytes; the system's generator failing is not survivable for a login.
pub(crate) fn fill(bytes: &mut [u8]) {
    rand::fill(bytes).expect("the random generator of the system works");
}

impl Running {
    /// What was listened on at the start.
    pub(crate) fn listeners(&self) -> &[Addr] {
        &self.listeners
    }

    /// How workers are reached by whoever is on another thread.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            mailboxes: self.mailboxes.clone(),
            collector: self.collector.clone(),
            publisher: self.publisher.clone(),
            switching: self.switching.clone(),
            listening: self.listening.clone(),
            hosts: self.hosts.clone(),
            offer: self.offer.clone(),
            metrics_source: self.metrics_source.clone(),
            web: self.web.clone(),
        }
    }

    /// There is an interface now, to be told when the configuration file was read again.
    pub(crate) fn tell_interface(&mut self, interface: Mailbox<admin::Mail>) {
        self.interface = Some(interface);
    }

    fn tell(&self, mail: impl Fn() -> Mail) {
        for mailbox in &self.mailboxes {
            listening::post(mailbox, mail());
        }
    }
}

impl Workers for Running {
    fn count(&self) -> usize {
        self.mailboxes.len()
    }

    fn drain(&self) {
        // clients have to come through it, and half of it would leave no primary
        self.switching.finish();
        self.metrics_source.drains();
        self.listening.refuse();
        self.tell(|| Mail::Drain);
    }

    fn stop_now(&self) {
        self.checks.stop();
        self.following.end();
        self.tell(|| Mail::Stop);
    }

    fn report(&mut self) {
        self.reporter.report(&self.publisher);
        let turn_us_max = self.shared.take_longest_turn();
        tracing::info!(turn_us_max, "longest turn of a worker since the last report");
    }

    fn reload(&mut self) {
        match &self.origin {
            Some(file) => {
                let replaced = reload::from_file(&self.publisher, file);
                if let (Some(before), Some(interface)) = (replaced, &self.interface) {
                    listening::post(interface, admin::Mail::Reloaded { before });
                }
                if let Err(reason) =
                    metrics_source::follow(&self.web, &self.publisher.current().vars)
                {
                    tracing::warn!("{reason}");
                }
            }
            None => tracing::warn!("the configuration is a database's: there is no file to read"),
        }
    }

    fn drain_for(&self) -> Duration {
        Duration::from_millis(self.publisher.current().vars.shutdown_timeout_ms)
    }
}
