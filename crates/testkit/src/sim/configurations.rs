//! What configurations are made of, each part compiled once however many runs it is for. Rules
//! are by far the dearest, and what runs have of their own are servers and accounts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use engine::login_checks::CheckFeatures;
use engine::rows::RuleRow;
use engine::rules::{RuleOptions, RuleSet};
use engine::snapshot::{Draft, Snapshot};
use engine::users::Users;
use engine::vars::Vars;

/// The values of variables by their names.
type Pairs = Vec<(String, String)>;

/// How many sets of variables are kept. There are thousands, few of which come often.
const VARS_MAX: usize = 200;

/// Rules with what is the same for all of them, and what they were compiled to.
type Rules = (Vec<RuleRow>, RuleOptions, Arc<RuleSet>);

/// Rules and variables that were compiled before.
pub(super) struct Configurations {
    /// Without servers and accounts.
    bare: Snapshot,
    rules: RefCell<Vec<Rules>>,
    vars: RefCell<HashMap<Pairs, Arc<Vars>>>,
}

impl Default for Configurations {
    fn default() -> Self {
        let bare = Snapshot::compile(&Draft::default()).unwrap_or_else(|f| panic!("{f:?}"));
        let users = Arc::new(Users::with_features(CheckFeatures::ALL));
        let bare = Snapshot { users, ..bare };
        Self { bare, rules: RefCell::default(), vars: RefCell::default() }
    }
}

impl Configurations {
    /// Compiles a draft that follows that configuration, if there is one.
    pub(super) fn compile(&self, draft: &Draft, before: Option<&Snapshot>) -> Snapshot {
        let (rules, variables) = (Vec::new(), Vec::new());
        let own = Draft { rules, variables, ..draft.clone() };
        let own = before.unwrap_or(&self.bare).recompile(&own);
        let vars = self.vars(&draft.variables);
        let rules = self.rules(&draft.rules, RuleOptions::of_vars(&vars));
        Snapshot { vars, rules, ..own.unwrap_or_else(|faults| panic!("{faults:?}")) }
    }

    fn vars(&self, pairs: &Pairs) -> Arc<Vars> {
        let mut known = self.vars.borrow_mut();
        if let Some(vars) = known.get(pairs) {
            return vars.clone();
        }
        let vars = Vars::from_pairs(pairs).unwrap_or_else(|faults| panic!("{faults:?}"));
        let vars = Arc::new(vars);
        if known.len() >= VARS_MAX {
            known.clear();
        }
        known.insert(pairs.clone(), vars.clone());
        vars
    }

    fn rules(&self, rows: &[RuleRow], options: RuleOptions) -> Arc<RuleSet> {
        let mut known = self.rules.borrow_mut();
        let is = |(known, of, _): &&Rules| *of == options && known == rows;
        if let Some((_, _, rules)) = known.iter().find(is) {
            return rules.clone();
        }
        let rules = RuleSet::compile(rows, options).unwrap_or_else(|faults| panic!("{faults:?}"));
        let rules = Arc::new(rules);
        known.push((rows.to_vec(), options, rules.clone()));
        rules
    }
}
