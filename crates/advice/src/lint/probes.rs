//! Where statements go: some are sent through the rules, and statements that belong together must
//! stay together.
//!
//! The statements are made from the rules' own patterns, so that a rule for one table is asked
//! about that table.

use std::collections::HashSet;

use super::language::{FoundText, Language, find_text};
use super::rule::{LintedRule, text};
use super::{Findings, Kind, Lint};
use engine::ids::HostgroupId;
use engine::rules::{DigestRef, Observer, RuleInput, RuleScratch, RuleStep};
use engine::vars::Interface;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    let Some(forms) = Forms::new() else { return };
    let routing = lint.rules.iter().filter(|rule| rule.row.destination_hostgroup.is_some());
    let deciders = routing.clone().map(|rule| rule.row.rule_id).collect();
    let mut probe = Probe { lint, scratch: lint.snapshot.rules.scratch(), deciders };
    let readers = readers(lint, &forms);
    for rule in routing.take(PROBED_RULES_MAX) {
        locking_read_missed(&mut probe, &forms, rule, findings);
        unanchored_select(&mut probe, &forms, rule, findings);
        writes_to_readers(&mut probe, rule, &readers, findings);
    }
    locking_reads(&mut probe, &readers, findings);
    let caching = lint.rules.iter().filter(|rule| rule.row.cache_ttl.is_some());
    for rule in caching.take(PROBED_RULES_MAX) {
        if lint.may_match(rule, &forms.write) == Some(true)
            && lint.may_match(rule, &forms.read) == Some(false)
        {
            let reason = "the rule matches statements that change data and no others; only result \
                          sets can be cached";
            let suggestion = "leave out cache_ttl, or have the rule match reads";
            findings.rule(Kind::CacheOnWrite, rule, "cache_ttl", (reason.into(), suggestion));
        }
    }
}

/// Statements that are told apart.
struct Forms {
    read: Language,
    write: Language,
    locking: Language,
    insert_select: Language,
}

impl Forms {
    fn new() -> Option<Self> {
        let form = |pattern: &str| Language::parse(&format!("(?i){pattern}"));
        Some(Self {
            read: form(r"^\(?(?:SELECT|WITH|SHOW|DESC|EXPLAIN|CALL|TABLE|VALUES)\b")?,
            write: form(
                r"^(?:INSERT(?: INTO)? [a-z`]+ ?(?:\(|VALUES|SET )|REPLACE |UPDATE |DELETE FROM )",
            )?,
            locking: form(r"^SELECT (?:.* )?FOR UPDATE$")?,
            insert_select: Language::parse("^INSERT INTO [a-z]+ SELECT [a-z]+ FROM [a-z]+$")?,
        })
    }
}

/// A rule for locking reads that misses some of them.
fn locking_read_missed(
    probe: &mut Probe<'_>,
    forms: &Forms,
    rule: &LintedRule<'_>,
    findings: &mut Findings,
) {
    let Some(base) = probe.lint.example(rule, &[&forms.locking]) else { return };
    let Some(home) = probe.run(rule, &base).filter(|end| end.decided_by(rule)) else { return };
    let bare = base.get(..base.len().saturating_sub(" FOR UPDATE".len())).unwrap_or_default();
    if probe.run(rule, bare).is_some_and(|end| end.decided_by(rule)) {
        return;
    }
    let mut missed: Vec<&str> = Vec::new();
    let endings: &[&str] = if rule.text.is_some() {
        &[" FOR UPDATE NOWAIT", " FOR UPDATE SKIP LOCKED", " FOR UPDATE;", " FOR UPDATE /* a */"]
    } else {
        &[" FOR UPDATE NOWAIT", " FOR UPDATE SKIP LOCKED"]
    };
    let mut goes = |ending: &str| {
        let end = probe.run(rule, &[bare, ending.as_bytes()].concat());
        end.is_some_and(|end| end.destination != home.destination)
    };
    missed.extend(endings.iter().copied().filter(|ending| goes(ending)));
    if missed.is_empty() {
        return;
    }
    missed.extend([" FOR SHARE", " LOCK IN SHARE MODE"].into_iter().filter(|ending| goes(ending)));
    let shown: Vec<_> = missed.iter().map(|ending| format!("`{}`", ending.trim())).collect();
    let column = if rule.text.is_some() { "match_pattern" } else { "match_digest" };
    let reason = format!(
        "`FOR UPDATE` goes to hostgroup {} by this rule, but {} elsewhere",
        home.shown(),
        shown.join(", ")
    );
    let suggestion =
        format!("leave out the `$`, and name them all in match_digest: `{LOCKING_READS}`");
    findings.rule(Kind::LockingReadMissed, rule, column, (reason, suggestion));
}

/// A rule for reads that matches writes which read.
fn unanchored_select(
    probe: &mut Probe<'_>,
    forms: &Forms,
    rule: &LintedRule<'_>,
    findings: &mut Findings,
) {
    let lint = probe.lint;
    let column = rule.patterns().next().map_or("", |pattern| pattern.column);
    if lint.may_match(rule, &forms.read) != Some(true) {
        return;
    }
    let Some(example) = lint.example(rule, &[&forms.insert_select]) else { return };
    let Some(end) = probe.run(rule, &example).filter(|end| end.decided_by(rule)) else { return };
    // the same without the word: a rule for a table matches that too
    let plain = String::from_utf8_lossy(&example).replacen(" SELECT ", " VALUES ", 1);
    let plain = probe.run(rule, plain.as_bytes());
    if plain.is_none_or(|plain| plain.decided_by(rule) || plain.destination == end.destination) {
        return;
    }
    let reason = format!(
        "it also matches statements that write, such as `{}`, and sends them to hostgroup {}, \
         where other writes do not go",
        String::from_utf8_lossy(&example),
        end.shown()
    );
    let suggestion = r"anchor it: `^SELECT`";
    findings.rule(Kind::UnanchoredSelect, rule, column, (reason, suggestion));
}

/// A rule for all clients that sends writes where others send only reads.
fn writes_to_readers(
    probe: &mut Probe<'_>,
    rule: &LintedRule<'_>,
    readers: &[Reader],
    findings: &mut Findings,
) {
    let destination = rule.row.destination_hostgroup;
    let Some(reader) = readers.iter().find(|reader| Some(reader.hostgroup) == destination) else {
        return;
    };
    if !rule.is_for_all_clients() || rule.row.flag_in != 0 || reader.rule_id == rule.row.rule_id {
        return;
    }
    let written = WRITES
        .iter()
        .find(|text| probe.run(rule, text.as_bytes()).is_some_and(|end| end.decided_by(rule)));
    if let Some(text) = written {
        let reason = format!(
            "`{text}` goes to hostgroup {} by this rule, where rule {} sends reads only",
            reader.hostgroup, reader.rule_id
        );
        let suggestion = "send what no other rule takes to the hostgroup that writes";
        let column = "destination_hostgroup";
        findings.rule(Kind::WritesToReaders, rule, column, (reason, suggestion));
    }
}

/// Locking reads of users whose transactions do not keep them on one hostgroup.
fn locking_reads(probe: &mut Probe<'_>, readers: &[Reader], findings: &mut Findings) {
    let lint = probe.lint;
    for user in lint.users().filter(|user| user.transaction_persistent == 0) {
        let name = user.username.as_bytes();
        let write = probe.run_as(name, WRITES[0].as_bytes());
        for ending in ["FOR UPDATE", "LOCK IN SHARE MODE"] {
            let text = format!("SELECT c FROM t WHERE id=? {ending}");
            let end = probe.run_as(name, text.as_bytes());
            let rule = lint.rules.iter().find(|rule| end.decided_by(rule));
            let Some(rule) = rule.filter(|rule| {
                end.destination != write.destination
                    && readers.iter().any(|reader| reader.rule_id == rule.row.rule_id)
                    && !findings.has(Kind::LockingReadToReaders, rule)
                    && !lint.rules.iter().any(|one| findings.has(Kind::LockingReadMissed, one))
            }) else {
                continue;
            };
            let reason = format!(
                "`SELECT … {ending}` of user `{}` goes to hostgroup {}, but its writes go \
                 elsewhere, and with transaction_persistent=0 in the same transaction",
                user.username,
                end.shown()
            );
            let suggestion = format!(
                "add a rule with an id below {}, match_digest = `{LOCKING_READS}`",
                rule.row.rule_id
            );
            let column = "destination_hostgroup";
            findings.rule(Kind::LockingReadToReaders, rule, column, (reason, suggestion));
        }
    }
}

/// A hostgroup that a rule sends reads and nothing else to.
struct Reader {
    hostgroup: i64,
    rule_id: i64,
}

/// The hostgroups that are for reads: a rule says so, and no user or rule says otherwise.
fn readers(lint: &Lint<'_>, forms: &Forms) -> Vec<Reader> {
    let mut readers = Vec::new();
    let mut writers: Vec<i64> = lint.users().map(|user| user.default_hostgroup).collect();
    for rule in lint.rules.iter().take(PROBED_RULES_MAX) {
        let Some(hostgroup) = rule.row.destination_hostgroup else { continue };
        let reads = lint.may_match(rule, &forms.read);
        let writes = lint.may_match(rule, &forms.write);
        if reads == Some(true) && writes == Some(false) {
            readers.push(Reader { hostgroup, rule_id: rule.row.rule_id });
        } else if writes == Some(true) && (reads == Some(false) || !rule.is_for_all_clients()) {
            writers.push(hostgroup);
        }
    }
    readers.retain(|reader| !writers.contains(&reader.hostgroup));
    readers
}

impl Lint<'_> {
    /// Whether a rule matches some statement of a form; `None` when that cannot be told.
    fn may_match(&self, rule: &LintedRule<'_>, form: &Language) -> Option<bool> {
        match self.find(rule, &[form])? {
            FoundText::Text(_) => Some(true),
            FoundText::Nothing => Some(false),
            FoundText::Unknown => None,
        }
    }

    /// A statement of some forms that a rule matches, as text and as digest.
    fn example(&self, rule: &LintedRule<'_>, forms: &[&Language]) -> Option<Vec<u8>> {
        rule.patterns().next()?;
        match self.find(rule, forms)? {
            FoundText::Text(text) => Some(text),
            FoundText::Nothing | FoundText::Unknown => None,
        }
    }

    fn find(&self, rule: &LintedRule<'_>, forms: &[&Language]) -> Option<FoundText> {
        let (mut all, mut none) = (forms.to_vec(), self.shape.all());
        for pattern in rule.patterns() {
            let language = pattern.language.as_ref()?;
            if rule.negates() { none.push(language) } else { all.push(language) }
        }
        Some(find_text(&all, &none))
    }
}

/// Sends statements through the rules.
struct Probe<'a> {
    lint: &'a Lint<'a>,
    scratch: RuleScratch,
    /// Ids of the rules that name a hostgroup.
    deciders: HashSet<i64>,
}

/// Where a statement went.
struct End {
    destination: Option<HostgroupId>,
    /// The last matching rule that named a hostgroup.
    decider: Option<i64>,
}

impl End {
    fn decided_by(&self, rule: &LintedRule<'_>) -> bool {
        self.decider == Some(rule.row.rule_id)
    }

    fn shown(&self) -> String {
        self.destination.map_or_else(|| "by default".to_owned(), |id| id.to_string())
    }
}

impl Probe<'_> {
    /// Sends a statement of a client that a rule is for; `None` when there is no such client.
    fn run(&mut self, rule: &LintedRule<'_>, statement: &[u8]) -> Option<End> {
        let row = rule.row;
        if text(&row.digest).is_some() || !rule.server_names.is_empty() {
            return None;
        }
        let address = match text(&row.client_addr) {
            None | Some("%") => "198.51.100.7".to_owned(),
            Some(asked) => asked.replace('%', "1"),
        };
        let port = row.proxy_port.and_then(|port| u16::try_from(port).ok());
        let flag = u32::try_from(row.flag_in).ok()?;
        Some(self.send(Sender {
            username: text(&row.username).unwrap_or(NOBODY).as_bytes(),
            schemaname: text(&row.schemaname).unwrap_or(NOBODY).as_bytes(),
            client_addr: address.as_bytes(),
            proxy_addr: text(&row.proxy_addr).unwrap_or(LOOPBACK).as_bytes(),
            proxy_port: port.unwrap_or(self.port()),
            flag_in: flag,
            statement,
        }))
    }

    /// Sends a statement of a user.
    fn run_as(&mut self, username: &[u8], statement: &[u8]) -> End {
        let proxy_port = self.port();
        self.send(Sender {
            username,
            schemaname: NOBODY.as_bytes(),
            client_addr: b"198.51.100.7",
            proxy_addr: LOOPBACK.as_bytes(),
            proxy_port,
            flag_in: 0,
            statement,
        })
    }

    fn send(&mut self, sender: Sender<'_>) -> End {
        let input = RuleInput {
            username: sender.username,
            schemaname: sender.schemaname,
            client_addr: sender.client_addr,
            proxy_addr: sender.proxy_addr,
            proxy_port: sender.proxy_port,
            server_name: b"",
            flag_in: sender.flag_in,
            text: sender.statement,
            digest: Some(DigestRef {
                hash: 0,
                text: sender.statement,
                omitted: sql::Omitted::More,
            }),
            execute: false,
            random: 0,
        };
        let mut deciders = Deciders { ids: &self.deciders, last: None };
        let rules = &self.lint.snapshot.rules;
        let verdict = rules.evaluate(&input, &mut self.scratch, &mut deciders);
        End { destination: verdict.destination, decider: deciders.last }
    }

    fn port(&self) -> u16 {
        let mut ports = self.lint.snapshot.vars.interfaces.iter().filter_map(|one| match one {
            Interface::Tcp { port, .. } => Some(*port),
            Interface::Unix(_) => None,
        });
        ports.next().unwrap_or(0)
    }
}

struct Sender<'a> {
    username: &'a [u8],
    schemaname: &'a [u8],
    client_addr: &'a [u8],
    proxy_addr: &'a [u8],
    proxy_port: u16,
    flag_in: u32,
    statement: &'a [u8],
}

/// Remembers which rule named a hostgroup last.
struct Deciders<'a> {
    ids: &'a HashSet<i64>,
    last: Option<i64>,
}

impl Observer for Deciders<'_> {
    const WATCHES: bool = true;

    fn on_rule(&mut self, step: &RuleStep<'_>) {
        if step.missed.is_none() && self.ids.contains(&step.rule_id) {
            self.last = Some(step.rule_id);
        }
    }
}

/// Finds every spelling of a locking read in digests.
const LOCKING_READS: &str = r"^SELECT.*\b(FOR (UPDATE|SHARE)|LOCK IN SHARE MODE)\b";
/// Rules that are asked where statements go; more would take minutes.
const PROBED_RULES_MAX: usize = 100;
/// Neither a user nor a schema.
const NOBODY: &str = "\u{1}";
const LOOPBACK: &str = "127.0.0.1";
const WRITES: [&str; 3] =
    ["INSERT INTO t VALUES (?)", "UPDATE t SET c=? WHERE id=?", "DELETE FROM t WHERE id=?"];
