//! Simulated networks by the hundred: whatever is cut, lost or killed, bytes are never wrong, every
//! connection ends, and a seed repeats itself exactly.

use io::{Addr, Faults, Loop, Micros, Options, SimDriver, SimNet, Sock};

#[path = "suite/recorder.rs"]
#[allow(dead_code, unreachable_pub)]
mod recorder;

use recorder::{Habit, Recorder, Seen, noise};

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

fn town(seed: u64, faults: Faults) -> Town {
    let net = SimNet::new(seed, faults);
    let addr = Addr::Tcp("10.0.0.1:3306".parse().unwrap());
    let mut server = Loop::new(net.driver(), Recorder::new(Habit::EchoFrames), Options::default());
    server.add_listener(net.listen(&addr));
    let mut client = Loop::new(net.driver(), Recorder::new(Habit::Take), Options::default());
    let (_, io) = client.parts_mut();
    let mut socks = Vec::new();
    for number in 0..SOCKETS {
        let sock = io.connect(&addr).unwrap();
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

#[test]
fn without_losses_every_byte_arrives_whatever_the_seed() {
    for seed in 0..300 {
        let mut town = town(seed, Faults::cuts());
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
    for seed in 0..300 {
        let faults = Faults { kill_per_million: 50_000, ..Faults::losses() };
        let mut town = town(seed, faults);
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
