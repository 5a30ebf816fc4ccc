//! One client of the interface: what stands behind its connection.
//!
//! Knows no sockets, and no bytes but those it hands on. When a password is judged is for the
//! service to say.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use engine::proxy::Offer;
use engine::vars::{Vars, credentials, password_in};
use mysql_server::{
    Account, Answer, Cell, Column, Connection, Description, Fault, Greets, Handler, Next, Refusal,
    Rows,
};
use rusqlite::types::Value;
use wire::Status;
use wire::auth::rsa::ServerKey;
use wire::auth::{nonce_of, sha2};
use wire::reply::{ColumnFlags, ColumnKind};

use crate::admin::{Admin, Reply, Role, Session};
use crate::database::{STATEMENT_LIMIT, random};
use crate::fault::AdminFault;
use crate::statement::split;

/// A client of the interface.
pub(crate) struct InterfaceClient {
    /// Where it comes from; `localhost` for a Unix socket.
    pub(crate) from: String,
    /// Whether that is this machine.
    local: bool,
    connection: Connection,
    session: Session,
}

/// The interface, at the service of a client for the length of a packet.
struct Desk<'a> {
    admin: &'a mut Admin,
    session: &'a mut Session,
    from: &'a str,
    local: bool,
    offer: Option<Arc<Offer>>,
    began: Instant,
}

/// What is so after every statement. SQLite has no escapes in texts, and drivers that know double
/// quotes instead of putting `\` before them.
const STATUS: Status = Status::AUTOCOMMIT.union(Status::NO_BACKSLASH_ESCAPES);

impl InterfaceClient {
    /// A client that was accepted; the greeting is written to `out`.
    pub(crate) fn greet(
        admin: &Admin,
        id: u32,
        from: &io::Addr,
        (scramble, offers_tls): ([u8; 20], bool),
        out: &mut Vec<u8>,
    ) -> Self {
        let (from, local) = match from {
            io::Addr::Tcp(address) => {
                let ip = address.ip().to_canonical();
                (ip.to_string(), ip.is_loopback())
            }
            io::Addr::Unix(_) => (SOCKET.to_owned(), true),
        };
        let told = admin.variable("mysql-server_version");
        let version = if told.is_empty() { Vars::FALLBACK_VERSION } else { &told };
        let greets = Greets { version, id, scramble, status: STATUS, offers_tls };
        let connection = Connection::greet(&greets, out);
        Self { from, local, connection, session: Session::new(Role::Reader, "", id) }
    }

    /// A proxy in front tells where it comes from, or that it cannot. What that proxy tells of this
    /// machine counts as little as what it tells of any other.
    pub(crate) fn present(&mut self, from: Option<IpAddr>) {
        self.local = false;
        if let Some(from) = from {
            self.from = from.to_canonical().to_string();
        }
    }

    /// A whole packet and its number.
    pub(crate) fn on_packet(
        &mut self,
        admin: &mut Admin,
        packet: (&[u8], u8),
        out: &mut Vec<u8>,
    ) -> Next {
        let scramble = || random::<20>().ok().map(nonce_of);
        let (mut desk, connection) = self.desk(admin);
        connection.on_packet(&mut desk, scramble, packet, out)
    }

    /// What it says is encrypted from now on; it was shown the certificate with that SHA-256.
    pub(crate) fn secured(&mut self, certificate: Option<[u8; 32]>) {
        self.connection.secured(certificate);
    }

    /// Judges the password of a client that has sent one.
    pub(crate) fn judge(&mut self, admin: &mut Admin, out: &mut Vec<u8>) -> Next {
        let (mut desk, connection) = self.desk(admin);
        connection.judge(&mut desk, out)
    }

    fn desk<'a>(&'a mut self, admin: &'a mut Admin) -> (Desk<'a>, &'a mut Connection) {
        let Self { from, local, connection, session } = self;
        let offer = admin.runtime.offer();
        let (local, began) = (*local, Instant::now());
        (Desk { admin, session, from, local, offer, began }, connection)
    }

    /// Whether it has proved who it is, and says nothing else now.
    pub(crate) fn is_in(&self) -> bool {
        self.connection.is_in()
    }

    /// The number of its next packet.
    pub(crate) fn seq(&self) -> u8 {
        self.connection.seq()
    }

    /// Whether it reads statistics only.
    pub(crate) fn is_reader(&self) -> bool {
        self.session.role == Role::Reader
    }

    /// An error outside of any statement.
    pub(crate) fn write_fault(&mut self, fault: AdminFault, out: &mut Vec<u8>) {
        self.connection.write_fault(&fault.into(), out);
    }
}

impl Handler for Desk<'_> {
    fn account(&mut self, user: &str) -> Option<Account> {
        find(self.admin, user).map(|(_, password)| Account { password })
    }

    fn wants_password(&self, user: &str) -> bool {
        let own = find(self.admin, user).map(|(_, password)| password);
        let stored = own.or_else(|| {
            // of names that are not there as many as of accounts
            let mut all = passwords(self.admin);
            let guesses = self.offer.as_ref().map(|offer| &offer.guesses);
            let number = guesses.map_or(0, |guesses| guesses.number_of(user.as_bytes()));
            let at = usize::try_from(number).unwrap_or(0).checked_rem(all.len())?;
            Some(all.swap_remove(at))
        });
        stored.is_some_and(|stored| sha2::rounds(stored.as_bytes()).is_some())
    }

    fn account_of_nobody(&self) -> Option<Account> {
        let slowest =
            passwords(self.admin).into_iter().max_by_key(|it| sha2::rounds(it.as_bytes()));
        slowest.map(|password| Account { password })
    }

    fn key(&self) -> Option<&ServerKey> {
        self.offer.as_ref().map(|offer| &*offer.key)
    }

    fn is_private(&self) -> bool {
        self.local && self.from == SOCKET
    }

    fn refuses_clear(&self) -> Option<Fault> {
        let is_demanded = self.admin.variable("admin-require_secure_transport") == "true";
        (is_demanded && !self.local).then(|| AdminFault::not_secure().into())
    }

    fn denied(&self, user: &str) -> Fault {
        let message = format!(
            "ProxySQL Error: Access denied for user '{user}'@'{}' (using password: YES)",
            self.from
        );
        AdminFault::refused(message).into()
    }

    fn begin(&mut self, user: &str, schema: &str) -> Result<(), Refusal> {
        let refusal = |why: &str| Refusal { fault: self.denied(user), why: why.to_owned() };
        let (role, _) = find(self.admin, user).ok_or_else(|| refusal("it is no more"))?;
        if is_local_only(self.admin, user) && !self.local {
            // whoever guesses from elsewhere is not told that the guess was right
            return Err(refusal("it may only connect locally"));
        }
        *self.session = Session::new(role, user, self.session.id);
        if !schema.is_empty() {
            schema.clone_into(&mut self.session.schema);
        }
        Ok(())
    }

    fn status(&self) -> Status {
        STATUS
    }

    fn warnings(&self) -> usize {
        self.session.warnings.len()
    }

    fn statements<'t>(&self, text: &'t str, several: bool) -> Result<Vec<&'t str>, Fault> {
        let parts = split(text);
        if parts.len() > 1 && !several {
            let message = "ProxySQL Admin Error: only one statement is allowed at a time";
            return Err(Fault::new(1064, b"42000", message));
        }
        Ok(parts)
    }

    fn run(&mut self, statement: &str, values: &[Cell]) -> Result<Answer, Fault> {
        if self.session.role == Role::Reader && self.began.elapsed() >= STATEMENT_LIMIT {
            return Err(AdminFault::interrupted().into());
        }
        let values: Vec<Value> = values.iter().map(value).collect();
        match self.admin.run(self.session, statement, &values)? {
            Reply::Done { affected_rows, message } => {
                Ok(Answer::Done { affected_rows, last_insert_id: 0, info: message })
            }
            Reply::Rows(found) => {
                let cell = |value: Option<Vec<u8>>| value.map_or(Cell::Null, Cell::Bytes);
                let row = |row: Vec<Option<Vec<u8>>>| row.into_iter().map(cell).collect();
                let rows = found.rows.into_iter().map(row).collect();
                Ok(Answer::Rows(Rows { columns: columns(found.columns), rows }))
            }
        }
    }

    fn describe(&mut self, statement: &str) -> Result<Description, Fault> {
        let found = self.admin.prepare(self.session, statement)?;
        Ok(Description { columns: columns(found.columns), parameters: found.parameters })
    }

    fn use_schema(&mut self, schema: &str) -> Result<(), Fault> {
        schema.clone_into(&mut self.session.schema);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Fault> {
        self.session.warnings.clear();
        Ok(())
    }

    fn prepared_bytes(&self) -> Option<(usize, Fault)> {
        let message = "ProxySQL Admin Error: the prepared statements of a statistics account may \
                       have 256 KiB; close some";
        let fault = || AdminFault::refused(message).into();
        (self.session.role == Role::Reader).then(|| (READERS_STATEMENT_BYTES_MAX, fault()))
    }
}

impl From<AdminFault> for Fault {
    fn from(AdminFault { code, sqlstate, message, .. }: AdminFault) -> Self {
        Self { code, sqlstate, message }
    }
}

/// The role and the password of an account, as variables in force have them.
fn find(admin: &Admin, user: &str) -> Option<(Role, String)> {
    let listed =
        |name: &str, role: Role| Some((role, password_in(&admin.variable(name), user)?.to_owned()));
    listed("admin-admin_credentials", Role::Administrator)
        .or_else(|| listed("admin-stats_credentials", Role::Reader))
        .or_else(|| {
            let known = !user.is_empty() && user == admin.variable("mysql-monitor_username");
            known.then(|| (Role::Reader, admin.variable("mysql-monitor_password")))
        })
}

/// The passwords of all accounts.
fn passwords(admin: &Admin) -> Vec<String> {
    let lists = ["admin-admin_credentials", "admin-stats_credentials"];
    let lists = lists.map(|name| admin.variable(name));
    let listed = lists.iter().flat_map(|list| credentials(list));
    listed.map(|(_, password)| password.to_owned()).collect()
}

/// Whether an account may come from this machine only.
fn is_local_only(admin: &Admin, user: &str) -> bool {
    user == "admin" || user == "stats" || user == admin.variable("mysql-monitor_username")
}

/// Columns as a client is told of them: every one is a text, as ProxySQL's are.
fn columns(names: Vec<String>) -> Vec<Column> {
    let column = |name| Column {
        name,
        kind: ColumnKind::VAR_STRING,
        flags: ColumnFlags::NOT_NULL,
        collation: UTF8,
        length: 15,
        decimals: 0x1f,
    };
    names.into_iter().map(column).collect()
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => Value::Integer(*number),
        Cell::Double(number) => Value::Real(*number),
        // clients send text and bytes alike: what is UTF-8 is text
        Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.clone()),
        },
    }
}

/// Where clients of a Unix socket come from.
const SOCKET: &str = "localhost";
/// The id of the collation `utf8_general_ci`.
const UTF8: u16 = 33;
/// Bytes of texts and values of all prepared statements of a statistics account's client.
const READERS_STATEMENT_BYTES_MAX: usize = 256 << 10;

#[cfg(test)]
mod tests;
