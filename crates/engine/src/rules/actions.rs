//! The columns of a rule that act.

use std::sync::Arc;

use super::cells::{Cells, message, text};
use super::choice::FlagChoice;
use super::conditions::Conditions;
use super::pattern::Pattern;
use super::replace::Replacement;
use super::verdict::{Invalidation, Multiplex, RuleVerdict};
use crate::ids::HostgroupId;
use crate::json;

/// What a matching rule decides; `None` leaves to the verdict what it has.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) flag_out: Option<u32>,
    pub(super) flag_choice: Option<FlagChoice>,
    pub(super) replacement: Option<Replacement>,
    pub(super) apply: bool,
    destination: Option<HostgroupId>,
    /// What few rules say.
    more: Option<Box<More>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct More {
    cache_ttl_ms: Option<u32>,
    cache_empty_result: Option<bool>,
    invalidation: Option<Invalidation>,
    timeout_ms: Option<u32>,
    retries: Option<u32>,
    delay_ms: Option<u32>,
    next_query_flag_in: Option<u32>,
    mirror_flag_out: Option<u32>,
    mirror_hostgroup: Option<HostgroupId>,
    error_msg: Option<Arc<str>>,
    ok_msg: Option<Arc<str>>,
    multiplex: Option<Multiplex>,
    gtid_from_hostgroup: Option<HostgroupId>,
    log: Option<bool>,
    pipeline_depth: Option<u32>,
    coalesce: Option<bool>,
    serve_stale_ms: Option<u32>,
}

impl Actions {
    pub(super) fn compile(cells: &mut Cells<'_, '_>, conditions: &Conditions) -> Self {
        let row = cells.row;
        let more = More::compile(cells);
        Self {
            flag_out: cells.optional("flagOUT", row.flag_out, 0),
            flag_choice: FlagChoice::compile(cells),
            replacement: replacement(cells, conditions),
            apply: cells.flag("apply", row.apply),
            destination: cells.hostgroup("destination_hostgroup", row.destination_hostgroup),
            more: (more != More::default()).then(|| Box::new(more)),
        }
    }

    /// The chain's flag after this rule.
    pub(super) fn next_flag(&self, flag: u32, random: u64) -> u32 {
        let chosen = self.flag_choice.as_ref().map_or(flag, |choice| choice.pick(random));
        self.flag_out.unwrap_or(chosen)
    }

    /// Every flag that there may be after this rule; none when it leaves the flag.
    pub(super) fn flags(&self) -> impl Iterator<Item = u32> + '_ {
        let chosen = self.flag_choice.as_ref().filter(|_| self.flag_out.is_none());
        self.flag_out.into_iter().chain(chosen.into_iter().flat_map(FlagChoice::flags))
    }

    /// Whether the flag after this rule is a matter of chance.
    pub(super) fn is_random(&self) -> bool {
        self.flag_out.is_none() && self.flag_choice.is_some()
    }

    pub(super) fn apply_to(&self, verdict: &mut RuleVerdict) {
        if self.destination.is_some() {
            verdict.destination = self.destination;
        }
        if let Some(more) = &self.more {
            more.apply_to(verdict);
        }
        verdict.applied = self.apply;
    }
}

impl More {
    fn compile(cells: &mut Cells<'_, '_>) -> Self {
        let row = cells.row;
        let retries = row.retries;
        Self {
            cache_ttl_ms: cells.optional("cache_ttl", row.cache_ttl, 1),
            cache_empty_result: cells.optional_flag("cache_empty_result", row.cache_empty_result),
            invalidation: attribute(cells, Invalidation::of),
            timeout_ms: cells.optional("timeout", row.timeout, 0),
            retries: retries.and_then(|retries| cells.number("retries", retries, 0, RETRIES_MAX)),
            delay_ms: cells.optional("delay", row.delay, 0),
            next_query_flag_in: cells.optional("next_query_flagIN", row.next_query_flag_in, 0),
            mirror_flag_out: cells.optional("mirror_flagOUT", row.mirror_flag_out, 0),
            mirror_hostgroup: cells.hostgroup("mirror_hostgroup", row.mirror_hostgroup),
            error_msg: message(&row.error_msg),
            ok_msg: message(&row.ok_msg),
            multiplex: multiplex(cells),
            gtid_from_hostgroup: cells.hostgroup("gtid_from_hostgroup", row.gtid_from_hostgroup),
            log: cells.optional_flag("log", row.log),
            pipeline_depth: attribute(cells, json::pipeline_depth),
            coalesce: attribute(cells, json::coalesce),
            serve_stale_ms: attribute(cells, json::serve_stale_ms),
        }
    }

    fn apply_to(&self, verdict: &mut RuleVerdict) {
        fn set<T: Clone>(decided: &mut Option<T>, said: &Option<T>) {
            if said.is_some() {
                decided.clone_from(said);
            }
        }
        set(&mut verdict.cache_ttl_ms, &self.cache_ttl_ms);
        set(&mut verdict.cache_empty_result, &self.cache_empty_result);
        set(&mut verdict.invalidation, &self.invalidation);
        set(&mut verdict.timeout_ms, &self.timeout_ms);
        set(&mut verdict.retries, &self.retries);
        set(&mut verdict.delay_ms, &self.delay_ms);
        set(&mut verdict.next_query_flag_in, &self.next_query_flag_in);
        set(&mut verdict.mirror_flag_out, &self.mirror_flag_out);
        set(&mut verdict.mirror_hostgroup, &self.mirror_hostgroup);
        set(&mut verdict.error_msg, &self.error_msg);
        set(&mut verdict.ok_msg, &self.ok_msg);
        set(&mut verdict.multiplex, &self.multiplex);
        set(&mut verdict.gtid_from_hostgroup, &self.gtid_from_hostgroup);
        set(&mut verdict.log, &self.log);
        set(&mut verdict.pipeline_depth, &self.pipeline_depth);
        set(&mut verdict.coalesce, &self.coalesce);
        verdict.serve_stale_ms = self.serve_stale_ms.unwrap_or(verdict.serve_stale_ms);
    }
}

/// What the attributes say of one thing.
fn attribute<T>(
    cells: &mut Cells<'_, '_>,
    find: fn(&str) -> Result<Option<T>, String>,
) -> Option<T> {
    // a text that is no JSON is told by whoever looks for flags in it
    json::parse(&cells.row.attributes).ok()?;
    find(&cells.row.attributes).unwrap_or_else(|reason| {
        cells.fault("attributes", reason);
        None
    })
}

fn multiplex(cells: &mut Cells<'_, '_>) -> Option<Multiplex> {
    match cells.row.multiplex? {
        0 => Some(Multiplex::Off),
        1 => Some(Multiplex::On),
        2 => Some(Multiplex::IgnoreVariables),
        other => {
            cells.fault("multiplex", format!("{other} is not allowed; allowed: 0, 1, 2"));
            None
        }
    }
}

/// Replacing by nothing is a replacement too.
fn replacement(cells: &mut Cells<'_, '_>, conditions: &Conditions) -> Option<Replacement> {
    let written = cells.row.replace_pattern.as_deref()?;
    if text(&cells.row.match_pattern).is_none() {
        let reason = "needs a match_pattern, whose place it takes".to_owned();
        cells.fault("replace_pattern", reason);
        return None;
    }
    let groups = conditions.match_pattern.as_deref().map(Pattern::group_count);
    match Replacement::parse(written, groups) {
        Ok(replacement) => Some(replacement),
        Err(reason) => {
            cells.fault("replace_pattern", reason);
            None
        }
    }
}

const RETRIES_MAX: u32 = 1000;
