//! Scripts made of statements by dice: equal seeds make equal scripts.

use lab::Flavour;
use live::dice::Dice;
use serde_json::json;

use crate::BATCH;
use crate::known_table::KNOWN;
use crate::script::{Line, Manner, Script, of};
use crate::statements_table::{STATEMENTS, WORDS};

/// How many lines a script has at most.
const LINES_MAX: u64 = 14;

/// The script of a seed.
pub(crate) fn script(flavour: Flavour, seed: u64) -> Script {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let differs = |text: &str| {
        let here = KNOWN.iter().filter(|known| known.only.is_none_or(|only| only == flavour));
        here.flat_map(|known| known.texts).any(|part| text.contains(part))
    };
    let known: Vec<(u32, &str)> = STATEMENTS
        .iter()
        .filter_map(|(weight, text)| of(flavour, text).map(|text| (*weight, text)))
        .filter(|(_, text)| !differs(text))
        .collect();
    let count = 3 + dice.below(LINES_MAX - 2);
    let mut lines: Vec<Line> = (0..count).flat_map(|_| lines(&mut dice, &known)).collect();
    if flavour == Flavour::MySql {
        prepare_anew(&mut lines);
    }
    let manner = match dice.below(4) {
        0 => Manner::Ahead(usize::try_from(2 + dice.below(4)).expect("few")),
        _ => Manner::InTurn,
    };
    Script { name: format!("seed {seed}"), manner, no_eof: seed / BATCH % 2 == 1, lines }
}

fn lines(dice: &mut Dice, known: &[(u32, &str)]) -> Vec<Line> {
    let line = match dice.below(100) {
        0..2 => Line::Reset,
        2..4 => {
            // the answer of MySQL has the warnings of the statement before
            let name = if dice.percent(70) { "test" } else { "other" };
            return vec![Line::Text("DO 0".into()), Line::Schema(name.into())];
        }
        4..6 => Line::Execute("SELECT ?, @a, LAST_INSERT_ID()".into(), vec![json!(dice.below(9))]),
        6..9 => {
            let values = vec![json!(dice.below(9)), json!("p")];
            Line::Execute("INSERT INTO t (a, b) VALUES (?, ?)".into(), values)
        }
        9..11 => Line::Execute("SELECT a, b FROM u WHERE a > ?".into(), vec![json!(dice.below(5))]),
        11..26 => {
            let text = statement(dice, known, Company::Any);
            let asks = text.contains(";; SHOW");
            return text.split(" ;; ").map(|text| executed(text, asks)).collect();
        }
        26..36 => {
            let count = 2 + dice.below(2);
            let texts: Vec<_> = (0..count).map(|_| statement(dice, known, Company::Any)).collect();
            Line::Text(texts.join("; ").replace(" ;; ", "; "))
        }
        _ => {
            let text = statement(dice, known, Company::None);
            return text.split(" ;; ").map(|text| Line::Text(text.into())).collect();
        }
    };
    vec![line]
}

/// Makes another text of what reads user variables and was prepared before they may have changed:
/// through the proxy it may be prepared anew, and has other types then, as the documentation says.
fn prepare_anew(lines: &mut [Line]) {
    let sets = |line: &Line| match line.text() {
        Some(text) => SETS.iter().any(|part| text.contains(part)),
        None => *line == Line::Reset,
    };
    for at in 1..lines.len() {
        let (before, rest) = lines.split_at_mut(at);
        let Line::Execute(text, _) = &mut rest[0] else { continue };
        let first = before.iter().position(|line| line.text() == Some(text));
        if text.contains('@') && first.is_some_and(|first| before[first..].iter().any(sets)) {
            *text += &format!(" -- {at}");
        }
    }
}

/// What texts have in them that set user variables.
const SETS: &[&str] = &["@", "CALL", "sets", "triggered", "fails"];

/// Executes a statement, but asks for what another one left by a query.
fn executed(text: &str, asks: bool) -> Line {
    match asks || text.starts_with("SHOW") || text.contains("_count") || counts(text) {
        true => Line::Text(text.into()),
        false => Line::Execute(text.into(), Vec::new()),
    }
}

/// Whether a statement asks how many rows another one had.
fn counts(text: &str) -> bool {
    text.contains("ROW_COUNT") || text.contains("FOUND_ROWS()")
}

/// What else there is to a statement than its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    None,
    /// Others in the text, or a prepare: what statements before came to is then what it is on
    /// that connection, as `docs/connections.md` says.
    Any,
}

/// A statement by its weight, its words put in.
fn statement(dice: &mut Dice, known: &[(u32, &str)], company: Company) -> String {
    let known = || known.iter().filter(|(_, text)| company == Company::None || !counts(text));
    let all: u32 = known().map(|(weight, _)| weight).sum();
    let mut at = dice.below(all.into());
    let found = known().find(|(weight, _)| {
        let weight = u64::from(*weight);
        let found = at < weight;
        at = at.saturating_sub(weight);
        found
    });
    let mut text = String::new();
    let mut rest = found.expect("the weights add up").1;
    while let Some((before, (word, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let words = WORDS.iter().find(|(name, _)| *name == word);
        text = text + before + dice.pick(words.expect("a word of the table").1);
        rest = after;
    }
    text + rest
}
