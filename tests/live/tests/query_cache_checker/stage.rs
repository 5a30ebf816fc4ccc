//! Two servers, of which each may be the primary, and a proxy in front of them that has every read
//! in its cache until what it reads changes.

use std::time::Duration;

use lab::{Cluster, Flavour, Server};
use live::{Proxy, client, cluster_with, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, OptsBuilder};

use crate::subjects;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Stage {
    // dropped in this order
    pub(crate) proxy: Proxy,
    pub(crate) cluster: Cluster,
    pub(crate) flavour: Flavour,
}

impl Stage {
    pub(crate) fn start(flavour: Flavour) -> Option<Self> {
        let (words, grants): (&[&str], _) = match flavour {
            Flavour::MariaDb => (
                &["--log-bin=binlog", "--binlog-format=ROW", "--log-slave-updates=ON"],
                "RELOAD, REPLICATION SLAVE ADMIN, READ_ONLY ADMIN, BINLOG MONITOR, SLAVE MONITOR",
            ),
            Flavour::MySql => (
                &["--log-bin=binlog", "--log-replica-updates=ON"],
                "RELOAD, REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION CLIENT",
            ),
        };
        let cluster = cluster_with("the query cache under disturbances", flavour, 1, words)?;
        let text = format!(
            "GRANT REPLICATION SLAVE, REFERENCES, SHOW VIEW, SELECT ON *.* TO monitor@'%'; \
             CREATE USER operator@'%' IDENTIFIED BY 'operator'; \
             GRANT {grants} ON *.* TO operator@'%'; {}",
            subjects::schema()
        );
        cluster.primary().sql(&text).expect("defined");
        cluster.wait_replicated().expect("defined on the replica");
        // MySQL knows passwords from then on, so that nobody need send them
        for server in cluster.servers() {
            drop(client::connect(client::options(server.port)));
        }
        let proxy = Proxy::start(|interfaces| configuration(&cluster, &interfaces));
        let stage = Self { proxy: proxy.expect("tidegate starts"), cluster, flavour };
        eventually("a writer is known", LIMIT, || {
            let text = "SELECT COUNT(*) FROM runtime_mysql_servers WHERE hostgroup_id = 0";
            stage.admin().query_first(text).expect("told") == Some(1)
        });
        Some(stage)
    }

    /// The administrative interface.
    pub(crate) fn admin(&self) -> Conn {
        let listens = || live::greeting_of(self.proxy.admin_port).is_ok();
        eventually("the administrative interface listens", LIMIT, listens);
        let account = client::account(self.proxy.admin_port, "admin", "admin");
        client::connect(account.db_name(None::<String>))
    }

    /// The streams that tell of changes: state and reason of each.
    pub(crate) fn streams(&self) -> Vec<(String, String)> {
        let text = "SELECT state, reason FROM stats_tidegate_query_cache_streams";
        self.admin().query(text).expect("told")
    }

    /// Both hostgroups tell answers from the cache.
    pub(crate) fn is_calm(&self) -> bool {
        let streams = self.streams();
        streams.len() == 2 && streams.iter().all(|(state, _)| state == "following")
    }

    pub(crate) fn server(&self, number: usize) -> &Server {
        &self.cluster.servers()[number]
    }

    /// A client of the proxy, or of a server by its number.
    pub(crate) fn client(&self, server: Option<usize>) -> mysql::Result<Conn> {
        let port = server.map_or(self.proxy.port, |number| self.server(number).port);
        connect(port)
    }
}

/// A client that sends files of one row: 1 and the name of the file.
fn connect(port: u16) -> mysql::Result<Conn> {
    let options: OptsBuilder = client::options(port).read_timeout(Some(Duration::from_secs(20)));
    let mut conn = Conn::new(options)?;
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(|name, file| {
        use std::io::Write;
        writeln!(file, "1\t{}", String::from_utf8_lossy(name))
    })));
    Ok(conn)
}

fn configuration(cluster: &Cluster, interfaces: &str) -> String {
    let row = |server: &Server| {
        let port = server.port;
        format!("[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let servers: String = cluster.servers().iter().map(row).collect();
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
         get_server_public_key = true\nenable_load_data_local_infile = true\n\
         monitor_username = \"monitor\"\nmonitor_password = \"monitor\"\n\
         monitor_read_only_interval = 300\nmonitor_writer_is_also_reader = false\n{servers}\
         [[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n\
         [[tidegate_replication_clusters]]\nwriter_hostgroup = 0\nmode = \"switchover\"\n\
         username = \"operator\"\npassword = \"operator\"\n\
         replication_username = \"repl\"\nreplication_password = \"repl\"\n\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 0\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = '^SELECT .* FROM test'\n\
         cache_ttl = 3600000\nattributes = '{{\"invalidate\": \"binlog\"}}'\n\
         [[mysql_query_rules]]\nrule_id = 2\nactive = 1\nmatch_pattern = 'AS far'\n\
         destination_hostgroup = 1\napply = 1\n"
    )
}
