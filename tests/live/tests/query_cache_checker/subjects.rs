//! What is written and read: subjects, each of which has a version that only goes up, in tables of
//! its own, and that changes in its own way.

/// How the version of a subject changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Way {
    /// An update of its row.
    Update,
    /// A foreign key that follows another table.
    Cascade,
    /// A trigger of another table.
    Trigger,
    /// `LOAD DATA LOCAL`.
    Load,
    /// Another default of a column that is made anew.
    Alter,
    /// A table that is emptied.
    Truncate,
    /// A table that is dropped and made anew.
    Recreate,
    /// Another table in its place.
    Rename,
}

/// The subjects, by their numbers.
pub(crate) const SUBJECTS: [Way; 16] = [
    Way::Update,
    Way::Update,
    Way::Update,
    Way::Update,
    Way::Update,
    Way::Cascade,
    Way::Cascade,
    Way::Cascade,
    Way::Trigger,
    Way::Trigger,
    Way::Load,
    Way::Load,
    Way::Alter,
    Way::Truncate,
    Way::Recreate,
    Way::Rename,
];

/// How a version is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Form {
    Text,
    Prepared,
    /// By a text, through a view.
    View,
}

pub(crate) const FORMS: [Form; 3] = [Form::Text, Form::Prepared, Form::View];

/// What asks for the version of a subject, in the hostgroup of writers or of readers (`far`).
pub(crate) fn question(subject: usize, form: Form, far: bool) -> String {
    let name = if far { "far" } else { "near" };
    let id = if form == Form::Prepared { "?" } else { "1" };
    match (SUBJECTS[subject], form) {
        (_, Form::View) => format!("SELECT version AS {name} FROM test.v{subject}"),
        (Way::Truncate, _) => format!(
            "SELECT 2 * g.n - (SELECT COUNT(*) FROM test.t{subject}) AS {name} \
             FROM test.g{subject} g WHERE g.id = {id}"
        ),
        _ => format!("SELECT version AS {name} FROM test.t{subject} WHERE id = {id}"),
    }
}

/// Makes the tables of all subjects.
pub(crate) fn schema() -> String {
    let made = SUBJECTS.iter().enumerate().map(|(subject, way)| definition(subject, *way));
    made.collect::<Vec<_>>().join("; ")
}

fn definition(n: usize, way: Way) -> String {
    let plain = format!(
        "CREATE TABLE test.t{n} (id INT PRIMARY KEY, version BIGINT NOT NULL); \
         INSERT INTO test.t{n} VALUES (1, 0)"
    );
    let view = format!("CREATE VIEW test.v{n} AS SELECT version FROM test.t{n} WHERE id = 1");
    match way {
        Way::Update | Way::Load | Way::Alter | Way::Recreate | Way::Rename => {
            format!("{plain}; {view}")
        }
        Way::Cascade => format!(
            "CREATE TABLE test.p{n} (id INT, version BIGINT, PRIMARY KEY (id, version)); \
             INSERT INTO test.p{n} VALUES (1, 0); {}; {view}",
            plain.replace(
                "NOT NULL)",
                &format!(
                    "NOT NULL, KEY (id, version), FOREIGN KEY (id, version) \
                     REFERENCES test.p{n} (id, version) ON UPDATE CASCADE)"
                )
            )
        ),
        Way::Trigger => format!(
            "{plain}; CREATE TABLE test.s{n} (id INT PRIMARY KEY, version BIGINT); \
             INSERT INTO test.s{n} VALUES (1, 0); CREATE TRIGGER test.f{n} AFTER UPDATE \
             ON test.s{n} FOR EACH ROW UPDATE test.t{n} SET version = NEW.version; {view}"
        ),
        Way::Truncate => format!(
            "CREATE TABLE test.t{n} (id INT); CREATE TABLE test.g{n} (id INT PRIMARY KEY, \
             n BIGINT); INSERT INTO test.g{n} VALUES (1, 0); CREATE VIEW test.v{n} AS \
             SELECT 2 * g.n - (SELECT COUNT(*) FROM test.t{n}) AS version FROM test.g{n} g"
        ),
    }
}

/// What gives a subject a version, statement by statement; the last one does. Another version may
/// be visible in between, or none: of [`Way::Truncate`] the one before.
pub(crate) fn change(n: usize, version: u64) -> Vec<String> {
    let update = |table: &str| {
        format!(
            "UPDATE test.{table}{n} SET version = {version} WHERE id = 1 AND version < {version}"
        )
    };
    match SUBJECTS[n] {
        Way::Update => vec![update("t")],
        Way::Cascade => vec![update("p")],
        Way::Trigger => vec![update("s")],
        Way::Load => vec![format!(
            "LOAD DATA LOCAL INFILE '{version}' REPLACE INTO TABLE test.t{n} (id, version)"
        )],
        Way::Alter => vec![format!(
            "ALTER TABLE test.t{n} DROP COLUMN version, \
             ADD COLUMN version BIGINT NOT NULL DEFAULT {version}"
        )],
        // versions are even there: 2 g - 1 with a row, 2 g without
        Way::Truncate => vec![
            "BEGIN".to_owned(),
            format!("UPDATE test.g{n} SET n = {}", version / 2),
            format!("DELETE FROM test.t{n}"),
            format!("INSERT INTO test.t{n} VALUES (1)"),
            "COMMIT".to_owned(),
            format!("TRUNCATE TABLE test.t{n}"),
        ],
        Way::Recreate => vec![
            format!("DROP TABLE IF EXISTS test.t{n}"),
            format!("CREATE TABLE test.t{n} SELECT 1 AS id, {version} AS version"),
        ],
        Way::Rename => vec![
            format!("DROP TABLE IF EXISTS test.x{n}, test.y{n}"),
            format!("CREATE TABLE test.x{n} LIKE test.t{n}"),
            format!("INSERT INTO test.x{n} VALUES (1, {version})"),
            format!("RENAME TABLE test.t{n} TO test.y{n}, test.x{n} TO test.t{n}"),
        ],
    }
}
