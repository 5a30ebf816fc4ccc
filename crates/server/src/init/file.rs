//! The file that `tidegate init` writes: the answers as commented TOML.

use std::fmt::Write as _;

use engine::rows::{ServerRow, UserRow};
use engine::vars::{Family, Kind, find_in};

use super::answers::Answers;

/// The whole file.
pub(super) fn text(answers: &Answers) -> String {
    let mut text = HEAD.to_owned();
    variables(&mut text, Family::Mysql, &answers.mysql);
    variables(&mut text, Family::Admin, &answers.admin);
    for row in &answers.servers {
        server(&mut text, row);
    }
    for row in &answers.users {
        user(&mut text, row);
    }
    if let Some((writer, reader)) = answers.split {
        text += RULES_HEAD;
        rule(&mut text, 1, LOCKING_READ, writer);
        rule(&mut text, 2, READ, reader);
    }
    text
}

/// A table of variables, each with the sentence that the registry has for it.
fn variables(text: &mut String, family: Family, values: &[(&'static str, String)]) {
    line(text, format_args!("\n[{}]", family.table()));
    for (name, value) in values {
        let variable = find_in(family, name).expect("the names asked for are in the registry");
        line(text, format_args!("# {}", variable.doc));
        if variable.kind != Kind::Text {
            line(text, format_args!("# Allowed: {}.", variable.allowed()));
        }
        match variable.kind {
            Kind::Int { .. } | Kind::Bool => line(text, format_args!("{name} = {value}")),
            _ => line(text, format_args!("{name} = {}", quoted(value))),
        }
    }
}

fn server(text: &mut String, row: &ServerRow) {
    line(text, format_args!("\n[[mysql_servers]]"));
    line(text, format_args!("hostgroup_id = {}", row.hostgroup_id));
    line(text, format_args!("hostname = {}", quoted(&row.hostname)));
    line(text, format_args!("port = {}", row.port));
    line(text, format_args!("weight = {}", row.weight));
    line(text, format_args!("max_connections = {}", row.max_connections));
}

fn user(text: &mut String, row: &UserRow) {
    line(text, format_args!("\n[[mysql_users]]"));
    line(text, format_args!("username = {}", quoted(&row.username)));
    line(text, format_args!("password = {}", quoted(&String::from_utf8_lossy(&row.password))));
    line(text, format_args!("default_hostgroup = {}", row.default_hostgroup));
    line(text, format_args!("fast_forward = {}", row.fast_forward));
}

fn rule(text: &mut String, rule_id: i64, pattern: &str, hostgroup: i64) {
    line(text, format_args!("\n[[mysql_query_rules]]"));
    line(text, format_args!("rule_id = {rule_id}"));
    line(text, format_args!("active = 1"));
    line(text, format_args!("match_digest = '{pattern}'"));
    line(text, format_args!("destination_hostgroup = {hostgroup}"));
    line(text, format_args!("apply = 1"));
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

const HEAD: &str = "\
# Written by `tidegate init`. Tables and keys are those of the admin interface.
# `tidegate check FILE` shows what this file would run, or what is wrong with it.
";

const RULES_HEAD: &str = "
# Rules are tried in the order of their ids; what matches none goes to the user's default
# hostgroup. Reads that lock rows belong on the writer, so they come first.
";

const LOCKING_READ: &str = "^SELECT.*(FOR (UPDATE|SHARE)|LOCK IN SHARE MODE)";
const READ: &str = "^SELECT";
