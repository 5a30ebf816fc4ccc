//! Finds a keyword by its first letter and length, so that most words cost one look-up.

use crate::Effects;
use crate::keyword_table::KEYWORDS;
pub(crate) use crate::keyword_table::Keyword;

/// The keyword that `word` is, without regard to case.
pub(crate) fn keyword(word: &[u8]) -> Keyword {
    let Some(first) = word.first() else { return Keyword::None };
    let letter = usize::from((first | 0x20).wrapping_sub(b'a'));
    if letter >= LETTERS || word.len() >= LENGTHS {
        return Keyword::None;
    }
    let Some(&(start, count)) = const { &INDEX }.get(letter * LENGTHS + word.len()) else {
        return Keyword::None;
    };
    let range = usize::from(start)..usize::from(start) + usize::from(count);
    let last = word.last().map(u8::to_ascii_uppercase);
    for place in const { &ORDER }.get(range).unwrap_or_default() {
        if let Some((text, keyword)) = KEYWORDS.get(usize::from(*place))
            // most words that share a first letter and a length differ in their last one
            && text.as_bytes().last() == last.as_ref()
            && text.as_bytes().eq_ignore_ascii_case(word)
        {
            return *keyword;
        }
    }
    Keyword::None
}

/// Whether `word` can be none of the words that matter anywhere in a statement. Those that matter
/// only at its head are dull as well.
pub(crate) fn is_dull(word: &[u8]) -> bool {
    let Some(first) = word.first() else { return true };
    let letter = usize::from((first | 0x20).wrapping_sub(b'a'));
    let lengths = const { &ANYWHERE }.get(letter).copied().unwrap_or(0);
    word.len() >= LENGTHS || lengths & (1 << word.len()) == 0
}

/// Words that matter wherever they stand in a statement.
const fn matters_anywhere(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::For
            | Keyword::Update
            | Keyword::Share
            | Keyword::Lock
            | Keyword::In
            | Keyword::Into
            | Keyword::Outfile
            | Keyword::Dumpfile
            | Keyword::Next
            | Keyword::Previous
            | Keyword::Value
            | Keyword::Definer
            | Keyword::Returning
            | Keyword::SqlCalcFoundRows
            | Keyword::Nextval
            | Keyword::Lastval
            | Keyword::Setval
            | Keyword::Currval
            | Keyword::Kill
            | Keyword::Immediate
            | Keyword::Prepare
            | Keyword::SessionVariables
            | Keyword::SystemVariables
    ) || !function(keyword).is_empty()
}

/// Effects of calling the function of that name.
pub(crate) const fn function(word: Keyword) -> Effects {
    match word {
        Keyword::GetLock
        | Keyword::ReleaseLock
        | Keyword::ReleaseAllLocks
        | Keyword::IsFreeLock
        | Keyword::IsUsedLock
        | Keyword::ServiceGetReadLocks
        | Keyword::ServiceGetWriteLocks
        | Keyword::ServiceReleaseLocks
        | Keyword::VersionTokensLockExclusive
        | Keyword::VersionTokensLockShared => Effects::USER_LOCK,
        Keyword::LastInsertId => Effects::READS_LAST_INSERT_ID,
        Keyword::FoundRows => Effects::READS_FOUND_ROWS,
        Keyword::RowCount => Effects::READS_ROW_COUNT,
        Keyword::ConnectionId | Keyword::PsCurrentThreadId => Effects::CONNECTION_ID,
        Keyword::WsrepLastWrittenGtid | Keyword::WsrepLastSeenGtid => Effects::UNCLEAR,
        Keyword::Nextval | Keyword::Lastval | Keyword::Setval | Keyword::Currval => {
            Effects::SEQUENCE
        }
        _ => Effects::NONE,
    }
}

/// Effects of reading the table of that name.
pub(crate) const fn table(word: Keyword) -> Effects {
    match word {
        // the last insert id is a variable
        Keyword::SessionVariables | Keyword::SystemVariables => Effects::READS_LAST_INSERT_ID,
        _ => Effects::NONE,
    }
}

const LETTERS: usize = 26;
const LENGTHS: usize = 32;
const COUNT: usize = KEYWORDS.len();
// places are kept in one byte
const _: () = assert!(COUNT < 256);

/// Places in the table, ordered by first letter and length.
const ORDER: [u8; COUNT] = index().0;
/// Where the words of a letter and length stand in `ORDER`, and how many they are.
const INDEX: [(u8, u8); LETTERS * LENGTHS] = index().1;

/// By first letter: the lengths of the words that matter anywhere, as bits.
const ANYWHERE: [u32; LETTERS] = anywhere();

#[allow(clippy::indexing_slicing)] // runs at compile time only
const fn anywhere() -> [u32; LETTERS] {
    let mut lengths = [0; LETTERS];
    let mut place = 0;
    while place < COUNT {
        let text = KEYWORDS[place].0.as_bytes();
        if matters_anywhere(KEYWORDS[place].1) {
            lengths[(text[0] - b'A') as usize] |= 1 << text.len();
        }
        place += 1;
    }
    lengths
}

#[allow(clippy::cast_possible_truncation, clippy::indexing_slicing)] // runs at compile time only
const fn index() -> ([u8; COUNT], [(u8, u8); LETTERS * LENGTHS]) {
    let mut order = [0; COUNT];
    let mut index = [(0, 0); LETTERS * LENGTHS];
    let mut filled = 0;
    let mut slot = 0;
    while slot < LETTERS * LENGTHS {
        let start = filled;
        let mut place = 0;
        while place < COUNT {
            let text = KEYWORDS[place].0.as_bytes();
            if (text[0] - b'A') as usize * LENGTHS + text.len() == slot {
                order[filled] = place as u8;
                filled += 1;
            }
            place += 1;
        }
        index[slot] = (start as u8, (filled - start) as u8);
        slot += 1;
    }
    assert!(filled == COUNT, "every keyword begins with a letter and fits LENGTHS");
    (order, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_keyword_in_any_case() {
        for (text, expected) in KEYWORDS {
            assert_eq!(keyword(text.as_bytes()), *expected);
            assert_eq!(keyword(text.to_lowercase().as_bytes()), *expected);
        }
    }

    #[test]
    fn calls_no_word_dull_that_matters_anywhere() {
        for (text, keyword) in KEYWORDS {
            assert!(!matters_anywhere(*keyword) || !is_dull(text.as_bytes()), "{text}");
        }
        for text in ["FROM", "c", "sbtest1", "", "WHERE"] {
            assert!(is_dull(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn finds_nothing_in_other_words() {
        for word in ["", "id", "SELECTS", "SELEC", "S\u{17f}T", "_", "[OR", "\u{e9}"] {
            assert_eq!(keyword(word.as_bytes()), Keyword::None, "{word}");
        }
    }
}
