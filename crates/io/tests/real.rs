//! What only real sockets and threads can show.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use io::{Addr, EpollDriver, Loop, Micros, Options, Service};

#[path = "suite/recorder.rs"]
#[allow(dead_code, unreachable_pub)]
mod recorder;

use recorder::{Habit, Recorder, Seen, noise};

fn new_loop(habit: Habit) -> Loop<EpollDriver, Recorder> {
    Loop::new(EpollDriver::new().unwrap(), Recorder::new(habit), Options::default())
}

fn server(habit: Habit) -> (Loop<EpollDriver, Recorder>, Addr) {
    let any = Addr::Tcp("127.0.0.1:0".parse().unwrap());
    let listener = io::listen(&any, 64, false).unwrap();
    let addr = io::bound_to(&listener).unwrap();
    let mut server = new_loop(habit);
    server.add_listener(listener);
    (server, addr)
}

fn tcp(addr: &Addr) -> TcpStream {
    let Addr::Tcp(addr) = addr else { panic!("{addr} is no TCP address") };
    TcpStream::connect(addr).unwrap()
}

fn turn_until<S: Service>(
    turns: &mut Loop<EpollDriver, S>,
    what: &str,
    mut done: impl FnMut(&Loop<EpollDriver, S>) -> bool,
) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !done(turns) {
        turns.turn(Some(Micros::from_ms(1)));
        assert!(Instant::now() < give_up, "never happened: {what}");
    }
}

#[test]
fn a_half_closed_client_gets_its_farewell() {
    let (mut server, addr) = server(Habit::Echo);
    let farewell = noise(1, 2 << 20);
    server.service_mut().farewell.clone_from(&farewell);
    let client = std::thread::spawn(move || {
        let mut client = tcp(&addr);
        client.write_all(b"hello").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        answer
    });
    turn_until(&mut server, "the client is done", |_| client.is_finished());
    let answer = client.join().unwrap();
    assert!(answer[..5] == *b"hello" && answer[5..] == farewell);
    turn_until(&mut server, "closed", |server| server.stats().sockets == 0);
}

#[test]
fn mail_from_another_thread_ends_the_wait() {
    let (mut server, _) = server(Habit::Take);
    let (asleep, wake) = std::sync::mpsc::channel();
    let mailbox = server.mailbox();
    let other = std::thread::spawn(move || {
        for number in 0..100 {
            wake.recv().unwrap();
            mailbox.post(number).unwrap();
        }
    });
    for number in 0..100 {
        asleep.send(()).unwrap();
        while server.service().seen.len() <= number {
            // for ever, were it not for the mail
            server.turn(None);
        }
    }
    other.join().unwrap();
    let expected: Vec<Seen> = (0..100).map(Seen::Mail).collect();
    assert_eq!(server.service().seen, expected);
    assert!(server.stats().turns <= 400, "{} turns", server.stats().turns);
}

#[test]
fn a_unix_listener_shared_by_two_loops_serves_everybody() {
    let name = format!("tidegate-io-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = io::listen(&Addr::Unix(path.clone()), 64, false).unwrap();
    let twin = listener.try_clone().unwrap();
    let [mut one, mut two] = [listener, twin].map(|listener| {
        let mut server = new_loop(Habit::Echo);
        server.add_listener(listener);
        server
    });
    let clients: Vec<UnixStream> = (0..50).map(|_| UnixStream::connect(&path).unwrap()).collect();
    for mut client in &clients {
        client.write_all(b"hello").unwrap();
    }
    turn_until(&mut one, "all answered", |one| {
        two.turn(Some(Micros::from_ms(1)));
        one.stats().bytes_out + two.stats().bytes_out == 250
    });
    for mut client in &clients {
        let mut answer = [0; 5];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
    }
    assert_eq!(one.stats().accepts + two.stats().accepts, 50);
    std::fs::remove_file(path).unwrap();
}

/// A descriptor that cannot be had makes the listener rest, not spin, and then go on.
#[test]
fn connections_wait_while_descriptors_are_short() {
    let status = rerun_with_few_descriptors();
    if let Some(status) = status {
        assert!(status.success());
        return;
    }
    let (mut server, addr) = server(Habit::Echo);
    let mut client = tcp(&addr);
    client.write_all(b"patience").unwrap();
    // all that are left
    let mut hoard = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        hoard.push(file);
    }
    turn_until(&mut server, "a refusal", |server| server.stats().accept_failures > 0);
    let turns = server.stats().turns;
    let rest = Instant::now() + Duration::from_millis(350);
    while Instant::now() < rest {
        server.turn(Some(Micros::from_ms(50)));
    }
    assert!(server.stats().turns < turns + 40, "the loop spins");
    assert_eq!(server.stats().accepts, 0);
    drop(hoard);
    turn_until(&mut server, "the answer", |server| server.stats().bytes_out == 8);
    let mut answer = [0; 8];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"patience");
}

/// Runs this test again in a process of its own where descriptors are few; `None` inside of that.
fn rerun_with_few_descriptors() -> Option<std::process::ExitStatus> {
    if std::env::var_os("TIDEGATE_IO_FEW_DESCRIPTORS").is_some() {
        return None;
    }
    let name = std::thread::current().name().unwrap().to_string();
    let script = format!("ulimit -n 64 && exec \"$0\" --exact {name} --test-threads 1");
    let status = std::process::Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env("TIDEGATE_IO_FEW_DESCRIPTORS", "1")
        .stdout(std::process::Stdio::null())
        .status();
    Some(status.unwrap())
}

#[test]
fn a_loop_without_work_sleeps_until_its_timer() {
    let (mut server, _) = server(Habit::Take);
    server.turn(Some(Micros(0)));
    let (_, io) = server.parts_mut();
    let at = io.now() + Micros(2_500);
    io.set_timer(7, at);
    let turns = server.stats().turns;
    while server.service().seen.is_empty() {
        server.turn(None);
    }
    assert_eq!(server.service().seen, [Seen::Timer(7)]);
    assert!(server.parts_mut().1.now() >= at);
    assert!(server.stats().turns <= turns + 4, "the loop spins");
}

#[test]
fn silent_ends_are_asked_after_the_time_that_is_said() {
    let (mut server, addr) = server(Habit::Take);
    for (seconds, expected) in [(None, None), (Some(120), Some(120)), (Some(3), Some(3))] {
        server.parts_mut().1.keep_alive(seconds);
        let accepted = server.stats().accepts;
        let client = tcp(&addr);
        turn_until(&mut server, "an accept", |server| server.stats().accepts > accepted);
        let from = client.local_addr().expect("it is bound").port();
        assert_eq!(asks_after_s(&addr, from), expected, "{seconds:?}");
    }
}

/// Seconds until the system asks whether a client of a listener is there, rounded up; `None` when
/// it never does.
fn asks_after_s(listener: &Addr, client: u16) -> Option<u64> {
    let Addr::Tcp(listener) = listener else { panic!("{listener} is no TCP address") };
    let ends = [listener.port(), client].map(|port| format!("0100007F:{port:04X}"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("it is there");
    let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut row = row.filter(|row| row[1..3] == ends);
    let row = row.next_back().expect("it is connected");
    // the kind of the timer that runs, 2 for this one, and the hundredths of a second it has left
    let (kind, left) = row[5].split_once(':').expect("two numbers");
    let left = u64::from_str_radix(left, 16).expect("a number");
    (kind == "02").then(|| left.div_ceil(100))
}
