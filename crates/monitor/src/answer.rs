//! The answer to a statement, or why there is none. Deliberately knows no statements.

use wire::reply::ErrPacket;
use wire::text_result::{TextReader, TextResult, TextRow};

/// What a server answered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct ServerAnswer(TextResult);

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    /// The server's error.
    Refused(u16, String),
    /// It is none that is understood.
    Malformed,
}

/// Bytes of an answer that are kept; checks have answers of some hundreds.
const BYTES_MAX: usize = 1 << 20;

impl ServerAnswer {
    /// The value of a column in a row; `None` for NULL, and for what is not there.
    pub(crate) fn value(&self, row: usize, column: &str) -> Option<&str> {
        let at = self.0.columns.iter().position(|own| own.eq_ignore_ascii_case(column))?;
        self.0.rows.get(row)?.get(at)?.as_deref()
    }

    /// Whether there is a column of that name.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.0.columns.iter().any(|own| own.eq_ignore_ascii_case(column))
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.0.rows.len()
    }

    /// The second column of the row whose first is that, in any case: a variable's value.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        let is_it = |row: &&TextRow| {
            let own = row.first().and_then(Option::as_deref);
            own.is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        self.0.rows.iter().find(is_it)?.get(1)?.as_deref()
    }

    #[cfg(test)]
    pub(crate) fn of(columns: &[&str], rows: &[&[Option<&str>]]) -> Self {
        let row = |row: &&[Option<&str>]| row.iter().map(|it| it.map(str::to_owned)).collect();
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        let rows = rows.iter().map(row).collect();
        Self(TextResult { columns, rows, ..TextResult::default() })
    }
}

/// An answer as far as it has come.
#[derive(Default)]
pub(crate) struct AnswerReader {
    reader: TextReader,
    bytes: usize,
}

impl AnswerReader {
    /// Takes the next packet; gives the answer with its last one.
    pub(crate) fn on_packet(&mut self, payload: &[u8]) -> Option<Result<ServerAnswer, Unanswered>> {
        if ErrPacket::is(payload) {
            let refused = match ErrPacket::parse(payload) {
                Ok(err) => {
                    let message = String::from_utf8_lossy(err.message).into_owned();
                    Unanswered::Refused(err.code, message)
                }
                Err(_) => Unanswered::Malformed,
            };
            return Some(Err(refused));
        }
        self.bytes += payload.len();
        match self.reader.on_packet(payload) {
            Ok(Some(result)) => Some(Ok(ServerAnswer(result))),
            Ok(None) if self.bytes <= BYTES_MAX => None,
            _ => Some(Err(Unanswered::Malformed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::frame::{self, Framed};
    use wire::reply::{ColumnDef, OkPacket, write_ok, write_text_result};
    use wire::{Caps, Status};

    use super::*;

    fn read(bytes: &[u8]) -> Vec<Result<ServerAnswer, Unanswered>> {
        let (mut reading, mut rest, mut answers) = (AnswerReader::default(), bytes, Vec::new());
        while let Framed::Packet(packet) = frame::next_packet(rest) {
            if let Some(answer) = reading.on_packet(packet.payload) {
                answers.push(answer);
                reading = AnswerReader::default();
            }
            rest = &rest[packet.len..];
        }
        answers
    }

    #[test]
    fn answers_are_read_one_after_the_other() {
        let mut bytes = Vec::new();
        write_ok(&mut bytes, &mut 1, Caps::PROTOCOL_41, &OkPacket::default());
        let columns = [ColumnDef::text(b"read_only"), ColumnDef::text(b"b")];
        let rows: [&[Option<&[u8]>]; 2] = [&[Some(b"1"), None], &[Some(b"x"), Some(b"")]];
        write_text_result(
            &mut bytes,
            &mut 1,
            Caps::PROTOCOL_41,
            &columns,
            &rows,
            Status::default(),
        );
        frame::write_packet(&mut bytes, &mut 1, b"\xff\x10\x04#08004Too many");
        let rows: [&[_]; 2] = [&[Some("1"), None], &[Some("x"), Some("")]];
        let result = ServerAnswer::of(&["read_only", "b"], &rows);
        assert_eq!(result.value(0, "READ_ONLY"), Some("1"));
        assert_eq!((result.named("X"), result.value(0, "b")), (Some(""), None));
        let refused = Unanswered::Refused(1040, "Too many".to_owned());
        assert_eq!(read(&bytes), [Ok(ServerAnswer::default()), Ok(result), Err(refused)]);
    }

    #[test]
    fn what_is_no_answer_is_said_to_be_none_and_one_without_end_too() {
        let mut bytes = Vec::new();
        frame::write_packet(&mut bytes, &mut 1, &[0xfc]);
        assert_eq!(read(&bytes), [Err(Unanswered::Malformed)]);
        let mut reading = AnswerReader::default();
        assert!(reading.on_packet(&[1]).is_none());
        let mut column = Vec::new();
        ColumnDef::text(b"a").encode(Caps::NONE, &mut column);
        assert!(reading.on_packet(&column).is_none());
        assert!(reading.on_packet(&[0xfe, 0, 0, 2, 0]).is_none());
        let row = [&[0xfd, 0, 0, 4][..], &vec![b'x'; 4 << 16]].concat();
        let answers = (0..8).find_map(|_| reading.on_packet(&row));
        assert_eq!(answers, Some(Err(Unanswered::Malformed)));
    }
}
