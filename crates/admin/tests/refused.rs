//! What is refused, or told, at LOAD and SAVE, since it could not be in force or would do nothing.

mod fake;

use fake::{Interface, error, lines, run};
use mysql::prelude::Queryable;

#[test]
fn nobody_who_asks_for_tls_gets_clear_text() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let no_tls = "column use_ssl: this version has no TLS yet; only 0 is allowed";
    for (table, columns, row, module) in [
        ("mysql_servers", "hostname", "hostgroup_id=0, hostname='a', port=3306", "MYSQL SERVERS"),
        ("mysql_users", "username", "username='a', backend=1", "MYSQL USERS"),
    ] {
        run(&mut admin, &[&format!("INSERT INTO {table} ({columns}, use_ssl) VALUES ('a', 1)")]);
        let load = format!("LOAD {module} TO RUNTIME");
        let (code, _, message) = error(admin.query_drop(&load));
        assert_eq!(code, 1210, "{message}");
        assert_eq!(message, format!("nothing was applied: {table} ({row}) {no_tls}"));
        assert_eq!(lines(&mut admin, &format!("SELECT * FROM runtime_{table}")), "");
        run(&mut admin, &[&format!("UPDATE {table} SET use_ssl = 0"), &load]);
    }
}
