//! The password under the server's RSA key: the full path of `caching_sha2_password` without TLS.
//!
//! The password with its closing NUL is XORed with the nonce and encrypted by RSA-OAEP (SHA-1).

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};

use crate::auth::pem;
use crate::auth::sha2::{self, sha256};
use crate::connect::SCRAMBLE_BYTES;

/// A server's key pair.
pub struct ServerKey {
    key: OaepPrivateDecryptingKey,
    pem: Vec<u8>,
    secret: sha2::Hash,
}

impl ServerKey {
    /// A new key pair of 2048 bits, or `None` when no randomness is to be had. Takes a fraction
    /// of a second.
    pub fn generate() -> Option<Self> {
        Self::of(PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?)
    }

    /// A key pair that was made before, of any size that RSA allows, as PKCS #8.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        Self::of(PrivateDecryptingKey::from_pkcs8(der).ok()?)
    }

    fn of(pair: PrivateDecryptingKey) -> Option<Self> {
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
        let pem = pem::encode(der.as_ref());
        let private: Pkcs8V1Der<'_> = pair.as_der().ok()?;
        let secret = sha256(&[private.as_ref()]);
        Some(Self { key: OaepPrivateDecryptingKey::new(pair).ok()?, pem, secret })
    }

    /// The public key as clients ask for it: PEM text.
    pub fn public_pem(&self) -> &[u8] {
        &self.pem
    }

    /// Bytes that nobody knows who has not the key pair, and that stay the same with it.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// A mark that only whoever has the key pair sets, in hexadecimal digits; it tells nothing of
    /// the pair or of its secret.
    pub fn mark(&self) -> String {
        let mark = sha256(&[b"mark", &self.secret]);
        mark.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The password in a client's packet.
    pub fn decrypt(&self, packet: &[u8], nonce: &[u8; SCRAMBLE_BYTES]) -> Option<Vec<u8>> {
        let mut plain = vec![0; self.key.min_output_size()];
        let len = self.key.decrypt(&OAEP_SHA1_MGF1SHA1, packet, &mut plain, None).ok()?.len();
        plain.truncate(len);
        super::xor(&mut plain, nonce);
        (plain.pop() == Some(0)).then_some(plain)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey")
    }
}

/// What a public key is known by: the SHA-256 of the DER bytes in its PEM text.
pub fn key_hash(pem: &[u8]) -> Option<sha2::Hash> {
    Some(sha256(&[&pem::decode(pem)?]))
}

/// The packet that carries `password` to the server whose public key is `pem`; `None` when the
/// key cannot be used or the password is too long for it.
pub fn encrypt_password(
    pem: &[u8],
    password: &[u8],
    nonce: &[u8; SCRAMBLE_BYTES],
) -> Option<Vec<u8>> {
    let key = PublicEncryptingKey::from_der(&pem::decode(pem)?).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let mut plain = password.to_vec();
    plain.push(0);
    super::xor(&mut plain, nonce);
    let mut packet = vec![0; key.ciphertext_size()];
    let len = key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut packet, None).ok()?.len();
    packet.truncate(len);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

    #[test]
    fn a_key_pair_made_before_is_used_as_it_is() {
        let made = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = made.as_der().unwrap();
        let key = ServerKey::from_pkcs8(der.as_ref()).unwrap();
        let packet = encrypt_password(key.public_pem(), b"secret", &NONCE).unwrap();
        let again = ServerKey::of(made).unwrap();
        assert_eq!(again.decrypt(&packet, &NONCE).as_deref(), Some(&b"secret"[..]));
        assert!(ServerKey::from_pkcs8(&der.as_ref()[1..]).is_none());
    }

    #[test]
    fn the_server_reads_what_a_client_encrypts() {
        let key = ServerKey::generate().unwrap();
        for password in [&b""[..], b"secret", &[b'x'; 200]] {
            let packet = encrypt_password(key.public_pem(), password, &NONCE).unwrap();
            assert_eq!(packet.len(), 256);
            assert_eq!(key.decrypt(&packet, &NONCE).as_deref(), Some(password));
        }
        let packet = encrypt_password(key.public_pem(), b"secret", &NONCE).unwrap();
        assert_ne!(key.decrypt(&packet, b"ABCDEFGHIJKLMNOPQRST").as_deref(), Some(&b"secret"[..]));
        assert_eq!(key.decrypt(&packet[1..], &NONCE), None);
    }

    #[test]
    fn mysql_common_encrypts_for_our_key() {
        let key = ServerKey::generate().unwrap();
        let mut plain = b"pa55\0".to_vec();
        super::super::xor(&mut plain, &NONCE);
        let packet = mysql_common::crypto::encrypt(&plain, key.public_pem()).unwrap();
        assert_eq!(key.decrypt(&packet, &NONCE).as_deref(), Some(&b"pa55"[..]));
    }

    #[test]
    fn a_password_beyond_the_key_is_refused() {
        let key = ServerKey::generate().unwrap();
        assert_eq!(encrypt_password(key.public_pem(), &[b'x'; 300], &NONCE), None);
        assert_eq!(encrypt_password(b"no key", b"secret", &NONCE), None);
    }
}
