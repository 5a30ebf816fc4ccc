//! How simulated clients set variables, and what their sessions believe of them then.

use wire::collation_table as collations;
use wire::command::code;
use wire::reply::{OkPacket, SessionChange};

use super::model::Effect;
use super::plan::{Sending, Setting, packet};
use super::reply::Expect;
use crate::answer;
use crate::dice::Dice;
use crate::mysqld::set::{NO_MODE, wrong_value};
use crate::settings::fresh;

/// A variable with the value it gets.
type Change = (String, Option<String>);

impl Setting<'_> {
    /// A `SET` of some variables, in one of its forms.
    pub(super) fn set(&self, dice: &mut Dice) -> Sending {
        if dice.percent(10) {
            return self.isolation(dice);
        }
        let mut texts: Vec<String> = Vec::new();
        let mut changes: Vec<Change> = Vec::new();
        let count = if dice.percent(70) { 1 } else { dice.within(2..=3) };
        for _ in 0..count {
            let (text, change) = self.change(dice);
            // what a statement sets it does not read
            let named = |(name, _): &Change| *name == change.0 || text.contains(name.as_str());
            let reads = |text: &String| text.contains(&change.0);
            if !changes.iter().any(named) && !texts.iter().any(reads) {
                texts.push(text);
                changes.push(change);
            }
        }
        if dice.percent(10) {
            texts.retain(|text| !text.contains("sql_mode"));
            texts.push(format!("sql_mode='{NO_MODE}'"));
            return self.refused_set(&texts.join(", "));
        }
        self.sends_set(&texts.join(", "), changes)
    }

    fn sends_set(&self, text: &str, changes: Vec<Change>) -> Sending {
        self.plain("set", self.set_packet(text), vec![Effect::Set(changes)])
    }

    fn refused_set(&self, text: &str) -> Sending {
        let (number, candidates) = (self.number, vec![wrong_value()]);
        let expect = Expect { number, candidates, ..Expect::default() };
        let bytes = self.set_packet(text);
        Sending { bytes, expect: Some(expect), name: "refused set", ..Sending::default() }
    }

    fn set_packet(&self, text: &str) -> Vec<u8> {
        let (tag, number) = (self.model.tag, self.number);
        packet(code::QUERY, format!("SET /*s{tag} q{number}*/ {text}").as_bytes())
    }

    fn isolation(&self, dice: &mut Dice) -> Sending {
        let level = *dice.pick(&["READ COMMITTED", "SERIALIZABLE", "REPEATABLE READ"]);
        let change = ("transaction_isolation".into(), Some(level.replace(' ', "-")));
        self.sends_set(&format!("SESSION TRANSACTION ISOLATION LEVEL {level}"), vec![change])
    }

    /// An assignment and what it comes to.
    fn change(&self, dice: &mut Dice) -> (String, Change) {
        let choices: &[(&str, &str, Option<&str>)] = &[
            ("sql_mode", "''", Some("")),
            ("sql_mode", "'NO_ZERO_DATE,STRICT_TRANS_TABLES'", Some(MODES)),
            ("time_zone", "'+01:00'", Some("+01:00")),
            ("time_zone", "'+02:00'", Some("+02:00")),
            ("time_zone", "DEFAULT", None),
            ("foreign_key_checks", "0", Some("0")),
            ("foreign_key_checks", "OFF", Some("0")),
            ("foreign_key_checks", "1", Some("1")),
            ("group_concat_max_len", "2048", Some("2048")),
            ("SESSION group_concat_max_len", "DEFAULT", None),
            ("SESSION transaction_isolation", "'READ-COMMITTED'", Some("READ-COMMITTED")),
            ("@a", "5", Some("5")),
            ("@a", "NULL", None),
        ];
        match dice.below(10) {
            0..=5 => {
                let (name, text, value) = *dice.pick(choices);
                let variable = name.trim_start_matches("SESSION ").into();
                (format!("{name}={text}"), (variable, value.map(Into::into)))
            }
            choice @ (6 | 7 | 9) => match self.model.settings.get("@b") {
                Some(value) if choice == 9 => ("@c=@b".into(), ("@c".into(), Some(value.into()))),
                // a copy of no value would keep its connection, for its character set
                _ => {
                    let value = format!("x~{}", self.model.collation);
                    ("@b='x'".into(), ("@b".into(), Some(value)))
                }
            },
            _ => {
                let mut name = *dice.pick(&["time_zone", "sql_mode", "foreign_key_checks"]);
                // of a mode that was never set, only the connection knows what it is
                if name == "sql_mode" && self.model.settings.get(name) == fresh(name) {
                    name = "time_zone";
                }
                (format!("@saved=@@{name}"), ("@saved".into(), self.model.settings.saved(name)))
            }
        }
    }

    pub(super) fn names(&self, dice: &mut Dice) -> Sending {
        let choices =
            [("utf8mb4", ""), ("latin1", ""), ("utf8mb4", "utf8mb4_bin"), ("latin1", "latin1_bin")];
        let (charset, collation) = *dice.pick(&choices);
        let (text, found) = match collation {
            "" => {
                let found = collations::find_charset_default(charset.as_bytes());
                (format!("NAMES {charset}"), found)
            }
            _ => {
                let found = collations::find_name(collation.as_bytes());
                (format!("NAMES {charset} COLLATE {collation}"), found)
            }
        };
        let id = found.map_or(0, |found| found.id);
        let sending = self.plain("names", self.set_packet(&text), vec![Effect::Collation(id)]);
        let changes = ["client", "results", "connection"]
            .map(|of| (format!("character_set_{of}"), charset.to_owned()));
        self.or_telling(sending, &changes)
    }

    pub(super) fn autocommit(&self) -> Sending {
        let on = !self.model.autocommit;
        let text = format!("autocommit={}", u8::from(on));
        let effects = vec![Effect::Autocommit(on)];
        let sending = self.plain("autocommit", self.set_packet(&text), effects);
        let value = if on { "ON" } else { "OFF" };
        self.or_telling(sending, &[("autocommit".into(), value.into())])
    }

    /// The proxy's own answer tells what has changed; these servers do not.
    fn or_telling(&self, mut sending: Sending, changes: &[(String, String)]) -> Sending {
        let caps = self.model.caps;
        let mut track = Vec::new();
        for (name, value) in changes {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            SessionChange::SystemVariable { name, value }.encode(&mut track);
        }
        if let Some(expect) = &mut sending.expect {
            let silent = expect.candidates.clone();
            let statuses = silent.iter().filter_map(|ok| OkPacket::parse(ok.get(4..)?, caps).ok());
            let telling = statuses.map(|ok| answer::ok(caps, ok.status, &track));
            expect.candidates.extend(telling);
        }
        sending
    }
}

const MODES: &str = "NO_ZERO_DATE,STRICT_TRANS_TABLES";
