//! What is stored of a password, and in what form.

use std::collections::BTreeMap;

use wire::auth::{Plugin, ed25519, native, parsec, sha2};

use crate::login_checks::CheckedBy;

/// What is stored of a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    /// No password: only an empty response is accepted.
    Empty,
    /// Clear text: every plugin works, towards clients and servers.
    Clear {
        /// The password.
        password: Box<[u8]>,
        /// SHA1(SHA1(password)), for `mysql_native_password`.
        double_sha1: [u8; 20],
    },
    /// `*` and 40 hex digits: SHA1(SHA1(password)).
    Native([u8; 20]),
    /// `$A$005$` and salt and hash, as `caching_sha2_password` stores it.
    CachingSha2(Box<[u8]>),
    /// The public key of `client_ed25519`.
    Ed25519([u8; ed25519::PUBLIC_BYTES]),
    /// The salt and the public key of `parsec`.
    Parsec(parsec::Stored),
    /// Servers have it, and nobody has read it there, or it is none that can be used: nothing
    /// proves it.
    Unread,
    /// Servers have it: a login to one of them proves it each time.
    AtServers,
    /// Others than servers have it, and are asked each time.
    Checked(CheckedBy),
}

/// What was read on servers of the passwords of accounts, by name.
pub type ReadPasswords = BTreeMap<Box<str>, ReadPassword>;

/// What a server has of an account's password.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadPassword {
    /// The primary one.
    pub primary: Credential,
    /// The one of before, where that is right as well.
    pub additional: Option<Credential>,
    /// The host and the port of the server.
    pub server: (Box<str>, i64),
}

/// In what form a password is stored, which decides what a login asks of a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    /// There is none.
    Empty,
    /// A hash of `mysql_native_password`.
    Native,
    /// A hash of `caching_sha2_password`.
    CachingSha2,
    /// A public key of `client_ed25519`.
    Ed25519,
    /// A public key of `parsec`, with its rounds as a power of two.
    Parsec(u8),
    /// Clear text.
    Clear,
}

impl Credential {
    /// The form that it is stored in.
    pub fn form(&self) -> Form {
        match self {
            Self::Empty => Form::Empty,
            Self::Clear { .. } => Form::Clear,
            // of a name that is not there nobody knows more
            Self::Native(_) | Self::Unread => Form::Native,
            // whose clients show the password itself
            Self::CachingSha2(_) | Self::AtServers | Self::Checked(_) => Form::CachingSha2,
            Self::Ed25519(_) => Form::Ed25519,
            Self::Parsec(stored) => Form::Parsec(stored.factor()),
        }
    }

    /// Bytes of memory that it holds besides itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Clear { password, .. } => password.len(),
            Self::CachingSha2(stored) => stored.len(),
            _ => 0,
        }
    }

    pub(super) fn parse(stored: &[u8]) -> Result<Self, String> {
        if stored.is_empty() {
            return Ok(Self::Empty);
        }
        if stored.starts_with(b"$A$") {
            if stored.len() != 70 {
                return Err(format!(
                    "a caching_sha2_password hash has 70 bytes, this one has {}",
                    stored.len()
                ));
            }
            return Ok(Self::CachingSha2(stored.into()));
        }
        if let Some(hex) = stored.strip_prefix(b"*")
            && hex.len() == 40
            && hex.iter().all(u8::is_ascii_hexdigit)
        {
            return Ok(Self::Native(unhex(hex)));
        }
        Ok(Self::clear(stored))
    }

    /// A password in clear text.
    pub(super) fn clear(password: &[u8]) -> Self {
        Self::Clear { password: password.into(), double_sha1: native::double_sha1(password) }
    }

    /// What a server stores for an account by such a plugin; says why that is of no use.
    pub fn read(plugin: &str, stored: &[u8]) -> Result<Self, String> {
        match Plugin::from_name(plugin.as_bytes()) {
            Plugin::NativePassword | Plugin::CachingSha2 if stored.is_empty() => Ok(Self::Empty),
            Plugin::NativePassword | Plugin::CachingSha2 => match Self::parse(stored)? {
                hash if hash.sha2_rounds() > ROUNDS_MAX => {
                    let thousands = ROUNDS_MAX / 1000;
                    Err(format!("its hash has more than {thousands},000 rounds"))
                }
                hash @ (Self::Native(_) | Self::CachingSha2(_)) => Ok(hash),
                _ => Err(format!("what {plugin} has of it is no hash")),
            },
            _ => Self::read_key(plugin, stored),
        }
    }

    /// The same of the plugins that are for servers of one kind.
    fn read_key(plugin: &str, stored: &[u8]) -> Result<Self, String> {
        let read = match plugin {
            "ed25519" => ed25519::parse_stored(stored).map(Self::Ed25519),
            "parsec" => parsec::Stored::parse(stored).map(Self::Parsec),
            // it is hashed as by caching_sha2_password, and written otherwise
            "sha256_password" => stored.strip_prefix(b"$5$").and_then(|rest| {
                let (salt, hash) = rest.split_at_checked(sha2::SALT_BYTES)?;
                let stored = [b"$A$005$", salt, hash.strip_prefix(b"$")?].concat();
                Self::parse(&stored).ok()
            }),
            _ => {
                return Err(format!(
                    "its plugin is {plugin}, by which no password can be checked here"
                ));
            }
        };
        read.ok_or_else(|| format!("what {plugin} has of it is no hash"))
    }

    /// Whether clients' passwords are shown to others: servers, PAM or LDAP.
    pub(crate) fn is_passed_on(&self) -> bool {
        matches!(self, Self::AtServers | Self::Checked(_))
    }

    /// How many rounds of `caching_sha2_password` it takes to look at it.
    pub(crate) fn sha2_rounds(&self) -> u32 {
        match self {
            Self::CachingSha2(stored) => sha2::rounds(stored).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Whether there is a password at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

/// Rounds that a hash may have which a server says: each thousand takes a worker a third of a
/// millisecond, at every try of a client.
const ROUNDS_MAX: u32 = 20_000;

fn unhex(hex: &[u8]) -> [u8; 20] {
    let nibble = |c: &u8| match c {
        b'0'..=b'9' => c - b'0',
        b'a'..=b'f' => c - b'a' + 10,
        _ => c.wrapping_sub(b'A').wrapping_add(10),
    };
    let mut out = [0; 20];
    for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
        if let [high, low] = pair {
            *byte = nibble(high) << 4 | nibble(low);
        }
    }
    out
}
