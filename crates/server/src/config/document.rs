//! The file as a whole: which tables there are, and what their rows say together.

use std::ops::Range;

use engine::config_fault::ConfigFault;
use engine::rows::RuleRow;
use engine::snapshot::Draft;
use engine::vars::{Family, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::columns::Table;
use super::fault::Fault;
use super::places::Places;
use super::{tables, variables};

/// What was read of a file, with everything that is wrong with its shape.
#[derive(Default)]
pub(super) struct Document {
    /// Rows, those with faults included, so that positions are those of the file.
    pub(super) draft: Draft,
    /// Where everything stood.
    pub(super) places: Places,
    /// What is wrong.
    pub(super) faults: Vec<Fault>,
    /// What is odd.
    pub(super) odd: Vec<Fault>,
}

/// Reads a file's text; faults of its values are not looked for yet.
pub(super) fn read(text: &str) -> Document {
    let mut document = Document::default();
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        document.faults.push(Fault::error(span, error.message()));
    }
    for (key, value) in root.get_ref() {
        document.read_table(key.get_ref(), key.span(), value);
    }
    document
}

impl Document {
    fn read_table(&mut self, name: &str, key_span: Range<usize>, value: &Spanned<DeValue<'_>>) {
        match name {
            "mysql_servers" => {
                let mut servers = self.read_rows(&tables::SERVERS, key_span, value);
                for (index, server) in servers.iter_mut().enumerate() {
                    let written = self.places.find("mysql_servers", Some(index), "port");
                    if server.hostname.starts_with('/') && written.is_none() {
                        server.port = 0;
                    }
                }
                self.draft.servers = servers;
            }
            "mysql_users" => self.draft.users = self.read_rows(&tables::USERS, key_span, value),
            "mysql_query_rules" => {
                self.draft.rules = self.read_rows(&tables::RULES, key_span, value);
            }
            "mysql_query_rules_fast_routing" => {
                self.draft.fast_routing = self.read_rows(&tables::FAST_ROUTING, key_span, value);
            }
            "mysql_variables" => self.read_variables(Family::Mysql, key_span, value),
            "admin_variables" => self.read_variables(Family::Admin, key_span, value),
            unknown => self.faults.push(Fault::error(key_span, unknown_table(unknown))),
        }
    }

    fn read_rows<R: Default>(
        &mut self,
        table: &Table<R>,
        key_span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Vec<R> {
        let name = table.name;
        let Some(rows) = value.get_ref().as_array() else {
            let title = format!("{name} has one table for each row; write [[{name}]]");
            self.faults.push(Fault::error(key_span, title));
            return Vec::new();
        };
        let mut typed = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            match row.get_ref().as_table() {
                Some(cells) => typed.push(table.read_row(self, index, row.span(), cells)),
                None => {
                    let title = format!("{name}: a row is a table; write [[{name}]]");
                    self.faults.push(Fault::error(row.span(), title));
                    self.places.unreadable(name, index);
                    typed.push(R::default());
                }
            }
        }
        typed
    }

    fn read_variables(
        &mut self,
        family: Family,
        key_span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        match value.get_ref().as_table() {
            Some(table) => variables::read(self, family, key_span, table),
            None => {
                let name = family.table();
                let title = format!("{name} is one table; write [{name}]");
                self.faults.push(Fault::error(key_span, title));
            }
        }
    }

    /// Puts what the engine finds odd in its place.
    pub(super) fn warn_of(&mut self, found: &[ConfigFault]) {
        let mut odd = Vec::new();
        found.iter().for_each(|fault| self.places.locate(fault, &mut odd));
        let warnings = odd.into_iter().map(|fault| Fault::warning(fault.span, fault.title));
        self.odd.extend(warnings);
    }

    /// What is odd but not wrong, in the order of the file.
    pub(super) fn warnings(&self) -> Vec<Fault> {
        let mut odd = self.odd.clone();
        for (index, rule) in self.draft.rules.iter().enumerate() {
            odd.extend(self.oddity_of_rule(index, rule));
        }
        for (index, row) in self.draft.fast_routing.iter().enumerate() {
            let place = ("mysql_query_rules_fast_routing", index);
            let hostgroup = row.destination_hostgroup;
            odd.extend(self.oddity_of_hostgroup(place, "destination_hostgroup", hostgroup));
        }
        for (index, user) in self.draft.users.iter().enumerate().filter(|(_, u)| u.active != 0) {
            let row = ("mysql_users", index);
            odd.extend(self.oddity_of_hostgroup(row, "default_hostgroup", user.default_hostgroup));
        }
        odd.sort_by_key(|fault| fault.span.start);
        odd
    }

    fn oddity_of_rule(&self, index: usize, rule: &RuleRow) -> Option<Fault> {
        let table = "mysql_query_rules";
        if self.places.find(table, Some(index), "active").is_none() {
            let title = "this rule is not in force: it lacks active = 1 (the default is 0)";
            return Some(Fault::warning(self.places.find_row(table, Some(index)), title));
        }
        let hostgroup = rule.destination_hostgroup.filter(|_| rule.active != 0)?;
        self.oddity_of_hostgroup((table, index), "destination_hostgroup", hostgroup)
    }

    fn oddity_of_hostgroup(
        &self,
        (table, index): (&'static str, usize),
        column: &str,
        hostgroup: i64,
    ) -> Option<Fault> {
        if self.draft.servers.iter().any(|server| server.hostgroup_id == hostgroup) {
            return None;
        }
        let span = self.places.find(table, Some(index), column);
        let span = span.unwrap_or_else(|| self.places.find_row(table, Some(index)));
        let title = format!("{table}.{column}: hostgroup {hostgroup} has no server");
        Some(Fault::warning(span, title))
    }
}

fn unknown_table(name: &str) -> String {
    if tables::UNSUPPORTED.contains(&name) {
        return format!("{name}: this version of Tidegate does not have this table or key yet");
    }
    if let Some(variable) = engine::vars::all().find(|variable| variable.name == name) {
        return format!("{name}: a variable belongs under [{}]", variable.family.table());
    }
    match nearest(name, TABLES) {
        Some(meant) => format!("{name}: unknown table; did you mean `{meant}`?"),
        None => format!("{name}: unknown table; there are {}", TABLES.join(", ")),
    }
}

const TABLES: [&str; 6] = [
    "mysql_servers",
    "mysql_users",
    "mysql_query_rules",
    "mysql_query_rules_fast_routing",
    "mysql_variables",
    "admin_variables",
];
