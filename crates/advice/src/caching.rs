//! Which reads would gain from the query cache, what speaks against it, and the rules for it.
//!
//! It puts together what was counted by digest, what a sample says of how soon the same is asked
//! again (`engine::stats::Repeats`), and what the cache came to. Whether a statement could be
//! answered from the cache was decided by the function that serves it.

use std::collections::{BTreeMap, HashMap};

use engine::ids::HostgroupId;
use engine::route::{Query, QueryProcessor};
use engine::rows::RuleRow;
use engine::snapshot::Snapshot;
use engine::stats::{CacheRow, Collected, DigestRow, RepeatKey, RepeatRow, TTLS_MS};
use sql::{Access, Digest, Modes, Omitted, Role};

/// What is said of the reads of one digest, schema and user.
#[derive(Clone, Debug)]
pub struct CacheAdvice {
    /// What to do, or why not.
    pub kind: CacheAdviceKind,
    /// The hash of their digest.
    pub digest: u64,
    /// Its text.
    pub digest_text: Vec<u8>,
    /// The schema that they are asked in; empty for none.
    pub schemaname: Vec<u8>,
    /// The user.
    pub username: Vec<u8>,
    /// Where most of them ran; `None` where all were answered without a server.
    pub hostgroup: Option<HostgroupId>,
    /// Those that servers answered.
    pub calls: u64,
    /// What they took on average, in microseconds.
    pub avg_us: u64,
    /// How many of them the sample picked.
    pub sampled: u64,
    /// The share (0 to 1) behind which the same is asked within `ttl_ms`; of those that are in the
    /// cache, the share that was answered from there. `None` where nothing is known of it.
    pub repeats: Option<f64>,
    /// What servers would be spared, about, in milliseconds of a minute.
    pub saved_ms_per_min: f64,
    /// The time to live that is proposed, or in force.
    pub ttl_ms: Option<u32>,
    /// What speaks against it, or why it cannot be.
    pub why: String,
    /// A statement for the administrative interface that has them cached.
    pub rule: Option<String>,
}

/// What is advised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CacheAdviceKind {
    /// A rule would spare servers work.
    Cache,
    /// A rule has them in the cache.
    Cached,
    /// They cannot be answered from there.
    Never,
}

impl CacheAdviceKind {
    /// What it is called where it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Cached => "cached",
            Self::Never => "never",
        }
    }
}

/// What is to be said of what was counted: first what would spare most. What a rule of either
/// configuration has in the cache needs no other; proposed ones go in front of `rules`.
pub fn advise(
    collected: &Collected,
    configurations: [&Snapshot; 2],
    rules: &[RuleRow],
) -> Vec<CacheAdvice> {
    let writes = Writes::of(collected);
    let mut deciders = configurations.map(|of| (of, QueryProcessor::new(of, 0)));
    let mut told = Vec::new();
    for (key, asked) in asked_by_key(collected) {
        let query = query_of_digest(&asked.row);
        let ttls = deciders.iter_mut().map(|(of, processor)| processor.route(of, &query));
        let ttl_ms = ttls.filter_map(|route| route.caching.ttl_ms).next();
        let cached = collected.cached.rows().find(|(digest, _)| *digest == key.digest);
        let advice = match (ttl_ms, cached, collected.repeats.find(&key)) {
            (Some(_), ..) | (None, Some(_), None) => {
                Some(asked.cached(ttl_ms, cached.map(|(_, row)| row)))
            }
            (None, _, Some(repeats)) => asked.uncached(repeats, &writes, collected.now_us),
            (None, None, None) => None,
        };
        told.extend(advice);
    }
    told.sort_by(|a, b| {
        let saved = b.saved_ms_per_min.total_cmp(&a.saved_ms_per_min);
        let took = |it: &CacheAdvice| it.calls.saturating_mul(it.avg_us);
        a.kind.cmp(&b.kind).then(saved).then_with(|| took(b).cmp(&took(a)))
    });
    number_rules(&mut told, rules);
    told
}

/// The query that the rules see of a digest: its text has `?` for values.
pub fn query_of_digest<'a>(row: &DigestRow<'a>) -> Query<'a> {
    Query {
        username: row.user,
        schemaname: row.schema,
        client_addr: row.client,
        proxy_addr: b"",
        proxy_port: 0,
        server_name: b"",
        flag_in: 0,
        text: row.text,
        digest: Some(Digest {
            hash: row.digest,
            text: row.text,
            first_comment: None,
            omitted: Omitted::More,
        }),
        execute: false,
        annotations: true,
        modes: Modes::default(),
        modes_known: true,
    }
}

/// What was asked of servers with one digest, schema and user.
struct Asked<'a> {
    /// The row of the hostgroup that was asked most.
    row: DigestRow<'a>,
    calls: u64,
    time_us: u64,
    first_us: u64,
}

/// All reads that were counted.
fn asked_by_key(collected: &Collected) -> BTreeMap<RepeatKey, Asked<'_>> {
    let mut all: BTreeMap<RepeatKey, Asked<'_>> = BTreeMap::new();
    let reads = |row: &DigestRow<'_>| sql::facts(row.text).verb == sql::Verb::Select;
    for row in collected.digests.rows().filter(reads) {
        let key =
            RepeatKey { digest: row.digest, schema: row.schema.into(), user: row.user.into() };
        let none = Asked { row, calls: 0, time_us: 0, first_us: u64::MAX };
        let asked = all.entry(key).or_insert(none);
        if row.hostgroup.is_none() {
            continue;
        }
        if asked.row.hostgroup.is_none() || asked.row.totals.count < row.totals.count {
            asked.row = row;
        }
        asked.calls += row.totals.count;
        asked.time_us = asked.time_us.saturating_add(row.totals.sum_time_us);
        asked.first_us = asked.first_us.min(row.totals.first_seen_us);
    }
    all
}

impl Asked<'_> {
    /// What is said of those that a rule has in the cache.
    fn cached(&self, ttl_ms: Option<u32>, row: Option<&CacheRow>) -> CacheAdvice {
        let (hits, misses) = row.map_or((0, 0), |row| (row.hits, row.misses));
        let reasons = row.into_iter().flat_map(|row| &row.reasons);
        let reasons: Vec<_> = reasons.map(|(name, count)| format!("{name}: {count}")).collect();
        let lookups = hits + misses;
        let mut why = match lookups {
            0 => "a rule says so, and nothing was looked for yet".to_owned(),
            _ => format!("{hits} of {lookups} were answered from the cache"),
        };
        if !reasons.is_empty() {
            why = format!("{why}; not looked for or not kept: {}", reasons.join(", "));
        }
        let kind = match lookups == 0 && !reasons.is_empty() {
            true => CacheAdviceKind::Never,
            false => CacheAdviceKind::Cached,
        };
        let repeats = (lookups > 0).then(|| number(hits) / number(lookups));
        CacheAdvice { repeats, ttl_ms, why, ..self.plain(kind) }
    }

    /// What is said of those that no rule has there, if anything.
    fn uncached(&self, repeats: &RepeatRow, writes: &Writes, now_us: u64) -> Option<CacheAdvice> {
        let cacheable = repeats.share_cacheable();
        if repeats.picked >= TOLD_LEAST && cacheable < CACHEABLE_LEAST {
            let why = reasons_of(repeats).join("; ");
            let never = self.plain(CacheAdviceKind::Never);
            return Some(CacheAdvice { sampled: repeats.picked, why, ..never });
        }
        let all = repeats.share_within(TTLS_MS.len() - 1);
        let places = 0..TTLS_MS.len();
        let enough = |ttl: &usize| repeats.share_within(*ttl) >= all * OF_ALL_REPEATS;
        let ttl = places.into_iter().find(enough)?;
        let share = repeats.share_within(ttl);
        let plain = self.plain(CacheAdviceKind::Cache);
        let minutes = number(now_us.saturating_sub(self.first_us).max(SECOND_US)) / MINUTE_US;
        let saved_ms_per_min = number(self.time_us) / 1000.0 / minutes * share * cacheable;
        if repeats.told() < TOLD_LEAST || share < SHARE_LEAST || saved_ms_per_min < SAVED_MS_LEAST {
            return None;
        }
        let ttl_ms = TTLS_MS.get(ttl).copied()?;
        let mut doubts = writes.doubts(&self.row);
        let percent = 100.0 * (1.0 - cacheable);
        if percent >= 1.0 {
            let reasons = reasons_of(repeats).join("; ");
            doubts.push(format!("{percent:.0} % cannot be answered: {reasons}"));
        }
        if std::str::from_utf8(self.row.schema).is_err()
            || std::str::from_utf8(self.row.user).is_err()
        {
            doubts.push("no rule can name its user and schema, which are no UTF-8".to_owned());
        }
        Some(CacheAdvice {
            sampled: repeats.picked,
            repeats: Some(share),
            saved_ms_per_min,
            ttl_ms: Some(ttl_ms),
            why: doubts.join("; "),
            ..plain
        })
    }

    fn plain(&self, kind: CacheAdviceKind) -> CacheAdvice {
        CacheAdvice {
            kind,
            digest: self.row.digest,
            digest_text: self.row.text.to_owned(),
            schemaname: self.row.schema.to_owned(),
            username: self.row.user.to_owned(),
            hostgroup: self.row.hostgroup,
            calls: self.calls,
            avg_us: self.time_us.checked_div(self.calls).unwrap_or(0),
            sampled: 0,
            repeats: None,
            saved_ms_per_min: 0.0,
            ttl_ms: None,
            why: String::new(),
            rule: None,
        }
    }
}

/// Why the cache could not answer some of the sample, what is most frequent first.
fn reasons_of(repeats: &RepeatRow) -> Vec<String> {
    let mut reasons = repeats.reasons.clone();
    reasons.sort_by_key(|(why, count)| (u64::MAX - count, *why));
    reasons.into_iter().map(|(why, _)| why.to_owned()).collect()
}

/// Statements that change tables, by schema and name in small letters.
struct Writes(HashMap<Table, f64>);

type Table = (Vec<u8>, Vec<u8>);

impl Writes {
    /// How often in a minute each table is named by a statement that changes data.
    fn of(collected: &Collected) -> Self {
        let mut rates: HashMap<Table, f64> = HashMap::new();
        for row in collected.digests.rows() {
            if sql::facts(row.text).access == Access::Reads {
                continue;
            }
            let time_us = collected.now_us.saturating_sub(row.totals.first_seen_us).max(SECOND_US);
            let rate = number(row.totals.count) / (number(time_us) / MINUTE_US);
            for table in tables_of(row.text, row.schema) {
                *rates.entry(table).or_default() += rate;
            }
        }
        Self(rates)
    }

    /// What they have to do with a read.
    fn doubts(&self, read: &DigestRow<'_>) -> Vec<String> {
        let written = tables_of(read.text, read.schema).into_iter().filter_map(|table| {
            let rate = self.0.get(&table)?;
            let name = String::from_utf8_lossy(&table.1).into_owned();
            Some(format!("`{name}` is written {rate:.1} times a minute"))
        });
        written.collect()
    }
}

/// The tables and views that a text names, each once.
fn tables_of(text: &[u8], schema: &[u8]) -> Vec<Table> {
    let (mut tables, mut before) = (Vec::new(), &b""[..]);
    let mut names = sql::names(text, Modes::default());
    while let Some((name, role)) = names.next() {
        if role == Role::Table {
            let schema = if names.is_qualified() { before } else { schema };
            tables.push((schema.to_ascii_lowercase(), name.to_ascii_lowercase()));
        }
        before = name;
    }
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Gives each advised rule an id that no other has, in front of all others: it decides nothing but
/// the time to live, and leaves the rest to them.
fn number_rules(told: &mut [CacheAdvice], rules: &[RuleRow]) {
    let texts: Vec<_> = told.iter().map(rule_columns).collect();
    let count = i64::try_from(texts.iter().flatten().count()).unwrap_or(i64::MAX);
    let first = rules.iter().map(|rule| rule.rule_id).min();
    let mut id = first.unwrap_or(count.saturating_add(1)).saturating_sub(count);
    for (advice, text) in told.iter_mut().zip(texts) {
        let Some((columns, values)) = text else { continue };
        advice.rule = Some(format!(
            "INSERT INTO mysql_query_rules (rule_id, active, {columns}, apply, comment) \
             VALUES ({id}, 1, {values}, 0, 'cache advice');"
        ));
        id = id.saturating_add(1);
    }
}

/// The columns of a rule that say whose reads it is for and for how long, and their values.
fn rule_columns(advice: &CacheAdvice) -> Option<(String, String)> {
    let ttl_ms = advice.ttl_ms.filter(|_| advice.kind == CacheAdviceKind::Cache)?;
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let user = std::str::from_utf8(&advice.username).ok()?;
    let schema = std::str::from_utf8(&advice.schemaname).ok()?;
    let digest = format!("'0x{:016X}'", advice.digest);
    let user = ("username", literal(user));
    let schema = (!schema.is_empty()).then(|| ("schemaname", literal(schema)));
    let rest = [("digest", digest), ("cache_ttl", ttl_ms.to_string())];
    let all = [user].into_iter().chain(schema).chain(rest);
    let (columns, values): (Vec<_>, Vec<_>) = all.unzip();
    Some((columns.join(", "), values.join(", ")))
}

#[expect(clippy::cast_precision_loss, reason = "estimates are shown with few digits")]
fn number(number: u64) -> f64 {
    number as f64
}

const SECOND_US: u64 = 1_000_000;
const MINUTE_US: f64 = 60e6;

/// Reads of a sample below which nothing is said.
const TOLD_LEAST: u64 = 10;

/// The share that has to repeat.
const SHARE_LEAST: f64 = 0.2;

/// What a minute has to spare, in milliseconds.
const SAVED_MS_LEAST: f64 = 1.0;

/// The share that could be answered from the cache, below which it is said that they cannot be.
const CACHEABLE_LEAST: f64 = 0.05;

/// The shortest time is proposed that has this share of the repeats of the longest.
const OF_ALL_REPEATS: f64 = 0.8;

#[cfg(test)]
mod tests;
