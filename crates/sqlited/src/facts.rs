//! What SQL functions may ask of their session and its server.
//!
//! A session keeps its [`Facts`] and lends them to a database connection for one statement.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Value;

use crate::fault::Fault;
use crate::options::ServerOptions;
use crate::variables::{self, Kind, Values};
use crate::variables_table;

/// A server, as its sessions see it.
#[derive(Debug)]
pub(crate) struct Server {
    /// What it was told.
    pub(crate) options: ServerOptions,
    /// The port it got; 0 on a Unix socket.
    pub(crate) port: u16,
    /// The one schema.
    pub(crate) schema: String,
    /// Whether writes are refused.
    pub(crate) read_only: AtomicBool,
    /// Seconds since 1970 when it started.
    pub(crate) started_at: i64,
    /// Statements so far.
    pub(crate) questions: AtomicU64,
    /// Sessions so far.
    pub(crate) connections: AtomicU64,
    /// Sessions now.
    pub(crate) connected: AtomicU64,
    /// Variables set by SET GLOBAL.
    pub(crate) globals: Mutex<Values>,
}

/// A session, as SQL functions see it.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The server.
    pub(crate) server: Arc<Server>,
    /// CONNECTION_ID().
    pub(crate) connection_id: u32,
    /// The user's name.
    pub(crate) user: String,
    /// Where the client comes from.
    pub(crate) host: String,
    /// Whether the user is a superuser.
    pub(crate) superuser: bool,
    /// DATABASE().
    pub(crate) schema: Option<String>,
    /// LAST_INSERT_ID().
    pub(crate) last_insert_id: u64,
    /// ROW_COUNT().
    pub(crate) row_count: i64,
    /// FOUND_ROWS().
    pub(crate) found_rows: u64,
    /// `@x`.
    pub(crate) user_variables: BTreeMap<String, Value>,
    /// Variables set by SET.
    pub(crate) variables: Values,
    /// What SHOW WARNINGS shows: level, code, text.
    pub(crate) warnings: Vec<(&'static str, u16, String)>,
    /// What SHOW PROCESSLIST shows, as a JSON array of arrays.
    pub(crate) process_list: String,
    /// Seconds since 1970, the same for a whole statement.
    pub(crate) unix_seconds: i64,
}

impl Server {
    /// `8.0.40-sqlited`: MySQL's dialect and protocol, and what it really is.
    pub(crate) const VERSION: &'static str = "8.0.40-sqlited";

    /// Whether writes are refused.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// An identifier that depends on the name alone.
    fn uuid(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.options.name.bytes().chain(self.port.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let id = self.options.server_id;
        format!("{id:08x}-0000-1000-8000-{:012x}", hash & 0xffff_ffff_ffff)
    }

    fn status(&self, now: i64) -> Vec<(&'static str, String)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        vec![
            ("Connections", count(&self.connections)),
            ("Questions", count(&self.questions)),
            ("Ssl_cipher", String::new()),
            ("Ssl_version", String::new()),
            ("Threads_connected", count(&self.connected)),
            ("Threads_running", "1".to_owned()),
            ("Uptime", (now - self.started_at).to_string()),
        ]
    }
}

impl Facts {
    /// A session that has done nothing yet.
    pub(crate) fn new(server: Arc<Server>, connection_id: u32, host: String) -> Self {
        Self {
            server,
            connection_id,
            user: String::new(),
            host,
            superuser: false,
            schema: None,
            last_insert_id: 0,
            row_count: -1,
            found_rows: 0,
            user_variables: BTreeMap::new(),
            variables: Values::new(),
            warnings: Vec::new(),
            process_list: String::new(),
            unix_seconds: 0,
        }
    }

    /// Forgets everything but who the client is: COM_RESET_CONNECTION.
    pub(crate) fn reset(&mut self) {
        let fresh = Self::new(Arc::clone(&self.server), self.connection_id, self.host.clone());
        let old = std::mem::replace(self, fresh);
        (self.user, self.superuser, self.schema) = (old.user, old.superuser, old.schema);
    }

    /// The variable `name` as text; `global` asks for the server's value.
    pub(crate) fn variable_text(&self, name: &str, global: bool) -> Result<String, Fault> {
        let definition = variables::find(name)?;
        if definition.kind == Kind::Computed
            && (global || !self.variables.contains_key(definition.name))
        {
            return Ok(self.computed(definition.name));
        }
        if !global && let Some(text) = self.variables.get(definition.name) {
            return Ok(text.clone());
        }
        let globals = self.server.globals.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(globals.get(definition.name).map_or(definition.default, String::as_str).to_owned())
    }

    /// The variable `name` as SELECT gives it.
    pub(crate) fn variable(&self, name: &str, global: bool) -> Result<Value, Fault> {
        let text = self.variable_text(name, global)?;
        let definition = variables::find(name)?;
        let number = definition.kind == Kind::Computed && !matches!(name, "hostname" | "version");
        match text.parse() {
            Ok(value) if number => Ok(Value::Integer(value)),
            _ => Ok(definition.value(&text)),
        }
    }

    /// How long the session waits for the write lock.
    pub(crate) fn lock_wait_us(&self) -> u64 {
        let seconds = self.variables.get("innodb_lock_wait_timeout");
        match seconds.and_then(|text| text.parse::<u64>().ok()) {
            Some(seconds) => seconds.saturating_mul(1_000_000),
            None => self.server.options.lock_wait_ms.saturating_mul(1_000),
        }
    }

    /// All variables as a JSON object of texts.
    pub(crate) fn variables_json(&self, global: bool) -> String {
        let shown = variables_table::ALL.iter().map(|definition| {
            let text = self.variable_text(definition.name, global).unwrap_or_default();
            let text = match definition.name {
                "read_only" => if text == "1" { "ON" } else { "OFF" }.to_owned(),
                _ => definition.shown(&text),
            };
            (definition.name, text)
        });
        json_object(shown)
    }

    /// The status counters as a JSON object of texts.
    pub(crate) fn status_json(&self) -> String {
        json_object(self.server.status(self.unix_seconds).into_iter())
    }

    /// The warnings as a JSON array of arrays.
    pub(crate) fn warnings_json(&self) -> String {
        let rows: Vec<String> = self
            .warnings
            .iter()
            .map(|(level, code, text)| format!("[{},{code},{}]", json(level), json(text)))
            .collect();
        format!("[{}]", rows.join(","))
    }

    fn computed(&self, name: &str) -> String {
        let server = &self.server;
        let errors = || self.warnings.iter().filter(|(level, ..)| *level == "Error").count();
        match name {
            "hostname" => server.options.name.clone(),
            "port" => server.port.to_string(),
            "server_id" => server.options.server_id.to_string(),
            "server_uuid" => server.uuid(),
            "read_only" => u8::from(server.is_read_only()).to_string(),
            "version" => Server::VERSION.to_owned(),
            "version_comment" => {
                format!("Tidegate embedded server over SQLite {}", rusqlite::version())
            }
            "identity" | "last_insert_id" => self.last_insert_id.to_string(),
            "pseudo_thread_id" => self.connection_id.to_string(),
            "max_allowed_packet" => server.options.max_packet_bytes.to_string(),
            "max_connections" => server.options.max_connections.to_string(),
            "innodb_lock_wait_timeout" => (server.options.lock_wait_ms / 1000).to_string(),
            "warning_count" => self.warnings.len().to_string(),
            "error_count" => errors().to_string(),
            _ => String::new(),
        }
    }
}

fn json_object<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> =
        pairs.map(|(name, text)| format!("{}:{}", json(name), json(&text))).collect();
    format!("{{{}}}", fields.join(","))
}

/// A JSON string.
pub(crate) fn json(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if u32::from(c) < 32 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
