//! A running Tidegate told to pause, stop, begin again, listen elsewhere; and what clients see.

use std::time::Duration;

use lab::{Flavour, SplitOptions};
use live::{Load, Program, Proxy, client, eventually, greeting_of};
use mysql::Conn;
use mysql::prelude::Queryable;

const SOON: Duration = Duration::from_secs(10);

/// What the command-line client says to one statement after the other.
fn console(port: u16, (user, password): (&str, &str), input: &str) -> live::Finished {
    Program::new("mariadb")
        .args(["--no-defaults", "--skip-ssl", "--batch", "--skip-column-names", "--force"])
        .args(["-h127.0.0.1".to_owned(), format!("-P{port}")])
        .args([format!("-u{user}"), format!("-p{password}")])
        .input(input)
        .limit(Duration::from_secs(20))
        .run()
}

fn told(proxy: &Proxy, input: &str) -> String {
    let done = console(proxy.admin_port, ("admin", "admin"), input);
    done.output + &done.errors
}

fn ends(session: &mut Conn) {
    eventually("the session ends", SOON, || session.query_drop("DO 1").is_err());
}

#[test]
fn a_pause_lets_transactions_end_and_nobody_in_until_it_is_over() {
    let Some(cluster) = live::cluster("a pause", Flavour::MariaDb, 1) else { return };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..SplitOptions::default() })
    });
    let proxy = proxy.expect("tidegate starts");
    let mut idle = client::connect(client::options(proxy.port));
    let mut busy = client::connect(client::options(proxy.port));
    idle.query_drop("DO 1").expect("served");
    busy.query_drop("BEGIN").expect("served");
    assert_eq!(told(&proxy, "PROXYSQL PAUSE;"), "");
    assert!(told(&proxy, "TIDEGATE PAUSE;").contains("is already paused, impossible to pause"));
    assert!(told(&proxy, "PROXYSQL START;").contains("is paused; PROXYSQL RESUME accepts"));
    ends(&mut idle);
    assert!(greeting_of(proxy.port).is_err(), "nobody listens");
    assert!(!proxy.socket.exists());
    busy.query_drop("DO 2").expect("its transaction goes on");
    busy.query_drop("COMMIT").expect("and ends");
    ends(&mut busy);
    assert_eq!(told(&proxy, "PROXYSQL RESUME;"), "");
    assert!(told(&proxy, "PROXYSQL RESUME;").contains("is not paused, impossible to resume"));
    let mut again = client::connect(client::options(proxy.port));
    for _ in 0..3 {
        again.query_drop("DO 3").expect("it may be idle between");
    }
    assert!(proxy.socket.exists());

    assert!(told(&proxy, "PROXYSQL START;").contains("ProxySQL already started"));
    again.query_drop("BEGIN").expect("served");
    assert_eq!(told(&proxy, "PROXYSQL STOP;"), "");
    ends(&mut again);
    assert!(greeting_of(proxy.port).is_err());
    assert!(told(&proxy, "PROXYSQL RESUME;").contains("is stopped; PROXYSQL START serves again"));
    assert_eq!(told(&proxy, "PROXYSQL START;"), "");
    client::connect(client::options(proxy.port)).query_drop("DO 4").expect("served");
    let pid = proxy.pid();
    assert!(!told(&proxy, "PROXYSQL RESTART;").contains("syntax"));
    eventually("it is another run", SOON, || {
        proxy.log().matches("tidegate starts").count() == 2 && greeting_of(proxy.port).is_ok()
    });
    assert!(proxy.is_running() && proxy.pid() == pid);
    client::connect(client::options(proxy.port)).query_drop("DO 5").expect("served");
}

#[test]
fn interfaces_come_and_go_and_no_client_is_lost() {
    let Some(cluster) = live::cluster("interfaces", Flavour::MariaDb, 1) else { return };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..SplitOptions::default() })
    });
    let proxy = proxy.expect("tidegate starts");
    let load = Load::reads(4, &client::options(proxy.port));
    let (more, admin) = (lab::free_port().expect("free"), lab::free_port().expect("free"));
    let set = |interfaces: &str| {
        let text = format!("SET mysql-interfaces='{interfaces}'; LOAD MYSQL VARIABLES TO RUNTIME;");
        told(&proxy, &text)
    };
    for _ in 0..5 {
        assert_eq!(set(&format!("127.0.0.1:{};127.0.0.1:{more}", proxy.port)), "");
        client::connect(client::options(more)).query_drop("DO 1").expect("served");
        // the old one goes; those who came by it stay
        assert_eq!(set(&format!("127.0.0.1:{more}")), "");
        assert!(greeting_of(proxy.port).is_err());
        load.await_more(50);
    }
    let taken = format!("127.0.0.1:{more};127.0.0.1:{}", cluster.primary().port);
    let refused = set(&taken);
    assert!(refused.contains("ERROR 1210") && refused.contains("mysql-interfaces"), "{refused}");
    assert!(refused.contains("Address already in use"), "{refused}");
    let runtime = "SELECT variable_value FROM runtime_global_variables WHERE \
                   variable_name = 'mysql-interfaces';";
    assert_eq!(told(&proxy, runtime), format!("127.0.0.1:{more}\n"));
    assert!(greeting_of(more).is_ok());
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());

    let threads = "SAVE MYSQL VARIABLES TO MEMORY; SET mysql-threads=7; \
                   LOAD MYSQL VARIABLES TO RUNTIME; SHOW WARNINGS;";
    let later = told(&proxy, threads);
    assert!(later.contains("mysql-threads: stays 4 until a restart; 7 is wanted"), "{later}");

    let elsewhere = format!(
        "SAVE MYSQL VARIABLES TO MEMORY; SET admin-mysql_ifaces='127.0.0.1:{admin}'; \
         SET admin-admin_credentials='admin:other'; LOAD ADMIN VARIABLES TO RUNTIME; SELECT 7;"
    );
    assert_eq!(told(&proxy, &elsewhere), "7\n", "who changes it is still served");
    assert!(greeting_of(proxy.admin_port).is_err());
    let done = console(admin, ("admin", "admin"), "SELECT 8;");
    assert!(done.errors.contains("Access denied"), "{}", done.errors);
    assert_eq!(console(admin, ("admin", "other"), "SELECT 8;").output, "8\n");
}
