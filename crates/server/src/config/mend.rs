//! What ProxySQL makes of values that it cannot use, and of rows that say the same thing twice: a
//! `proxysql.cnf` that it runs with is no reason to stop.
//!
//! What would be unsafe is not mended: no server that is to have TLS is talked to in clear text,
//! and no account loses its password.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use engine::config_fault::ConfigFault;
use engine::rows::RuleRow;
use engine::vars::{Family, Interface, Kind, Variable, find_in};

use super::document::{Document, LEFT_OUT};
use super::fault::{self, FileFault, Severity};

/// What is told of a variable whose value cannot be used.
pub(super) fn kept_default(variable: &Variable) -> String {
    match variable.default {
        "" => "it stays unset".to_owned(),
        _ if variable.kind == Kind::Credentials => "nobody may log in with it".to_owned(),
        default => format!("its default {default} is kept"),
    }
}

impl Document {
    /// Makes of the draft what ProxySQL would, where the engine has found something; whether
    /// anything changed.
    pub(super) fn mend(&mut self, found: &[ConfigFault]) -> bool {
        let mut changed = false;
        for fault in found {
            let instead = match (fault.table, fault.row) {
                ("mysql_variables", None) => self.mend_variable(Family::Mysql, fault),
                ("admin_variables", None) => self.mend_variable(Family::Admin, fault),
                ("mysql_query_rules", Some(row)) => self.mend_rule(row, fault),
                (_, Some(row)) => self.mend_row(row, fault),
                (_, None) => None,
            };
            let Some(instead) = instead else { continue };
            changed = true;
            let reason = format!("{}; {instead}", fault.reason);
            self.locate(&[ConfigFault { reason, ..fault.clone() }], Severity::Warning);
        }
        changed
    }

    fn mend_variable(&mut self, family: Family, fault: &ConfigFault) -> Option<String> {
        let variable = find_in(family, &fault.column)?;
        if variable.kind == Kind::InterfacesTls {
            return None;
        }
        let name = variable.full_name();
        let at = self.draft.variables.iter().position(|(known, _)| *known == name)?;
        let (_, value) = self.draft.variables.remove(at);
        let rest = match variable.kind {
            Kind::Credentials => String::new(),
            Kind::Interfaces => usable_interfaces(&value),
            _ => return Some(kept_default(variable)),
        };
        let instead = match (rest.as_str(), variable.kind) {
            ("", Kind::Interfaces) => return Some(kept_default(variable)),
            ("", _) => kept_default(variable),
            (rest, _) => format!("listening at {rest}"),
        };
        self.draft.variables.insert(at, (name, rest));
        Some(instead)
    }

    fn mend_row(&mut self, row: usize, fault: &ConfigFault) -> Option<String> {
        match (fault.table, fault.column.as_str()) {
            (_, "use_ssl") => None,
            ("mysql_servers", "status") => {
                self.draft.servers.get_mut(row)?.status = "ONLINE".to_owned();
                Some("ONLINE is taken, as in ProxySQL".to_owned())
            }
            ("mysql_users", "attributes") if !self.has_password_elsewhere(row) => {
                self.draft.users.get_mut(row)?.attributes.clear();
                Some("ignored, as in ProxySQL".to_owned())
            }
            ("mysql_users", "attributes" | "password") => {
                self.leave_out("mysql_users", row);
                Some("this row is left out".to_owned())
            }
            _ => {
                self.leave_out(fault.table, row);
                Some(LEFT_OUT.to_owned())
            }
        }
    }

    /// Whether an account would have an empty password without its attributes.
    fn has_password_elsewhere(&self, row: usize) -> bool {
        let user = self.draft.users.get(row);
        user.is_some_and(|user| user.attributes.contains("password_from"))
    }

    fn mend_rule(&mut self, row: usize, fault: &ConfigFault) -> Option<String> {
        let rule = self.draft.rules.get_mut(row)?;
        let never = |rule: &mut RuleRow| {
            rule.active = 0;
            Some("this rule never matches, as in ProxySQL".to_owned())
        };
        match fault.column.as_str() {
            column @ ("match_digest" | "match_pattern") if rule.negate_match_pattern == 1 => {
                let digest = column == "match_digest";
                *(if digest { &mut rule.match_digest } else { &mut rule.match_pattern }) = None;
                if rule.match_digest.is_none() && rule.match_pattern.is_none() {
                    rule.negate_match_pattern = 0;
                }
                Some("negated, it always matches, as in ProxySQL".to_owned())
            }
            "match_digest" | "match_pattern" => never(rule),
            "digest" => {
                rule.digest = None;
                never(rule)
            }
            "client_addr" => {
                rule.client_addr = None;
                never(rule)
            }
            "replace_pattern" => {
                rule.replace_pattern = None;
                Some("nothing is replaced".to_owned())
            }
            "re_modifiers" => {
                let words = rule.re_modifiers.as_deref().unwrap_or_default().split(',');
                let is_known = |word: &&str| {
                    ["CASELESS", "GLOBAL"]
                        .iter()
                        .any(|known| known.eq_ignore_ascii_case(word.trim()))
                };
                let known: Vec<_> = words.filter(is_known).collect();
                rule.re_modifiers = Some(known.join(","));
                Some("ignored, as in ProxySQL".to_owned())
            }
            _ => {
                self.leave_out("mysql_query_rules", row);
                Some(LEFT_OUT.to_owned())
            }
        }
    }

    /// Of rows with one key, the last one counts.
    pub(super) fn take_last_of_each(&mut self) {
        let servers = &self.draft.servers;
        let again = earlier(servers, |row| (row.hostgroup_id, row.hostname.clone(), row.port));
        self.tell_earlier("mysql_servers", "hostname", &again);
        // a name may have a row for clients and one for servers
        let mut again = earlier(&self.draft.users, |row| (row.username.clone(), row.frontend));
        again.extend(earlier(&self.draft.users, |row| (row.username.clone(), row.backend)));
        self.tell_earlier("mysql_users", "username", &again);
        let again = earlier(&self.draft.rules, |row| row.rule_id);
        self.tell_earlier("mysql_query_rules", "rule_id", &again);
        let again = earlier(&self.draft.hostgroups, |row| row.hostgroup_id);
        self.tell_earlier("mysql_hostgroup_attributes", "hostgroup_id", &again);
        let of_fast = |row: &engine::rows::FastRoutingRow| {
            (row.username.clone(), row.schemaname.clone(), row.flag_in)
        };
        let again = earlier(&self.draft.fast_routing, of_fast);
        self.tell_earlier("mysql_query_rules_fast_routing", "username", &again);
    }

    fn tell_earlier(&mut self, table: &'static str, column: &str, again: &[(usize, usize)]) {
        let mut told = BTreeSet::new();
        for (earlier, last) in again {
            if self.is_left_out(table, *earlier) || self.is_left_out(table, *last) {
                continue;
            }
            if told.insert(*earlier) {
                let last = self.places.find_row(table, Some(*last));
                let line = fault::line_of(last.start, &self.sources);
                let span = self.places.find(table, Some(*earlier), column);
                let span = span.unwrap_or_else(|| self.places.find_row(table, Some(*earlier)));
                let title = format!("{table}.{column}: given again in line {line}, which counts");
                self.faults.push(FileFault::warning(span, title));
            }
        }
        told.into_iter().for_each(|earlier| self.leave_out(table, earlier));
    }
}

/// Rows whose key a later one has, with the last one that has it.
fn earlier<R, K: Hash + Eq>(rows: &[R], key: impl Fn(&R) -> K) -> Vec<(usize, usize)> {
    let last: HashMap<K, usize> = rows.iter().enumerate().map(|(at, row)| (key(row), at)).collect();
    let lasts = rows.iter().enumerate().filter_map(|(at, row)| Some((at, *last.get(&key(row))?)));
    lasts.filter(|(at, last)| at != last).collect()
}

/// Those of several addresses that can be listened at, each once.
fn usable_interfaces(text: &str) -> String {
    let mut usable: Vec<String> = Vec::new();
    for part in text.split([';', ',']).map(str::trim) {
        let part = Interface::parse(part).map(|interface| interface.to_string());
        usable.extend(part.ok().filter(|part| !usable.contains(part)));
    }
    usable.join(";")
}
