//! Accounts whose passwords PAM or LDAP checks: a real slapd, real modules of PAM, and a binary
//! that has the features for them. What a build without them says of such accounts is seen too.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, Process, RunDir, SplitOptions};
use live::{Pki, Program, Proxy, client as driver, skip};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Every name that no row has is LDAP's; `pam…`, `slow` and `none` are PAM's, by several services.
/// Servers know `app`.
const USERS: &str = r#"
[[mysql_users]]
username = "b-ldap"
attributes = '{"password_from": "ldap", "name_pattern": ".*", "backend_username": "app"}'
[[mysql_users]]
username = "a-pam"
attributes = '{"password_from": "pam", "name_pattern": "pam.*", "backend_username": "app"}'
[[mysql_users]]
username = "slow"
attributes = '{"password_from": "pam", "pam_service": "slow", "backend_username": "app"}'
[[mysql_users]]
username = "none"
attributes = '{"password_from": "pam", "pam_service": "broken", "backend_username": "app"}'
"#;

const BASE: &str = "dc=example,dc=org";
const MODULES: &str = "/usr/lib/x86_64-linux-gnu/pam_wrapper";
const WRAPPER: &str = "/usr/lib/x86_64-linux-gnu/libpam_wrapper.so";

/// A directory server with users, in a folder of its own.
struct Directory {
    _process: Process,
    _dir: RunDir,
    pki: Pki,
    clear: u16,
    tls: u16,
}

impl Directory {
    /// `None` where the programs are not installed.
    fn start() -> Option<Self> {
        let [slapd, slapadd] =
            ["slapd", "slapadd"].map(|name| PathBuf::from("/usr/sbin").join(name));
        if !slapd.exists() || !slapadd.exists() {
            return None;
        }
        let (dir, pki) = (RunDir::create().expect("a folder"), Pki::new());
        let path = |name: &str| dir.path().join(name);
        let schema = |name| format!("include /etc/ldap/schema/{name}.schema\n");
        let certificates = [
            ("CACertificateFile", "ca"),
            ("CertificateFile", "server"),
            ("CertificateKeyFile", "server-key"),
        ]
        .map(|(what, name)| format!("TLS{what} {}\n", pki.file(name).display()));
        let conf = format!(
            "{}pidfile {}\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n{}\
             database mdb\nsuffix \"{BASE}\"\nrootdn \"cn=admin,{BASE}\"\nrootpw secret\n\
             directory {}\n",
            ["core", "cosine", "inetorgperson"].map(schema).concat(),
            path("pid").display(),
            certificates.concat(),
            path("data").display(),
        );
        fs::create_dir(path("data")).expect("made");
        fs::write(path("slapd.conf"), conf).expect("written");
        fs::write(path("users.ldif"), users()).expect("written");
        let (conf, users) = (path("slapd.conf"), path("users.ldif"));
        let words = [Path::new("-f"), &conf, Path::new("-l"), &users];
        let added = Program::new(&slapadd).args(words).run();
        assert!(added.success, "{}", added.errors);
        let [clear, tls] = [(); 2].map(|()| lab::free_port().expect("a port"));
        let at = format!("ldap://127.0.0.1:{clear} ldaps://127.0.0.1:{tls}");
        let words = ["-d", "0", "-h", &at, "-f"].map(OsString::from);
        let command = [vec![slapd.into()], words.into(), vec![conf.into()]].concat();
        let process = Process::launch(&command, &path("log")).expect("it starts");
        live::eventually("slapd listens", Duration::from_secs(20), || {
            [clear, tls].iter().all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok())
        });
        Some(Self { _process: process, _dir: dir, pki, clear, tls })
    }
}

/// What the directory holds: two with one name in different places, and names full of signs.
fn users() -> String {
    let mut text = format!(
        "dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n"
    );
    for unit in ["people", "others"] {
        text += &format!("dn: ou={unit},{BASE}\nobjectClass: organizationalUnit\nou: {unit}\n\n");
    }
    for (rdn, uid, unit, password) in [
        ("ann", "ann", "people", "pear"),
        ("two", "two", "people", "pear"),
        ("two", "two", "others", "pear"),
        ("a\\2cb \\2a", "a,b *", "people", "plum"),
        ("search", "search", "others", "quince"),
    ] {
        text += &format!(
            "dn: uid={rdn},ou={unit},{BASE}\nobjectClass: inetOrgPerson\ncn: {uid}\nsn: {uid}\n\
             uid: {uid}\nuserPassword: {password}\n\n"
        );
    }
    text
}

/// Services of PAM: one with a file of passwords, one that takes long, one whose module is none.
fn services() -> RunDir {
    let dir = RunDir::create().expect("a folder");
    let path = |name: &str| dir.path().join(name);
    let matrix = format!("required {MODULES}/pam_matrix.so passdb={}", path("passwords").display());
    let slow = path("slow.sh");
    for (name, text) in [
        ("tidegate", format!("auth {matrix}\naccount {matrix}\n")),
        (
            "slow",
            format!(
                "auth required pam_exec.so quiet {}\naccount required pam_permit.so\n",
                slow.display()
            ),
        ),
        ("broken", "auth required no_such_module.so\n".to_owned()),
        // the account of the last one is for another service
        ("passwords", "pam1:pear:tidegate\npam a,b:plum:tidegate\npam2:pear:sshd\n".to_owned()),
        ("slow.sh", "#!/bin/sh\nsleep 3\n".to_owned()),
    ] {
        fs::write(path(name), text).expect("written");
    }
    fs::set_permissions(slow, fs::Permissions::from_mode(0o755)).expect("executable");
    dir
}

/// A proxy with the features, whose PAM has these services.
fn proxy(cluster: &Cluster, services: &RunDir) -> Proxy {
    let binary = live::binary_with("pam,ldap").expect("it is built");
    let services = services.path().display();
    let program = [
        "env".to_owned(),
        format!("LD_PRELOAD={WRAPPER}"),
        "PAM_WRAPPER=1".to_owned(),
        format!("PAM_WRAPPER_SERVICE_DIR={services}"),
    ];
    let program: Vec<_> =
        program.into_iter().map(OsString::from).chain([binary.into_os_string()]).collect();
    Proxy::start_as(&program, &[], |interfaces| {
        let variables = "ldap_url = \"ldaps://127.0.0.1:1\"\nldap_user_dn = \"uid={user}\"\n\
                         failed_connections_threshold = 0\n";
        let (variables, more) = (variables.to_owned(), USERS.to_owned());
        lab::split_toml(
            cluster,
            &SplitOptions { interfaces, variables, more, ..Default::default() },
        )
    })
    .expect("tidegate starts")
}

/// A proxy and its administrator.
struct Scene {
    proxy: Proxy,
    admin: Conn,
}

impl Scene {
    /// Sets variables, and puts them in force.
    fn set(&mut self, variables: &[(&str, &str)]) {
        for (name, value) in variables {
            self.admin.query_drop(format!("SET mysql-{name} = '{value}'")).expect(name);
        }
        self.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("they are in force");
    }

    /// As whom a server knows a client with that password, or why it is not let in.
    fn who(&self, user: &str, password: &str) -> Result<String, (u16, String)> {
        let refusal = |error: mysql::Error| {
            let (code, _, message) = driver::refusal(&error);
            (code, message)
        };
        let options = driver::socket_options(&self.proxy.socket);
        let mut conn = Conn::new(options.user(Some(user)).pass(Some(password))).map_err(refusal)?;
        let who = conn.query_first::<String, _>("SELECT CURRENT_USER()").map_err(refusal)?;
        Ok(who.expect("a row"))
    }

    fn lets_in(&self, user: &str, password: &str) {
        assert_eq!(self.who(user, password).as_deref(), Ok("app@%"), "{}", self.proxy.log());
    }

    fn denies(&self, user: &str, password: &str) {
        let (code, message) = self.who(user, password).expect_err("it is let in");
        assert_eq!(code, 1045, "{user}: {message}\n{}", self.proxy.log());
    }

    /// Nobody can say whether the password is right, and the log says why.
    fn fails(&self, user: &str, password: &str, by: &str, why: &str) {
        let mark = self.proxy.log().len();
        let told = format!("{by} could not say whether the password is right");
        assert_eq!(self.who(user, password), Err((9001, told)), "{}", self.proxy.log());
        self.logs(mark, &format!("is not let in by {by}: "), why);
    }

    /// Soon there is a line behind so many bytes of the log that has both.
    fn logs(&self, mark: usize, what: &str, why: &str) {
        let is_it = |line: &str| line.contains(what) && line.contains(why);
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.proxy.log()[mark..].lines().any(is_it) {
            assert!(Instant::now() < deadline, "no {why} in {}", &self.proxy.log()[mark..]);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn pam_and_ldap_say_whether_passwords_are_right() {
    const WHAT: &str = "passwords that PAM and LDAP check";
    if !live::full() {
        return skip(WHAT, "only in the long form");
    }
    if !Path::new(WRAPPER).exists() {
        return skip(WHAT, "libpam-wrapper is not installed");
    }
    let Some(directory) = Directory::start() else {
        return skip(WHAT, "slapd is not installed");
    };
    let Some(cluster) = live::cluster(WHAT, Flavour::MariaDb, 0) else { return };
    let services = services();
    let proxy = proxy(&cluster, &services);
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
    let mut scene = Scene { admin: driver::connect(admin), proxy };
    by_name(&mut scene, &directory);
    by_search(&mut scene);
    by_every_way_to_the_server(&mut scene, &directory);
    by_pam(&mut scene);
    let log = scene.proxy.log();
    for secret in ["pear", "plum", "quince"] {
        assert!(!log.contains(secret), "the log has {secret}\n{log}");
    }
}

fn by_name(scene: &mut Scene, directory: &Directory) {
    let named = format!("uid={{user}},ou=people,{BASE}");
    let ca = directory.pki.file("ca");
    let ca = ca.to_str().expect("a name");
    let url = format!("ldaps://127.0.0.1:{}", directory.tls);
    scene.set(&[("ldap_url", &url), ("ldap_ca", ca), ("ldap_user_dn", &named)]);
    scene.lets_in("ann", "pear");
    scene.lets_in("a,b *", "plum");
    // a bind with a name and an empty password succeeds at many servers, and proves nothing
    for password in ["plum", "Pear", ""] {
        scene.denies("ann", password);
    }
    for name in ["nobody", "*", "a", "ann,ou=people", "ann+uid=ann", "two,ou=others"] {
        scene.denies(name, "pear");
    }
    let right = scene.proxy.counter("login_checks_right").expect("counted");
    assert_eq!(right, 2);
}

fn by_search(scene: &mut Scene) {
    let account = format!("uid=search,ou=others,{BASE}");
    scene.set(&[
        ("ldap_user_dn", ""),
        ("ldap_search_base", BASE),
        ("ldap_search_filter", "(&(objectClass=inetOrgPerson)(uid={user}))"),
        ("ldap_search_dn", &account),
        ("ldap_search_secret", "quince"),
    ]);
    scene.lets_in("ann", "pear");
    scene.lets_in("a,b *", "plum");
    scene.denies("ann", "plum");
    for name in ["nobody", "*", "an*", "ann)(uid=*", "x)(|(uid=ann", "ann\\2a"] {
        scene.denies(name, "pear");
    }
    scene.fails("two", "pear", "LDAP", "the search for the user finds several entries");
    let people = format!("ou=people,{BASE}");
    scene.set(&[("ldap_search_base", &people)]);
    scene.lets_in("two", "pear");
    scene.set(&[("ldap_search_secret", "wrong")]);
    scene.fails("ann", "pear", "LDAP", "mysql-ldap_search_dn is not let in: ");
    scene.set(&[("ldap_search_dn", ""), ("ldap_search_secret", "")]);
    scene.lets_in("ann", "pear");
    scene.set(&[("ldap_search_filter", "(uid={user}")]);
    scene.fails("ann", "pear", "LDAP", "filter parse error");
    let named = format!("uid={{user}},{people}");
    scene.set(&[
        ("ldap_search_base", ""),
        ("ldap_search_filter", "(uid={user})"),
        ("ldap_user_dn", &named),
    ]);
}

fn by_every_way_to_the_server(scene: &mut Scene, directory: &Directory) {
    let ca = directory.pki.file("ca").display().to_string();
    let clear = format!("ldap://127.0.0.1:{}", directory.clear);
    scene.set(&[("ldap_url", &clear)]);
    scene.lets_in("ann", "pear");
    scene.denies("ann", "plum");
    // whoever vouches for it is asked there as well
    let stranger = directory.pki.file("stranger").display().to_string();
    for url in [&clear, &format!("ldaps://127.0.0.1:{}", directory.tls)] {
        scene.set(&[("ldap_url", url), ("ldap_ca", &stranger)]);
        scene.fails("ann", "pear", "LDAP", &format!("{url}: "));
    }
    scene.set(&[("ldap_ca", "/nowhere.pem")]);
    scene.fails("ann", "pear", "LDAP", "/nowhere.pem");
    scene.set(&[("ldap_url", &clear), ("ldap_starttls", "false"), ("ldap_ca", &ca)]);
    scene.lets_in("ann", "pear");
    scene.set(&[("ldap_starttls", "true")]);
    // one that is not there, and one that is silent, leave time for the next one
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let silent = format!("ldap://{}", silent.local_addr().expect("known"));
    let nobody = format!("ldaps://127.0.0.1:{}", lab::free_port().expect("a port"));
    scene.set(&[("ldap_url", &format!("{nobody} {clear}"))]);
    scene.lets_in("ann", "pear");
    scene.set(&[("ldap_url", &nobody)]);
    scene.fails("ann", "pear", "LDAP", "Connection refused");
    scene.set(&[("login_check_timeout", "1000"), ("ldap_url", &format!("{silent} {clear}"))]);
    scene.lets_in("ann", "pear");
    scene.set(&[("ldap_url", &silent)]);
    let began = Instant::now();
    scene.fails("ann", "pear", "LDAP", &format!("{silent}: timeout"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

fn by_pam(scene: &mut Scene) {
    scene.set(&[("login_check_timeout", "20000")]);
    scene.lets_in("pam1", "pear");
    scene.lets_in("pam a,b", "plum");
    for (name, password) in [("pam1", "plum"), ("pam1", ""), ("pam3", "pear"), ("pam1 ", "pear")] {
        scene.denies(name, password);
    }
    let mark = scene.proxy.log().len();
    // the password is right, and the account is not for this service
    scene.denies("pam2", "pear");
    scene.logs(mark, "is not let in by PAM: ", "Permission denied");
    scene.fails("none", "pear", "PAM", "service broken: ");
    scene.set(&[("login_check_timeout", "500"), ("login_check_queue_max", "1")]);
    let late = "PAM did not say within mysql-login_check_timeout whether the password is right";
    assert_eq!(scene.who("slow", "pear"), Err((9001, late.to_owned())));
    // its thread is not back yet
    let full = "Too many logins wait for PAM (mysql-login_check_queue_max)";
    assert_eq!(scene.who("slow", "pear"), Err((1040, full.to_owned())));
    scene.set(&[("login_check_timeout", "20000")]);
    live::eventually("there is room again", Duration::from_secs(20), || {
        scene.who("pam1", "pear").is_ok()
    });
    scene.lets_in("slow", "whatever it is");
    let counters = ["login_checks_timed_out", "login_checks_failed", "defects"];
    let counted = counters.map(|name| scene.proxy.counter(name).expect("counted"));
    assert!(counted[0] == 1 && counted[1] > 5 && counted[2] == 0, "{counted:?}");
}

#[test]
fn a_build_without_the_features_refuses_their_accounts_and_names_them() {
    let port = lab::free_port().expect("a port");
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n"
        )
    });
    let proxy = proxy.expect("tidegate starts");
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
    let mut admin = driver::connect(admin);
    for feature in ["pam", "ldap"] {
        let insert = format!(
            "REPLACE INTO mysql_users (username, attributes) VALUES ('eve', \
             '{{\"password_from\": \"{feature}\", \"backend_username\": \"app\"}}')"
        );
        admin.query_drop(insert).expect("typed");
        let error = admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect_err("refused");
        let (_, _, message) = driver::refusal(&error);
        let said = format!("it needs the feature `{feature}` (cargo build --features {feature})");
        assert!(message.contains(&said), "{message}");
    }
    let options = driver::socket_options(&proxy.socket).user(Some("eve")).pass(Some("x"));
    let error = Conn::new(options).expect_err("there is no such account");
    assert_eq!(driver::refusal(&error).0, 1045);
}
