//! The bytes that scenarios send: commands of a client and replies of a server.
//!
//! Decides their sizes, which are those of sysbench's point selects and range selects.

use engine::catalog::Part;
use wire::command::write_query;
use wire::frame::{write_packet, write_with};
use wire::reply::{ColumnDef, OkPacket, write_ok, write_prepare_ok, write_text_result};
use wire::{Caps, Status};

/// What both sides of the scenarios agree on: a current client and MariaDB 10.11.
pub const CAPS: Caps = Caps::PROTOCOL_41
    .union(Caps::SECURE_CONNECTION)
    .union(Caps::PLUGIN_AUTH)
    .union(Caps::PLUGIN_AUTH_LENENC)
    .union(Caps::CONNECT_ATTRS)
    .union(Caps::CONNECT_WITH_DB)
    .union(Caps::TRANSACTIONS)
    .union(Caps::MULTI_RESULTS)
    .union(Caps::PS_MULTI_RESULTS)
    .union(Caps::SESSION_TRACK)
    .union(Caps::DEPRECATE_EOF);

/// The text of a point select.
pub const POINT_SELECT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=5012";

/// The text of an update of one row.
pub const POINT_UPDATE: &[u8] = b"UPDATE sbtest1 SET k=k+1 WHERE id=5012";
/// The text of an insert of one row.
pub const INSERT: &[u8] =
    b"INSERT INTO sbtest1 (k, c, pad) VALUES (5012, 'a row', 'of some bytes')";

/// A text long enough to show what a byte of it costs.
pub const LONG_SELECT: &[u8] = b"SELECT /* list of orders */ o.id, o.created_at, \
    c.name AS customer, SUM(l.amount * l.price) AS total, COUNT(*) FROM orders o \
    JOIN customers c ON c.id = o.customer_id LEFT JOIN order_lines l ON l.order_id = o.id \
    WHERE o.status IN ('new', 'paid', 'it''s sent') AND \
    o.created_at BETWEEN '2024-01-01 00:00:00' AND '2024-12-31 23:59:59' AND \
    c.country = \"DE\" GROUP BY o.id, o.created_at, c.name HAVING total > 100.50 \
    ORDER BY o.created_at DESC LIMIT 50 OFFSET 100";

/// A query of 200 bytes, with names, values, a list and marks in usual proportions.
pub const QUERY_200: &[u8] = b"SELECT o.id, o.status, c.id, SUM(l.sum) FROM orders o \
    JOIN customers c ON c.id = o.customer_id WHERE o.status IN ('new', 'paid', 'sent') \
    AND o.total > 100.50 AND c.country = 'DE' ORDER BY o.id LIMIT 5";
const _: () = assert!(QUERY_200.len() == 200, "as it is called");

/// A `COM_QUERY` as it comes from a client.
pub fn query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_query(&mut out, text);
    out
}

/// A payload framed as the first packet of a command.
pub fn packet(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_packet(&mut out, &mut 0, payload);
    out
}

/// A server's result of so many rows of one column with 119 bytes, sysbench's `c`.
pub fn result(rows: usize) -> Vec<u8> {
    let value: Vec<u8> = (0..119u8).map(|n| b'0' + n % 10).collect();
    let row: &[Option<&[u8]>] = &[Some(&value)];
    let rows = vec![row; rows];
    let mut out = Vec::new();
    let columns = [ColumnDef::text(b"c")];
    write_text_result(&mut out, &mut 1, CAPS, &columns, &rows, Status::AUTOCOMMIT);
    out
}

/// A server's answer to what the proxy asks for itself: about a mode that changes no reading, and
/// about stored code, of which there is none, but tables.
pub fn for_the_proxy(payload: &[u8]) -> Option<Vec<u8>> {
    const TABLES: [&str; 5] = ["sbtest1", "orders", "customers", "order_lines", "lines"];
    let text = payload.get(1..)?;
    if text == b"SELECT @@sql_mode, @@autocommit, @@completion_type, @@init_connect<>''" {
        let mut out = Vec::new();
        let columns =
            [&b"@@sql_mode"[..], b"@@autocommit", b"@@completion_type", b"@@init_connect<>''"];
        let columns = columns.map(ColumnDef::text);
        let row = [&b""[..], b"1", b"NO_CHAIN", b"0"].map(Some);
        write_text_result(&mut out, &mut 1, CAPS, &columns, &[&row], Status::AUTOCOMMIT);
        return Some(out);
    }
    let rows: Vec<[&str; 4]> = match Part::asked_by(text)? {
        Part::Sight => vec![["", "10.11.0-MariaDB", "", ""]],
        Part::Tables => TABLES.map(|table| ["", table, "", ""]).into(),
        Part::Columns => TABLES.map(|table| ["NUMBER", table, "", "c"]).into(),
        _ => Vec::new(),
    };
    let rows: Vec<_> = rows.iter().map(|row| row.map(|cell| Some(cell.as_bytes()))).collect();
    let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(<[_; 4]>::as_slice).collect();
    let columns = [b"schema".as_slice(), b"name", b"about", b"text"].map(ColumnDef::text);
    let mut out = Vec::new();
    write_text_result(&mut out, &mut 1, CAPS, &columns, &rows, Status::AUTOCOMMIT);
    Some(out)
}

/// A server's reply to preparing a statement of one parameter and one column.
pub fn prepared() -> Vec<u8> {
    let (params, columns) = ([ColumnDef::integer(b"?")], [ColumnDef::text(b"c")]);
    let mut out = Vec::new();
    write_prepare_ok(&mut out, &mut 1, CAPS, 3, &params, &columns, Status::AUTOCOMMIT);
    out
}

/// The first execution, with a number, of what was prepared by such a reply, and those after it:
/// the first tells the types, the others do not, as client libraries do.
pub fn executions(prepared: &[u8]) -> [Vec<u8>; 2] {
    let id = &prepared[5..9];
    let head = [&[0x17], id, &[0, 1, 0, 0, 0, 0]].concat();
    [&[1, 3, 0, 7, 0, 0, 0][..], &[0, 7, 0, 0, 0]].map(|rest| packet(&[&head, rest].concat()))
}

/// A server's OK to anything.
pub fn ok(mut seq: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
    write_ok(&mut out, &mut seq, CAPS, &ok);
    out
}

/// A payload framed with this sequence number.
pub fn framed(mut seq: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write_with(&mut out, &mut seq, fill);
    out
}
