//! Clients that prove a password by a signature: `client_ed25519` and `parsec`.
//!
//! A name that does not exist is asked for the same things as one that does, and takes as long.

use wire::auth::{Plugin, challenge_of, ed25519, parsec};
use wire::frame;

use crate::ids::SessionId;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::session::arriving::login::{Expect, Login};
use crate::users::{Account, Credential, Form};

impl Proxy {
    /// The nonce that clients sign.
    pub(super) fn challenge(&self, login: &Login) -> [u8; 32] {
        challenge_of(&login.scramble, self.offer.key.secret())
    }

    /// Tells a client of `parsec` by which salt it is to answer.
    pub(crate) fn tell_salt(&mut self, id: SessionId, mut login: Box<Login>) {
        let salt = self.salt_for(&login);
        let seq = &mut login.seq;
        // as with servers, nothing marks it as what a plugin says
        self.orders.send(End::Client(id), |out| frame::write_packet(out, seq, &salt));
        login.expect = Expect::Response;
        self.await_login(id, login);
    }

    /// The salt of an account's key; where there is none, one that stays the same for the name.
    fn salt_for(&self, login: &Login) -> [u8; parsec::SALT_BYTES] {
        let credential = login.account.as_ref().map(|account| &account.credential);
        match (credential, self.asked_of(login).form) {
            (Some(Credential::Parsec(stored)), _) => stored.salt,
            (_, Form::Parsec(factor)) => self.made_salt(login, factor),
            _ => self.made_salt(login, 0),
        }
    }

    fn made_salt(&self, login: &Login, factor: u8) -> [u8; parsec::SALT_BYTES] {
        parsec::salt_for(&login.user, self.offer.guesses.secret(), factor)
    }

    /// Whether a client's answer is right.
    pub(super) fn is_signed(&self, login: &Login, response: &[u8]) -> bool {
        let challenge = self.challenge(login);
        match login.plugin {
            Plugin::Parsec => self.is_signed_by_parsec(login, &challenge, response),
            _ => is_signed_by_ed25519(login, self.asked_of(login).form, &challenge, response),
        }
    }

    /// What a server stores of the password that a client has just proved by a signature.
    pub(super) fn signer(&self, login: &Login) -> Option<Vec<u8>> {
        let account = login.account.as_deref()?;
        match (login.plugin, &account.credential) {
            (Plugin::Ed25519, Credential::Ed25519(public)) => Some(public.to_vec()),
            (Plugin::Ed25519, _) => Some(ed25519::public_key(clear_of(account)?).to_vec()),
            (_, Credential::Parsec(stored)) => Some(stored.to_bytes()),
            _ => account.learned.parsec(&self.salt_for(login)).map(parsec::Stored::to_bytes),
        }
    }

    fn is_signed_by_parsec(&self, login: &Login, challenge: &[u8; 32], answer: &[u8]) -> bool {
        if answer.len() != parsec::ANSWER_BYTES {
            return false;
        }
        let salt = self.salt_for(login);
        let account = login.account.as_deref();
        let clear = account.and_then(clear_of);
        let known = match account.map(|account| (&account.credential, &account.learned)) {
            Some((Credential::Parsec(stored), _)) => Some(stored),
            Some((_, learned)) => learned.parsec(&salt).filter(|_| clear.is_some()),
            None => None,
        };
        let public = known.map_or(&ed25519::OF_NOBODY, |stored| &stored.public);
        let is_right = parsec::verify(answer, challenge, public);
        if is_right || matches!(self.asked_of(login).form, Form::Parsec(_)) {
            return is_right && known.is_some();
        }
        // also where the key is known: a wrong answer takes as long for every name
        let key = parsec::Key::derive(clear.unwrap_or_default(), &salt);
        let (Some(account), Some(key), None) = (account, key, known) else { return false };
        let stored = key.stored();
        let is_right = clear.is_some() && parsec::verify(answer, challenge, &stored.public);
        if clear.is_some() {
            account.learned.keep_parsec(stored);
        }
        is_right
    }
}

fn is_signed_by_ed25519(login: &Login, form: Form, challenge: &[u8; 32], response: &[u8]) -> bool {
    let account = login.account.as_deref();
    let clear = account.and_then(clear_of);
    let public = match account.map(|account| &account.credential) {
        Some(Credential::Ed25519(public)) => Some(*public),
        _ if form == Form::Ed25519 => None,
        // made for a name that does not exist, too, so that it takes as long
        _ => Some(ed25519::public_key(clear.unwrap_or_default())).filter(|_| clear.is_some()),
    };
    let is_right = ed25519::verify(response, challenge, &public.unwrap_or(ed25519::OF_NOBODY));
    let says_nothing = response.is_empty() && form == Form::Empty && clear.is_some();
    says_nothing || is_right && public.is_some()
}

/// The password of an account that is stored as it is.
fn clear_of(account: &Account) -> Option<&[u8]> {
    match &account.credential {
        // of an account whose clients are known by their certificates it is no password
        Credential::Empty if account.demands.replace_password() => None,
        Credential::Empty => Some(b""),
        Credential::Clear { password, .. } => Some(password),
        _ => None,
    }
}
