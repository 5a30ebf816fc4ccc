//! The worlds that scenarios run in: real sockets under a real driver, or a simulated network.

use std::time::{Duration, Instant};

use io::{Addr, Codec, Driver, Faults, Loop, Micros, Options, Service, SimNet};

use super::masked::Greetings;
use super::recorder::MakeCodecs;

/// How many codecs a world's sockets have, and how far they are.
#[derive(Clone, Default)]
pub struct Coding {
    pub layers: usize,
    greetings: Greetings,
}

impl Coding {
    pub fn layers(layers: usize) -> Self {
        Coding { layers, greetings: Greetings::default() }
    }

    /// One that knows its like.
    pub fn codec(&self) -> Box<dyn Codec> {
        self.greetings.codec()
    }
}

/// What a scenario needs of the place it runs in.
pub trait World {
    type D: Driver;
    fn driver(&self) -> Self::D;
    fn listen(&self) -> (<Self::D as Driver>::Listening, Addr);
    /// An address where nobody listens.
    fn nowhere(&self) -> Addr;
    fn step<A: Service, B: Service>(&self, a: &mut Loop<Self::D, A>, b: &mut Loop<Self::D, B>);
    fn coding(&self) -> &Coding;
    /// How much data a scenario about volume should move.
    fn volume(&self) -> usize;
    /// How many sockets a scenario about numbers should open.
    fn crowd(&self) -> usize;

    /// What each socket of a scenario gets.
    fn codecs(&self) -> MakeCodecs {
        let Coding { layers, greetings } = self.coding().clone();
        std::rc::Rc::new(move || (0..layers).map(|_| greetings.codec()).collect())
    }

    /// One that knows its like.
    fn codec(&self) -> Box<dyn Codec> {
        self.coding().codec()
    }

    /// One that ends without a farewell.
    fn silent_codec(&self) -> Box<dyn Codec> {
        self.coding().greetings.silent_codec()
    }

    fn is_coded(&self) -> bool {
        self.coding().layers > 0
    }

    /// Whether all codecs have heard from their other sides.
    fn has_greeted(&self) -> bool {
        self.coding().greetings.all_heard()
    }

    fn new_loop<S: Service>(&self, service: S) -> Loop<Self::D, S> {
        Loop::new(self.driver(), service, Options::default())
    }

    /// Steps until `done`; panics when that takes too long.
    fn until<A: Service, B: Service>(
        &self,
        a: &mut Loop<Self::D, A>,
        b: &mut Loop<Self::D, B>,
        what: &str,
        mut done: impl FnMut(&mut Loop<Self::D, A>, &mut Loop<Self::D, B>) -> bool,
    ) {
        let give_up = Instant::now() + Duration::from_secs(60);
        let mut steps = 0_u64;
        while !done(a, b) {
            self.step(a, b);
            steps += 1;
            assert!(
                !steps.is_multiple_of(64) || Instant::now() < give_up,
                "never happened: {what}"
            );
        }
    }

    /// Steps often enough for everything that was started to settle.
    fn settle<A: Service, B: Service>(&self, a: &mut Loop<Self::D, A>, b: &mut Loop<Self::D, B>) {
        for _ in 0..200 {
            self.step(a, b);
        }
    }
}

/// Real sockets on loopback under the driver that `make` gives.
pub struct Real<D, F: Fn() -> D> {
    pub make: F,
    pub coding: Coding,
}

impl<D, F> World for Real<D, F>
where
    D: Driver<Listening = std::os::fd::OwnedFd>,
    F: Fn() -> D,
{
    type D = D;

    fn coding(&self) -> &Coding {
        &self.coding
    }

    fn driver(&self) -> D {
        (self.make)()
    }

    fn listen(&self) -> (std::os::fd::OwnedFd, Addr) {
        let any = Addr::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = io::listen(&any, 4096, false).unwrap();
        let addr = io::bound_to(&listener).unwrap();
        (listener, addr)
    }

    fn nowhere(&self) -> Addr {
        self.listen().1
    }

    fn step<A: Service, B: Service>(&self, a: &mut Loop<D, A>, b: &mut Loop<D, B>) {
        a.turn(Some(Micros(50)));
        b.turn(Some(Micros(50)));
    }

    fn volume(&self) -> usize {
        if self.is_coded() { 10 << 20 } else { 100 << 20 }
    }

    fn crowd(&self) -> usize {
        // two descriptors each, and tests run beside each other
        (descriptors_max() / 4).min(4_000)
    }
}

/// How many descriptors this process may have.
fn descriptors_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX)
}

/// A simulated network.
pub struct Simulated {
    net: SimNet,
    ports: std::cell::Cell<u16>,
    coding: Coding,
}

impl Simulated {
    pub fn new(seed: u64, faults: Faults, coding: Coding) -> Self {
        let ports = std::cell::Cell::new(3306);
        Simulated { net: SimNet::new(seed, faults), ports, coding }
    }

    pub fn net(&self) -> &SimNet {
        &self.net
    }
}

impl World for Simulated {
    type D = io::SimDriver;

    fn coding(&self) -> &Coding {
        &self.coding
    }

    fn driver(&self) -> io::SimDriver {
        self.net.driver()
    }

    fn listen(&self) -> (io::SimListener, Addr) {
        let addr = self.nowhere();
        (self.net.listen(&addr), addr)
    }

    fn nowhere(&self) -> Addr {
        self.ports.set(self.ports.get() + 1);
        Addr::Tcp(std::net::SocketAddr::from(([10, 0, 0, 1], self.ports.get())))
    }

    fn step<A: Service, B: Service>(
        &self,
        a: &mut Loop<io::SimDriver, A>,
        b: &mut Loop<io::SimDriver, B>,
    ) {
        self.net.step(&mut [a, b]);
    }

    fn volume(&self) -> usize {
        2 << 20
    }

    fn crowd(&self) -> usize {
        200
    }
}
