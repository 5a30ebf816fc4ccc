//! How a dump is asked for.

use crate::Position;

/// What a connection that is to be sent a log says first, on either kind of server: that it reads
/// checksums as they are written and all events of MariaDB, and how often it wants to hear that
/// nothing happens, in nanoseconds.
pub const REGISTER: &str = "SET @master_binlog_checksum = @@global.binlog_checksum, \
    @source_binlog_checksum = @@global.binlog_checksum, \
    @master_heartbeat_period = 500000000, @source_heartbeat_period = 500000000, \
    @mariadb_slave_capability = 4";

/// What follows the first byte of `COM_BINLOG_DUMP`: all that is behind `from`, to a reader of that
/// id. `None` where the request has no room for the offset.
pub fn dump(reader_id: u32, from: &Position) -> Option<Vec<u8>> {
    let offset = u32::try_from(from.offset).ok()?;
    let mut body = offset.to_le_bytes().to_vec();
    // the connection stays when the log is at its end
    body.extend_from_slice(&0_u16.to_le_bytes());
    body.extend_from_slice(&reader_id.to_le_bytes());
    body.extend_from_slice(&from.file);
    Some(body)
}
