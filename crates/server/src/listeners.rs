//! The listening sockets of all loops of a kind: one TCP socket a loop on a shared port, one Unix
//! socket shared by all. They may change while the loops run.
//!
//! Knows addresses and descriptors; what is accepted on them is the loops' business.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use anyhow::{Context, bail};
use engine::vars::Interface;
use io::Addr;

/// Opened listeners; dropping it removes the paths of Unix sockets.
pub(crate) struct Listeners {
    open: Vec<Open>,
    /// Where it is to be listened as soon as the listeners are not shut.
    wanted: Vec<Interface>,
    /// How many loops accept.
    loops: usize,
    backlog: u32,
    shut: bool,
    /// Tells a loop, by its number; none until the loops run.
    tell: Option<Tell>,
}

/// Tells a loop what to do about its listeners.
pub(crate) type Tell = Box<dyn Fn(usize, ListenerChange) + Send>;

/// What a loop is told.
pub(crate) enum ListenerChange {
    /// To accept there, too.
    Open(OwnedFd, Addr),
    /// To accept there no more.
    Close(Addr),
}

/// What is listened on for one interface.
struct Open {
    interface: Interface,
    /// With the port that the system chose.
    addr: Addr,
    /// A socket for each loop, until it is given.
    for_loops: Vec<OwnedFd>,
    /// The same sockets, to refuse connections on them.
    all: Vec<OwnedFd>,
}

/// Listeners that were opened and that no loop knows yet.
pub(crate) struct PreparedListeners {
    opened: Vec<Open>,
    wanted: Vec<Interface>,
}

impl Listeners {
    /// Opens every interface for every loop; all failures are told together.
    pub(crate) fn open(
        interfaces: &[Interface],
        loops: usize,
        backlog: u32,
    ) -> anyhow::Result<Self> {
        let mut listeners = Self::none(loops, backlog);
        listeners.open = listeners.opened(interfaces)?;
        listeners.wanted = interfaces.to_vec();
        Ok(listeners)
    }

    /// None yet.
    pub(crate) fn none(loops: usize, backlog: u32) -> Self {
        Self { open: Vec::new(), wanted: Vec::new(), loops, backlog, shut: false, tell: None }
    }

    /// Opens one interface beside the others; where it is.
    pub(crate) fn add(&mut self, interface: &Interface) -> anyhow::Result<Addr> {
        let open = open_one(interface, self.loops, self.backlog)?;
        let addr = open.addr.clone();
        self.open.push(open);
        Ok(addr)
    }

    /// From now on loops are told of changes.
    pub(crate) fn tell_by(&mut self, wanted: &[Interface], tell: Tell) {
        self.wanted = wanted.to_vec();
        self.tell = Some(tell);
    }

    /// Where clients can connect: with the ports that the system chose.
    pub(crate) fn addresses(&self) -> Vec<Addr> {
        self.open.iter().map(|open| open.addr.clone()).collect()
    }

    /// Refuses every connection from now on.
    pub(crate) fn refuse(&self) {
        self.open.iter().flat_map(|open| &open.all).for_each(io::stop_listening);
    }

    /// Hands each loop its sockets, once.
    pub(crate) fn take(&mut self) -> Vec<Vec<OwnedFd>> {
        let mut by_loop: Vec<Vec<OwnedFd>> = (0..self.loops).map(|_| Vec::new()).collect();
        for open in &mut self.open {
            for (sockets, socket) in by_loop.iter_mut().zip(open.for_loops.drain(..)) {
                sockets.push(socket);
            }
        }
        by_loop
    }

    /// Opens what `interfaces` have more; nothing else happens until [`Listeners::follow`].
    pub(crate) fn prepare(&self, interfaces: &[Interface]) -> anyhow::Result<PreparedListeners> {
        let new = |interface: &&Interface| !self.wanted.contains(interface);
        let new: Vec<Interface> = match self.shut {
            true => Vec::new(),
            false => interfaces.iter().filter(new).cloned().collect(),
        };
        Ok(PreparedListeners { opened: self.opened(&new)?, wanted: interfaces.to_vec() })
    }

    /// Loops accept where it was prepared, and no more where nothing is wanted.
    pub(crate) fn follow(&mut self, PreparedListeners { opened, wanted }: PreparedListeners) {
        let (stay, go) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|open| wanted.contains(&open.interface));
        self.open = stay;
        self.wanted = wanted;
        opened.into_iter().for_each(|open| self.begin(open));
        self.end(go);
    }

    /// Stops accepting everywhere; `false` when that was so before.
    pub(crate) fn shut(&mut self) -> bool {
        if std::mem::replace(&mut self.shut, true) {
            return false;
        }
        let open = std::mem::take(&mut self.open);
        self.end(open);
        true
    }

    /// Accepts again wherever it is wanted.
    pub(crate) fn reopen(&mut self) -> anyhow::Result<()> {
        let opened = self.opened(&self.wanted)?;
        self.shut = false;
        opened.into_iter().for_each(|open| self.begin(open));
        Ok(())
    }

    fn begin(&mut self, mut open: Open) {
        let sockets = std::mem::take(&mut open.for_loops);
        for (number, socket) in sockets.into_iter().enumerate() {
            self.tell(number, ListenerChange::Open(socket, open.addr.clone()));
        }
        tracing::info!(listener = %open.addr, "listening");
        self.open.push(open);
    }

    fn end(&self, ended: Vec<Open>) {
        for open in ended {
            for number in 0..self.loops {
                self.tell(number, ListenerChange::Close(open.addr.clone()));
            }
            open.all.iter().for_each(io::stop_listening);
            open.remove_path();
            tracing::info!(listener = %open.addr, "not listening any more");
        }
    }

    fn tell(&self, number: usize, change: ListenerChange) {
        if let Some(tell) = &self.tell {
            tell(number, change);
        }
    }

    fn opened(&self, interfaces: &[Interface]) -> anyhow::Result<Vec<Open>> {
        let mut opened = Vec::new();
        let mut failures = Vec::new();
        for interface in interfaces {
            match open_one(interface, self.loops, self.backlog) {
                Ok(open) => opened.push(open),
                Err(error) => failures.push(format!("cannot listen on {interface}: {error:#}")),
            }
        }
        if !failures.is_empty() {
            opened.iter().for_each(Open::remove_path);
            bail!(failures.join("\n"));
        }
        Ok(opened)
    }
}

fn open_one(interface: &Interface, loops: usize, backlog: u32) -> anyhow::Result<Open> {
    let (addr, for_loops) = match interface {
        Interface::Tcp { ip, port } => open_tcp(SocketAddr::new(*ip, *port), loops, backlog)?,
        Interface::Unix(path) => {
            let addr = Addr::Unix(PathBuf::from(path));
            let socket = io::listen(&addr, backlog, false)?;
            let copies = (1..loops).map(|_| socket.try_clone()).collect::<Result<Vec<_>, _>>();
            let copies = copies.context("cannot share the socket")?;
            (addr, copies.into_iter().chain([socket]).collect())
        }
    };
    let all = for_loops.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>();
    let all = all.context("cannot share the socket")?;
    Ok(Open { interface: interface.clone(), addr, for_loops, all })
}

/// Sockets that share a port also share it with a second process started by mistake, so the port
/// is first opened alone.
fn open_tcp(
    address: SocketAddr,
    loops: usize,
    backlog: u32,
) -> anyhow::Result<(Addr, Vec<OwnedFd>)> {
    let alone = io::listen(&Addr::Tcp(address), backlog, false)?;
    let bound = io::bound_to(&alone)?;
    drop(alone);
    let sockets =
        (0..loops).map(|_| io::listen(&bound, backlog, true)).collect::<Result<_, _>>()?;
    Ok((bound, sockets))
}

impl Open {
    fn remove_path(&self) {
        if let Addr::Unix(path) = &self.addr {
            drop(std::fs::remove_file(path));
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.open.iter().for_each(Open::remove_path);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn interfaces(text: &str) -> Vec<Interface> {
        Interface::parse_list(text).expect("valid")
    }

    #[test]
    fn every_worker_gets_a_socket_for_every_interface() {
        let path = std::env::temp_dir().join(format!("tidegate-l-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let mut listeners = Listeners::open(&interfaces(&text), 3, 16).expect("both are free");
        let sockets: Vec<usize> = listeners.take().iter().map(Vec::len).collect();
        assert_eq!(sockets, [2, 2, 2]);
        assert!(path.exists());
        drop(listeners);
        assert!(!path.exists(), "the path is removed with the listeners");
    }

    #[test]
    fn what_is_wanted_no_more_is_closed_and_what_stays_is_not_touched() {
        let path = std::env::temp_dir().join(format!("tidegate-f-{}.sock", std::process::id()));
        let (unix, tcp) = (path.display().to_string(), "127.0.0.1:0".to_owned());
        let mut listeners = Listeners::open(&interfaces(&unix), 2, 16).expect("it is free");
        let (sender, told) = std::sync::mpsc::channel();
        let tell = move |number, change| sender.send((number, change)).expect("it is heard");
        listeners.tell_by(&interfaces(&unix), Box::new(tell));
        let both = interfaces(&format!("{unix};{tcp}"));
        let prepared = listeners.prepare(&both).expect("both are free");
        assert!(told.try_recv().is_err(), "nothing happens before");
        listeners.follow(prepared);
        let opened: Vec<usize> = told.try_iter().map(|(number, _)| number).collect();
        assert_eq!((opened, listeners.addresses().len()), (vec![0, 1], 2));
        let prepared = listeners.prepare(&both[1..]).expect("nothing is opened");
        listeners.follow(prepared);
        assert!(!path.exists());
        let closed =
            told.try_iter().filter(|(_, change)| matches!(change, ListenerChange::Close(_)));
        assert_eq!(closed.count(), 2);
        assert!(listeners.shut() && !listeners.shut());
        assert_eq!(listeners.addresses(), []);
        listeners.reopen().expect("the system chooses a port");
        assert_eq!(listeners.addresses().len(), 1);
        assert!(listeners.prepare(&interfaces("/nonexistent/x.sock")).is_err());
    }

    #[test]
    fn the_addresses_are_those_that_clients_can_use() {
        let path = std::env::temp_dir().join(format!("tidegate-a-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let listeners = Listeners::open(&interfaces(&text), 1, 16).expect("both are free");
        for address in listeners.addresses() {
            match address {
                Addr::Tcp(address) => drop(TcpStream::connect(address).expect("it listens")),
                Addr::Unix(path) => drop(UnixStream::connect(path).expect("it listens")),
            }
        }
        assert_eq!(listeners.addresses().len(), 2);
    }

    #[test]
    fn refused_listeners_take_no_more_connections() {
        let path = std::env::temp_dir().join(format!("tidegate-r-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let listeners = Listeners::open(&interfaces(&text), 2, 16).expect("both are free");
        listeners.refuse();
        for address in listeners.addresses() {
            let error = match address {
                Addr::Tcp(address) => TcpStream::connect(address).err(),
                Addr::Unix(path) => UnixStream::connect(path).err(),
            };
            let error = error.expect("nobody listens");
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        }
    }

    #[test]
    fn a_port_of_another_process_is_not_shared_and_all_failures_are_told() {
        let other = Listeners::open(&interfaces("127.0.0.1:0"), 2, 16).expect("it is free");
        let taken = other.addresses()[0].to_string();
        let text = format!("{taken};/nonexistent/tidegate.sock");
        let error = Listeners::open(&interfaces(&text), 2, 16).err().expect("both are refused");
        let expected = format!(
            "cannot listen on {taken}: listen: Address already in use (98)\n\
             cannot listen on /nonexistent/tidegate.sock: listen: No such file or directory (2)"
        );
        assert_eq!(error.to_string(), expected);
    }
}
