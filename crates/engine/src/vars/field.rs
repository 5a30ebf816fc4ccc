//! How values of variables become fields of [`super::Vars`]: one way for each type of field.
//!
//! Text of a variable is parsed here a second time; what is wrong with it was told before.

use core::net::IpAddr;
use std::collections::BTreeMap;

use super::{Interface, InterfacesTls, KeyHash, Networks, Value};

/// How a field is read from a value of its variable.
pub(super) trait Field: Sized {
    /// The value of variable `name`; `None` when it is of another kind or does not fit.
    fn read(value: &Value) -> Option<Self>;

    fn field(values: &BTreeMap<String, Value>, name: &str) -> Self {
        values
            .get(name)
            .and_then(Self::read)
            .expect("a test reads every field at its default, its least and its greatest value")
    }
}

impl Field for bool {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            Value::Int(_) | Value::Text(_) => None,
        }
    }
}

impl Field for u32 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Int(value) => u32::try_from(*value).ok(),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Int(value) => u64::try_from(*value).ok(),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }
}

impl Field for String {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => Some(value.clone()),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}

impl Field for Vec<KeyHash> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => KeyHash::parse_list(value).ok(),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}

impl Field for InterfacesTls {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => InterfacesTls::parse(value).ok(),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}

impl Field for Networks {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => Networks::parse(value).ok(),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}

impl Field for IpAddr {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => value.parse().ok(),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}

impl Field for Vec<Interface> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => Interface::parse_list(value).ok(),
            Value::Bool(_) | Value::Int(_) => None,
        }
    }
}
