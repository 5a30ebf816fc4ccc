//! A client that arrives, up to its first command.
//!
//! - `newcomers`: clients before their login, and the one that gives way where there are too many;
//! - `login`: greeting, handshake response, authentication, and `COM_CHANGE_USER` later;
//! - `presented`: whose connection it is, where a proxy in front tells;
//! - `secured`: TLS in front of the login;
//! - `passwords`: whether a password is right, and when that is looked at;
//! - `checked`: what PAM or LDAP says of a password, which comes later;
//! - `signatures`: whether a signature proves a password;
//! - `admission`: the end of a login, for better or worse;
//! - `schema`: what a server is asked at a login.

pub(crate) mod admission;
pub(crate) mod checked;
pub(crate) mod login;
pub(crate) mod newcomers;
pub(crate) mod passwords;
pub(crate) mod presented;
pub(crate) mod schema;
pub(crate) mod secured;
pub(crate) mod signatures;
