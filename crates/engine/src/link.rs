//! What a client asked of its connection and what a server's connection has, and how to get from
//! one to the other.
//!
//! The plan is computed, never sent here. What is not in [`LinkState`] cannot be replayed yet and
//! holds the lane instead (`holds`).

use std::sync::Arc;

use sql::{HighBytes, Modes};
use wire::collation_table as collation;

pub use known::{KnownCollations, takes_name};
pub use settings::Settings;

/// Character sets of a connection, as far as a proxy can move them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charset {
    /// A collation by its id, as in a handshake or `SET NAMES x COLLATE y`.
    Collation(u16),
    /// `SET NAMES x`: the server's default collation of that character set.
    Named(&'static str),
}

impl Charset {
    /// The charset of a `SET NAMES` with known names.
    pub fn named(charset: &[u8], collation: Option<&[u8]>) -> Option<Self> {
        let canonical = collation::find_charset_default(charset)?.charset;
        let Some(collation) = collation else { return Some(Self::Named(canonical)) };
        let found = collation::find_name(collation)?;
        (found.charset == canonical).then_some(Self::Collation(found.id))
    }

    /// Its name; of a collation, that one's.
    pub fn name(self) -> String {
        match self {
            Self::Named(charset) => charset.to_owned(),
            Self::Collation(id) => match collation::find_id(id) {
                Some(known) => known.name.to_owned(),
                None => id.to_string(),
            },
        }
    }

    /// The character set, if it is known.
    fn charset(self) -> Option<&'static str> {
        match self {
            Self::Named(charset) => Some(charset),
            Self::Collation(id) => collation::find_id(id).map(|found| found.charset),
        }
    }

    /// What bytes from 0x80 up are in it.
    #[inline]
    fn high_bytes(self) -> HighBytes {
        match self {
            Self::Named(charset) => HighBytes::of(charset),
            Self::Collation(id) => reading::high_bytes_of(id),
        }
    }

    /// What does the same for texts alone and not for results.
    fn of_texts(self) -> Option<String> {
        let (charset, collation) = match self {
            Self::Named(charset) => (charset, format!("character_set_connection={charset}")),
            Self::Collation(id) => {
                let known = collation::find_id(id)?;
                (known.charset, format!("collation_connection={}", known.name))
            }
        };
        Some(format!("SET character_set_client={charset}, {collation}"))
    }

    /// A number that no other one has: ids have two bytes, names three to eight.
    #[inline]
    fn number(self) -> u64 {
        match self {
            Self::Collation(id) => id.into(),
            Self::Named(charset) => {
                charset.bytes().fold(0, |number, byte| number << 8 | u64::from(byte))
            }
        }
    }

    /// The statement that gives a connection this charset; `None` for an id nobody knows.
    pub(crate) fn statement(self) -> Option<String> {
        match self {
            Self::Named(charset) => Some(format!("SET NAMES {charset}")),
            Self::Collation(id) => {
                let known = collation::find_id(id)?;
                Some(format!("SET NAMES {} COLLATE {}", known.charset, known.name))
            }
        }
    }
}

/// The state of a connection that can be moved to another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Current schema. An empty one has to be chosen again, whichever it is.
    pub schema: Option<Arc<[u8]>>,
    /// Character sets.
    pub charset: Charset,
    /// `autocommit`.
    pub autocommit: bool,
    /// Variables that were set; `None` for none, so that connections on which nothing was set
    /// are compared by two words.
    pub settings: Option<Arc<Settings>>,
}

/// A number for what a server would read a text by that it reads on a connection, as far as it is
/// set there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadBy(u64);

impl ReadBy {
    /// The number.
    #[inline]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// What has to ride in front of a command. Empty for a lane that fits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// `COM_INIT_DB` with this schema. Its answer must be awaited: the schema may be gone.
    pub schema: Option<Arc<[u8]>>,
    /// Text of a `SET` whose failure would be noticed only after the command ran: awaited too.
    pub settings: Option<String>,
    /// Text of a `SET` that cannot fail.
    pub autocommit: Option<&'static str>,
}

impl Plan {
    /// Whether something has to be done whose answer must be awaited.
    pub fn is_awaited(&self) -> bool {
        self.schema.is_some() || self.settings.is_some()
    }

    /// Whether nothing has to be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl LinkState {
    /// The state of a connection after its login.
    pub fn new(schema: Option<Arc<[u8]>>, charset: Charset) -> Self {
        Self { schema, charset, autocommit: true, settings: None }
    }

    /// The schema, unless it has to be chosen again.
    pub(crate) fn chosen_schema(&self) -> Option<&Arc<[u8]>> {
        self.schema.as_ref().filter(|schema| !schema.is_empty())
    }

    /// Whether it has to be chosen again.
    pub(crate) fn has_to_choose_schema(&self) -> bool {
        self.schema.as_ref().is_some_and(|schema| schema.is_empty())
    }

    /// The schema is chosen again before anything else runs on the connection.
    pub(crate) fn choose_schema_again(&mut self) {
        self.schema = Some(Arc::default());
    }

    /// Whether a text without character sets of its own gives strings the same ones in both.
    pub fn has_charsets_of(&self, other: &Self) -> bool {
        let alone = |state: &Self| !state.settings.as_deref().is_some_and(Settings::has_charsets);
        self.charset == other.charset && alone(self) && alone(other)
    }

    /// How long a client with this state may be silent, in microseconds.
    pub(crate) fn wait_timeout_us(&self) -> u64 {
        let set = self.settings.as_deref().and_then(Settings::wait_timeout_us);
        set.unwrap_or(u64::MAX)
    }

    /// What a server may read a text by in it; `all` settings matter where variables are in it.
    #[inline]
    pub fn read_by(&self, all: bool) -> ReadBy {
        let settings = self.settings.as_deref().map_or(0, |set| set.read_by(all));
        ReadBy(settings ^ self.charset.number())
    }

    /// Appends what a read depends on of it, so that no other state has the same bytes.
    pub(crate) fn write_key(&self, out: &mut Vec<u8>) {
        let schema = self.schema.as_deref().unwrap_or_default();
        out.push(u8::from(self.schema.is_some()) | u8::from(self.autocommit) << 1);
        write_part(out, schema);
        out.extend_from_slice(&self.charset.number().to_le_bytes());
        let settings = self.settings.as_deref();
        for (name, value) in settings.into_iter().flat_map(Settings::of_reads) {
            write_part(out, name);
            write_part(out, value);
        }
        write_part(out, b"");
    }

    /// How texts are read in it.
    #[inline]
    pub fn modes(&self) -> Modes {
        let high_bytes = self.charset.high_bytes();
        match self.settings.as_deref() {
            None => Modes { high_bytes, ..Modes::default() },
            Some(set) => modes_of(set, high_bytes),
        }
    }

    /// Whether its texts are in UTF-8; not where that is not known.
    pub fn is_utf8(&self) -> bool {
        let client = match self.settings.as_deref().and_then(|set| set.get(settings::CLIENT)) {
            Some(value) => reading::client_of(value),
            None => self.charset.charset(),
        };
        client.is_some_and(|charset| charset.starts_with("utf8"))
    }

    /// How to bring a connection in state `have` into this state; `None` when there is no way.
    pub fn plan(&self, have: &Self) -> Option<Plan> {
        let mut plan = Plan::default();
        if self == have {
            return Some(plan);
        }
        // other names have the same bytes in another character set
        let is_other = self.charset != have.charset
            && self.schema.as_ref().is_some_and(|schema| !schema.is_ascii());
        if self.schema != have.schema || is_other {
            plan.schema = Some(self.schema.clone()?);
        }
        if self.charset != have.charset || self.settings != have.settings {
            plan.settings = Some(self.settings_from(have)?);
        }
        if self.autocommit != have.autocommit {
            let text = if self.autocommit { "SET autocommit=1" } else { "SET autocommit=0" };
            plan.autocommit = Some(text);
        }
        Some(plan)
    }

    /// Whether any of the character sets differs, as far as is known.
    fn has_other_charsets(&self, have: &Self) -> bool {
        self.charset != have.charset
            || settings::differences(self.settings.as_deref(), have.settings.as_deref())
                .any(|differs| differs.is_of_charset())
    }

    /// One `SET` of everything that differs.
    fn settings_from(&self, have: &Self) -> Option<String> {
        let (want, have_set) = (self.settings.as_deref(), have.settings.as_deref());
        let names = self.has_other_charsets(have);
        let is_odd = have_set.is_some_and(Settings::has_charsets);
        let mut text = match names {
            true => self.charset.statement()?,
            false => String::from("SET "),
        };
        if names {
            settings::write_charsets(want, &mut text, is_odd);
        }
        for difference in settings::assignments(want, have_set) {
            difference.write(&mut text, is_odd);
        }
        Some(text)
    }

    /// How to have a connection that may read texts in any way read them as in this state, and go
    /// back to what it has. `None` where this state has a collation that nobody knows.
    ///
    /// No answer in between goes to a client. So on MySQL the results' character set is left alone:
    /// it would come back with another collation. MariaDB keeps it, and is told names, since only
    /// with these the collation is the one that a client's own `SET NAMES` gives.
    pub(crate) fn reading(&self, is_mariadb: bool) -> Option<Aside> {
        let want = self.settings.as_deref();
        let mut reading;
        let (put, back) = if is_mariadb {
            reading = self.charset.statement()?;
            settings::write_charsets(want, &mut reading, true);
            (PUT_ASIDE, BRING_BACK)
        } else {
            reading = self.charset.of_texts()?;
            settings::write_charsets_of_texts(want, &mut reading);
            (PUT_TEXTS, BRING_TEXTS)
        };
        settings::write_sql_mode(want, &mut reading);
        Some(Aside { put, reading, back })
    }

    /// Whether a connection in state `have` loses a user variable on the way to this one. It is
    /// `NULL` then, but not as one that was never set: its type tells the difference.
    pub fn loses_user_variable(&self, have: &Self) -> bool {
        settings::loses_user_variable(self.settings.as_deref(), have.settings.as_deref())
    }

    /// Whether a connection in state `have` gets a value back on the way to this one that it began
    /// with.
    pub fn loses_setting(&self, have: &Self) -> bool {
        settings::differences(self.settings.as_deref(), have.settings.as_deref())
            .any(|differs| differs.is_unset())
    }

    /// How many steps the way from `have` takes; `None` when there is no way.
    pub fn distance(&self, have: &Self) -> Option<u32> {
        if self == have {
            return Some(0);
        }
        let mut steps = 0;
        if self.schema != have.schema {
            self.schema.as_ref()?;
            steps += 1;
        }
        if self.charset != have.charset {
            if let Charset::Collation(id) = self.charset {
                collation::find_id(id)?;
            }
            steps += 1;
        }
        if self.settings != have.settings {
            let differ =
                settings::differences(self.settings.as_deref(), have.settings.as_deref()).count();
            steps += u32::try_from(differ).unwrap_or(u32::MAX);
        }
        Some(steps + u32::from(self.autocommit != have.autocommit))
    }
}

/// Appends bytes so that no others make the same together with their neighbours.
pub(crate) fn write_part(out: &mut Vec<u8>, part: &[u8]) {
    let len = u64::try_from(part.len()).unwrap_or(u64::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(part);
}

/// What [`write_part`] wrote, and what follows.
pub(crate) fn read_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

/// Three `SET`s, around which a connection is as it was, whoever knows how that is.
pub(crate) struct Aside {
    /// Keeps what it has.
    pub put: &'static str,
    /// Has it read texts in another way.
    pub reading: String,
    /// Gives back what it had.
    pub back: &'static str,
}

const PUT_ASIDE: &str = "SET @tidegate_mode=@@sql_mode,\
     @tidegate_client=@@character_set_client,@tidegate_results=@@character_set_results,\
     @tidegate_collation=@@collation_connection";
const BRING_BACK: &str = "SET sql_mode=@tidegate_mode,\
     character_set_client=@tidegate_client,character_set_results=@tidegate_results,\
     collation_connection=@tidegate_collation";
const PUT_TEXTS: &str = "SET @tidegate_mode=@@sql_mode,\
     @tidegate_client=@@character_set_client,@tidegate_collation=@@collation_connection";
const BRING_TEXTS: &str = "SET sql_mode=@tidegate_mode,\
     character_set_client=@tidegate_client,collation_connection=@tidegate_collation";

/// How texts are read where some variables are set, and a client's character set is so.
#[inline(never)]
fn modes_of(set: &Settings, high_bytes: HighBytes) -> Modes {
    Modes { high_bytes: set.high_bytes().unwrap_or(high_bytes), ..set.modes() }
}

pub mod assign;
mod known;
mod reading;
pub mod settings;
mod tracked_table;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn state(schema: Option<&str>, charset: Charset, autocommit: bool) -> LinkState {
        LinkState { autocommit, ..LinkState::new(schema.map(|s| s.as_bytes().into()), charset) }
    }

    const GENERAL: Charset = Charset::Collation(45);

    #[test]
    fn equal_states_need_nothing() {
        let a = state(Some("a"), GENERAL, true);
        assert_eq!(a.plan(&a.clone()), Some(Plan::default()));
    }

    #[test]
    fn each_difference_has_its_step_and_the_distance_counts_them() {
        let want = state(Some("b"), Charset::Named("latin1"), false);
        let have = state(Some("a"), GENERAL, true);
        let plan = want.plan(&have).unwrap();
        assert_eq!(plan.schema.as_deref(), Some(b"b".as_slice()));
        assert_eq!(plan.settings.as_deref(), Some("SET NAMES latin1"));
        assert_eq!(plan.autocommit, Some("SET autocommit=0"));
        assert_eq!(want.distance(&have), Some(3));
    }

    #[test]
    fn what_a_text_is_read_by_is_put_aside_as_far_as_it_may_differ() {
        let set = |text: &str| {
            let parsed = sql::parse_set(text.as_bytes()).expect("a SET");
            assign::assigned(&state(None, GENERAL, true), &parsed).expect("followed").state
        };
        let (plain, ansi) = (set("SET @a = 1"), set("SET sql_mode = 'ANSI'"));
        let latin1 = set("SET NAMES latin1");
        let mode = format!("sql_mode={}", reading::PLAIN);
        let names = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci";
        let texts = "SET character_set_client=utf8mb4, collation_connection=utf8mb4_general_ci";
        let results = set("SET character_set_results = latin1");
        let named = "SET character_set_client=latin1, character_set_connection=latin1";
        for (state, is_mariadb, text, back) in [
            (&plain, true, format!("{names}, {mode}"), BRING_BACK),
            (&ansi, true, format!("{names}, sql_mode=_utf8mb4'ANSI'"), BRING_BACK),
            (&plain, false, format!("{texts}, {mode}"), BRING_TEXTS),
            (&results, false, format!("{texts}, {mode}"), BRING_TEXTS),
            (&latin1, false, format!("{named}, {mode}"), BRING_TEXTS),
        ] {
            let aside = state.reading(is_mariadb).expect("known");
            assert_eq!((aside.reading, aside.back), (text, back));
        }
    }

    #[test]
    fn a_schema_cannot_be_unset_nor_an_unknown_collation_named() {
        let have = state(Some("a"), GENERAL, true);
        assert_eq!(state(None, GENERAL, true).plan(&have), None);
        assert_eq!(state(None, GENERAL, true).distance(&have), None);
        let odd = state(Some("a"), Charset::Collation(9999), true);
        assert_eq!(odd.plan(&have), None);
        assert_eq!(odd.distance(&have), None);
    }

    #[test]
    fn texts_are_in_utf8_where_the_client_s_character_set_is() {
        let of = |charset| state(None, charset, true);
        for charset in [GENERAL, Charset::Collation(33), Charset::Named("utf8mb3")] {
            assert!(of(charset).is_utf8(), "{charset:?}");
        }
        for charset in [Charset::Named("latin1"), Charset::Collation(28), Charset::Collation(9999)]
        {
            assert!(!of(charset).is_utf8(), "{charset:?}");
        }
        let set = |text: &str| {
            let parsed = sql::parse_set(text.as_bytes()).expect("a SET");
            assign::assigned(&of(GENERAL), &parsed).expect("followed").state
        };
        assert!(!set("SET character_set_client = latin1").is_utf8());
        assert!(set("SET character_set_results = latin1").is_utf8());
    }

    #[test]
    fn each_charset_has_a_number_of_its_own() {
        let known = || (0..4096).filter_map(collation::find_id);
        let names = known().map(|known| known.charset).collect::<BTreeSet<_>>();
        let named = names.iter().map(|name| Charset::Named(name));
        let all = known().map(|known| Charset::Collation(known.id)).chain(named);
        let numbers = all.clone().map(Charset::number).collect::<BTreeSet<_>>();
        assert_eq!(numbers.len(), all.count());
    }

    #[test]
    fn names_are_checked_against_each_other() {
        assert_eq!(
            Charset::named(b"utf8mb4", Some(b"utf8mb4_general_ci")),
            Some(Charset::Collation(45))
        );
        assert_eq!(Charset::named(b"UTF8MB4", None), Some(Charset::Named("utf8mb4")));
        assert_eq!(Charset::named(b"latin1", Some(b"utf8mb4_general_ci")), None);
        assert_eq!(Charset::named(b"klingon", None), None);
    }
}
