//! Rows of tables to rows of the engine and back.
//!
//! Types are judged here, for SQLite takes any value in any column; what a value may be is judged
//! by the engine when it compiles the rows.

use std::collections::BTreeMap;

use engine::config_fault::ConfigFault;
use engine::rows::{
    FastRoutingRow, HostgroupRow, RestapiRouteRow, RuleRow, SchedulerRow, ServerRow, UserRow,
};
use engine::snapshot::Draft;
use rusqlite::types::Value;

use crate::live::Row;

/// Rows by the name of their table.
pub type Rows = BTreeMap<&'static str, Vec<Row>>;

/// A row of a table that the engine knows.
pub(crate) trait EngineRow: Sized {
    /// Reads one; what is wrong is told with the row's position.
    fn read(row: &[Value], at: usize, faults: &mut Vec<ConfigFault>) -> Self;

    /// The values in the order of the table's columns.
    fn values(&self) -> Row;
}

/// A value of a column that the engine knows.
trait Cell: Sized {
    fn read(value: &Value) -> Result<Self, String>;
    fn value(&self) -> Value;
}

/// Ties the fields of an engine row to the columns of its table, in the table's order.
macro_rules! engine_row {
    ($type:ty = $table:literal: $($field:ident = $column:literal,)*) => {
        impl EngineRow for $type {
            fn read(row: &[Value], at: usize, faults: &mut Vec<ConfigFault>) -> Self {
                let mut made = Self::default();
                let mut values = row.iter();
                $(match Cell::read(values.next().unwrap_or(&Value::Null)) {
                    Ok(value) => made.$field = value,
                    Err(reason) => faults.push(ConfigFault {
                        table: $table,
                        row: Some(at),
                        column: $column.to_owned(),
                        reason,
                    }),
                })*
                made
            }

            fn values(&self) -> Row {
                vec![$(self.$field.value()),*]
            }
        }

        #[cfg(test)]
        impl Columns for $type {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$($column),*];
        }
    };
}

engine_row! { ServerRow = "mysql_servers":
    hostgroup_id = "hostgroup_id",
    hostname = "hostname",
    port = "port",
    gtid_port = "gtid_port",
    status = "status",
    weight = "weight",
    compression = "compression",
    max_connections = "max_connections",
    max_replication_lag = "max_replication_lag",
    use_ssl = "use_ssl",
    max_latency_ms = "max_latency_ms",
    comment = "comment",
}

engine_row! { HostgroupRow = "mysql_hostgroup_attributes":
    hostgroup_id = "hostgroup_id",
    max_num_online_servers = "max_num_online_servers",
    autocommit = "autocommit",
    free_connections_pct = "free_connections_pct",
    init_connect = "init_connect",
    multiplex = "multiplex",
    connection_warming = "connection_warming",
    throttle_connections_per_sec = "throttle_connections_per_sec",
    ignore_session_variables = "ignore_session_variables",
    hostgroup_settings = "hostgroup_settings",
    servers_defaults = "servers_defaults",
    comment = "comment",
}

engine_row! { UserRow = "mysql_users":
    username = "username",
    password = "password",
    active = "active",
    use_ssl = "use_ssl",
    default_hostgroup = "default_hostgroup",
    default_schema = "default_schema",
    schema_locked = "schema_locked",
    transaction_persistent = "transaction_persistent",
    fast_forward = "fast_forward",
    backend = "backend",
    frontend = "frontend",
    max_connections = "max_connections",
    attributes = "attributes",
    comment = "comment",
}

engine_row! { RuleRow = "mysql_query_rules":
    rule_id = "rule_id",
    active = "active",
    username = "username",
    schemaname = "schemaname",
    flag_in = "flagIN",
    client_addr = "client_addr",
    proxy_addr = "proxy_addr",
    proxy_port = "proxy_port",
    digest = "digest",
    match_digest = "match_digest",
    match_pattern = "match_pattern",
    negate_match_pattern = "negate_match_pattern",
    re_modifiers = "re_modifiers",
    flag_out = "flagOUT",
    replace_pattern = "replace_pattern",
    destination_hostgroup = "destination_hostgroup",
    cache_ttl = "cache_ttl",
    cache_empty_result = "cache_empty_result",
    cache_timeout = "cache_timeout",
    reconnect = "reconnect",
    timeout = "timeout",
    retries = "retries",
    delay = "delay",
    next_query_flag_in = "next_query_flagIN",
    mirror_flag_out = "mirror_flagOUT",
    mirror_hostgroup = "mirror_hostgroup",
    error_msg = "error_msg",
    ok_msg = "OK_msg",
    sticky_conn = "sticky_conn",
    multiplex = "multiplex",
    gtid_from_hostgroup = "gtid_from_hostgroup",
    log = "log",
    apply = "apply",
    attributes = "attributes",
    comment = "comment",
}

engine_row! { FastRoutingRow = "mysql_query_rules_fast_routing":
    username = "username",
    schemaname = "schemaname",
    flag_in = "flagIN",
    destination_hostgroup = "destination_hostgroup",
    comment = "comment",
}

engine_row! { SchedulerRow = "scheduler":
    id = "id",
    active = "active",
    interval_ms = "interval_ms",
    filename = "filename",
    arg1 = "arg1",
    arg2 = "arg2",
    arg3 = "arg3",
    arg4 = "arg4",
    arg5 = "arg5",
    comment = "comment",
}

engine_row! { RestapiRouteRow = "restapi_routes":
    id = "id",
    active = "active",
    timeout_ms = "timeout_ms",
    method = "method",
    uri = "uri",
    script = "script",
    comment = "comment",
}

/// Reads the rows of one table.
pub(crate) fn read_all<R: EngineRow>(rows: &[Row], faults: &mut Vec<ConfigFault>) -> Vec<R> {
    rows.iter().enumerate().map(|(at, row)| R::read(row, at, faults)).collect()
}

/// Writes the rows of one table.
fn write_all<R: EngineRow>(rows: &[R]) -> Vec<Row> {
    rows.iter().map(EngineRow::values).collect()
}

/// The tables of a file: rows as typed, and only those variables that it names.
pub fn of_file(draft: &Draft) -> Rows {
    let mut rows = of_draft(draft);
    if let Some(variables) = rows.get_mut("global_variables") {
        variables.retain(|row| draft.variables.iter().any(|(name, _)| name == text_of(row)));
    }
    rows
}

/// The tables of a draft, variables with every value in force.
pub fn of_draft(draft: &Draft) -> Rows {
    let variables = engine::vars::all().map(|variable| {
        let name = variable.full_name();
        let typed = draft.variables.iter().rev().find(|(found, _)| *found == name);
        let value = match typed.and_then(|(_, text)| variable.parse(text).ok()) {
            Some(value) => value,
            None => variable.default_value(),
        };
        vec![Value::Text(name), Value::Text(value.to_string())]
    });
    let mut variables: Vec<Row> = variables.collect();
    variables.sort_by(|left, right| text_of(left).cmp(text_of(right)));
    Rows::from([
        ("mysql_servers", write_all(&draft.servers)),
        ("mysql_hostgroup_attributes", write_all(&draft.hostgroups)),
        ("mysql_users", write_all(&draft.users)),
        ("mysql_query_rules", write_all(&draft.rules)),
        ("mysql_query_rules_fast_routing", write_all(&draft.fast_routing)),
        ("global_variables", variables),
    ])
}

/// Rows of variables as the registry writes them: `1` of a switch is `true`. A value that a
/// variable cannot have stays as it is.
pub(crate) fn canonical(variables: &[Row]) -> Vec<Row> {
    let written = |(name, text): (String, String)| {
        let value = engine::vars::find(&name).and_then(|variable| variable.parse(&text).ok());
        vec![Value::Text(name), Value::Text(value.map_or(text, |value| value.to_string()))]
    };
    pairs(variables).into_iter().map(written).collect()
}

/// Variables as pairs of names and values.
pub(crate) fn pairs(rows: &[Row]) -> Vec<(String, String)> {
    let text = |value: Option<&Value>| value.map(as_text).unwrap_or_default();
    rows.iter().map(|row| (text(row.first()), text(row.get(1)))).collect()
}

/// A value as a client reads it; `None` is NULL.
pub fn cell_text(value: &Value) -> Option<String> {
    (*value != Value::Null).then(|| as_text(value))
}

/// A value as a client reads it; NULL is empty.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn text_of(row: &Row) -> &str {
    match row.first() {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

impl Cell for i64 {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(number) => Ok(*number),
            Value::Null => Err("a number is wanted, not NULL".to_owned()),
            other => Err(format!("`{}` is not a whole number", as_text(other))),
        }
    }

    fn value(&self) -> Value {
        Value::Integer(*self)
    }
}

impl Cell for String {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Err("a text is wanted, not NULL".to_owned()),
            Value::Blob(bytes) => {
                String::from_utf8(bytes.clone()).map_err(|_| "the text is not UTF-8".to_owned())
            }
            other => Ok(as_text(other)),
        }
    }

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Cell for Vec<u8> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::Blob(bytes) => bytes.clone(),
            other => as_text(other).into_bytes(),
        })
    }

    fn value(&self) -> Value {
        match std::str::from_utf8(self) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(self.clone()),
        }
    }
}

impl<C: Cell> Cell for Option<C> {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            value => C::read(value).map(Some),
        }
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Cell::value)
    }
}

#[cfg(test)]
trait Columns {
    const TABLE: &'static str;
    const COLUMNS: &'static [&'static str];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    fn columns_are_the_tables<R: Columns>() {
        let table = tables::find(R::TABLE).expect("it is in the registry");
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names, R::COLUMNS, "{}", R::TABLE);
    }

    #[test]
    fn engine_rows_have_the_columns_of_their_tables_in_order() {
        columns_are_the_tables::<ServerRow>();
        columns_are_the_tables::<HostgroupRow>();
        columns_are_the_tables::<UserRow>();
        columns_are_the_tables::<RuleRow>();
        columns_are_the_tables::<FastRoutingRow>();
        columns_are_the_tables::<SchedulerRow>();
        columns_are_the_tables::<RestapiRouteRow>();
    }

    #[test]
    fn a_row_comes_back_as_it_went_and_wrong_types_are_told_with_their_place() {
        let server = ServerRow { hostname: "db".into(), weight: 7, ..ServerRow::default() };
        let mut faults = Vec::new();
        assert_eq!(ServerRow::read(&server.values(), 0, &mut faults), server);
        let rule = RuleRow { rule_id: 4, flag_out: Some(2), ..RuleRow::default() };
        assert_eq!(RuleRow::read(&rule.values(), 0, &mut faults), rule);
        assert_eq!(faults, []);
        let mut values = server.values();
        values[2] = Value::Text("x".into());
        ServerRow::read(&values, 5, &mut faults);
        assert_eq!(
            faults[0].to_string(),
            "mysql_servers row 6 column port: `x` is not a whole number"
        );
    }

    #[test]
    fn passwords_may_hold_any_byte() {
        let user = UserRow { password: vec![0xff, 0, 1], ..UserRow::default() };
        let mut faults = Vec::new();
        assert_eq!(UserRow::read(&user.values(), 0, &mut faults), user);
        assert_eq!(user.values()[1], Value::Blob(vec![0xff, 0, 1]));
    }
}
