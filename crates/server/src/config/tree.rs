//! A configuration file as a tree of keys and values, whatever its format.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A key with its value.
pub(super) struct Entry {
    /// The key.
    pub(super) key: String,
    /// Where it stands.
    pub(super) key_span: Range<usize>,
    /// The value.
    pub(super) item: Item,
}

/// A value at its place.
pub(super) struct Item {
    /// Where it stands.
    pub(super) span: Range<usize>,
    /// What it is.
    pub(super) value: TreeValue,
}

/// A value.
pub(super) enum TreeValue {
    /// A whole number.
    Int(i64),
    /// A whole number that does not fit in 64 bits.
    TooLarge(String),
    /// Another number.
    Float,
    /// `true` or `false`.
    Bool(bool),
    /// Text; from `proxysql.cnf` it may be any bytes.
    Text(Vec<u8>),
    /// A date; no key takes one.
    Date,
    /// Values in order.
    List(Vec<Item>),
    /// Keys and values.
    Group(Vec<Entry>),
}

impl TreeValue {
    /// What it is, for people.
    pub(super) fn kind(&self) -> String {
        match self {
            // which one is seen in its place, where it may be
            TreeValue::Text(_) => "a text".to_owned(),
            TreeValue::Int(_) | TreeValue::TooLarge(_) => "a number".to_owned(),
            TreeValue::Float => "a fraction".to_owned(),
            TreeValue::Bool(value) => value.to_string(),
            TreeValue::Date => "a date".to_owned(),
            TreeValue::List(_) => "a list".to_owned(),
            TreeValue::Group(_) => "a table".to_owned(),
        }
    }

    /// The whole number that it is; `None` when it is something else.
    pub(super) fn whole(&self) -> Option<Result<i64, String>> {
        match self {
            TreeValue::Int(number) => Some(Ok(*number)),
            TreeValue::TooLarge(number) => Some(Err(format!("{number} does not fit in 64 bits"))),
            _ => None,
        }
    }

    /// The text that it is; `None` when it is something else.
    pub(super) fn text(&self) -> Option<Result<String, String>> {
        match self {
            TreeValue::Text(bytes) => {
                let text = String::from_utf8(bytes.clone());
                Some(text.map_err(|_| "the text is not UTF-8".to_owned()))
            }
            _ => None,
        }
    }
}

/// The tree of a `tidegate.toml`, in the order of the file.
pub(super) fn of_toml(table: &DeTable<'_>) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        Entry { key: key.get_ref().to_string(), key_span: key.span(), item: toml_item(value) }
    };
    let mut entries: Vec<_> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

/// The tree of a `proxysql.cnf`.
pub(super) fn of_cnf(settings: Vec<libconfig::Setting>) -> Vec<Entry> {
    let entry = |setting: libconfig::Setting| Entry {
        key: setting.name,
        key_span: setting.name_span,
        item: cnf_item(setting.item),
    };
    settings.into_iter().map(entry).collect()
}

fn toml_item(spanned: &Spanned<DeValue<'_>>) -> Item {
    let value = match spanned.get_ref() {
        DeValue::String(text) => TreeValue::Text(text.as_bytes().to_vec()),
        DeValue::Integer(number) => whole(number),
        DeValue::Float(_) => TreeValue::Float,
        DeValue::Boolean(value) => TreeValue::Bool(*value),
        DeValue::Datetime(_) => TreeValue::Date,
        DeValue::Array(items) => TreeValue::List(items.iter().map(toml_item).collect()),
        DeValue::Table(table) => TreeValue::Group(of_toml(table)),
    };
    Item { span: spanned.span(), value }
}

fn whole(number: &DeInteger<'_>) -> TreeValue {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => TreeValue::Int(number),
        Err(_) => TreeValue::TooLarge(number.to_string()),
    }
}

fn cnf_item(item: libconfig::Item) -> Item {
    let value = match item.value {
        libconfig::SettingValue::Int(number) => TreeValue::Int(number),
        libconfig::SettingValue::Float(_) => TreeValue::Float,
        libconfig::SettingValue::Bool(value) => TreeValue::Bool(value),
        libconfig::SettingValue::Text(bytes) => TreeValue::Text(bytes),
        libconfig::SettingValue::Array(items) | libconfig::SettingValue::List(items) => {
            TreeValue::List(items.into_iter().map(cnf_item).collect())
        }
        libconfig::SettingValue::Group(settings) => TreeValue::Group(of_cnf(settings)),
    };
    Item { span: item.span, value }
}
