//! No session feels another. For every statement for which a session keeps no connection, it gets
//! one that another has just had and marked. It is answered the same bytes as directly.
//!
//! `TIDEGATE_ADVERSARY_SEEDS=FROM..TO` says which scripts of the generator are run. The long form
//! runs them with every set of settings, or with those that `TIDEGATE_ADVERSARY_SETTINGS` names.

mod end;
mod generator;
mod known_table;
mod lanes;
mod marks_table;
mod minimise;
mod neighbours;
mod planted;
mod schema_table;
mod script;
mod settings_table;
mod stage;
mod statements_table;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lab::Flavour;

use crate::known_table::{IN_TURN, KNOWN, Known};
use crate::script::{Line, Manner, Script};
use crate::settings_table::{SETTINGS, Settings};
use crate::stage::Stage;

/// The schema that the session suite's scripts begin with.
const SCHEMA: &str = "DROP DATABASE IF EXISTS test; CREATE DATABASE test; \
    CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(10)); \
    CREATE TABLE test.u (a INT); COMMIT";

/// How many generated scripts run one after the other in one schema.
const BATCH: u64 = 10;

/// After so many differences no further one is looked for.
const WRONG_MAX: usize = 30;

/// Runs scripts of the session suite, some of them with several lines sent ahead; what differs.
fn run_files(stage: &mut Stage, form: &Form, except: &[&str]) -> Vec<String> {
    stage.schema = SCHEMA.into();
    let mut wrong = Vec::new();
    let known: Vec<&str> = here(stage.flavour).flat_map(|known| known.names).copied().collect();
    let is_in = |names: &[&str], name: &str| names.iter().any(|part| name.contains(part));
    let in_turn: Vec<&str> = IN_TURN.iter().map(|(name, _)| *name).collect();
    let mut scripts = script::of_files(stage.flavour);
    // neighbours have to be of the same kind
    scripts.sort_by_key(|script| script.no_eof);
    let scripts = scripts.iter().enumerate().filter(|(at, _)| at % form.files_of == 0);
    for (at, script) in
        scripts.filter(|(_, script)| !is_in(&known, &script.name) && !is_in(except, &script.name))
    {
        let has_file = script.lines.iter().any(|line| line.to_string().contains("LOCAL"));
        let ahead = (form.files_ahead || at % 4 == 0) && !has_file;
        let ahead = ahead && !is_in(&in_turn, &script.name);
        for manner in [Manner::InTurn, Manner::Ahead(3)] {
            if manner != Manner::InTurn && !ahead {
                continue;
            }
            stage.reset();
            let script = Script { manner, ..script.clone() };
            for difference in stage.compare(&script) {
                wrong.push(format!("{} ({manner:?}): {difference}", script.name));
            }
        }
    }
    wrong
}

/// Differences that are known; those that are none any more.
fn run_known(stage: &mut Stage) -> Vec<String> {
    let mut wrong = Vec::new();
    for known in here(stage.flavour) {
        let lines = known.script.iter().map(|line| Line::parse(line)).collect();
        stage.reset();
        if stage.compare(&Script { lines, ..Script::default() }).is_empty() {
            wrong.push(format!("mended, so take it out of the table: {}", known.why));
        }
    }
    wrong
}

/// The known differences with this kind of server.
fn here(flavour: Flavour) -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().filter(move |known| known.only.is_none_or(|only| only == flavour))
}

/// Runs generated scripts; what differs, made as short as possible.
fn run_generated(stage: &mut Stage, seeds: Range<u64>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut batch = Vec::new();
    for seed in seeds {
        if batch.is_empty() || seed % BATCH == 0 {
            batch.clear();
            stage.reset_and_read();
        }
        let script = generator::script(stage.flavour, seed);
        batch.push(script.clone());
        let found = stage.compare(&script);
        if found.is_empty() {
            continue;
        }
        let sessions = std::mem::take(&mut batch);
        match minimise::minimise(stage, sessions) {
            None => wrong.push(format!("seed {seed}, once only: {}\n{script}", found[0])),
            Some((sessions, found)) => {
                let told: Vec<_> = sessions.iter().map(ToString::to_string).collect();
                wrong.push(format!("{}{}", told.join(""), found[0]));
            }
        }
        println!("{}", wrong[wrong.len() - 1]);
        if wrong.len() >= WRONG_MAX {
            break;
        }
    }
    wrong
}

fn generated_schema(flavour: Flavour) -> String {
    let own = schema_table::SCHEMA.iter().filter_map(|text| script::of(flavour, text));
    own.collect::<Vec<_>>().join("; ")
}

/// How much is run.
struct Form {
    /// One of so many scripts of the session suite.
    files_of: usize,
    /// Each of them also with lines sent ahead.
    files_ahead: bool,
    /// Scripts of the generator.
    seeds: Range<u64>,
    /// Sets of settings.
    settings: Vec<&'static Settings>,
}

impl Form {
    fn of(flavour: Flavour, beside_readers: bool) -> Self {
        let seeds = std::env::var("TIDEGATE_ADVERSARY_SEEDS").ok().map(|seeds| {
            let (from, to) = seeds.split_once("..").expect("FROM..TO");
            from.parse().expect("a number")..to.parse().expect("a number")
        });
        let settings = std::env::var("TIDEGATE_ADVERSARY_SETTINGS").ok();
        let wanted =
            |set: &&Settings| settings.as_deref().is_none_or(|names| names.contains(set.name));
        let is_full = live::full();
        let by_default = match (is_full, flavour, beside_readers) {
            (true, _, false) => 0..850,
            (true, _, true) => 850..1_700,
            (false, Flavour::MariaDb, false) => 0..200,
            (false, Flavour::MariaDb, true) => 0..40,
            (false, Flavour::MySql, false) => 0..30,
            (false, Flavour::MySql, true) => 0..10,
        };
        Self {
            files_of: if is_full || flavour == Flavour::MariaDb { 1 } else { 4 },
            files_ahead: is_full,
            seeds: seeds.unwrap_or(by_default),
            settings: match is_full {
                true => SETTINGS.iter().filter(wanted).collect(),
                false => vec![&SETTINGS[0]],
            },
        }
    }
}

fn no_session_feels_another(flavour: Flavour, readers: usize) {
    let form = Form::of(flavour, readers > 0);
    let mut wrong = Vec::new();
    for settings in &form.settings {
        let Some(mut stage) = Stage::start(flavour, settings, readers) else { return };
        let mut found = Vec::new();
        if readers == 0 {
            found.extend(run_files(&mut stage, &form, settings.except));
            println!("{}: {} lines of files, {:?}", settings.name, stage.lines, stage.served);
        }
        stage.schema = generated_schema(flavour);
        if readers == 0 && settings.name == SETTINGS[0].name {
            found.extend(run_known(&mut stage));
        }
        found.extend(run_generated(&mut stage, form.seeds.clone()));
        let (served, refused) = (stage.served, stage.refused);
        println!("{}, {}: {} lines, {served:?}", flavour.name(), settings.name, stage.lines);
        println!("{:?}, of which {refused} were refused", form.seeds);
        // it would prove nothing where sessions kept their connections, or got new ones
        let enough = served.marked * settings.marked_of > stage.lines;
        found.extend((!enough).then(|| format!("{served:?}")));
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", settings.name)));
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_session_feels_another_with_mariadb() {
    no_session_feels_another(Flavour::MariaDb, 0);
}

#[test]
fn no_session_feels_another_with_mysql() {
    no_session_feels_another(Flavour::MySql, 0);
}

#[test]
fn no_session_feels_another_beside_readers_of_mariadb() {
    no_session_feels_another(Flavour::MariaDb, 1);
}

#[test]
fn no_session_feels_another_beside_readers_of_mysql() {
    no_session_feels_another(Flavour::MySql, 1);
}

/// Whoever comes upon it: the session under test, or a neighbour that finds its own changed.
#[test]
fn whatever_is_left_out_is_found() {
    let Some(mut stage) = Stage::start(Flavour::MariaDb, &SETTINGS[0], 0) else { return };
    stage.schema = generated_schema(Flavour::MariaDb);
    let mut unseen = Vec::new();
    for (omission, lines) in planted::all() {
        stage.reset();
        let script = Script { lines, ..Script::default() };
        let found = catch_unwind(AssertUnwindSafe(|| {
            stage.plant(omission);
            !stage.compare(&script).is_empty()
        }));
        if !found.unwrap_or(true) {
            unseen.push(format!("{omission:?}"));
        }
    }
    assert!(unseen.is_empty(), "not seen: {}", unseen.join(", "));
}
