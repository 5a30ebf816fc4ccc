//! How values of any kind are JSON. A type is told by its fields, once, for both directions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

/// A type that is in recordings.
pub(crate) trait Recorded: Sized {
    /// As it is written.
    fn write(&self) -> Value;

    /// Reads what was written; the error says what is wrong.
    fn read(value: &Value) -> Result<Self, String>;
}

/// An object of these members.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    Value::Object(members.collect::<Map<_, _>>())
}

/// A member of an object. One that is not there is `null`.
pub(crate) fn member<T: Recorded>(value: &Value, name: &str) -> Result<T, String> {
    let value = value.get(name).unwrap_or(&Value::Null);
    T::read(value).map_err(|why| format!("`{name}`: {why}"))
}

/// The one member of an object, or a text, which stands for a name without a value.
pub(super) fn variant(value: &Value) -> Result<(&str, &Value), String> {
    if let Value::String(name) = value {
        return Ok((name, &Value::Null));
    }
    let mut members = value.as_object().into_iter().flatten();
    match (members.next(), members.next()) {
        (Some((name, value)), None) => Ok((name, value)),
        _ => Err(wanted("an object with one member", value)),
    }
}

/// What is told of a value that is of another kind.
pub(super) fn wanted(what: &str, value: &Value) -> String {
    let text = value.to_string();
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{what} is wanted, not {shown}{more}")
}

/// Has a struct written and read by its fields. One that is left out does not compile.
macro_rules! recorded {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::recording::Recorded for $type {
            fn write(&self) -> serde_json::Value {
                let Self { $($field),* } = self;
                $crate::recording::object([
                    $((stringify!($field), $crate::recording::Recorded::write($field))),*
                ])
            }

            fn read(value: &serde_json::Value) -> Result<Self, String> {
                Ok(Self { $($field: $crate::recording::member(value, stringify!($field))?),* })
            }
        }
    };
    // a field that came later has its default in what was written before
    ($type:ty { $($field:ident),* $(,)? } or default) => {
        impl $crate::recording::Recorded for $type {
            fn write(&self) -> serde_json::Value {
                let Self { $($field),* } = self;
                $crate::recording::object([
                    $((stringify!($field), $crate::recording::Recorded::write($field))),*
                ])
            }

            fn read(value: &serde_json::Value) -> Result<Self, String> {
                let mut read = Self::default();
                $(if value.get(stringify!($field)).is_some() {
                    read.$field = $crate::recording::member(value, stringify!($field))?;
                })*
                Ok(read)
            }
        }
    };
}
pub(crate) use recorded;

/// Has an enum without fields written by its names.
macro_rules! named {
    ($type:ty { $($name:ident),* $(,)? }) => {
        impl $crate::recording::Recorded for $type {
            fn write(&self) -> serde_json::Value {
                match self {
                    $(Self::$name => stringify!($name).into()),*
                }
            }

            fn read(value: &serde_json::Value) -> Result<Self, String> {
                match value.as_str() {
                    $(Some(stringify!($name)) => Ok(Self::$name),)*
                    _ => Err($crate::recording::value::wanted(
                        concat!("one of", $(" ", stringify!($name)),*),
                        value,
                    )),
                }
            }
        }
    };
}
pub(super) use named;

/// Whole numbers.
macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Recorded for $type {
            fn write(&self) -> Value {
                Value::from(*self)
            }

            fn read(value: &Value) -> Result<Self, String> {
                let own = value.as_u64().and_then(|number| Self::try_from(number).ok());
                let own = own.or_else(|| Self::try_from(value.as_i64()?).ok());
                own.ok_or_else(|| wanted(concat!("a number (", stringify!($type), ")"), value))
            }
        })*
    };
}

numbers!(u16, u32, u64, i64, usize);

impl Recorded for bool {
    fn write(&self) -> Value {
        Value::Bool(*self)
    }

    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| wanted("true or false", value))
    }
}

impl Recorded for String {
    fn write(&self) -> Value {
        Value::String(self.clone())
    }

    fn read(value: &Value) -> Result<Self, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| wanted("a text", value))
    }
}

impl<T: Recorded> Recorded for Option<T> {
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}

impl<T: Recorded> Recorded for Vec<T> {
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }

    fn read(value: &Value) -> Result<Self, String> {
        items(value)?.iter().map(T::read).collect()
    }
}

impl<T: Recorded> Recorded for VecDeque<T> {
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }

    fn read(value: &Value) -> Result<Self, String> {
        items(value)?.iter().map(T::read).collect()
    }
}

impl<T: Recorded + Ord> Recorded for BTreeSet<T> {
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }

    fn read(value: &Value) -> Result<Self, String> {
        items(value)?.iter().map(T::read).collect()
    }
}

impl<K: Recorded + Ord, V: Recorded> Recorded for BTreeMap<K, V> {
    fn write(&self) -> Value {
        let pair = |(key, value): (&K, &V)| Value::Array(vec![key.write(), value.write()]);
        Value::Array(self.iter().map(pair).collect())
    }

    fn read(value: &Value) -> Result<Self, String> {
        items(value)?.iter().map(<(K, V)>::read).collect()
    }
}

impl<A: Recorded, B: Recorded> Recorded for (A, B) {
    fn write(&self) -> Value {
        Value::Array(vec![self.0.write(), self.1.write()])
    }

    fn read(value: &Value) -> Result<Self, String> {
        match &**items(value)? {
            [one, other] => Ok((A::read(one)?, B::read(other)?)),
            _ => Err(wanted("an array of two", value)),
        }
    }
}

fn items(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| wanted("an array", value))
}

/// Characters of a wrong value that are told.
const SHOWN_MAX: usize = 60;
