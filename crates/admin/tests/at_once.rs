//! Changes of the configuration that come at once: none undoes another.

mod fake;

use admin::{OpeningSource, Runtime};
use engine::rows::UserRow;
use engine::snapshot::Draft;
use fake::{Dir, lines, run};

#[test]
fn a_load_undoes_nothing_that_came_into_force_since_it_began() {
    let dir = Dir::new("overtaken");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let users = vec![UserRow { username: "read again".into(), ..UserRow::default() }];
    let before = interface.fake().current();
    interface.fake().overtake(Draft { users, ..Draft::clone(&before) });
    let server = "INSERT INTO mysql_servers (hostname) VALUES ('db')";
    run(&mut admin, &[server, "LOAD MYSQL SERVERS TO RUNTIME"]);
    assert_eq!(lines(&mut admin, "SELECT hostname FROM runtime_mysql_servers"), "db");
    let users = "SELECT DISTINCT username FROM runtime_mysql_users";
    assert_eq!(lines(&mut admin, users), "read again");
}
