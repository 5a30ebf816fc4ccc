//! Applications of ordinary frameworks share a few connections: what they set up, read and write in
//! fifty sessions goes over five, and nothing ties one of them for longer than a transaction.

use std::path::Path;
use std::time::Duration;

use lab::{Cluster, Flavour};
use live::{Program, Proxy, skip};

/// The connections that all sessions have to share.
const CONNECTIONS: u64 = 5;

fn proxy(cluster: &Cluster) -> Proxy {
    let port = cluster.primary().port;
    let version = live::greeting_of(port).expect("the server greets");
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             threads = 1\n\n[[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n[[mysql_servers]]\nhostgroup_id = 0\n\
             hostname = \"127.0.0.1\"\nport = {port}\nmax_connections = {CONNECTIONS}\n"
        )
    })
    .expect("tidegate starts")
}

#[test]
fn fifty_sessions_of_a_framework_share_five_connections() {
    let what = "frameworks";
    let Some(cluster) = live::cluster(what, Flavour::MariaDb, 0) else { return };
    let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
    let fetched = live::target_dir().expect("known").join("live-drivers");
    let set_up =
        Program::new(drivers.join("setup.sh")).args([&fetched]).limit(Duration::from_secs(600));
    let said = set_up.run().output;
    if !said.lines().any(|line| line == "ready python") {
        let why = said.lines().find(|line| line.starts_with("missing python"));
        return skip(what, why.unwrap_or("there is no python"));
    }
    let proxy = proxy(&cluster);
    for framework in ["sqlalchemy", "django"] {
        let finished = Program::new(fetched.join("venv/bin/python"))
            .args([drivers.join("python/frameworks.py")])
            .args([framework, "127.0.0.1", &proxy.port.to_string()])
            .limit(Duration::from_secs(120))
            .run();
        assert!(finished.success, "{framework}: {}{}", finished.output, finished.errors);
        let counted = |name| proxy.counter(name).expect("counted");
        assert_eq!(counted("pins"), 0, "{framework} ties sessions to connections");
        assert!(counted("queries") > 1000, "{framework} came through here");
        assert_eq!(counted("lanes_created"), CONNECTIONS, "{framework}");
    }
}
