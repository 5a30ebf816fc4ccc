//! Pages whose commands are there to be pasted. The commands of `docs/tutorial.md` are carried out
//! in their order and answer what the page shows. The administrative interface takes the commands
//! of `docs/troubleshooting.md`.
//!
//! Shell and clients are terminals that stay open from one block to the next, as a reader's do. A
//! block of answers holds where each of its lines is among what the block in front of it printed;
//! `…` stands for anything.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use lab::{Flavour, RunDir};
use live::{Program, Proxy, skip};

/// How long a block may take: as long as a server may take to start on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

/// Behind the output of a block.
const END: &str = "-- end of block";

/// Where a block of commands goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Shell,
    Admin,
    App,
}

/// A block of commands, and the answers that the page shows behind it.
#[derive(Clone, Debug)]
struct Block {
    place: Place,
    line: usize,
    commands: String,
    answers: Vec<String>,
}

/// The blocks of a page in their order.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = (1..).zip(page.lines());
    while let Some((line, text)) = lines.next() {
        let Some(language) = text.strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|(_, text)| *text != "```");
        let inside: Vec<&str> = inside.map(|(_, text)| text).collect();
        let place = match (language, inside.first()) {
            ("text", _) => {
                let answered = blocks.last_mut().expect("commands in front of answers");
                answered.answers.extend(inside.iter().map(ToString::to_string));
                continue;
            }
            ("sh", _) => Place::Shell,
            ("sql", Some(&"-- app")) => Place::App,
            ("sql", _) => Place::Admin,
            _ => continue,
        };
        blocks.push(Block { place, line, commands: inside.join("\n"), answers: Vec::new() });
    }
    blocks
}

impl Block {
    /// Whether it may be asked again until it answers what it should.
    fn only_reads(&self) -> bool {
        let reads = ["SELECT", "SHOW", "EXPLAIN", "LINT", "PLAN", "CANDIDATE", "--", " "];
        let is_read = |line: &str| reads.iter().any(|word| line.starts_with(word));
        self.place == Place::Admin && self.commands.lines().all(is_read)
    }

    /// The first answer of the page that is not in this output.
    fn missing(&self, output: &str) -> Option<&str> {
        let mut lines: Vec<String> = output.lines().map(spaced).collect();
        self.answers.iter().map(String::as_str).find(|answer| {
            let found = lines.iter().position(|line| fits(&spaced(answer), line));
            found.map(|at| lines.remove(at)).is_none()
        })
    }
}

/// With one blank wherever there are several: how wide a column is depends on its rows.
fn spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line is what a page shows, in which `…` is anything.
fn fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A shell or client that reads one block after the other.
struct Terminal {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    /// What makes it print the end of a block.
    end: String,
}

impl Terminal {
    fn open(mut command: Command, end: String) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (sender, output) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Terminal { child, input, output, end }
    }

    /// A shell that ends with the first command that fails.
    fn shell(dir: &Path, path: &str) -> Self {
        let mut command = Command::new("bash");
        command.arg("-e").current_dir(dir).env("PATH", path);
        Self::open(command, format!("echo '{END}'"))
    }

    /// A client that ends with the first statement that fails.
    fn client(account: &str, port: u16) -> Self {
        let words = format!(
            "exec mariadb --no-defaults --skip-ssl --table --unbuffered -h127.0.0.1 -P{port} \
             -u{account} -p{account} 2>&1"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &words]);
        Self::open(command, format!("\\! echo '{END}'"))
    }

    /// What a block prints; an error when the terminal ended in it, or took too long.
    fn paste(&mut self, text: &str) -> Result<String, String> {
        let written = self.input.write_all(format!("{text}\n{}\n", self.end).as_bytes());
        let deadline = Instant::now() + LIMIT;
        let mut printed = String::new();
        while let Ok(line) = self.output.recv_timeout(deadline - Instant::now().min(deadline)) {
            if line == END {
                return Ok(printed);
            }
            printed += &format!("{line}\n");
        }
        Err(format!("{printed}it ended here, or took longer than {LIMIT:?} ({written:?})"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The terminals of somebody who reads the tutorial, and where its servers are.
struct Reader {
    shell: Terminal,
    admin: Option<Terminal>,
    app: Option<Terminal>,
    /// Ports for clients and for administrators.
    ports: (u16, u16),
    /// Ports of servers on the page, and here; the primary's first.
    servers: Vec<(String, String)>,
    dir: RunDir,
}

impl Reader {
    fn new(ports: (u16, u16)) -> Self {
        let dir = RunDir::create().expect("a directory");
        let programs = dir.path().join("bin");
        fs::create_dir(&programs).expect("made");
        let binary = live::binary().expect("it is built");
        // whatever becomes of the shell, what it started ends with it
        let words = format!(
            "#!/bin/sh\ncommand -v setpriv > /dev/null && \
             exec setpriv --pdeathsig KILL -- '{0}' \"$@\"\nexec '{0}' \"$@\"\n",
            binary.display()
        );
        let program = programs.join("tidegate");
        fs::write(&program, words).expect("written");
        let runs = Program::new("chmod").args(["+x".as_ref(), program.as_os_str()]).run();
        assert!(runs.success, "{}", runs.errors);
        let path = std::env::var("PATH").unwrap_or_default();
        let shell = Terminal::shell(dir.path(), &format!("{}:{path}", programs.display()));
        Reader { shell, admin: None, app: None, ports, servers: Vec::new(), dir }
    }

    /// Pastes a block, and again while it only reads and does not answer what it should.
    fn follow(&mut self, block: &Block) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let output = self.paste(block).unwrap_or_else(|why| panic!("{block:?}\n{why}"));
            self.find_servers(block);
            let Some(missing) = self.here(block).missing(&output).map(str::to_owned) else {
                return;
            };
            let may_come = block.only_reads() && Instant::now() < deadline;
            assert!(may_come, "line {}: no `{missing}` in\n{output}", block.line);
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn paste(&mut self, block: &Block) -> Result<String, String> {
        let (client_port, admin_port) = self.ports;
        match block.place {
            // a client that the page opens finds nobody at the keyboard
            Place::Shell => {
                self.shell.paste(&format!("{{\n{}\n}} < /dev/null 2>&1", block.commands))
            }
            Place::Admin => {
                let terminal =
                    self.admin.get_or_insert_with(|| Terminal::client("admin", admin_port));
                terminal.paste(&block.commands)
            }
            Place::App => {
                self.wait_replicated();
                let terminal = self.app.get_or_insert_with(|| Terminal::client("app", client_port));
                terminal.paste(&block.commands)
            }
        }
    }

    /// Learns the ports of servers where the page shows what the sandbox says.
    fn find_servers(&mut self, block: &Block) {
        let log = self.dir.path().join("tidegate-tutorial/sandbox.log");
        if self.servers.is_empty() && block.commands.contains("tidegate sandbox") {
            let log = fs::read_to_string(log).expect("the sandbox has a log");
            let shown = server_ports(block.answers.iter().map(String::as_str));
            self.servers = shown.into_iter().zip(server_ports(log.lines())).collect();
            assert_eq!(self.servers.len(), 3, "{log}");
        }
    }

    /// The block with the ports that servers have here.
    fn here(&self, block: &Block) -> Block {
        let mut block = block.clone();
        for line in &mut block.answers {
            // in two steps, as a port here may be another one's on the page
            for (at, (shown, _)) in self.servers.iter().enumerate() {
                *line = line.replace(shown, &format!("{{{at}}}"));
            }
            for (at, (_, here)) in self.servers.iter().enumerate() {
                *line = line.replace(&format!("{{{at}}}"), here);
            }
        }
        block
    }

    /// Replicas that live have what the primary had: a reader is slower than they are.
    fn wait_replicated(&self) {
        let asked = |port: &str, question: &str| {
            let done = Program::new("mariadb")
                .args(["--no-defaults", "--skip-ssl", "-N", "-h127.0.0.1", "-uapp", "-papp"])
                .args([&format!("-P{port}"), "-e", question])
                .run();
            done.output.trim().to_owned()
        };
        let mut ports = self.servers.iter().map(|(_, here)| here);
        let primary = ports.next().expect("a primary");
        let position = asked(primary, "SELECT @@gtid_binlog_pos");
        for replica in ports {
            let reached = asked(replica, &format!("SELECT MASTER_GTID_WAIT('{position}', 10)"));
            assert!(["", "0"].contains(&reached.as_str()), "a replica does not follow: {reached}");
        }
    }
}

/// Ports in the lines that tell of a primary and replicas.
fn server_ports<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines = lines.filter(|line| line.starts_with("primary ") || line.starts_with("replica "));
    let port = |line: &str| Some(line.split_once(" -P ")?.1.split(' ').next()?.to_owned());
    lines.filter_map(port).collect()
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(path).expect("the page is there")
}

#[test]
fn the_tutorial_works_when_it_is_pasted() {
    if let Err(why) = Flavour::MariaDb.find(false) {
        return skip("the tutorial", &format!("there is no MariaDB here: {why:#}"));
    }
    let port = || lab::free_port().expect("a port");
    let ports = (port(), port());
    let page = page("tutorial.md");
    let page = page.replace("6033", &ports.0.to_string()).replace("6032", &ports.1.to_string());
    let blocks = blocks(&page);
    let of = |place| blocks.iter().filter(|block| block.place == place).count();
    assert!(of(Place::Shell) > 5 && of(Place::Admin) > 10 && of(Place::App) > 3, "{blocks:?}");
    let mut reader = Reader::new(ports);
    for block in &blocks {
        reader.follow(block);
    }
}

#[test]
fn every_command_for_bad_nights_is_taken() {
    let Some(cluster) = live::cluster("troubleshooting", Flavour::MariaDb, 0) else { return };
    let dir = RunDir::create().expect("a directory");
    let stored = ["--datadir".into(), dir.path().join("data").into()];
    let proxy = Proxy::start_with(&stored, |interfaces| {
        lab::split_toml(&cluster, &lab::SplitOptions { interfaces, ..Default::default() })
    });
    let proxy = proxy.expect("it starts");
    let blocks = blocks(&page("troubleshooting.md"));
    let mut pasted = 0;
    for block in blocks.iter().filter(|block| block.place == Place::Admin) {
        let mut client = Terminal::client("admin", proxy.admin_port);
        let output = client.paste(&block.commands);
        assert!(output.is_ok(), "line {}: {}", block.line, output.unwrap_or_else(|why| why));
        pasted += 1;
    }
    assert!(pasted > 20, "{pasted} blocks");
}

#[test]
fn an_answer_fits_line_by_line() {
    let block =
        blocks("```sql\n-- admin\nSELECT 1;\n```\n\nSo:\n\n```text\n| 1 | … ms |\n| 2 |\n```\n");
    let [block] = &block[..] else { panic!("{block:?}") };
    assert_eq!((block.place, block.line, block.answers.len()), (Place::Admin, 1, 2));
    assert_eq!(block.missing("+---+\n|  1 | 20 ms |\n| 2  |\n"), None);
    assert_eq!(block.missing("| 1 | 20 ms |\n"), Some("| 2 |"));
    assert_eq!(block.missing("| 1 | 20 s |\n| 2 |"), Some("| 1 | … ms |"));
}
