//! The file as a whole: which tables there are, and what their rows say together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use engine::config_fault::ConfigFault;
use engine::rows::RuleRow;
use engine::snapshot::Draft;
use engine::vars::{Family, nearest};
use libconfig::Sources;
use toml::de::DeTable;

use super::fault::{FileFault, Severity};
use super::format::Format;
use super::places::Places;
use super::tree::{Entry, Item, TreeValue};
use super::undrafted::{self, Undrafted};
use super::{columns, tree, undrafted_table, variables};

/// What was read of a file, with everything that is wrong with its shape.
pub(super) struct Document {
    /// Rows, those with faults included, so that positions are those of the file.
    pub(super) draft: Draft,
    /// What is carried without effect.
    pub(super) undrafted: Undrafted,
    /// Where everything stood.
    pub(super) places: Places,
    /// What is wrong or odd.
    pub(super) faults: Vec<FileFault>,
    /// The file, and those it includes.
    pub(super) sources: Sources,
    /// How it is written.
    pub(super) format: Format,
    /// Rows that the file has and that are not in force, by table.
    left_out: BTreeMap<&'static str, BTreeSet<usize>>,
    /// Where the text itself was wrong, in order; what follows from it is of no interest.
    broken: Vec<usize>,
}

/// Reads the text of the file `origin`; faults of its values are not looked for yet.
pub(super) fn read(format: Format, origin: &str, text: &str) -> Document {
    let (entries, faults, sources) = match format {
        Format::Toml => {
            let (root, errors) = DeTable::parse_recoverable(text);
            let fault = |error: toml::de::Error| {
                FileFault::error(error.span().unwrap_or(0..0), error.message())
            };
            let faults: Vec<_> = errors.into_iter().map(fault).collect();
            (tree::of_toml(root.get_ref()), faults, Sources::of(origin, text))
        }
        Format::Cnf => {
            let read = libconfig::parse(origin, text, &mut super::format::include);
            let fault = |fault: libconfig::SyntaxFault| {
                let severity = if fault.fatal { Severity::Error } else { Severity::Warning };
                FileFault { span: fault.span, title: fault.reason, severity }
            };
            let faults = read.faults.into_iter().map(fault).collect();
            (tree::of_cnf(read.settings), faults, read.sources)
        }
    };
    let (draft, undrafted, places) = (Draft::default(), Undrafted::default(), Places::default());
    let wrong = faults.iter().filter(|fault| fault.severity == Severity::Error);
    let mut broken: Vec<_> = wrong.map(|fault| fault.span.start).collect();
    broken.sort_unstable();
    let left_out = BTreeMap::new();
    let mut document =
        Document { draft, undrafted, places, faults, sources, format, left_out, broken };
    entries.iter().for_each(|entry| document.read_table(entry));
    document.draft.variables.sort();
    document.undrafted.settings.sort_by_key(|(name, _)| *name);
    document.undrafted.tables.sort_by_key(|(table, _)| table.name);
    document
}

impl Document {
    fn read_table(&mut self, entry: &Entry) {
        if self.read_rows(entry).is_some() {
            return;
        }
        match entry.key.as_str() {
            "mysql_variables" => self.read_variables(Family::Mysql, entry),
            "admin_variables" => self.read_variables(Family::Admin, entry),
            other => self.read_other(other, entry),
        }
    }

    /// Reads what is carried only; what is not known is told.
    fn read_other(&mut self, name: &str, entry: &Entry) {
        let span = entry.key_span.clone();
        if let Some(table) = undrafted::find(name) {
            undrafted::read_rows(self, table, entry);
        } else if let Some(setting) = undrafted::find_setting(name) {
            undrafted::read_setting(self, setting, entry);
        } else if let Some(reason) = left_out(name) {
            let title = format!("{name}: {reason}; left out");
            self.faults.push(FileFault { span, title, severity: Severity::LeftOut });
        } else {
            let format = self.format;
            let near = near_table(format, name);
            self.unknown(span, name, "table", near.as_deref(), || unknown_table(format, name));
        }
    }

    /// Tells of something that a `proxysql.cnf` may say in vain: ProxySQL goes on with `instead`.
    /// It is an error in a `tidegate.toml`.
    pub(super) fn in_vain(&mut self, span: Range<usize>, title: &str, instead: &str) {
        self.faults.push(match self.format {
            Format::Toml => FileFault::error(span, title),
            Format::Cnf => FileFault::warning(span, format!("{title}; {instead}")),
        });
    }

    /// Tells of a name that is not known: in a `proxysql.cnf` it is ignored, and no loss unless it
    /// is a slip. `title` is what is said of it in a `tidegate.toml`.
    pub(super) fn unknown(
        &mut self,
        span: Range<usize>,
        name: &str,
        what: &str,
        near: Option<&str>,
        title: impl FnOnce() -> String,
    ) {
        self.faults.push(match (self.format, near) {
            (Format::Toml, _) => FileFault::unknown(span, title()),
            (Format::Cnf, None) => {
                let title = format!("{name}: no {what} of ProxySQL 2.7; ignored, as there");
                FileFault { severity: Severity::LeftOut, ..FileFault::note(span, title) }
            }
            (Format::Cnf, Some(near)) => {
                FileFault::warning(span, format!("{name}: {near}; ignored"))
            }
        });
    }

    /// A row of the file that is not to be in force; takes effect with [`Self::leave_rows_out`].
    pub(super) fn leave_out(&mut self, table: &'static str, row: usize) {
        self.left_out.entry(table).or_default().insert(row);
    }

    /// Whether a row is not to be in force.
    pub(super) fn is_left_out(&self, table: &'static str, row: usize) -> bool {
        self.left_out.get(table).is_some_and(|rows| rows.contains(&row))
    }

    /// Takes the rows out of the draft that are to be left out.
    pub(super) fn leave_rows_out(&mut self) {
        for (table, rows) in std::mem::take(&mut self.left_out) {
            if let Some(from) = self.draft.table_mut(table) {
                from.leave_out(&rows);
            }
            self.places.leave_out(table, &rows);
        }
    }

    /// Reads the rows of a drafted table; `None` when it is none.
    fn read_rows(&mut self, entry: &Entry) -> Option<()> {
        let into = self.draft.table_mut(&entry.key)?;
        let (table, initial) = (into.table(), into.initial());
        let mut cells = Vec::new();
        for (index, row) in self.rows_of(table.name, entry).into_iter().flatten().enumerate() {
            let TreeValue::Group(entries) = &row.value else {
                self.no_row(table.name, row);
                self.places.unreadable(table.name, index);
                if self.format == Format::Cnf {
                    self.leave_out(table.name, index);
                }
                cells.push(initial.clone());
                continue;
            };
            let row = (row.span.clone(), entries.as_slice());
            cells.push(columns::read_row(self, table, index, &initial, row));
        }
        let faults = self.draft.table_mut(table.name)?.replace(&mut cells.into_iter());
        debug_assert_eq!(faults, [], "the reader gives each column what its shape is");
        if table.name == "mysql_servers" {
            self.ports_of_sockets();
        }
        Some(())
    }

    /// A server at a Unix socket has port 0 unless it says otherwise.
    fn ports_of_sockets(&mut self) {
        for (index, server) in self.draft.servers.iter_mut().enumerate() {
            let written = self.places.find("mysql_servers", Some(index), "port");
            if server.hostname.starts_with('/') && written.is_none() {
                server.port = 0;
            }
        }
    }

    /// The rows of a table; `None`, and a fault, when it is written as something else.
    pub(super) fn rows_of<'e>(&mut self, name: &str, entry: &'e Entry) -> Option<&'e [Item]> {
        if let TreeValue::List(rows) = &entry.item.value {
            return Some(rows);
        }
        if matches!(&entry.item.value, TreeValue::Group(none) if none.is_empty())
            && self.format == Format::Cnf
        {
            return Some(&[]);
        }
        let write = self.format.shown_row(name);
        let title = format!("{name} has one table for each row; write {write}");
        self.in_vain(entry.key_span.clone(), &title, "what stands there is ignored");
        None
    }

    /// Tells of a row that is none.
    pub(super) fn no_row(&mut self, name: &str, row: &Item) {
        let title = format!("{name}: a row is a table; write {}", self.format.shown_row(name));
        self.in_vain(row.span.clone(), &title, LEFT_OUT);
    }

    /// Whether the text is wrong somewhere in `span`.
    pub(super) fn is_broken(&self, span: &Range<usize>) -> bool {
        let next = self.broken.partition_point(|at| *at < span.start);
        self.broken.get(next).is_some_and(|at| *at < span.end)
    }

    fn read_variables(&mut self, family: Family, entry: &Entry) {
        match &entry.item.value {
            TreeValue::Group(entries) => {
                variables::read(self, family, entry.key_span.clone(), entries);
            }
            _ => {
                let name = family.table();
                let title = format!("{name} is one table; write {}", self.format.shown_table(name));
                self.faults.push(FileFault::error(entry.key_span.clone(), title));
            }
        }
    }

    /// Puts what the engine finds wrong in its place.
    pub(super) fn refuse(&mut self, found: &[ConfigFault]) {
        self.locate(found, Severity::Unfit);
    }

    /// Puts what the engine finds odd in its place.
    pub(super) fn warn_of(&mut self, found: &[ConfigFault]) {
        self.locate(found, Severity::Warning);
    }

    pub(super) fn locate(&mut self, found: &[ConfigFault], severity: Severity) {
        let mut located = Vec::new();
        found.iter().for_each(|fault| self.places.locate(fault, &mut located));
        located.retain(|fault| !self.is_broken(&fault.span));
        self.faults.extend(located.into_iter().map(|fault| FileFault { severity, ..fault }));
    }

    /// What rows say together that is odd but not wrong.
    pub(super) fn oddities(&self) -> Vec<FileFault> {
        let mut odd = Vec::new();
        let uses_servers = !self.draft.users.is_empty() || !self.draft.rules.is_empty();
        if self.draft.servers.is_empty() && uses_servers {
            let title = "mysql_servers: no server; every statement fails until there is one";
            odd.push(FileFault::warning(0..0, title));
        }
        for (index, rule) in self.draft.rules.iter().enumerate() {
            odd.extend(self.oddity_of_rule(index, rule));
        }
        for (index, row) in self.draft.fast_routing.iter().enumerate() {
            let place = ("mysql_query_rules_fast_routing", index);
            let hostgroup = row.destination_hostgroup;
            odd.extend(self.oddity_of_hostgroup(place, "destination_hostgroup", hostgroup));
        }
        for (index, row) in self.draft.hostgroups.iter().enumerate() {
            let place = ("mysql_hostgroup_attributes", index);
            odd.extend(self.oddity_of_hostgroup(place, "hostgroup_id", row.hostgroup_id));
        }
        for (index, user) in self.draft.users.iter().enumerate().filter(|(_, u)| u.active != 0) {
            let row = ("mysql_users", index);
            odd.extend(self.oddity_of_hostgroup(row, "default_hostgroup", user.default_hostgroup));
        }
        odd
    }

    fn oddity_of_rule(&self, index: usize, rule: &RuleRow) -> Option<FileFault> {
        let table = "mysql_query_rules";
        if self.places.find(table, Some(index), "active").is_none() {
            let title = "this rule is not in force: it lacks active = 1 (the default is 0)";
            return Some(FileFault::warning(self.places.find_row(table, Some(index)), title));
        }
        let hostgroup = rule.destination_hostgroup.filter(|_| rule.active != 0)?;
        self.oddity_of_hostgroup((table, index), "destination_hostgroup", hostgroup)
    }

    fn oddity_of_hostgroup(
        &self,
        (table, index): (&'static str, usize),
        column: &str,
        hostgroup: i64,
    ) -> Option<FileFault> {
        let servers = &self.draft.servers;
        let has_servers = servers.iter().any(|server| server.hostgroup_id == hostgroup);
        if servers.is_empty() || has_servers || self.draft.moves_servers_to(hostgroup) {
            return None;
        }
        let span = self.places.find(table, Some(index), column);
        let span = span.unwrap_or_else(|| self.places.find_row(table, Some(index)));
        let title = format!("{table}.{column}: hostgroup {hostgroup} has no server");
        Some(FileFault::warning(span, title))
    }
}

/// Why a table or setting that is known has no place here.
pub(crate) fn left_out(name: &str) -> Option<&'static str> {
    let is = |&&(beginning, _): &&(&str, _)| name.starts_with(beginning);
    undrafted_table::LEFT_OUT.iter().find(is).map(|(_, reason)| *reason)
}

fn unknown_table(format: Format, name: &str) -> String {
    match near_table(format, name) {
        Some(near) => format!("{name}: {near}"),
        None => {
            let tables: Vec<_> = row_tables().chain(VARIABLE_TABLES).collect();
            format!("{name}: unknown table; there are {}", tables.join(", "))
        }
    }
}

/// What is likely to be meant by a name that no table has.
fn near_table(format: Format, name: &str) -> Option<String> {
    let short = Family::split(name).map_or(name, |(_, short)| short);
    if let Some(variable) = engine::vars::all().find(|variable| variable.name == short) {
        return Some(format!(
            "a variable belongs under {}",
            format.shown_table(variable.family.table())
        ));
    }
    let undrafted = undrafted::tables().flat_map(|table| [table.name, table.section]);
    let meant = nearest(name, row_tables().chain(VARIABLE_TABLES).chain(undrafted))?;
    Some(format!("unknown table; did you mean `{meant}`?"))
}

/// What becomes of a row of a `proxysql.cnf` that cannot be used.
pub(super) const LEFT_OUT: &str = "this row is left out, as in ProxySQL";

/// The tables of rows that have an effect.
fn row_tables() -> impl Iterator<Item = &'static str> {
    Draft::default().tables().map(|rows| rows.table().name).into_iter()
}

const VARIABLE_TABLES: [&str; 2] = ["mysql_variables", "admin_variables"];
