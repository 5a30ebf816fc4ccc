//! Simulated networks by the hundred: whatever is cut, lost or killed, bytes are never wrong, every
//! connection ends, and a seed repeats itself exactly.

use io::{Addr, Faults, Loop, Micros, Options, SimDriver, SimNet, Sock};

#[path = "suite/recorder.rs"]
#[allow(dead_code, unreachable_pub)]
mod recorder;

#[path = "suite/masked.rs"]
#[allow(dead_code, unreachable_pub)]
mod masked;

use recorder::{Habit, MakeCodecs, Recorder, Seen, no_codecs, noise, put_on};

const SOCKETS: usize = 12;

struct Town {
    net: SimNet,
    addr: Addr,
    server: Loop<SimDriver, Recorder>,
    client: Loop<SimDriver, Recorder>,
    socks: Vec<Sock>,
    steps: u64,
}

fn payload(number: usize) -> Vec<u8> {
    let size = 1 + number * 997 % 9_000;
    let mut frame = (size as u32).to_le_bytes().to_vec();
    frame.extend(noise(number, size));
    frame
}

/// Two codecs for each socket.
fn two_codecs() -> MakeCodecs {
    let greetings = masked::Greetings::default();
    std::rc::Rc::new(move || (0..2).map(|_| greetings.codec()).collect())
}

fn town(seed: u64, faults: Faults) -> Town {
    coded_town(seed, faults, no_codecs())
}

fn coded_town(seed: u64, faults: Faults, codecs: MakeCodecs) -> Town {
    let net = SimNet::new(seed, faults);
    let addr = Addr::Tcp("10.0.0.1:3306".parse().unwrap());
    let service = Recorder { codecs: codecs.clone(), ..Recorder::new(Habit::EchoFrames) };
    let mut server = Loop::new(net.driver(), service, Options::default());
    server.add_listener(net.listen(&addr));
    let mut client = Loop::new(net.driver(), Recorder::new(Habit::Take), Options::default());
    let (_, io) = client.parts_mut();
    let mut socks = Vec::new();
    for number in 0..SOCKETS {
        let sock = io.connect(&addr).unwrap();
        put_on(io, sock, &codecs);
        io.send(sock, &[&payload(number)]);
        socks.push(sock);
    }
    Town { net, addr, server, client, socks, steps: 0 }
}

impl Town {
    fn run(&mut self) {
        while self.net.step(&mut [&mut self.server, &mut self.client]) {
            self.steps += 1;
            assert!(self.steps < 200_000, "it never ends");
        }
    }

    fn fate(&self, sock: Sock) -> String {
        let service = self.client.service();
        format!("{:?} {:?} {}", sock, service.gone(sock), service.received(sock).len())
    }
}

/// Seeds without codecs and with them.
fn seeds_and_codecs() -> impl Iterator<Item = (u64, MakeCodecs)> {
    let without = (0..300).map(|seed| (seed, no_codecs()));
    without.chain((0..100).map(|seed| (seed, two_codecs())))
}

#[test]
fn without_losses_every_byte_arrives_whatever_the_seed() {
    for (seed, codecs) in seeds_and_codecs() {
        let mut town = coded_town(seed, Faults::cuts(), codecs);
        town.run();
        for (number, sock) in town.socks.iter().enumerate() {
            let received = town.client.service().received(*sock);
            assert!(received == payload(number), "seed {seed}: {}", town.fate(*sock));
        }
    }
}

#[test]
fn with_losses_bytes_are_a_prefix_and_every_socket_meets_its_end() {
    let (mut whole, mut broken) = (0, 0);
    for (seed, codecs) in seeds_and_codecs() {
        let faults = Faults { kill_per_million: 50_000, ..Faults::losses() };
        let mut town = coded_town(seed, faults, codecs);
        let kill_at = town.net.random(60);
        for _ in 0..kill_at {
            town.net.step(&mut [&mut town.server, &mut town.client]);
        }
        if seed % 4 == 0 {
            town.net.kill(&town.addr);
        }
        town.run();
        for (number, sock) in town.socks.iter().enumerate() {
            let service = town.client.service();
            let (received, sent) = (service.received(*sock), payload(number));
            assert!(sent.starts_with(received), "seed {seed}: {}", town.fate(*sock));
            let refused = |seen: &Seen| matches!(seen, Seen::Connected(at, Err(_)) if at == sock);
            let ended = service.gone(*sock).is_some() || service.seen.iter().any(refused);
            assert!(ended || received == sent, "seed {seed}: {}", town.fate(*sock));
            // nobody closes anything, so no end is an orderly one
            assert_ne!(service.gone(*sock), Some(None), "seed {seed}: {}", town.fate(*sock));
            if ended { broken += 1 } else { whole += 1 }
        }
    }
    assert!(whole > 100 && broken > 100, "{whole} whole, {broken} broken: no test of both");
}

#[test]
fn a_seed_repeats_itself_exactly() {
    let story = |seed| {
        let mut town = town(seed, Faults::losses());
        town.run();
        let seen = format!("{:?}{:?}", town.server.service().seen, town.client.service().seen);
        (town.steps, town.net.now(), town.server.stats(), town.client.stats(), seen)
    };
    for seed in [0, 1, 77, u64::MAX] {
        assert!(story(seed) == story(seed), "seed {seed} tells two stories");
    }
    assert!(story(1) != story(2));
}

#[test]
fn a_stopped_address_refuses_and_a_stalled_one_is_late() {
    let mut town = town(5, Faults::none());
    town.net.stall(&town.addr, Micros::from_secs(3));
    let start = town.net.now();
    town.run();
    assert!(town.net.now() >= start + Micros::from_secs(3));
    assert!(town.client.service().received(town.socks[0]) == payload(0));
    town.net.stop(&town.addr);
    let refused = town.client.parts_mut().1.connect(&town.addr).unwrap();
    town.run();
    assert!(!town.client.service().connected(refused));
    town.net.start(&town.addr);
    let taken = town.client.parts_mut().1.connect(&town.addr).unwrap();
    town.run();
    assert!(town.client.service().connected(taken));
}
