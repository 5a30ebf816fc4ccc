//! Literals that a text must contain for a pattern to match, looked for before any regex runs.
//!
//! Most query rules begin with `^` and a word, so that the first bytes of a text rule them out.
//! Some are a literal and nothing else, so that no regex is needed at all.

use memchr::{memchr, memchr2};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::literals::Requirement;

/// What must be in a text. All comparisons disregard the case of ASCII letters.
#[derive(Debug, Default)]
pub(super) struct Prefilter {
    /// What the text begins with.
    prefix: Prefix,
    /// What is somewhere behind the prefix.
    needle: Option<Needle>,
}

impl Prefilter {
    /// The literals of a pattern, and whether they are all of it.
    pub(super) fn of(meaning: &Hir) -> (Self, bool) {
        let mut parts = Vec::new();
        flatten(meaning, &mut parts);
        let anchored =
            matches!(parts.first().map(|part| part.kind()), Some(HirKind::Look(Look::Start)));
        let runs = Runs::of(parts.get(usize::from(anchored)..).unwrap_or_default());
        let mut prefilter = Self::default();
        if anchored {
            prefilter.prefix = Prefix::new(&runs.first.bytes);
            prefilter.needle = Needle::new(&runs.longest_later.bytes);
            return (prefilter, runs.first.exact && runs.first_is_all);
        }
        let longest = [&runs.first, &runs.longest_later]
            .into_iter()
            .max_by_key(|run| run.bytes.len())
            .unwrap_or(&runs.first);
        prefilter.needle = Needle::new(&longest.bytes);
        let kept = prefilter.needle.as_ref().map(|needle| needle.bytes.len());
        let complete = kept == Some(runs.first.bytes.len());
        (prefilter, runs.first.exact && runs.first_is_all && complete)
    }

    /// Whether the pattern may match `text`.
    pub(super) fn admits(&self, text: &[u8]) -> bool {
        self.prefix
            .behind(text)
            .is_some_and(|rest| self.needle.as_ref().is_none_or(|needle| needle.is_in(rest)))
    }
}

/// A literal at the beginning of a text.
#[derive(Debug, Default)]
struct Prefix {
    bytes: Box<[u8]>,
    /// Its first eight bytes in lower case, as one number; 0 behind its end.
    head: u64,
    /// The bits of these eight that tell lower case from upper case.
    letters: u64,
    /// The bits of those that it has.
    compared: u64,
}

impl Prefix {
    fn new(bytes: &[u8]) -> Self {
        let mut new = Self { bytes: bytes.into(), ..Self::default() };
        for (at, byte) in bytes.iter().take(8).enumerate() {
            new.head |= u64::from(byte.to_ascii_lowercase()) << (at * 8);
            new.letters |=
                u64::from(if byte.is_ascii_alphabetic() { 0x20u8 } else { 0 }) << (at * 8);
            new.compared |= 0xff << (at * 8);
        }
        new
    }

    /// What comes behind it in a text that begins with it.
    fn behind<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        if let Some(head) = text.first_chunk()
            && (u64::from_le_bytes(*head) | self.letters) & self.compared != self.head
        {
            return None;
        }
        let (found, rest) = text.split_at_checked(self.bytes.len())?;
        let is_compared = self.bytes.len() <= 8 && text.len() >= 8;
        (is_compared || found.eq_ignore_ascii_case(&self.bytes)).then_some(rest)
    }
}

/// A literal searched by its rarest byte.
#[derive(Debug)]
struct Needle {
    bytes: Box<[u8]>,
    /// Place of the byte that is searched.
    rare_at: usize,
    lower: u8,
    upper: u8,
}

impl Needle {
    fn new(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..NEEDLE_BYTES_MAX).unwrap_or(bytes);
        let (rare_at, byte) =
            bytes.iter().copied().enumerate().min_by_key(|(_, byte)| frequency(*byte))?;
        Some(Self {
            bytes: bytes.into(),
            rare_at,
            lower: byte.to_ascii_lowercase(),
            upper: byte.to_ascii_uppercase(),
        })
    }

    fn is_in(&self, text: &[u8]) -> bool {
        let mut at = self.rare_at;
        while let Some(rest) = text.get(at..) {
            let found = if self.lower == self.upper {
                memchr(self.lower, rest)
            } else {
                memchr2(self.lower, self.upper, rest)
            };
            let Some(found) = found else { return false };
            let start = at + found - self.rare_at;
            match text.get(start..start + self.bytes.len()) {
                Some(window) if window.eq_ignore_ascii_case(&self.bytes) => return true,
                Some(_) => at += found + 1,
                None => return false,
            }
        }
        false
    }
}

/// Sets of literals of which one each must be in a text for a pattern to match; in lower case.
pub(super) fn requirements(meaning: &Hir) -> Vec<Requirement> {
    let mut parts = Vec::new();
    flatten(meaning, &mut parts);
    let mut found: Vec<Requirement> = Vec::new();
    let mut run = Run::default();
    for part in parts {
        if literal(part, &mut run) {
            continue;
        }
        found.extend(run.end_as_requirement());
        match part.kind() {
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                found.extend(requirements(&repetition.sub));
            }
            HirKind::Alternation(branches) => found.extend(one_of(branches)),
            _ => {}
        }
    }
    found.extend(run.end_as_requirement());
    found.truncate(REQUIREMENTS_MAX);
    found
}

/// The longest literals of all branches, when each has one.
fn one_of(branches: &[Hir]) -> Option<Requirement> {
    let mut all = Vec::new();
    for branch in branches {
        let shortest = |asked: &Requirement| asked.iter().map(|literal| literal.len()).min();
        all.extend(requirements(branch).into_iter().max_by_key(shortest)?);
    }
    (all.len() <= BRANCHES_MAX).then_some(all)
}

/// The runs of literals among the parts of a pattern.
#[derive(Default)]
struct Runs {
    /// Those at the very beginning; may be empty.
    first: Run,
    longest_later: Run,
    /// Nothing else in the pattern can keep a text with the first run from matching.
    first_is_all: bool,
}

#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    /// Comparing without regard to case is right for every byte.
    exact: bool,
}

impl Run {
    /// The run as a requirement, and the next one begins.
    fn end_as_requirement(&mut self) -> Option<Requirement> {
        let bytes = std::mem::take(&mut self.bytes);
        let bytes = bytes.get(..NEEDLE_BYTES_MAX).unwrap_or(&bytes);
        (!bytes.is_empty()).then(|| vec![bytes.into()])
    }
}

impl Runs {
    fn of(parts: &[&Hir]) -> Self {
        let mut runs = Self { first_is_all: true, ..Self::default() };
        let mut run = Run { exact: true, ..Run::default() };
        let mut is_first = true;
        for part in parts {
            if literal(part, &mut run) {
                continue;
            }
            if !is_optional(part) {
                runs.first_is_all = false;
            }
            runs.end(std::mem::take(&mut run), is_first);
            is_first = false;
        }
        runs.end(run, is_first);
        runs
    }

    fn end(&mut self, run: Run, is_first: bool) {
        if is_first {
            self.first = run;
            return;
        }
        self.first_is_all &= run.bytes.is_empty();
        if run.bytes.len() >= self.longest_later.bytes.len() {
            self.longest_later = run;
        }
    }
}

/// The parts that follow each other in a pattern, groups opened.
fn flatten<'a>(meaning: &'a Hir, parts: &mut Vec<&'a Hir>) {
    match meaning.kind() {
        HirKind::Concat(inner) => inner.iter().for_each(|part| flatten(part, parts)),
        HirKind::Capture(capture) => flatten(&capture.sub, parts),
        HirKind::Empty => {}
        _ => parts.push(meaning),
    }
}

/// Adds `part` to `run` if it is a literal, or one letter in both cases.
fn literal(part: &Hir, run: &mut Run) -> bool {
    match part.kind() {
        HirKind::Literal(literal) => {
            run.exact &= !literal.0.iter().any(u8::is_ascii_alphabetic);
            run.bytes.extend(literal.0.iter().map(u8::to_ascii_lowercase));
            true
        }
        HirKind::Class(Class::Bytes(class)) => match class.ranges() {
            [upper, lower]
                if upper.start() == upper.end()
                    && lower.start() == lower.end()
                    && upper.start().is_ascii_uppercase()
                    && upper.start().to_ascii_lowercase() == lower.start() =>
            {
                run.bytes.push(lower.start());
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether `part` matches wherever it stands, if need be nothing: `.*` and the like.
fn is_optional(part: &Hir) -> bool {
    matches!(part.kind(), HirKind::Repetition(repetition) if repetition.min == 0)
}

/// Place of a byte in the order of how often it is in query texts.
fn frequency(byte: u8) -> usize {
    let byte = byte.to_ascii_lowercase();
    BY_RARITY.iter().position(|known| *known == byte).map_or(0, |place| place + 1)
}

/// From rare to frequent; what is not listed is rarer.
const BY_RARITY: &[u8] = b"zqjxkv;*wy\"-@()=`'.,ghbpufm_cdl0123456789ronisatle ";

/// Bytes of a literal that are compared.
const NEEDLE_BYTES_MAX: usize = 32;
/// Requirements of a pattern that are known.
const REQUIREMENTS_MAX: usize = 8;
/// Literals of a requirement; one of more is no help.
const BRANCHES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::Prefix;

    #[test]
    fn a_prefix_is_found_in_any_case_and_nothing_else_is() {
        for prefix in ["", "a", "select", "select `", "select * from t", "@[`{0 \x7f"] {
            let known = Prefix::new(prefix.as_bytes());
            for text in ["", "x", "12345678", "12345678901234567"] {
                for found in [format!("{prefix}{text}"), format!("{prefix}{text}").to_uppercase()] {
                    let rest = known.behind(found.as_bytes());
                    assert_eq!(rest, found.as_bytes().get(prefix.len()..), "{prefix:?} {found:?}");
                    // each bit of each of its bytes counts, but for the case of letters
                    for at in 0..prefix.len() {
                        for bit in 0..8 {
                            let mut other = found.clone().into_bytes();
                            other[at] ^= 1 << bit;
                            let is_same =
                                other[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes());
                            assert_eq!(known.behind(&other).is_some(), is_same, "{other:?}");
                        }
                    }
                }
            }
            if let Some(short) = prefix.len().checked_sub(1) {
                assert_eq!(known.behind(&prefix.as_bytes()[..short]), None, "{prefix:?}");
            }
        }
    }
}
