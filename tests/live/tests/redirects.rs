//! Redirection: connections to servers go where a login sends them, in every form that servers use,
//! and cost nothing where that fails. Clients that can are told which server they would have.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab::{Cluster, Flavour, Process, SplitOptions};
use live::{Kits, Login, Program, Proxy, Said, client, eventually, scripted_login, skip};
use mysql::Conn;
use mysql::prelude::Queryable;
use wire::Caps;
use wire::reply::OkPacket;

const LIMIT: Duration = Duration::from_secs(20);

/// What a server answers: its name, to whoever asks `who`.
fn says(name: &'static str) -> impl Fn(&str) -> Said + Send + Sync + 'static {
    move |statement| match statement {
        "SELECT who" => Said::Rows(vec!["who"], vec![vec![Some(name.to_owned())]]),
        _ => Said::Done,
    }
}

/// A server by that name, whose logins come to what `logs_in` says.
fn server(name: &'static str, logs_in: impl Fn(&str) -> Login + Send + Sync + 'static) -> u16 {
    let port = lab::free_port().expect("a port");
    scripted_login(Ipv4Addr::LOCALHOST.into(), port, logs_in, says(name)).expect("it listens");
    port
}

/// A proxy in front of one server, and its administrator.
struct Scene {
    proxy: Proxy,
    admin: Conn,
}

impl Scene {
    fn open(port: u16, variables: &str) -> Self {
        let proxy = Proxy::start(|interfaces| {
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                 monitor_enabled = false\n{variables}\n\
                 [[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {port}\n\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 1\n"
            )
        })
        .expect("tidegate starts");
        let admin = admin_of(&proxy);
        Self { proxy, admin }
    }

    fn following(port: u16) -> Self {
        Self::open(port, "follow_redirects = true\nconnect_timeout_server = 300")
    }

    /// Which server a client's statement comes to on a connection that was not there before.
    fn who(&mut self) -> String {
        self.admin.query_drop("TIDEGATE FLUSH CONNECTIONS").expect("done");
        let mut conn = client::connect(client::options(self.proxy.port).db_name(None::<String>));
        conn.query_first("SELECT who").expect("served").expect("a row")
    }

    /// The table, but for times.
    fn table(&mut self) -> Vec<String> {
        let sql = "SELECT hostgroup, srv_host, sent_to, user, ttl_ms > 0, since > 0, followed, \
                   failed, last_error FROM stats_tidegate_redirects ORDER BY sent_to";
        column(&mut self.admin, sql)
    }

    fn counters(&self) -> [u64; 4] {
        let count = |name: &str| self.proxy.counter(&format!("redirects_{name}")).expect("counted");
        ["offered", "refused", "followed", "failed"].map(count)
    }
}

fn admin_of(proxy: &Proxy) -> Conn {
    let options = client::account(proxy.admin_port, "admin", "admin");
    client::connect(options.db_name(None::<String>))
}

fn column(admin: &mut Conn, sql: &str) -> Vec<String> {
    let rows: Vec<mysql::Row> = admin.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |row: mysql::Row| -> String {
        let values = row.unwrap().into_iter().map(mysql::from_value::<Option<String>>);
        values.map(|value| value.unwrap_or("NULL".into())).collect::<Vec<_>>().join(" ")
    };
    rows.into_iter().map(text).collect()
}

/// Ways in which servers send a login to a port.
fn forms(port: u16) -> [(Login, &'static str); 4] {
    let told = |url| Login::Told("redirect_url", url);
    [
        (told(format!("mysql://127.0.0.1:{port}")), "app"),
        (told(format!("mariadb://127.0.0.1:{port}/?user=other&ttl=60")), "other"),
        (
            Login::Saying(format!("Location: mysql://127.0.0.1:{port}/user=app@gate&ttl=60")),
            "app@gate",
        ),
        (Login::Saying(format!("Location: mysql://[127.0.0.1]:{port}/?user=app&ttl=60\n")), "app"),
    ]
}

#[test]
fn connections_go_where_a_login_sends_them_in_every_form() {
    for form in 0..4 {
        let users = Arc::new(Mutex::new(Vec::new()));
        let seen = users.clone();
        let there = server("there", move |user| {
            seen.lock().expect("whole").push(user.to_owned());
            Login::In
        });
        let (login, user) = forms(there)[form].clone();
        let gate = server("gate", move |_| login.clone());
        let mut scene = Scene::following(gate);
        assert_eq!(scene.who(), "gate", "nothing was offered before");
        assert_eq!([scene.who(), scene.who()], ["there", "there"], "{}", scene.proxy.log());
        assert_eq!(users.lock().expect("whole").as_slice(), [user, user]);
        let shown = if user == "app" { "" } else { user };
        let row = format!("1 127.0.0.1 127.0.0.1:{there} {shown} 1 1 2 0 ");
        assert_eq!(scene.table(), [row]);
        assert_eq!(scene.counters(), [1, 0, 2, 0]);
    }
}

#[test]
fn a_name_is_looked_up_and_followed() {
    let there = server("there", |_| Login::In);
    let url = format!("mysql://localhost:{there}");
    let gate = server("gate", move |_| Login::Told("redirect_url", url.clone()));
    let mut scene = Scene::following(gate);
    eventually("the name is followed", LIMIT, || scene.who() == "there");
    assert!(scene.table()[0].contains(&format!(" localhost:{there}  1 1 1 0 ")));
}

#[test]
fn nobody_goes_anywhere_unless_that_is_asked_for() {
    let there = server("there", |_| Login::In);
    let (login, _) = forms(there)[0].clone();
    let gate = server("gate", move |_| login.clone());
    let mut scene = Scene::open(gate, "");
    assert_eq!([scene.who(), scene.who()], ["gate", "gate"]);
    assert_eq!((scene.table().len(), scene.counters()), (0, [0; 4]));
    scene.admin.query_drop("SET mysql-follow_redirects = 'true'").expect("set");
    scene.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    assert_eq!([scene.who(), scene.who()], ["gate", "there"]);
    scene.admin.query_drop("SET mysql-follow_redirects = 'false'").expect("set");
    scene.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    assert_eq!((scene.who().as_str(), scene.table().len()), ("gate", 0));
}

#[test]
fn a_place_that_fails_costs_no_client_an_error() {
    let closed = lab::free_port().expect("a port");
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let mute_port = mute.local_addr().expect("known").port();
    let silent = server("silent", |_| Login::Silent);
    let refusing = server("refusing", |_| Login::Refused(1045, "Access denied for you"));
    for (port, why) in [
        (closed, "connection refused (errno 111)"),
        (mute_port, "timeout"),
        (silent, "timeout"),
        (refusing, "Access denied for you"),
    ] {
        let (login, _) = forms(port)[0].clone();
        let gate = server("gate", move |_| login.clone());
        let mut scene = Scene::following(gate);
        assert_eq!([scene.who(), scene.who(), scene.who()], ["gate"; 3], "{why}");
        let table = scene.table();
        let row = format!("1 127.0.0.1 127.0.0.1:{port}  0 1 0 1 ");
        assert!(table.len() == 1 && table[0].starts_with(&row), "{table:?}");
        assert!(table[0].contains(why), "{table:?}");
        assert_eq!(scene.counters(), [1, 0, 0, 1]);
        let log = scene.proxy.log();
        assert_eq!(log.matches("which fails").count(), 1, "{log}");
    }
}

#[test]
fn offers_that_lead_nowhere_are_told_and_not_followed() {
    let itself = lab::free_port().expect("a port");
    let urls = [
        (format!("mysql://127.0.0.1:{itself}"), "the url names the server itself"),
        ("gopher://127.0.0.1".to_owned(), "begins neither with mysql:// nor with mariadb://"),
        ("mysql://127.0.0.1/?ttl=0".to_owned(), "the url has a ttl of 0"),
    ];
    for (url, why) in urls {
        let port =
            if url.contains(&itself.to_string()) { itself } else { lab::free_port().unwrap() };
        let logs_in = move |_: &str| Login::Told("redirect_url", url.clone());
        scripted_login(Ipv4Addr::LOCALHOST.into(), port, logs_in, says("gate")).expect("listens");
        let mut scene = Scene::following(port);
        assert_eq!([scene.who(), scene.who(), scene.who()], ["gate"; 3]);
        assert_eq!(scene.counters(), [0, 3, 0, 0], "{why}");
        let table = scene.table();
        assert!(table.len() == 1 && table[0].contains(why), "{table:?}");
        assert_eq!(scene.proxy.log().matches(why).count(), 1);
    }
}

#[test]
fn a_place_that_sends_on_is_where_the_way_ends() {
    let far = server("far", |_| Login::In);
    let (login, _) = forms(far)[0].clone();
    let there = server("there", move |_| login.clone());
    let (login, _) = forms(there)[0].clone();
    let gate = server("gate", move |_| login.clone());
    let mut scene = Scene::following(gate);
    let seen = [scene.who(), scene.who(), scene.who()];
    assert_eq!(seen, ["gate", "there", "there"]);
    assert_eq!(scene.counters(), [1, 2, 2, 0]);
    let log = scene.proxy.log();
    assert_eq!(log.matches("redirects again, and only one step is followed").count(), 1, "{log}");
}

#[test]
fn a_server_that_sends_tidegate_to_itself_is_used_as_it_is() {
    let place = Arc::new(Mutex::new(0));
    let port = place.clone();
    let gate = server("gate", move |_| {
        let port = *port.lock().expect("whole");
        Login::Told("redirect_url", format!("mysql://127.0.0.1:{port}"))
    });
    let mut scene = Scene::following(gate);
    *place.lock().expect("whole") = scene.proxy.port;
    assert_eq!([scene.who(), scene.who(), scene.who()], ["gate"; 3]);
    let table = scene.table();
    assert!(table[0].contains("a server has sent Tidegate to itself"), "{table:?}");
    assert_eq!(scene.counters(), [1, 0, 0, 1]);
}

#[test]
fn an_offer_is_forgotten_when_its_time_is_over() {
    let there = server("there", |_| Login::In);
    let offers = Arc::new(Mutex::new(true));
    let offered = offers.clone();
    let gate = server("gate", move |_| match *offered.lock().expect("whole") {
        true => Login::Told("redirect_url", format!("mysql://127.0.0.1:{there}/?ttl=2")),
        false => Login::In,
    });
    let mut scene = Scene::following(gate);
    assert_eq!([scene.who(), scene.who()], ["gate", "there"]);
    *offers.lock().expect("whole") = false;
    eventually("its time is over", LIMIT, || scene.who() == "gate");
    assert_eq!((scene.who().as_str(), scene.table().len()), ("gate", 0));
}

/// A server of MariaDB that has `redirect_url`, on data that an older one has made.
fn newer_mariadb(cluster: &Cluster, url: &str) -> Option<(Process, u16)> {
    const WHAT: &str = "a MariaDB server that redirects";
    let target = live::target_dir().expect("known").join("live-mariadb");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/drivers/mariadb.sh");
    let fetched = Program::new(script).args([&target]).limit(Duration::from_secs(400)).run();
    let line = fetched.output.lines().last().unwrap_or_default().to_owned();
    let Some((program, share)) = line.strip_prefix("ready ").and_then(|it| it.split_once(' '))
    else {
        skip(WHAT, &format!("{line}{}", fetched.errors));
        return None;
    };
    cluster.primary().stop().expect("it stops");
    let (data, port) = (cluster.dir().join("p"), lab::free_port().expect("a port"));
    let words = [
        program.to_owned(),
        "--no-defaults".into(),
        format!("--datadir={}", data.display()),
        format!("--socket={}", data.join("t").display()),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".into(),
        "--skip-name-resolve".into(),
        format!("--lc-messages-dir={share}"),
        format!("--character-sets-dir={share}/charsets"),
        "--user=root".into(),
        format!("--init-connect=SET SESSION redirect_url = '{url}'"),
    ];
    let words = words.map(Into::into);
    let process = Process::launch(&words, &data.join("newer.log")).expect("it starts");
    eventually("the newer server greets", Duration::from_secs(60), || {
        live::greeting_of(port).is_ok()
    });
    Some((process, port))
}

#[test]
fn a_server_of_mariadb_is_followed() {
    let what = "redirection by a server of MariaDB";
    let Some(there) = live::cluster(what, Flavour::MariaDb, 0) else { return };
    let Some(gate) = live::cluster(what, Flavour::MariaDb, 0) else { return };
    let to = there.primary().port;
    let url = format!("mysql://127.0.0.1:{to}");
    let Some((_process, port)) = newer_mariadb(&gate, &url) else { return };
    let mut scene = Scene::open(port, "follow_redirects = true\nconnect_timeout_server = 9000");
    let asked = |scene: &mut Scene| -> u16 {
        scene.admin.query_drop("TIDEGATE FLUSH CONNECTIONS").expect("done");
        let mut conn = client::connect(client::options(scene.proxy.port));
        conn.query_first("SELECT @@port + 0 FROM DUAL").expect("served").expect("a row")
    };
    assert_eq!([asked(&mut scene), asked(&mut scene)], [port, to], "{}", scene.proxy.log());
    assert_eq!(scene.counters()[..3], [1, 0, scene.counters()[2]]);
    println!("{}", live::greeting_of(port).expect("it greets"));
    println!("{}", scene.table().join("\n"));
}

/// A proxy whose user `ff` is told where its server is, in front of a real one.
fn telling(cluster: &Cluster) -> Proxy {
    let more = "\n[[mysql_users]]\nusername = \"told\"\npassword = \"ff\"\nfast_forward = 1\n\
                attributes = '{\"redirect\": true}'\n";
    let options = SplitOptions { more: more.into(), ..Default::default() };
    Proxy::start(|interfaces| {
        let text = lab::split_toml(cluster, &SplitOptions { interfaces, ..options });
        // the account of the server has the name that its clients use
        text.replace("username = \"ff\"", "username = \"unused\"")
            .replace("username = \"told\"", "username = \"ff\"")
    })
    .expect("tidegate starts")
}

/// A program with a connection, which asks something when it is told to.
struct Driver {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Driver {
    fn start(mut command: Command, port: u16) -> Self {
        let variables = [
            ("LIVE_HOST", "127.0.0.1".to_owned()),
            ("LIVE_PORT", port.to_string()),
            ("LIVE_USER", "ff".to_owned()),
            ("LIVE_PASSWORD", "ff".to_owned()),
            ("LIVE_DB", "test".to_owned()),
        ];
        let command = command.envs(variables).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it speaks");
        line.trim().to_owned()
    }

    fn go_on(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("piped");
        stdin.write_all(b"\n").expect("it listens");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn real_connectors_go_to_the_server_that_they_are_told() {
    const WHAT: &str = "clients that are redirected";
    let Some(cluster) = live::cluster(WHAT, Flavour::MariaDb, 0) else { return };
    let kits = Kits::set_up();
    for kit in ["node", "java"] {
        if let Some(why) = kits.missing(kit) {
            skip(&format!("{WHAT}, {kit}"), why);
            continue;
        }
        let proxy = telling(&cluster);
        let command = match kit {
            "node" => {
                let mut command = Command::new("node");
                command.arg(kits.fetched.join("node/redirect.js"));
                command
            }
            _ => {
                let mut command = Command::new("java");
                command.args(["-cp", &kits.java_path(), "Redirect"]);
                command
            }
        };
        let mut driver = Driver::start(command, proxy.port);
        let port = cluster.primary().port;
        assert_eq!(driver.line(), format!("at 127.0.0.1:{port}"), "{kit}: {}", proxy.log());
        assert_eq!(proxy.counter("clients_redirected").expect("counted"), 1, "{kit}");
        if kit == "node" {
            // it takes the answers of the server for unasked ones then, with whoever sent it there
            continue;
        }
        // nothing but a connection of its own serves it then
        proxy.signal("KILL").expect("sent");
        eventually("the proxy is gone", LIMIT, || !proxy.is_running());
        driver.go_on();
        assert_eq!(driver.line(), format!("asked {port}"), "{kit}");
    }
}

#[test]
fn a_client_that_cannot_follow_is_told_nothing_and_served() {
    let what = "clients that are not redirected";
    let Some(cluster) = live::cluster(what, Flavour::MariaDb, 0) else { return };
    let proxy = telling(&cluster);
    let told = |caps: Caps| {
        let mut raw = live::Raw::open(proxy.port).expect("it connects");
        let login = ::client::Login::new("ff", "ff");
        let login = ::client::Login { caps: login.caps.union(caps), ..login };
        let caps = login.caps;
        let (_, greeting) = raw.receive().expect("a greeting");
        let greeting = wire::connect::Greeting::parse(&greeting).expect("valid");
        let answer = wire::auth::native::scramble(b"ff", &greeting.scramble);
        let response = login.response(wire::auth::Plugin::NativePassword, &answer);
        raw.send(1, &response).expect("sent");
        let (_, ok) = raw.receive().expect("an OK");
        let ok = OkPacket::parse(&ok, caps).unwrap_or_else(|_| panic!("{ok:?}"));
        wire::redirect::offered(&ok).map(|url| String::from_utf8_lossy(url).into_owned())
    };
    let address = format!("mysql://127.0.0.1:{}", cluster.primary().port);
    assert_eq!(told(Caps::NONE), None);
    assert_eq!(told(Caps::SESSION_TRACK), Some(address));
    assert_eq!(proxy.counter("clients_redirected").expect("counted"), 1);
    let mut conn = client::connect(client::account(proxy.port, "ff", "ff"));
    assert_eq!(conn.query_first("SELECT 7").expect("served"), Some(7));
}

#[test]
fn a_user_whose_answers_rules_decide_is_sent_nowhere() {
    let gate = server("gate", |_| Login::In);
    let mut scene = Scene::open(gate, "");
    let admin = &mut scene.admin;
    let set = "UPDATE mysql_users SET attributes = '{\"redirect\": true}'";
    admin.query_drop(set).expect("typed");
    let refused = admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect_err("refused");
    let text = refused.to_string();
    assert!(text.contains("redirect needs fast_forward = 1"), "{text}");
    admin.query_drop("UPDATE mysql_users SET fast_forward = 1").expect("typed");
    admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("loaded");
}
