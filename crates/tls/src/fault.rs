//! Why a certificate, a key or a wish cannot be used.

use std::fmt;

/// What is wrong, and with which of the settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFault {
    /// The setting, as its variable is called without prefix, such as `ssl_cert`.
    pub setting: &'static str,
    /// What is wrong with it, for a person.
    pub reason: String,
}

impl TlsFault {
    pub(crate) fn new(setting: &'static str, reason: impl Into<String>) -> Self {
        Self { setting, reason: reason.into() }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl std::error::Error for TlsFault {}
