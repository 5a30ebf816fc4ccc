//! Combinations of values of several dimensions, chosen so that every pair of values occurs; always
//! the same ones.

use std::collections::{BTreeMap, BTreeSet};

/// One value of each dimension, by its number.
pub type Case = Vec<usize>;

/// A value of one dimension and a value of a later one.
pub type Pair = [(usize, usize); 2];

/// All combinations of values of dimensions with that many each.
pub fn product(sizes: &[usize]) -> Vec<Case> {
    sizes.iter().fold(vec![Case::new()], |cases, size| {
        let longer = |case: &Case| {
            let case = case.clone();
            (0..*size).map(move |value| case.iter().copied().chain([value]).collect())
        };
        cases.iter().flat_map(longer).collect()
    })
}

/// All pairs of values in a combination.
pub fn pairs(case: &[usize]) -> impl Iterator<Item = Pair> + '_ {
    let values = case.iter().copied().enumerate();
    values
        .clone()
        .flat_map(move |one| values.clone().skip(one.0 + 1).map(move |other| [one, other]))
}

/// What was chosen of some combinations.
#[derive(Debug)]
pub struct Cover {
    candidates: Vec<Case>,
    chosen: Vec<Case>,
    /// How often each pair was chosen.
    counts: BTreeMap<Pair, u32>,
}

impl Cover {
    /// Nothing of these yet.
    pub fn of(candidates: Vec<Case>) -> Self {
        let pairs = candidates.iter().flat_map(|case| pairs(case));
        let counts = pairs.map(|pair| (pair, 0)).collect();
        Self { candidates, chosen: Vec::new(), counts }
    }

    /// Chooses until each combination of the values of these dimensions that there is was chosen
    /// once; of the other dimensions, those values among `likes` that were rarest beside them.
    pub fn with_every(&mut self, dimensions: &[usize], likes: impl Fn(&[usize]) -> bool) {
        let part = |case: &Case| dimensions.iter().map(|at| case[*at]).collect::<Vec<_>>();
        let done: BTreeSet<_> = self.chosen.iter().map(part).collect();
        let mut groups = BTreeMap::<_, Vec<usize>>::new();
        for (number, case) in self.candidates.iter().enumerate() {
            if likes(case) && !done.contains(&part(case)) {
                groups.entry(part(case)).or_default().push(number);
            }
        }
        for numbers in groups.into_values() {
            self.choose(numbers.into_iter());
        }
    }

    /// Chooses until every pair has occurred that is in any combination.
    pub fn with_all_pairs(&mut self) {
        while self.counts.values().any(|count| *count == 0) {
            self.choose(0..self.candidates.len());
        }
    }

    /// All pairs that are in any of the combinations, chosen or not.
    pub fn pairs(&self) -> BTreeSet<Pair> {
        self.counts.keys().copied().collect()
    }

    /// What was chosen.
    pub fn chosen(self) -> Vec<Case> {
        self.chosen
    }

    /// The candidate with most pairs that have not occurred; of several, the one whose pairs are
    /// rarest.
    fn choose(&mut self, numbers: impl Iterator<Item = usize>) {
        let worth = |number: &usize| {
            let counts = pairs(&self.candidates[*number]).map(|pair| self.counts[&pair]);
            let (new, sum) = counts.fold((0_u32, 0_u32), |(new, sum), count| {
                (new + u32::from(count == 0), sum + count)
            });
            (new, u32::MAX - sum)
        };
        let Some(number) = numbers.max_by_key(worth) else { return };
        let case = self.candidates[number].clone();
        for pair in pairs(&case) {
            *self.counts.entry(pair).or_default() += 1;
        }
        self.chosen.push(case);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_occurs_in_much_less_than_the_product() {
        let sizes = [5, 4, 3, 3, 2];
        let all = product(&sizes);
        assert_eq!(all.len(), 360);
        // two values that exclude each other
        let valid: Vec<_> = all.into_iter().filter(|case| case[..2] != [1, 1]).collect();
        let possible: BTreeSet<_> = valid.iter().flat_map(|case| pairs(case)).collect();
        let mut cover = Cover::of(valid.clone());
        cover.with_all_pairs();
        let chosen = cover.chosen();
        let covered: BTreeSet<_> = chosen.iter().flat_map(|case| pairs(case)).collect();
        assert_eq!(covered, possible);
        assert!(chosen.len() < 30, "{}", chosen.len());
        let mut cover = Cover::of(valid);
        cover.with_every(&[0, 4], |_| true);
        cover.with_every(&[4, 0], |_| true);
        assert_eq!(cover.chosen().len(), 10);
    }
}
