//! `PROXYSQL INTERNAL SESSION`: what the proxy knows of the session that asks, as JSON.
//!
//! The keys are ProxySQL's, as far as there is something here that they name. It tells of no other
//! session and no secret: user variables and passwords stay out.

use wire::connect::Compression;
use wire::proxy_header::Ends;
use wire::reply::{ColumnDef, ColumnKind, write_text_result};
use wire::{Caps, collation_table as collation};

use crate::document::Json;
use crate::error;
use crate::holds::Holds;
use crate::ids::{HostgroupId, SessionId};
use crate::lane::{Held, Lane};
use crate::link::{Charset, LinkState};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::session::Session;
use crate::session::arriving::presented::Presenter;
use crate::session::command::own_answers::status_of;

impl Proxy {
    /// Answers a text that begins with `PROXYSQL INTERNAL`; `false` when it is another one.
    #[cold]
    pub(crate) fn answered_internal(&mut self, id: SessionId, text: &[u8]) -> bool {
        let Some((asks, rest)) = text.split_at_checked(ASKS.len()) else { return false };
        if !asks.eq_ignore_ascii_case(ASKS) {
            return false;
        }
        // ProxySQL counts none of them among the queries
        self.forget_asked(id);
        if !rest.eq_ignore_ascii_case(b"SESSION") {
            self.answer_error(id, &error::unknown_internal());
            return true;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        let info = self.session_info(session).pretty();
        let (caps, status) = (session.caps, status_of(session));
        self.answered(id, true);
        let length = u32::try_from(info.len()).unwrap_or(u32::MAX);
        let kind = ColumnKind::VAR_STRING;
        let column = ColumnDef { kind, length, ..ColumnDef::text(b"session_info") };
        self.orders.send(End::Client(id), |out| {
            let row = [Some(info.as_bytes())];
            write_text_result(out, &mut 1, caps, &[column], &[&row], status);
        });
        true
    }

    fn session_info(&self, session: &Session) -> Json {
        let account = session.account.as_ref();
        let default_hostgroup = account.map_or(-1, |account| hostgroup(account.default_hostgroup));
        let first = session.held.first().map(|held| hostgroup(held.hostgroup));
        let locked = session.held_for(Holds::PINNING).map(|held| hostgroup(held.hostgroup));
        let warned = session.held_for(Holds::WARNINGS).map(|held| hostgroup(held.hostgroup));
        let transactions = session.held.iter().filter(|h| h.why.intersects(Holds::TRANSACTION));
        let since_us = session.timing.transaction_since_us;
        let elapsed_us = if since_us > 0 { self.now_us.saturating_sub(since_us) } else { 0 };
        let persistent = account.is_some_and(|account| account.transaction_persistent);
        let schema = account.and_then(|account| account.default_schema.as_deref());
        let age_us = self.now_us.saturating_sub(session.timing.born_us);
        let mut members = vec![
            ("address", pointer(session.client.connection.0.into())),
            ("thread", pointer(self.number as u64 + 1)),
            ("age_ms", Json::Number(age_us / 1000)),
            ("status", Json::Object(vec![("name", text(session.doing()))])),
            ("autocommit", Json::Bool(session.want.autocommit)),
            ("thread_session_id", Json::Number(session.client.connection.0.into())),
            ("current_hostgroup", Json::Signed(first.unwrap_or(default_hostgroup))),
            ("default_hostgroup", Json::Signed(default_hostgroup)),
            ("locked_on_hostgroup", Json::Signed(locked.unwrap_or(-1))),
            ("autocommit_on_hostgroup", Json::Signed(-1)),
            ("last_insert_id", Json::Number(session.last.insert_id)),
            ("last_HG_affected_rows", Json::Signed(-1)),
            ("active_transactions", Json::Number(transactions.count() as u64)),
            // in microseconds, whatever its name says: as there
            ("transaction_time_ms", Json::Number(elapsed_us)),
            ("warning_in_hg", Json::Signed(warned.unwrap_or(-1))),
            ("gtid", Json::Object(vec![("hid", Json::Signed(-1)), ("last", text(""))])),
            ("qpo", no_route()),
            ("default_schema", text(schema.unwrap_or_default())),
            ("transaction_persistent", Json::Bool(persistent)),
            ("client", client(session)),
            ("conn", conn(session)),
        ];
        if let Some(tls) = &session.client.tls {
            members.push(("ssl_version", text(tls.version)));
            members.push(("ssl_cipher", text(tls.cipher)));
            members.extend(tls.server_name.as_deref().map(|name| ("ssl_server_name", text(name))));
        }
        let backends: Vec<Json> = session
            .held
            .iter()
            .filter_map(|held| Some(backend(held, self.lanes.get(held.lane)?)))
            .collect();
        if !backends.is_empty() {
            members.push(("backends", Json::List(backends)));
        }
        Json::Object(members)
    }
}

/// What a rule would have said of the statement: no rule is asked about this one.
fn no_route() -> Json {
    const NUMBERS: [&str; 11] = [
        "create_new_connection",
        "reconnect",
        "sticky_conn",
        "cache_timeout",
        "cache_ttl",
        "delay",
        "destination_hostgroup",
        "firewall_whitelist_mode",
        "multiplex",
        "timeout",
        "retries",
    ];
    let mut members: Vec<_> = NUMBERS.map(|name| (name, Json::Signed(-1))).into();
    members.push(("max_lag_ms", Json::Signed(-1)));
    Json::Object(members)
}

fn client(session: &Session) -> Json {
    let end = |address: &str, port: u16| {
        Json::Object(vec![("address", text(address)), ("port", Json::Number(port.into()))])
    };
    let client = &session.client;
    let schema = session.want.schema.as_deref().unwrap_or_default();
    let info = vec![("username", text(session.user())), ("schemaname", Json::bytes(schema))];
    let mut members = vec![
        ("client_addr", end(&client.addr, client.port)),
        ("proxy_addr", end(&client.proxy.0, client.proxy.1)),
        ("encrypted", Json::Bool(client.tls.is_some())),
        ("userinfo", Json::Object(info)),
    ];
    if let Some(presenter) = &client.presenter {
        members.push(presented(presenter));
    }
    Json::Object(members)
}

/// What a proxy in front told of the client.
fn presented(presenter: &Presenter) -> (&'static str, Json) {
    let name = if presenter.header.version == 1 { "PROXY_V1" } else { "PROXY_V2" };
    let mut members = Vec::new();
    if let Some(Ends { from, to }) = presenter.header.ends {
        members.extend([
            ("source_address", text(&from.ip().to_string())),
            ("destination_address", text(&to.ip().to_string())),
            ("source_port", Json::Number(from.port().into())),
            ("destination_port", Json::Number(to.port().into())),
        ]);
    }
    members.extend([
        ("proxy_address", text(&presenter.addr)),
        ("proxy_port", Json::Number(presenter.port.into())),
    ]);
    (name, Json::Object(members))
}

/// What the client asked of its connection.
fn conn(session: &Session) -> Json {
    let statements = session.stmts.as_ref().map_or(0, |stmts| stmts.count());
    let mut members = variables(&session.want);
    let escapes = session.want.modes().no_backslash_escapes;
    let is_compressed = session.client.compression.is_some();
    members.extend([
        ("client_flag", flags(session.caps)),
        ("no_backslash_escapes", Json::Bool(escapes)),
        ("status", Json::Object(vec![("compression", Json::Bool(is_compressed))])),
        ("prepared_statements", Json::Number(statements as u64)),
    ]);
    Json::Object(members)
}

fn backend(held: &Held, lane: &Lane) -> Json {
    let server = &lane.server;
    let (state, traffic) = (&lane.state, &lane.traffic);
    let stream = |mut more: Vec<(&'static str, Json)>| {
        more.extend([
            ("questions", Json::Number(traffic.queries)),
            ("myconnpoll_get", Json::Number(traffic.checkouts)),
            ("bytes_recv", Json::Number(traffic.bytes_received)),
            ("bytes_sent", Json::Number(traffic.bytes_sent)),
        ]);
        more
    };
    let id = u64::from(lane.greeted.thread_id);
    let mysql = Json::Object(vec![
        ("host", text(&server.hostname)),
        ("port", Json::Number(server.port.into())),
        ("user", text(&lane.account.name)),
        ("db", Json::bytes(state.schema.as_deref().unwrap_or_default())),
        ("thread_id", Json::Number(id)),
        ("server_status", Json::Number(lane.status.0.into())),
        ("charset", Json::Number(collation_of(state).map_or(0, |known| known.id.into()))),
    ]);
    let sticky = held.why.without(Holds::TRANSACTION.union(Holds::UNTOLD_TRANSACTION));
    let reasons = held.why.names().map(text).collect();
    let mut status = reasons_as_there(held.why);
    status.push(("compression", Json::Bool(lane.caps.intersects(Compression::CAPS))));
    let mut conn = stream(vec![("address", pointer(id))]);
    conn.extend(variables(state));
    conn.extend([
        ("status", Json::Object(status)),
        ("held_for", Json::List(reasons)),
        ("MultiplexDisabled", Json::Bool(!sticky.is_empty())),
        ("MultiplexDisabled_ext", Json::Bool(!held.why.is_empty())),
        ("client_flag", flags(lane.caps)),
        ("no_backslash_escapes", Json::Bool(state.modes().no_backslash_escapes)),
        ("mysql", mysql),
    ]);
    if let Some(client) = lane.presented.as_ref().and_then(|presented| presented.ends) {
        conn.push(("presented_for", text(&client.from.to_string())));
    }
    if let Some(tls) = &lane.tls {
        conn.extend([
            ("ssl_version", text(tls.version)),
            ("ssl_cipher", text(tls.cipher)),
            ("ssl_verified", text(tls.verified.name())),
        ]);
    }
    Json::Object(vec![
        ("hostgroup_id", Json::Number(held.hostgroup.0.into())),
        ("gtid", text("")),
        ("stream", Json::Object(stream(vec![("address", pointer(id))]))),
        ("conn", Json::Object(conn)),
    ])
}

/// The reasons by ProxySQL's names, where there is one.
fn reasons_as_there(why: Holds) -> Vec<(&'static str, Json)> {
    let table = [
        ("get_lock", Holds::GET_LOCK),
        ("lock_tables", Holds::LOCK_TABLES),
        ("has_savepoint", Holds::UNTOLD_TRANSACTION),
        ("temporary_table", Holds::TEMPORARY_TABLE),
        ("user_variable", Holds::USER_VARIABLE),
        ("found_rows", Holds::FOUND_ROWS),
        ("no_multiplex", Holds::NO_MULTIPLEX),
        ("no_multiplex_HG", Holds::MULTIPLEXING_OFF),
        ("prepared_statement", Holds::TEXT_PREPARE),
        ("has_warnings", Holds::WARNINGS),
    ];
    table.map(|(name, reason)| (name, Json::Bool(why.intersects(reason)))).into()
}

fn flags(caps: Caps) -> Json {
    let has = |cap: Caps| Json::Number(caps.contains(cap).into());
    Json::Object(vec![
        ("value", Json::Number(caps.0 & u64::from(u32::MAX))),
        ("client_found_rows", has(Caps::FOUND_ROWS)),
        ("client_multi_statements", has(Caps::MULTI_STATEMENTS)),
        ("client_multi_results", has(Caps::MULTI_RESULTS)),
        ("client_deprecate_eof", has(Caps::DEPRECATE_EOF)),
    ])
}

fn collation_of(state: &LinkState) -> Option<&'static collation::Collation> {
    match state.charset {
        Charset::Named(charset) => collation::find_charset_default(charset.as_bytes()),
        Charset::Collation(id) => collation::find_id(id),
    }
}

/// The variables of a state, each as ProxySQL shows it.
fn variables(state: &LinkState) -> Vec<(&'static str, Json)> {
    let known = collation_of(state);
    let (charset, name) = known.map_or(("", ""), |known| (known.charset, known.name));
    let set = |variable: &str, begins: &str| {
        let settings = state.settings.as_deref();
        let value = settings.and_then(|settings| settings.get(variable.as_bytes()));
        Json::Text(value.map_or(begins.to_owned(), shown))
    };
    let mut members = vec![
        ("charset", Json::Text(known.map_or(0, |known| known.id).to_string())),
        ("autocommit", text(if state.autocommit { "ON" } else { "OFF" })),
        ("character_set_client", set("character_set_client", charset)),
        ("character_set_connection", set("character_set_connection", charset)),
        ("character_set_results", set("character_set_results", charset)),
        ("collation_connection", set("collation_connection", name)),
    ];
    for variable in TRACKED {
        let settings = state.settings.as_deref();
        let Some(value) = settings.and_then(|set| set.get(variable.as_bytes())) else { continue };
        let value = shown(value);
        members.push(match variable {
            "transaction_isolation" => ("isolation_level", Json::Text(value.replace('-', " "))),
            "transaction_read_only" => {
                let is_on = matches!(&*value, "1" | "ON");
                ("transaction_read", text(if is_on { "READ ONLY" } else { "READ WRITE" }))
            }
            _ if FLAGS.contains(&variable) => (variable, text(on_or_off(&value))),
            _ => (variable, Json::Text(value)),
        });
    }
    members
}

fn on_or_off(value: &str) -> &str {
    match value {
        "0" => "OFF",
        "1" => "ON",
        other => other,
    }
}

/// The text of a value without quotes around it and what says its character set.
fn shown(value: &[u8]) -> String {
    let value = String::from_utf8_lossy(value);
    let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    inner.unwrap_or(&value).to_owned()
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

/// What stands for an address, of which only equality means anything.
fn pointer(number: u64) -> Json {
    Json::Text(format!("0x{number:x}"))
}

fn hostgroup(hostgroup: HostgroupId) -> i64 {
    hostgroup.0.into()
}

const ASKS: &[u8] = b"PROXYSQL INTERNAL ";

/// Variables that ProxySQL shows by their names where the client has set them, or by those above.
const TRACKED: [&str; 45] = [
    "aurora_read_replica_read_committed",
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "default_storage_engine",
    "default_tmp_storage_engine",
    "foreign_key_checks",
    "group_concat_max_len",
    "group_replication_consistency",
    "gtid_next",
    "innodb_lock_wait_timeout",
    "innodb_strict_mode",
    "innodb_table_locks",
    "join_buffer_size",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "log_slow_filter",
    "long_query_time",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_sort_length",
    "max_statement_time",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "optimizer_use_condition_selectivity",
    "query_cache_type",
    "session_track_gtids",
    "sort_buffer_size",
    "sql_big_selects",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_mode",
    "sql_quote_show_create",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "transaction_isolation",
    "transaction_read_only",
    "unique_checks",
];

/// Those of them that are on or off.
const FLAGS: [&str; 9] = [
    "big_tables",
    "foreign_key_checks",
    "innodb_strict_mode",
    "innodb_table_locks",
    "sql_big_selects",
    "sql_log_bin",
    "sql_quote_show_create",
    "sql_safe_updates",
    "unique_checks",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::assign::assigned;

    #[test]
    fn variables_have_the_names_and_words_of_proxysql_and_those_of_users_stay_out() {
        let state = LinkState::new(None, Charset::Named("utf8mb4"));
        let text = b"SET sql_log_bin = 0, sql_mode = 'ANSI', time_zone = '+01:00', @a = 'x', \
                     transaction_isolation = 'READ-COMMITTED', transaction_read_only = 1, \
                     character_set_results = 'latin1', bulk_insert_buffer_size = 7";
        let set = sql::parse_set_in(text, state.modes()).unwrap();
        let state = assigned(&state, &set).unwrap().state;
        let told = Json::Object(variables(&state)).compact();
        assert_eq!(
            told,
            "{\"charset\":\"45\",\"autocommit\":\"ON\",\"character_set_client\":\"utf8mb4\",\
             \"character_set_connection\":\"utf8mb4\",\"character_set_results\":\"latin1\",\
             \"collation_connection\":\"utf8mb4_general_ci\",\"sql_log_bin\":\"OFF\",\
             \"sql_mode\":\"ANSI\",\"time_zone\":\"+01:00\",\
             \"isolation_level\":\"READ COMMITTED\",\"transaction_read\":\"READ ONLY\"}"
        );
    }
}
