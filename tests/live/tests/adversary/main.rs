//! No session feels another: sessions get, for every statement for which they keep no connection,
//! one that somebody else has just had and marked, and are answered the same bytes as directly.
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

use crate::known_table::{KNOWN, Known};
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
fn run_files(stage: &mut Stage, form: &Form) -> Vec<String> {
    stage.schema = SCHEMA.into();
    let mut wrong = Vec::new();
    let known: Vec<&str> = here(stage.flavour).flat_map(|known| known.names).copied().collect();
    let is_known = |name: &str| known.iter().any(|part| name.contains(part));
    let scripts = script::of_files(stage.flavour);
    let scripts = scripts.iter().enumerate().filter(|(at, _)| at % form.files_of == 0);
    for (at, script) in scripts.filter(|(_, script)| !is_known(&script.name)) {
        let has_file = script.lines.iter().any(|line| line.to_string().contains("LOCAL"));
        let ahead = (form.files_ahead || at % 4 == 0) && !has_file;
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
            stage.reset();
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
    fn of(flavour: Flavour) -> Self {
        let seeds = std::env::var("TIDEGATE_ADVERSARY_SEEDS").ok().map(|seeds| {
            let (from, to) = seeds.split_once("..").expect("FROM..TO");
            from.parse().expect("a number")..to.parse().expect("a number")
        });
        let settings = std::env::var("TIDEGATE_ADVERSARY_SETTINGS").ok();
        let wanted =
            |set: &&Settings| settings.as_deref().is_none_or(|names| names.contains(set.name));
        match (live::full(), flavour) {
            (true, _) => Self {
                files_of: 1,
                files_ahead: true,
                seeds: seeds.unwrap_or(0..1_700),
                settings: SETTINGS.iter().filter(wanted).collect(),
            },
            (false, Flavour::MariaDb) => Self {
                files_of: 1,
                files_ahead: false,
                seeds: seeds.unwrap_or(0..200),
                settings: vec![&SETTINGS[0]],
            },
            (false, Flavour::MySql) => Self {
                files_of: 4,
                files_ahead: false,
                // others come upon types of variables that nobody has set, see the documentation
                seeds: seeds.unwrap_or(50..80),
                settings: vec![&SETTINGS[0]],
            },
        }
    }
}

fn no_session_feels_another(flavour: Flavour) {
    let form = Form::of(flavour);
    let mut wrong = Vec::new();
    for settings in &form.settings {
        let Some(mut stage) = Stage::start(flavour, settings) else { return };
        let mut found = run_files(&mut stage, &form);
        stage.schema = generated_schema(flavour);
        if settings.name == SETTINGS[0].name {
            found.extend(run_known(&mut stage));
        }
        found.extend(run_generated(&mut stage, form.seeds.clone()));
        let served = stage.served;
        println!("{}, {}: {} lines, {served:?}", flavour.name(), settings.name, stage.lines);
        // it would prove nothing where sessions kept their connections, or got new ones
        assert!(served.marked * 6 > stage.lines, "{served:?} of {}", stage.lines);
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", settings.name)));
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_session_feels_another_with_mariadb() {
    no_session_feels_another(Flavour::MariaDb);
}

#[test]
fn no_session_feels_another_with_mysql() {
    no_session_feels_another(Flavour::MySql);
}

/// Whoever comes upon it: the session under test, or a neighbour that finds its own changed.
#[test]
fn whatever_is_left_out_is_found() {
    let Some(mut stage) = Stage::start(Flavour::MariaDb, &SETTINGS[0]) else { return };
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
