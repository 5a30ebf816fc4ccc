//! The packets from the greeting to the first OK, and the packets of `COM_CHANGE_USER`.
//!
//! Both directions, read and written. All types borrow from the payload. Passwords are the
//! business of [`crate::auth`]; which capabilities are agreed on is decided by the caller.

mod change_user;
mod compression;
mod exchange;
mod greeting;
mod response;

pub use change_user::ChangeUser;
pub use compression::Compression;
pub use exchange::{AuthMore, AuthSwitch, CHALLENGE_BYTES, PublicKeyRequest};
pub use greeting::Greeting;
pub use response::{Attributes, HandshakeResponse, SslRequest};

/// The length of the nonce that both password plugins use.
pub const SCRAMBLE_BYTES: usize = 20;

#[cfg(test)]
mod tests;
