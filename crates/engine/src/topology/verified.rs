//! What is known of the identity of a server.

/// What was verified of a server's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verified {
    /// Nothing, as the operator wants it.
    Nothing,
    /// That an authority vouches for it.
    Authority,
    /// That as well, and that it is for the server's host.
    Identity,
    /// That the server knows the account's password; or has yet to prove that.
    Password,
}

impl Verified {
    /// As the operator reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Authority => "ca",
            Self::Identity => "identity",
            Self::Password => "password",
        }
    }
}
