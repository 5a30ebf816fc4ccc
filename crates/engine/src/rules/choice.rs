//! `attributes`: flags that are chosen by weight.

use serde_json::Value;

use super::cells::Cells;
use crate::json;

/// Flags and how much of the traffic goes on with each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FlagChoice {
    /// Each with the sum of the weights up to and with it; not empty, the last sum is not 0.
    flags: Box<[(u32, u64)]>,
    total: u64,
}

impl FlagChoice {
    /// The choice of a row; `None` when it has none, or when every weight is 0.
    pub(super) fn compile(cells: &mut Cells<'_, '_>) -> Option<Self> {
        match Self::read(&cells.row.attributes) {
            Ok(choice) => choice,
            Err(reason) => {
                cells.fault("attributes", reason);
                None
            }
        }
    }

    pub(super) fn read(attributes: &str) -> Result<Option<Self>, String> {
        let Some(list) = json::member(attributes, "flagOUTs")? else { return Ok(None) };
        let Value::Array(list) = list else { return Err(format!("flagOUTs is no list; {FORM}")) };
        let mut flags = Vec::with_capacity(list.len());
        let mut total = 0;
        for entry in list {
            let number =
                |name| entry.get(name).and_then(json::whole).filter(|number| *number <= NUMBER_MAX);
            let (Some(id), Some(weight)) = (number("id"), number("weight")) else {
                let reason = "an entry of flagOUTs has no id or no weight that is a whole number \
                              from 0 to 2147483647";
                return Err(format!("{reason}; {FORM}"));
            };
            total += u64::from(weight);
            flags.push((id, total));
        }
        Ok((total > 0).then(|| Self { flags: flags.into(), total }))
    }

    /// Every flag that may be chosen.
    pub(super) fn flags(&self) -> impl Iterator<Item = u32> + '_ {
        self.flags.iter().map(|(flag, _)| *flag)
    }

    /// The flag for a random number.
    pub(super) fn pick(&self, random: u64) -> u32 {
        let place = random % self.total;
        let chosen = self.flags.iter().find(|(_, sum)| place < *sum);
        chosen.map_or(0, |(flag, _)| *flag)
    }
}

const FORM: &str = r#"write {"flagOUTs":[{"id":1,"weight":1}]}"#;
const NUMBER_MAX: u32 = i32::MAX.unsigned_abs();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_decide_how_often_a_flag_is_chosen() {
        let text = r#"{"flagOUTs":[{"id":7,"weight":1},{"weight":0,"id":8},{"id":9,"weight":3}]}"#;
        let choice = FlagChoice::read(text).expect("valid").expect("weights");
        let picks: Vec<_> = (0..8).map(|random| choice.pick(random)).collect();
        assert_eq!(picks, [7, 9, 9, 9, 7, 9, 9, 9]);
    }

    #[test]
    fn without_weight_nothing_is_chosen() {
        for text in ["", "{}", r#"{"flagOUTs":[]}"#, r#"{"flagOUTs":[{"id":1,"weight":0}]}"#] {
            assert_eq!(FlagChoice::read(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, reason) in [
            ("{", "not JSON: at character 2"),
            (r#"{"flagOUTs":1}"#, "flagOUTs is no list"),
            (r#"{"flagOUTs":[{"id":1}]}"#, "has no id or no weight"),
            (r#"{"flagOUTs":[{"id":-1,"weight":1}]}"#, "has no id or no weight"),
        ] {
            let error = FlagChoice::read(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
