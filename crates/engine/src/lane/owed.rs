//! Whether a server still has something to do for a client that it is relayed to. Bytes are relayed
//! without being parsed: it is told by which side spoke last. A server that has begun its reply and
//! stands still counts as done; it notices by itself that its client reads no more.

use wire::command::code;
use wire::frame::{Framed, next_packet};

/// What the server of a relayed client is known to have left to do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Owed {
    /// It spoke last, or nobody asked it anything.
    #[default]
    Nothing,
    /// A reply, of which nothing has come.
    Reply,
    /// What never ends by itself: its binary logs.
    Log,
}

impl Owed {
    /// The client sent this.
    #[must_use]
    pub fn after_client(self, bytes: &[u8]) -> Self {
        // of a command that came whole and alone
        let command = match next_packet(bytes) {
            Framed::Packet(packet) if packet.len == bytes.len() => packet.payload.first(),
            _ => None,
        };
        match command {
            Some(&code::QUIT) => self,
            Some(&(code::BINLOG_DUMP | code::BINLOG_DUMP_GTID)) => Self::Log,
            // what is acknowledged of a log ends no log
            _ if self == Self::Log => Self::Log,
            _ => Self::Reply,
        }
    }

    /// The server sent something.
    #[must_use]
    pub fn after_server(self) -> Self {
        if self == Self::Log { Self::Log } else { Self::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_spoke_last_says_whether_a_reply_is_owed() {
        let query = [9, 0, 0, 0, code::QUERY, b'S', b'E', b'L', b'E', b'C', b'T', b' ', b'1'];
        let (quit, ping) = ([1, 0, 0, 0, code::QUIT], [1, 0, 0, 0, code::PING]);
        let dump = [2, 0, 0, 0, code::BINLOG_DUMP, 0];
        let both = [&query[..], &quit].concat();
        for (sent, owed, once_answered) in [
            (&query[..], Owed::Reply, Owed::Nothing),
            (&query[..7], Owed::Reply, Owed::Nothing),
            (&ping, Owed::Reply, Owed::Nothing),
            (&quit, Owed::Nothing, Owed::Nothing),
            // the reply in front of it is still owed
            (&both, Owed::Reply, Owed::Nothing),
            (&dump, Owed::Log, Owed::Log),
        ] {
            let after = Owed::Nothing.after_client(sent);
            assert_eq!((after, after.after_server()), (owed, once_answered), "{sent:?}");
        }
        assert_eq!(Owed::Log.after_client(&query), Owed::Log);
        assert_eq!(Owed::Reply.after_client(&quit), Owed::Reply);
    }
}
