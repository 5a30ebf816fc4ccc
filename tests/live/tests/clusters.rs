//! Members of real clusters that agree among themselves who takes writes: Group Replication of
//! MySQL, and Galera of MariaDB.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, LabOptions, RunDir, Server};
use live::{Proxy, client, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// Three servers of a cluster, each started by itself.
struct Members(Vec<Cluster>);

impl Members {
    /// Starts them one after the other; `options` says what each is started with, `joined` what is
    /// done when it answers.
    fn start(options: impl Fn(usize) -> LabOptions, joined: impl Fn(usize, &Server)) -> Self {
        let start = |number| {
            let cluster = Cluster::start(options(number)).expect("a member starts");
            joined(number, cluster.primary());
            cluster
        };
        Self((0..3).map(start).collect())
    }

    fn server(&self, number: usize) -> &Server {
        self.0[number].primary()
    }

    fn port(&self, number: usize) -> u16 {
        self.server(number).port
    }

    /// The member at that port.
    fn number(&self, port: u16) -> usize {
        (0..3).find(|number| self.port(*number) == port).expect("a member")
    }
}

/// Free ports for what members say to each other.
fn ports<const N: usize>() -> [u16; N] {
    std::array::from_fn(|_| lab::free_port().expect("a port"))
}

/// A proxy in front of members of which some are typed, as readers. Hostgroups are 1 for writers,
/// 2 for backups, 3 for readers, 4 for those offline.
struct Scene {
    members: Members,
    proxy: Proxy,
    admin: Conn,
}

impl Scene {
    fn open(members: Members, typed: &[usize], table: &str, more: &str) -> Self {
        let row = |number: &usize| {
            let port = members.port(*number);
            format!(
                "[[mysql_servers]]\nhostgroup_id = 3\nhostname = \"127.0.0.1\"\nport = {port}\n"
            )
        };
        let servers: String = typed.iter().map(row).collect();
        let proxy = Proxy::start(|interfaces| {
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                 get_server_public_key = true\n\
                 monitor_ping_interval = 500\nmonitor_ping_timeout = 400\n\
                 monitor_groupreplication_healthcheck_interval = 300\n\
                 monitor_galera_healthcheck_interval = 300\n{servers}\
                 [[{table}]]\nwriter_hostgroup = 1\nbackup_writer_hostgroup = 2\n\
                 reader_hostgroup = 3\noffline_hostgroup = 4\n{more}\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 1\n"
            )
        })
        .expect("tidegate starts");
        let options = client::account(proxy.admin_port, "admin", "admin");
        let admin = client::connect(options.db_name(None::<String>));
        Self { members, proxy, admin }
    }

    /// Hostgroups and the numbers of the members that stand there online, in order.
    fn places(&mut self) -> Vec<(u32, usize)> {
        let sql = "SELECT hostgroup_id, port FROM runtime_mysql_servers WHERE status = 'ONLINE'";
        let rows: Vec<(u32, u16)> = self.admin.query(sql).expect(sql);
        let mut places: Vec<_> =
            rows.into_iter().map(|(group, port)| (group, self.members.number(port))).collect();
        places.sort_unstable();
        places
    }

    /// Waits until members stand so.
    fn await_places(&mut self, what: &str, holds: impl Fn(&[(u32, usize)]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            let places = self.places();
            if holds(&places) {
                return;
            }
            assert!(Instant::now() < deadline, "{what}: {places:?}\n{}", self.proxy.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The member that takes writes.
    fn writer(&mut self) -> usize {
        let places = self.places();
        let mut writers = places.iter().filter(|(group, _)| *group == 1);
        let (_, writer) = writers.next().expect("a writer");
        *writer
    }

    /// A write goes through, though the cluster may have to agree first.
    fn writes(&self, statement: &str) {
        let options = client::options(self.proxy.port);
        eventually(statement, Duration::from_secs(40), || {
            let conn = Conn::new(options.clone());
            conn.is_ok_and(|mut conn| conn.query_drop(statement).is_ok())
        });
    }

    /// Why a member stands in a hostgroup.
    fn reason(&mut self, hostgroup: u32, member: usize) -> String {
        let port = self.members.port(member);
        let sql = format!(
            "SELECT reason FROM stats_tidegate_topology \
             WHERE hostgroup = {hostgroup} AND srv_port = {port}"
        );
        let row: Option<Row> = self.admin.query_first(&sql).expect("answered");
        row.and_then(|row| row.get::<Option<String>, _>(0).flatten()).unwrap_or_default()
    }
}

#[test]
fn a_group_elects_another_primary_and_writes_follow() {
    if Flavour::MySql.find(true).is_err() {
        return live::skip("Group Replication", "MySQL cannot be had");
    }
    let locals: [u16; 3] = ports();
    let seeds = locals.map(|port| format!("127.0.0.1:{port}")).join(",");
    let options = |number: usize| {
        let words = [
            "--performance-schema=ON".to_owned(),
            format!("--server-id={}", number + 1),
            "--report-host=127.0.0.1".to_owned(),
            "--plugin-load-add=group_replication.so".to_owned(),
            "--group-replication-group-name=6d1b2f2e-5a0c-4b7e-9d55-1f0a5d3c9e11".to_owned(),
            "--group-replication-start-on-boot=OFF".to_owned(),
            format!("--group-replication-local-address=127.0.0.1:{}", locals[number]),
            format!("--group-replication-group-seeds={seeds}"),
            "--group-replication-member-expel-timeout=0".to_owned(),
            "--group-replication-recovery-get-public-key=ON".to_owned(),
        ];
        words.to_vec()
    };
    let joined = |number: usize, server: &Server| {
        let run = |sql: &str| drop(server.sql(sql).unwrap_or_else(|e| panic!("{sql}: {e:#}")));
        run("RESET BINARY LOGS AND GTIDS");
        run("CHANGE REPLICATION SOURCE TO SOURCE_USER='repl', SOURCE_PASSWORD='repl' \
             FOR CHANNEL 'group_replication_recovery'");
        if number == 0 {
            run("SET GLOBAL group_replication_bootstrap_group = ON");
            run("START GROUP_REPLICATION");
            run("SET GLOBAL group_replication_bootstrap_group = OFF");
            run("GRANT SELECT ON performance_schema.* TO monitor@'%'");
        } else {
            run("START GROUP_REPLICATION");
        }
    };
    let options = |number| LabOptions {
        replicas: 0,
        flavour: Flavour::MySql,
        may_fetch: true,
        extra_args: options(number),
        ..LabOptions::default()
    };
    let members = Members::start(options, joined);
    // what the others are, the one that is typed tells
    let mut scene = Scene::open(members, &[1], "mysql_group_replication_hostgroups", "");
    scene.await_places("a primary and two readers", |places| places == [(1, 0), (3, 1), (3, 2)]);
    scene.writes("CREATE TABLE elected (id INT PRIMARY KEY)");
    let told = format!("127.0.0.1:{} told the members of its group", scene.members.port(1));
    assert_eq!(scene.reason(3, 2), told);

    scene.members.server(0).kill9().expect("it is killed");
    scene.await_places("another primary and a reader", |places| {
        places == [(1, 1), (3, 2)] || places == [(1, 2), (3, 1)]
    });
    scene.writes("INSERT INTO elected VALUES (1)");
    let writer = scene.writer();
    let count = scene.members.server(writer).value("SELECT COUNT(*) FROM test.elected");
    assert_eq!(count.expect("answered"), "1");
    assert_eq!(scene.reason(1, writer), "it answered read_only=0");
}

/// Options of a member of Galera, but for what differs.
const OF_MARIADB: LabOptions = LabOptions {
    replicas: 0,
    flavour: Flavour::MariaDb,
    may_fetch: true,
    dir: None,
    in_memory: false,
    extra_args: Vec::new(),
};

/// What each member of Galera is started with.
fn options_of_galera(provider: &str) -> impl Fn(usize) -> Vec<String> {
    let [groups, states, copies]: [[u16; 3]; 3] = [ports(), ports(), ports()];
    let address = groups.map(|port| format!("127.0.0.1:{port}")).join(",");
    move |number| {
        let (group, state, copy) = (groups[number], states[number], copies[number]);
        let mut words = vec![
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={provider}"),
            format!("--wsrep-cluster-address=gcomm://{address}"),
            "--wsrep-node-address=127.0.0.1".to_owned(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{copy}"),
            "--wsrep-sst-method=rsync".to_owned(),
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};\
                 ist.recv_addr=tcp://127.0.0.1:{state};gcache.size=16M"
            ),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
            format!("--server-id={}", number + 1),
        ];
        words.extend((number == 0).then(|| "--wsrep-new-cluster".to_owned()));
        words
    }
}

/// A data directory that members may copy theirs to, whoever they are: what copies drops the rights
/// of root.
fn copied_to(dir: &Path, number: usize) -> PathBuf {
    let dir = dir.join(number.to_string());
    let plain = LabOptions { dir: Some(dir.clone()), ..OF_MARIADB };
    let cluster = Cluster::start(plain).expect("a server starts");
    cluster.primary().stop().expect("it stops");
    let done = Command::new("chmod").args(["-R", "a+rwX"]).arg(&dir).status();
    assert!(done.expect("chmod runs").success());
    dir
}

#[test]
fn galera_has_one_writer_and_another_when_that_is_of_no_use() {
    const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";
    if !std::path::Path::new(PROVIDER).exists() {
        return live::skip("Galera", "there is no galera-4");
    }
    let options = options_of_galera(PROVIDER);
    let joined = |number: usize, server: &Server| {
        eventually("it is synced", Duration::from_secs(60), || {
            let sql = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state'";
            let rows = server.sql(sql).unwrap_or_default();
            rows.first().and_then(|row| row.get(1).cloned().flatten()).as_deref() == Some("4")
        });
        let size = server.status("wsrep_cluster_size").expect("told");
        assert_eq!(size, number as u64 + 1);
    };
    let dir = RunDir::create().expect("a directory");
    let options = |number| LabOptions {
        dir: Some(copied_to(dir.path(), number)),
        extra_args: options(number),
        ..OF_MARIADB
    };
    let members = Members::start(options, joined);
    let more = "writer_is_also_reader = 2\n";
    let mut scene = Scene::open(members, &[0, 1, 2], "mysql_galera_hostgroups", more);
    // the last in the order of names and ports
    let mut order: Vec<_> = (0..3).collect();
    order.sort_unstable_by_key(|number| std::cmp::Reverse(scene.members.port(*number)));
    let stand = |writer: usize, backups: &[usize]| {
        let mut places = vec![(1, writer)];
        places.extend(backups.iter().flat_map(|backup| [(2, *backup), (3, *backup)]));
        places.sort_unstable();
        places
    };
    let [first, second, third] = [order[0], order[1], order[2]];
    let all = stand(first, &[second, third]);
    scene.await_places("one writer", |places| places == all);
    scene.writes("CREATE TABLE agreed (id INT PRIMARY KEY)");

    // with the one that refuses, and with the one that is cut off, the next is the writer
    let refuses = "SET GLOBAL wsrep_reject_queries = ALL";
    scene.members.server(first).sql(refuses).expect("it refuses");
    let rest: Vec<_> = stand(second, &[third]);
    let offline = |places: &[(u32, usize)], rest: &[(u32, usize)]| {
        places.iter().filter(|(group, _)| *group != 4).copied().collect::<Vec<_>>() == rest
    };
    scene.await_places("the next one", |places| offline(places, &rest));
    assert_eq!(scene.reason(4, first), "it rejects queries (wsrep_reject_queries)");
    scene.writes("INSERT INTO agreed VALUES (1)");
    scene.members.server(first).sql("SET GLOBAL wsrep_reject_queries = NONE").expect("it answers");
    scene.await_places("as before", |places| places == all);

    scene.members.server(first).kill9().expect("it is killed");
    scene.await_places("the next one", |places| offline(places, &rest));
    scene.writes("INSERT INTO agreed VALUES (2)");
    let count = scene.members.server(third).value("SELECT COUNT(*) FROM test.agreed");
    assert_eq!(count.expect("answered"), "2");
}
