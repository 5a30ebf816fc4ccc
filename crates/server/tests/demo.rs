//! `tidegate demo` from outside: the tour does what it says, and Ctrl-C leaves nothing behind.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use client::{Client, Login, Packets};

/// Longest time anything here may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_tour_ends_well_and_shows_who_answered() {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["demo", "--tour-only"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let told = String::from_utf8(output.stdout).expect("output is text");
    let errors = String::from_utf8(output.stderr).expect("output is text");
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""), "{told}");
    let count = |server: &str| -> usize {
        let line = told.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(server) && words.next().is_some_and(|w| w.parse::<u8>().is_ok())
        });
        let line = line.unwrap_or_else(|| panic!("no count of {server} in\n{told}"));
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
    };
    assert_eq!(count("primary"), 0);
    assert_eq!(count("replica-1") + count("replica-2"), 50);
    assert!(told.contains("ERROR 1290 (HY000)"), "{told}");
    assert!(told.ends_with("everything did what it should.\n"), "{told}");
}

/// A demo that ends with its test.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn after_the_tour_it_serves_until_it_is_interrupted() {
    let child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("demo")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut demo = Demo(child);
    let stdout = demo.0.stdout.take().expect("it is piped");
    let (sender, told) = channel();
    let reading = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let next = |text: &str| loop {
        let line = told.recv_timeout(PATIENCE).expect("the demo goes on telling");
        if line.contains(text) {
            return line;
        }
    };
    let command = next("mariadb -h127.0.0.1 -P");
    let port = command.split("-P").nth(1).and_then(|rest| rest.split(' ').next());
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
    let mut greeting = [0; 5];
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.read_exact(&mut greeting).expect("it greets");
    assert_eq!(greeting[4], 10);
    drop(stream);
    // what no server of it knows is told by one, and costs nobody the connection
    let mut packets = Packets::tcp(([127, 0, 0, 1], port).into(), PATIENCE).expect("it listens");
    packets.log_in(&Login::new("demo", "demo")).expect("let in");
    let mut client = Client { packets };
    for statement in ["selct 1", "selct 2"] {
        let error = client.query(statement).expect_err("refused").to_string();
        assert!(error.contains("1235"), "{error}");
    }
    let line = next("The configuration in use: ");
    let file = std::path::PathBuf::from(line.rsplit(": ").next().expect("a path"));
    assert!(file.exists());
    next("Ctrl-C");
    let pid = demo.0.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
    assert!(killed.success());
    assert!(demo.0.wait().expect("it ends").success());
    next("Stopped.");
    reading.join().expect("its output ended");
    assert!(!file.exists());
}
