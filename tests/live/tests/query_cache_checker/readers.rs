//! Threads that ask for versions through the proxy, and one that asks each server alone.

use std::collections::HashMap;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use live::dice::Dice;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::book::Book;
use crate::stage::Stage;
use crate::subjects::{FORMS, Form, SUBJECTS, question};
use crate::tally::Tally;

/// How much older than what others have written an answer may be: what logs may lag, a tenth of a
/// second, and as much again for clients that are late themselves.
const OTHERS_BOUND: Duration = Duration::from_millis(700);

/// What a session has been told, by subject, form and hostgroup.
#[derive(Default)]
struct Told {
    reign: u64,
    versions: HashMap<(usize, Form, bool), u64>,
}

/// Asks at random until everything ends.
pub(crate) fn read(stage: &Stage, book: &Book, reader: usize) -> Tally {
    let (mut dice, mut tally) = (Dice(reader as u64), Tally::default());
    // a session that reads what nobody has read yet is tied to its server: one for each hostgroup
    let (mut conns, mut told) = ([None, None], Told::default());
    while !book.is_over() {
        thread::sleep(Duration::from_micros(1_000 + dice.below(5_000)));
        // behind definitions, sessions keep connections
        if book.is_to_connect(SUBJECTS.len() + reader) || dice.below(500) == 0 {
            conns = [None, None];
            told = Told::default();
        }
        let subject = dice.below(SUBJECTS.len() as u64) as usize;
        let (form, far) = (dice.pick(&FORMS), dice.percent(40));
        let conn = &mut conns[usize::from(far)];
        let Some(session) = conn else {
            *conn = stage.client(None).ok();
            continue;
        };
        let (reign, began) = (book.reign.load(SeqCst), Instant::now());
        match ask(session, subject, form, far) {
            Ok(None) => tally.count("reads without a row"),
            Ok(Some(version)) => {
                tally.count(if far { "reads of readers" } else { "reads of the writer" });
                judge(book, &mut tally, (subject, form, far), (version, began));
                told.follow(book, (subject, form, far), version, reign);
            }
            Err(mysql::Error::MySqlError(error)) => {
                tally.count(format!("reads refused: {}", error.code));
            }
            Err(_) => {
                tally.count("reads lost");
                *conn = None;
            }
        }
    }
    tally
}

/// The version of a subject.
pub(crate) fn ask(
    conn: &mut Conn,
    subject: usize,
    form: Form,
    far: bool,
) -> mysql::Result<Option<u64>> {
    let text = question(subject, form, far);
    match form {
        Form::Prepared => conn.exec_first(text, (1,)),
        Form::Text | Form::View => conn.query_first(text),
    }
}

fn judge(
    book: &Book,
    tally: &mut Tally,
    (subject, form, far): (usize, Form, bool),
    (version, began): (u64, Instant),
) {
    let what = || format!("{:?} {subject} by {form:?}, far {far}: {version}", SUBJECTS[subject]);
    if book.is_unheard_of(subject, version) {
        book.note_wrong(format!("{} was never written", what()));
    }
    let behind = match far {
        false => book.behind_writers(subject, version, began),
        true => book.behind_servers(subject, version, began),
    };
    tally.behind(if far { "readers" } else { "writer" }, behind);
    if behind > OTHERS_BOUND {
        book.note_wrong(format!("{} was old for {behind:?}", what()));
    }
}

impl Told {
    /// An answer came to a question that was asked under that reign: the same question is never
    /// answered with an older version by the same server.
    fn follow(&mut self, book: &Book, asked: (usize, Form, bool), version: u64, reign: u64) {
        // other servers answer in the hostgroup of readers when one of them is the writer
        if book.reign.load(SeqCst) != reign || self.reign != reign || reign % 2 == 1 {
            self.versions.retain(|(_, _, far), _| !far);
            self.reign = book.reign.load(SeqCst);
            if asked.2 {
                return;
            }
        }
        let last = self.versions.entry(asked).or_default();
        if version < *last {
            let (subject, form, far) = asked;
            let way = SUBJECTS[subject];
            book.note_wrong(format!(
                "{way:?} {subject} by {form:?}, far {far}: from {last} back to {version}"
            ));
        }
        *last = version;
    }
}

/// Asks a server alone for everything, again and again.
pub(crate) fn watch(stage: &Stage, book: &Book, server: usize) {
    let mut conn = None;
    while !book.is_over() {
        thread::sleep(Duration::from_millis(20));
        let Some(session) = &mut conn else {
            conn = stage.client(Some(server)).ok();
            continue;
        };
        let mut versions = Vec::new();
        for subject in 0..SUBJECTS.len() {
            match ask(session, subject, Form::Text, true) {
                Ok(version) => versions.push(version),
                Err(mysql::Error::MySqlError(_)) => versions.push(None),
                Err(_) => break,
            }
        }
        match versions.len() == SUBJECTS.len() {
            true => book.show(server, versions),
            false => conn = None,
        }
    }
}
