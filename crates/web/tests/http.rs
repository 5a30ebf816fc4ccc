//! What is answered over HTTP, and what the thread does by itself, over a process that is made up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::first_bytes::HeaderCounts;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, Counters, Parts};
use web::{Process, Serving, System, View, Web};

/// A process without servers, until it is broken.
#[derive(Default)]
struct Made {
    broken: AtomicBool,
    paused: AtomicBool,
    /// Whether this machine may send headers of the PROXY protocol.
    presents: AtomicBool,
    headers: Arc<HeaderCounts>,
}

impl Process for Made {
    fn snapshot(&self) -> Arc<Snapshot> {
        let mut draft = Draft::default();
        if self.presents.load(Ordering::SeqCst) {
            let networks = "192.0.2.0/24, 127.0.0.1".to_owned();
            draft.variables.push(("admin-proxy_protocol_networks".to_owned(), networks));
        }
        Arc::new(Snapshot::compile(&draft).expect("valid"))
    }

    fn header_counts(&self) -> Arc<HeaderCounts> {
        self.headers.clone()
    }

    fn acceptor(&self) -> Option<Arc<tls::Acceptor>> {
        None
    }

    fn look(&self, _: Parts) -> View {
        assert!(!self.broken.load(Ordering::SeqCst), "no worker is left");
        View {
            collected: Arc::new(Collected::default()),
            workers: 1,
            answered: 1,
            status: [("Questions".to_owned(), 9)].into(),
            snapshot: self.snapshot(),
            serving: match self.paused.load(Ordering::SeqCst) {
                true => Serving::Paused,
                false => Serving::Open,
            },
            uptime_s: 5,
            version: "0.1.0",
            system: System::default(),
            certificates: Vec::new(),
            log_streams: Vec::new(),
            log_lines_lost: 0,
        }
    }
}

/// The thread over that process, with the lines that it logs.
struct Stage {
    web: Web,
    made: Arc<Made>,
    log: Receiver<String>,
}

/// Status line, headers in small letters, and body.
struct Answer {
    status: String,
    head: String,
    body: String,
}

impl Stage {
    fn new() -> Self {
        let (tell, log) = channel();
        let tell = Mutex::new(tell);
        let made = Arc::new(Made::default());
        let line = move |text: &str| drop(tell.lock().expect("whole").send(text.to_owned()));
        let web = Web::start(made.clone(), Arc::new(line)).expect("it starts");
        web.listen(place(0)).expect("a port is free");
        Self { web, made, log }
    }

    fn port(&self) -> u16 {
        self.web.address().expect("it listens").port()
    }

    /// The answer that `stats` gets to a request without its version and headers, and with this
    /// body.
    fn ask(&self, request: &str, body: &[u8]) -> Answer {
        self.ask_as(STATS, request, body)
    }

    /// The same with this line in its head.
    fn ask_as(&self, line: &str, request: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let len = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{line}\
             Content-Length: {len}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let (status, head) = head.split_once("\r\n").expect("a status line");
        let status = status.strip_prefix("HTTP/1.1 ").expect("the version").to_owned();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Status and body of what is asked for by GET.
    fn get(&self, path: &str) -> (String, String) {
        let answer = self.ask(&format!("GET {path}"), b"");
        (answer.status, answer.body)
    }

    fn logged(&self) -> String {
        self.log.recv_timeout(Duration::from_secs(20)).expect("a line of the log")
    }
}

/// Shows the account `stats`.
const STATS: &str = "Authorization: Basic c3RhdHM6c3RhdHM=\r\n";

/// This port of every address.
fn place(port: u16) -> Option<SocketAddr> {
    Some(([0, 0, 0, 0], port).into())
}

fn said(status: &str, body: &str) -> (String, String) {
    (status.to_owned(), body.to_owned())
}

#[test]
fn each_path_has_its_answer_and_others_are_told_which_there_are() {
    let stage = Stage::new();
    assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
    assert_eq!(stage.get("/readyz?full=1"), said("200 OK", "ready\n"));
    stage.made.paused.store(true, Ordering::SeqCst);
    assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
    let paused = said("503 Service Unavailable", "paused: no clients are accepted\n");
    assert_eq!(stage.get("/readyz"), paused);
    assert_eq!(stage.get("/metrics/").0, "200 OK");
    assert_eq!(stage.get("/healthz/"), said("200 OK", "alive\n"));
    let known = "there are /metrics, /healthz, /readyz and /sync/…\n";
    assert_eq!(stage.get("/"), said("404 Not Found", known));
    let post = stage.ask("POST /metrics", b"x");
    assert_eq!(
        (post.status, post.body),
        said("405 Method Not Allowed", "only GET is known here\n")
    );
    let head = stage.ask("HEAD /healthz", b"");
    assert_eq!((head.status, head.body), said("200 OK", ""));
    let text = stage.ask("GET /healthz", b"").head;
    assert!(text.contains("content-type: text/plain; charset=utf-8\r\n"), "{text}");
}

#[test]
fn only_probes_are_answered_to_everybody() {
    let stage = Stage::new();
    for path in ["/healthz", "/readyz/"] {
        assert_eq!(stage.ask_as("", &format!("GET {path}"), b"").status, "200 OK");
    }
    for path in ["/metrics", "/", "/sync/it", "/healthz/x"] {
        let refused = stage.ask_as("", &format!("GET {path}"), b"");
        assert_eq!(refused.status, "401 Unauthorized", "{path}");
        let challenge = "www-authenticate: basic realm=\"tidegate\", charset=\"utf-8\"\r\n";
        assert!(refused.head.contains(challenge), "{}", refused.head);
        let kind = if path == "/sync/it" { "application/json" } else { "text/plain" };
        assert!(refused.head.contains(&format!("content-type: {kind}")), "{}", refused.head);
        let why = "an account of admin-stats_credentials or a token of admin-restapi_tokens";
        assert!(refused.body.contains(why), "{}", refused.body);
    }
    let wrong = "Authorization: Basic c3RhdHM6d3Jvbmc=\r\n";
    assert_eq!(stage.ask_as(wrong, "GET /metrics", b"").status, "401 Unauthorized");
    let line = "HTTP: 127.0.0.1 is refused: account 'stats' is wrong (1 in a row)";
    assert_eq!(stage.logged(), line);
    let delayed = stage.ask("GET /metrics", b"");
    assert_eq!(delayed.status, "429 Too Many Requests");
    assert!(delayed.head.contains("retry-after: 1\r\n"), "{}", delayed.head);
    let is_over = Instant::now() + Duration::from_secs(20);
    while stage.ask("GET /metrics", b"").status != "200 OK" {
        assert!(Instant::now() < is_over, "the delay ends");
    }
}

/// A client counts by the address that a proxy in front tells, which makes nobody this machine.
#[test]
fn a_proxy_in_front_tells_whose_request_it_is() {
    let stage = Stage::new();
    let ask = |header: &[u8], user: &str, cut: bool| {
        let mut stream = TcpStream::connect(("127.0.0.1", stage.port())).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        stream.set_nodelay(true).expect("set");
        let head = format!(
            "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {user}\r\n\r\n"
        );
        let bytes = [header, head.as_bytes()].concat();
        for piece in bytes.chunks(if cut { 1 } else { bytes.len() }) {
            stream.write_all(piece).expect("it reads");
        }
        let mut text = String::new();
        // a connection that is refused may end with a reset
        let _ = stream.read_to_string(&mut text);
        text.lines().next().unwrap_or_default().to_owned()
    };
    let counted = || {
        let mut counters = Counters::default();
        stage.made.headers.add_to(&mut counters);
        (counters.proxy_headers, counters.proxy_headers_refused)
    };
    let (stats, wrong) = ("Basic c3RhdHM6c3RhdHM=", "Basic bmFtZTp3cm9uZw==");
    let line = b"PROXY TCP4 203.0.113.9 10.0.0.2 5 6\r\n";
    assert_eq!(ask(line, stats, false), "", "nobody may send one");
    let why = "HTTP: a PROXY protocol header from 127.0.0.1, which is not in \
               admin-proxy_protocol_networks";
    assert_eq!((stage.logged(), counted()), (why.to_owned(), (0, 1)));

    stage.made.presents.store(true, Ordering::SeqCst);
    assert_eq!(ask(b"", stats, true), "HTTP/1.1 200 OK", "none is needed");
    assert_eq!(ask(line, wrong, true), "HTTP/1.1 401 Unauthorized");
    let told = "HTTP: 203.0.113.9 is refused: account 'name' is wrong (1 in a row)";
    assert_eq!(stage.logged(), told);
    for (header, is_let_in) in [
        // `stats` may come from this machine only, and whoever tells that is another one
        (&b"PROXY TCP4 203.0.113.9 10.0.0.2 5 6\r\n"[..], false),
        (b"PROXY TCP4 127.0.0.1 127.0.0.1 5 6\r\n", false),
        // without a header, by the account that others have guessed at
        (b"", true),
    ] {
        let status = if is_let_in { "HTTP/1.1 200 OK" } else { "HTTP/1.1 401 Unauthorized" };
        assert_eq!(ask(header, stats, false), status, "{}", header.escape_ascii());
    }
    assert_eq!(counted(), (3, 1));
    for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        assert_ne!(ask(header, stats, false), "HTTP/1.1 200 OK", "it tells nothing");
    }
    assert_eq!(ask(b"PROXY TCP9 x\r\n", stats, false), "");
    let lines: Vec<_> = (0..3).map(|_| stage.logged()).collect();
    let why = "HTTP: a PROXY protocol header is malformed: its protocol is none of TCP4, TCP6, \
               UNKNOWN";
    assert_eq!((lines[2].as_str(), counted()), (why, (5, 2)));
}

#[test]
fn a_scrape_has_the_format_of_prometheus_and_tells_of_the_scrapes_before() {
    let stage = Stage::new();
    let number = |body: &str, name: &str| -> String {
        let line = body.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.and_then(|line| line.split(' ').nth(1)).expect("it is there").to_owned()
    };
    let first = stage.ask("GET /metrics", b"");
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
    assert!(first.head.contains(kind), "{}", first.head);
    assert_eq!(number(&first.body, "proxysql_questions_total"), "9");
    let counted = ["exposer_scrapes_total", "exposer_transferred_bytes_total"];
    assert_eq!(counted.map(|name| number(&first.body, name)), ["0", "0"]);
    let second = stage.get("/metrics").1;
    let bytes = first.body.len().to_string();
    assert_eq!(counted.map(|name| number(&second, name)), ["1", bytes.as_str()]);
    assert_eq!(number(&second, "exposer_request_latencies_count"), "1");
    assert_ne!(number(&second, "exposer_request_latencies_sum"), "0");
    let third = stage.get("/metrics").1;
    let bytes = (first.body.len() + second.len()).to_string();
    assert_eq!(counted.map(|name| number(&third, name)), ["2", bytes.as_str()]);
}

#[test]
fn a_process_that_cannot_be_looked_at_is_neither_alive_nor_ready() {
    let stage = Stage::new();
    stage.made.broken.store(true, Ordering::SeqCst);
    let unseen = said("503 Service Unavailable", "the process cannot be looked at\n");
    assert_eq!(stage.get("/healthz"), unseen);
    assert_eq!(stage.get("/readyz"), unseen);
    assert_eq!(stage.get("/metrics"), said("500 Internal Server Error", ""));
    stage.made.broken.store(false, Ordering::SeqCst);
    assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
}

#[test]
fn routes_answer_in_json_to_who_gives_a_body_that_is_not_too_long() {
    let stage = Stage::new();
    // what `echo` writes is the parameters themselves
    let route = RestapiRouteRow {
        id: 1,
        active: 1,
        timeout_ms: 20_000,
        method: "POST".to_owned(),
        uri: "it".to_owned(),
        script: "/bin/echo".to_owned(),
        comment: String::new(),
    };
    let post = |body: &[u8]| {
        let answer = stage.ask("POST /sync/it", body);
        assert!(answer.head.contains("content-type: application/json\r\n"), "{}", answer.head);
        // pages of other sites have no business here
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
        (answer.status, answer.body)
    };
    assert!(post(b"{}").1.contains("was not found"), "no routes are in force");
    stage.web.set_routes(vec![route]);
    assert_eq!(post(b"{\"a\":1}"), said("200 OK", "{\"a\":1}\n"));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    let too_long = r#"{"error":"no body of 1048576 bytes at most"}"#;
    assert_eq!(post(long.as_bytes()), said("400 Bad Request", too_long));
    let put = stage.ask("PUT /sync/it", b"{}");
    let put = (put.status, put.body);
    assert_eq!(put, said("200 OK", r#"{"error":"HTTP method PUT is not implemented"}"#));
}

#[test]
fn a_route_may_have_a_slash_at_its_end_and_quotes_in_its_parameters() {
    let stage = Stage::new();
    stage.web.set_routes(vec![RestapiRouteRow {
        id: 1,
        active: 1,
        timeout_ms: 20_000,
        method: "GET".to_owned(),
        uri: "it".to_owned(),
        script: "/bin/echo".to_owned(),
        comment: String::new(),
    }]);
    let echoed = |path: &str, parameters: &str| {
        assert_eq!(stage.get(path), said("200 OK", &format!("{parameters}\n")), "{path}");
    };
    echoed("/sync/it/", "{}");
    echoed("/sync/it/?a=1", r#"{"a":"1"}"#);
    echoed(r#"/sync/it?a="x"&b=%22"#, r#"{"a":"\"x\"","b":"\""}"#);
}

#[test]
fn it_listens_on_one_port_and_keeps_it_when_the_next_cannot_be_had() {
    let stage = Stage::new();
    let (web, port) = (&stage.web, stage.port());
    assert_eq!(web.listen(place(port)).expect("it is there"), web.address(), "nothing to do");
    let other = Stage::new();
    assert!(web.listen(place(other.port())).is_err());
    assert_eq!(stage.port(), port);
    assert_eq!(stage.get("/healthz").0, "200 OK");
    assert_eq!(web.listen(None).expect("nowhere"), None);
    assert_eq!(web.address(), None);
    // the port is free as soon as the thread has heard of it
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(std::time::Instant::now() < deadline, "it listens on");
        std::thread::yield_now();
    }
    assert_eq!(other.get("/healthz").0, "200 OK");
}

#[test]
fn it_answers_at_the_address_that_is_wanted_and_moves_to_another_one() {
    let stage = Stage::new();
    let (web, port) = (&stage.web, stage.port());
    let at = |ip: [u8; 4]| Some(SocketAddr::from((ip, port)));
    let is_open = |ip: [u8; 4]| TcpStream::connect(SocketAddr::from((ip, port))).is_ok();
    assert_eq!(web.listen(at([127, 0, 0, 2])).expect("the port is its own"), at([127, 0, 0, 2]));
    assert!(is_open([127, 0, 0, 2]) && !is_open([127, 0, 0, 1]));
    web.listen(at([192, 0, 2, 1])).expect_err("this machine has no such address");
    assert_eq!(web.address(), at([127, 0, 0, 2]), "it stays");
    assert_eq!(web.listen(at([0, 0, 0, 0])).expect("the port is its own"), at([0, 0, 0, 0]));
    assert!(is_open([127, 0, 0, 2]) && is_open([127, 0, 0, 1]));
}

#[test]
fn clients_that_say_nothing_keep_no_probe_out_and_are_let_go() {
    let stage = Stage::new();
    let begin = Instant::now();
    let silent: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", stage.port())).expect("it listens");
            stream.write_all(b"GET /healthz HT").expect("it reads");
            stream
        })
        .collect();
    assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
    assert_eq!(stage.get("/readyz"), said("200 OK", "ready\n"));
    assert!(begin.elapsed() < Duration::from_secs(5), "before their time is over");
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let mut rest = Vec::new();
        // an end, or a reset
        drop(stream.read_to_end(&mut rest));
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "and then they are let go");
}

/// Routes of that method whose scripts are these, in a directory that is the test's to remove.
fn set_routes(stage: &Stage, method: &str, scripts: &[(&str, &str)]) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tidegate-{method}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let rows = (1..).zip(scripts).map(|(id, (uri, text))| {
        let script = dir.join(uri);
        std::fs::write(&script, text).expect("written");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("executable");
        RestapiRouteRow {
            id,
            active: 1,
            timeout_ms: 20_000,
            method: method.to_owned(),
            uri: (*uri).to_owned(),
            script: script.display().to_string(),
            comment: String::new(),
        }
    });
    stage.web.set_routes(rows.collect());
    dir
}

#[test]
fn bodies_that_do_not_come_keep_nobody_out() {
    let stage = Stage::new();
    let dir = set_routes(&stage, "POST", &[("echo", "#!/bin/sh\nprintf %s \"$1\"\n")]);
    for route in ["nothing", "echo"] {
        let slow: Vec<TcpStream> = (0..300)
            .map(|_| {
                let mut stream =
                    TcpStream::connect(("127.0.0.1", stage.port())).expect("it listens");
                let head = format!(
                    "POST /sync/{route} HTTP/1.1\r\nHost: x\r\n{STATS}Content-Length: 5\r\n"
                );
                stream.write_all(format!("{head}\r\n").as_bytes()).expect("it reads");
                stream
            })
            .collect();
        let begin = Instant::now();
        let answer = stage.ask("POST /sync/echo", b"{\"a\":1}");
        assert_eq!((&*answer.status, &*answer.body), ("200 OK", "{\"a\":1}"), "{route}");
        assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
        assert!(begin.elapsed() < Duration::from_secs(20), "{route}: before their time is over");
        drop(slow);
    }
    std::fs::remove_dir_all(dir).expect("gone");
}

#[test]
fn programs_that_take_their_time_keep_no_probe_out() {
    let stage = Stage::new();
    let slow = ("slow", "#!/bin/sh\nexec sleep 600\n");
    let dir = set_routes(&stage, "GET", &[slow, ("quick", "#!/bin/sh\necho 1\n")]);
    let ask = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", stage.port())).expect("it listens");
        let head = format!("GET /sync/slow HTTP/1.1\r\nHost: x\r\n{STATS}\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        stream
    };
    let running: Vec<TcpStream> = (0..64).map(ask).collect();
    let full = said("503 Service Unavailable", r#"{"error":"64 requests are being worked on"}"#);
    let deadline = Instant::now() + Duration::from_secs(20);
    while stage.get("/sync/quick") != full {
        assert!(Instant::now() < deadline, "there is always room");
    }
    let silent: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(("127.0.0.1", stage.port())).expect("it listens"))
        .collect();
    assert_eq!(stage.get("/healthz"), said("200 OK", "alive\n"));
    assert_eq!(stage.get("/metrics").0, "200 OK");
    drop((running, silent));
    std::fs::remove_dir_all(dir).expect("gone");
}

#[test]
fn scheduled_programs_that_cannot_start_or_do_not_end_are_logged() {
    let stage = Stage::new();
    let row = |id, interval_ms, filename: &str, arg: &str| SchedulerRow {
        id,
        active: 1,
        interval_ms,
        filename: filename.to_owned(),
        arg1: Some(arg.to_owned()),
        ..SchedulerRow::default()
    };
    stage.web.set_schedule(vec![row(1, 10, "/nonexistent/x", "")]);
    let told = "scheduler 1: /nonexistent/x: cannot be started: \
                No such file or directory (os error 2)";
    assert_eq!(stage.logged(), told);
    let off = SchedulerRow { active: 0, ..row(2, 1, "/nonexistent/y", "") };
    stage.web.set_schedule(vec![row(3, 1, "/bin/sleep", "600"), off]);
    let skipped = "scheduler 3: /bin/sleep: 16 runs have not ended; skipped";
    let next = std::iter::repeat_with(|| stage.logged()).find(|line| line != told);
    assert_eq!(next.expect("a line"), skipped);
    // the rows from before do not go on
    for _ in 0..50 {
        assert_eq!(stage.logged(), skipped);
    }
}

#[test]
fn a_program_that_somebody_waits_for_tells_what_it_wrote_or_why_it_ended() {
    let stage = Stage::new();
    let launcher = stage.web.launcher();
    let run = |script: &str, limit_ms: u64| {
        let words = ["/bin/sh", "-c", script, "word"].map(str::to_owned);
        let environment = vec![("TOLD".to_owned(), "a b".to_owned())];
        launcher.run(&words, environment, Duration::from_millis(limit_ms))
    };
    let long = 60_000;
    assert_eq!(run("echo $0 $TOLD; echo '2\t3' >&2; env | grep -c HOME", long), {
        Err("exit status: 1: word a b; 0; 2 3".to_owned())
    });
    assert_eq!(run("echo well", long), Ok("well".to_owned()));
    let whole = run("head -c 5000 /dev/zero | tr '\\0' x", long).expect("it ends well");
    assert_eq!(whole.chars().count(), 1_001, "{whole}");
    let began = Instant::now();
    let late = "it took too long and was ended: begun";
    assert_eq!(run("echo begun; sleep 50 & sleep 50", 300), Err(late.to_owned()));
    assert!(began.elapsed() < Duration::from_secs(20), "with all that it started");
    let nothing = launcher.run(&["/nowhere".to_owned()], Vec::new(), Duration::from_secs(9));
    assert!(nothing.is_err_and(|why| why.starts_with("it cannot be started: ")));
    drop(stage);
    assert_eq!(run("echo x", long), Err("it was not run: Tidegate ends".to_owned()));
}
