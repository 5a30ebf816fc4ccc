//! Threads that write new versions of one subject each, through the proxy and past it. Behind a
//! write through the proxy the same session asks for it, at once and for as long as a pulse takes.

use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use live::dice::Dice;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::book::Book;
use crate::readers::ask;
use crate::stage::Stage;
use crate::subjects::{FORMS, SUBJECTS, Way, change};
use crate::tally::Tally;

/// How a statement is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// Past the proxy.
    Direct,
    Text,
    Prepared,
    /// Texts, between `BEGIN` and `COMMIT`.
    Transaction,
    /// Texts without autocommit, and a `COMMIT`.
    NoAutocommit,
    /// Texts without autocommit, which ends with that.
    AutocommitAgain,
}

const THROUGH: [By; 5] =
    [By::Text, By::Prepared, By::Transaction, By::NoAutocommit, By::AutocommitAgain];

/// Writes until everything ends.
pub(crate) fn write(stage: &Stage, book: &Book, subject: usize) -> Tally {
    let (mut dice, mut tally) = (Dice(subject as u64), Tally::default());
    let way = SUBJECTS[subject];
    let defines = matches!(way, Way::Alter | Way::Truncate | Way::Recreate | Way::Rename);
    let (mut through, mut direct) = (None, None);
    while !book.is_over() {
        pause(
            book,
            Duration::from_millis(match defines {
                true => 2_000 + dice.below(2_000),
                false => 30 + dice.below(300),
            }),
        );
        if book.is_to_connect(subject) {
            (through, direct) = (None, None);
        }
        book.defining.fetch_add(usize::from(defines), SeqCst);
        let _over = Over(book, defines);
        if defines && book.is_quiet.load(SeqCst) {
            continue;
        }
        let by = match way {
            _ if dice.percent(40) => By::Direct,
            Way::Update | Way::Cascade | Way::Trigger => dice.pick(&THROUGH),
            _ => By::Text,
        };
        let place = (by == By::Direct).then(|| book.primary.load(SeqCst));
        let conn = if by == By::Direct { &mut direct } else { &mut through };
        // the primary may be another one by now
        let known = conn.take().filter(|(server, _)| *server == place);
        let known = known.or_else(|| Some((place, stage.client(place).ok()?)));
        let Some((_, session)) = known else { continue };
        let mut session = session;
        let version = book.issue(subject);
        let written = send(&mut session, by, &change(subject, version));
        match written {
            Ok(()) => {
                book.acknowledge(subject, version);
                let side = if by == By::Direct { "directly" } else { "through Tidegate" };
                tally.count(format!("writes, {way:?}, {side}"));
                if by == By::Direct
                    || reads_back(book, &mut tally, &mut session, (subject, version), &mut dice)
                {
                    *conn = Some((place, session));
                }
            }
            Err(error) => tally.count(format!("writes that failed: {}", told(&error))),
        }
    }
    tally
}

/// A definition under way, if it is one, until this is dropped.
struct Over<'b>(&'b Book, bool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.defining.fetch_sub(usize::from(self.1), SeqCst);
    }
}

/// Waits, or until everything ends.
fn pause(book: &Book, length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until && !book.is_over() {
        thread::sleep(length.min(Duration::from_millis(20)));
    }
}

fn send(conn: &mut Conn, by: By, statements: &[String]) -> mysql::Result<()> {
    let (before, behind) = match by {
        By::Direct | By::Text | By::Prepared => ("", ""),
        By::Transaction => ("BEGIN", "COMMIT"),
        By::NoAutocommit => ("SET autocommit = 0", "COMMIT"),
        By::AutocommitAgain => ("SET autocommit = 0", "SET autocommit = 1"),
    };
    let mut run = |text: &str| if text.is_empty() { Ok(()) } else { conn.query_drop(text) };
    run(before)?;
    if by != By::Prepared {
        statements.iter().try_for_each(|statement| run(statement))?;
        run(behind)?;
        return if by == By::NoAutocommit { run("SET autocommit = 1") } else { Ok(()) };
    }
    statements.iter().try_for_each(|statement| conn.exec_drop(statement, ()))
}

/// Asks for what was written, in the same session; `false` where that was lost.
fn reads_back(
    book: &Book,
    tally: &mut Tally,
    conn: &mut Conn,
    (subject, version): (usize, u64),
    dice: &mut Dice,
) -> bool {
    let asks = 3 + if dice.percent(30) { 40 } else { 0 };
    for number in 0..asks {
        let form = FORMS[number % FORMS.len()];
        match ask(conn, subject, form, false) {
            Ok(Some(told)) if told == version => tally.count("own writes read"),
            Ok(told) => {
                let way = SUBJECTS[subject];
                book.note_wrong(format!(
                    "{way:?} {subject} by {form:?}: wrote {version}, then read {told:?} \
                     (question {number})"
                ));
            }
            Err(error) => {
                tally.count(format!("own writes not read: {}", told(&error)));
                return false;
            }
        }
        if number > 2 {
            thread::sleep(Duration::from_millis(dice.below(6)));
        }
    }
    true
}

/// An error as far as it is the same for many.
fn told(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("{}", error.code),
        _ => "the connection is lost".to_owned(),
    }
}
