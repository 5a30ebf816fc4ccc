//! CHECKSUM …: one number for the rows of a module or table.

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::layers::checksum;
use crate::statement::{Statement, is};
use crate::tables::Schema;

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if statement.is(&["SELECT", "GLOBAL_CHECKSUM", "(", ")"]) {
        return CommandStep::act(|admin, _| {
            let rows = admin.rows_in_force();
            let sums = admin.in_force.checksum_rows(&rows);
            let text = checksum(&sums);
            let digits = text.trim_start_matches("0x");
            let number = u64::from_str_radix(digits, 16).unwrap_or(0) / 2;
            Ok(Reply::table(&["CHECKSUM"], vec![vec![number.to_string()]]))
        });
    }
    if !is(statement.word(0), "CHECKSUM") {
        return Ok(None);
    }
    let (schema, at) = match statement.word(1).to_ascii_uppercase().as_str() {
        "MEMORY" | "MEM" => (Schema::Main, 2),
        "DISK" => (Schema::Disk, 2),
        _ => (Schema::Main, 1),
    };
    let words = statement.after(at).join(" ").to_ascii_uppercase();
    let Some((_, table)) = TABLES.iter().find(|(name, _)| *name == words) else {
        return Ok(None);
    };
    CommandStep::act(move |admin, _| {
        let mut rows = admin.store.database.rows(schema, table)?;
        if *table == "global_variables" {
            let mysql = |name: &str| name.starts_with("mysql-");
            rows.retain(|row| row.first().is_some_and(|v| mysql(&crate::rows::as_text(v))));
        }
        let sum = checksum(&rows);
        Ok(Reply::table(&["table", "checksum"], vec![vec![words, sum]]))
    })
}

const TABLES: &[(&str, &str)] = &[
    ("MYSQL SERVERS", "mysql_servers"),
    ("MYSQL USERS", "mysql_users"),
    ("MYSQL QUERY RULES", "mysql_query_rules"),
    ("MYSQL VARIABLES", "global_variables"),
    ("MYSQL REPLICATION HOSTGROUPS", "mysql_replication_hostgroups"),
    ("MYSQL GROUP REPLICATION HOSTGROUPS", "mysql_group_replication_hostgroups"),
    ("MYSQL GALERA HOSTGROUPS", "mysql_galera_hostgroups"),
    ("MYSQL AURORA HOSTGROUPS", "mysql_aws_aurora_hostgroups"),
    ("MYSQL HOSTGROUP ATTRIBUTES", "mysql_hostgroup_attributes"),
    ("MYSQL SERVERS SSL PARAMS", "mysql_servers_ssl_params"),
];
