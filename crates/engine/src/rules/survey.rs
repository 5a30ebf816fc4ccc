//! What can be known of a query's verdict before its text is looked at: everything, or at least
//! which rules there are to look at.

use sql::Omitted;

use super::bits::Bits;
use super::memo::{Known, MemoKey};
use super::scratch::Work;
use super::verdict::RuleVerdict;
use super::{Compiled, RuleInput};

/// Columns that any rule of a set asks for: what a query is remembered by.
#[derive(Debug, Default)]
pub(super) struct AskedColumns {
    username: bool,
    schemaname: bool,
    client_addr: bool,
    proxy_addr: bool,
    proxy_port: bool,
    server_name: bool,
}

impl AskedColumns {
    pub(super) fn of(rules: &[super::Rule]) -> Self {
        let any =
            |asks: fn(&super::Conditions) -> bool| rules.iter().any(|rule| asks(&rule.conditions));
        Self {
            username: any(|conditions| conditions.username.is_some()),
            schemaname: any(|conditions| conditions.schemaname.is_some()),
            client_addr: any(|conditions| conditions.client_addr.is_some()),
            proxy_addr: any(|conditions| conditions.proxy_addr.is_some()),
            proxy_port: any(|conditions| conditions.proxy_port.is_some()),
            server_name: any(|conditions| conditions.server_names.is_some()),
        }
    }

    /// The key of a query.
    pub(super) fn key_of(&self, input: &RuleInput<'_>, key: &mut MemoKey) {
        key.begin(input.flag_in, if self.proxy_port { input.proxy_port } else { 0 });
        for (asked, part) in [
            (self.username, input.username),
            (self.schemaname, input.schemaname),
            (self.client_addr, input.client_addr),
            (self.proxy_addr, input.proxy_addr),
            (self.server_name, input.server_name),
        ] {
            if asked {
                key.add(part);
            }
        }
        key.end(input.digest);
    }
}

impl Compiled {
    /// What is the same for all queries with the key of this one.
    pub(super) fn survey(
        &self,
        input: &RuleInput<'_>,
        work: &mut Work,
        candidates: &mut Bits,
    ) -> Known {
        candidates.clear(self.rules.len());
        self.index.find(input, candidates);
        let straight = match self.index.by_text_flags.is_empty() {
            true => self.follow(input, work, candidates),
            false => None,
        };
        let known = straight.unwrap_or_else(|| Known::Places(self.reach(input, work, candidates)));
        match known {
            Known::Places(listed) => self.completed(listed, input, candidates),
            known => known,
        }
    }

    /// Adds the rules that are found by the text, where they are the same for all texts.
    fn completed(&self, listed: Box<[u32]>, input: &RuleInput<'_>, all: &mut Bits) -> Known {
        if self.index.by_text.is_none() {
            return Known::AllPlaces(listed);
        }
        all.clear(self.rules.len());
        let digest = input.digest.filter(|digest| digest.omitted == Omitted::Numbers);
        if !digest.is_some_and(|digest| self.index.find_by_words(digest.text, all)) {
            return Known::Places(listed);
        }
        listed.iter().for_each(|place| all.insert(*place));
        let mut places = Vec::new();
        while let Some(place) = all.next(places.last().map_or(0, |last| *last as usize + 1)) {
            places.push(u32::try_from(place).unwrap_or(u32::MAX));
        }
        Known::AllPlaces(places.into())
    }

    /// Follows the chain as long as its flag is certain; `None` where it is not.
    fn follow(
        &self,
        input: &RuleInput<'_>,
        work: &mut Work,
        candidates: &mut Bits,
    ) -> Option<Known> {
        let mut verdict = RuleVerdict { flag: input.flag_in, ..RuleVerdict::default() };
        let mut matched = Vec::new();
        let mut places = Vec::new();
        let mut depends_on_text = self.index.by_text.is_some();
        let mut iteration = 0;
        let mut from = 0;
        while let Some(place) = candidates.next(from) {
            from = place + 1;
            let rule = self.rules.get(place)?;
            if rule.conditions.flag_in != verdict.flag {
                continue;
            }
            let scratch = work.digests.get_mut(place)?;
            if rule.conditions.miss_of_stable(input, scratch).is_some() {
                candidates.remove(place);
                continue;
            }
            places.push(rule.place);
            if rule.conditions.match_pattern.is_some() {
                depends_on_text = true;
                if rule.actions.flags().next().is_some() {
                    return None;
                }
                continue;
            }
            if rule.actions.is_random() {
                return None;
            }
            matched.push(rule.place);
            let flag_before = verdict.flag;
            verdict.flag = rule.actions.next_flag(flag_before, 0);
            rule.actions.apply_to(&mut verdict);
            if verdict.applied {
                break;
            }
            if verdict.flag != flag_before && iteration < self.iterations {
                iteration += 1;
                from = 0;
            }
        }
        if !depends_on_text {
            return Some(Known::Verdict(verdict, matched.into()));
        }
        places.sort_unstable();
        places.dedup();
        Some(Known::Places(places.into()))
    }

    /// Every rule that may be come to by any flag.
    fn reach(&self, input: &RuleInput<'_>, work: &mut Work, candidates: &mut Bits) -> Box<[u32]> {
        let mut flags = vec![input.flag_in];
        let mut places = Vec::new();
        let mut looked_at = 0;
        // as long as there are new flags, there may be rules that they lead to
        while looked_at < flags.len() {
            looked_at = flags.len();
            let mut from = 0;
            while let Some(place) = candidates.next(from) {
                from = place + 1;
                let Some(rule) = self.rules.get(place) else { break };
                if !flags.contains(&rule.conditions.flag_in) {
                    continue;
                }
                candidates.remove(place);
                let Some(scratch) = work.digests.get_mut(place) else { break };
                if rule.conditions.miss_of_stable(input, scratch).is_none() {
                    places.push(rule.place);
                    flags.extend(rule.actions.flags());
                }
            }
            for (flag, after) in &self.index.by_text_flags {
                if flags.contains(flag) {
                    flags.extend(after);
                }
            }
            flags.sort_unstable();
            flags.dedup();
        }
        places.sort_unstable();
        places.into()
    }
}
