//! "Did you mean": the known name nearest to a mistyped one.

/// The candidate nearest to `typed`, when one is near enough to be meant; none to what is longer
/// than any name.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > NAME_BYTES_MAX {
        return None;
    }
    let typed = typed.to_ascii_lowercase();
    let limit = (typed.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|name| (distance(&typed, &name.to_ascii_lowercase()), name))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// The candidate that is meant for sure: `typed` is one or two edits from it, or differs in case.
pub(crate) fn misspelt<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let edits = |meant: &str| distance(&typed.to_ascii_lowercase(), &meant.to_ascii_lowercase());
    nearest(typed, candidates).filter(|meant| edits(meant) <= 2)
}

/// Edits that turn one word into the other; two neighbours swapped count as one edit.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    let mut last = None;
    for (index, letter) in from.chars().enumerate() {
        let mut next = vec![index + 1];
        for (column, &other) in to.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&row, column) + usize::from(letter != other);
            let mut best = replaced.min(at(&row, column + 1) + 1).min(at(&next, column) + 1);
            let swapped = column.checked_sub(1).and_then(|previous| {
                let same = last == Some(other) && to.get(previous) == Some(&letter);
                same.then(|| at(&before, previous).saturating_add(1))
            });
            best = best.min(swapped.unwrap_or(usize::MAX));
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(letter);
    }
    row.last().copied().unwrap_or(0)
}

/// Bytes of a name that is compared, which takes time by its length.
const NAME_BYTES_MAX: usize = 64;
