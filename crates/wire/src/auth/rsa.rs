//! The password under the server's RSA key: the full path of `caching_sha2_password` without TLS.
//!
//! The password with its closing NUL is XORed with the nonce and encrypted by RSA-OAEP (SHA-1).

use crate::connect::SCRAMBLE_BYTES;

/// A server's key pair.
pub struct ServerKey(());

impl ServerKey {
    /// A new key pair of 2048 bits, or `None` when no randomness is to be had. Takes a fraction
    /// of a second.
    pub fn generate() -> Option<Self> {
        unimplemented!()
    }

    /// The public key as clients ask for it: PEM text.
    pub fn public_pem(&self) -> &[u8] {
        unimplemented!()
    }

    /// The password in a client's packet.
    pub fn decrypt(&self, packet: &[u8], nonce: &[u8; SCRAMBLE_BYTES]) -> Option<Vec<u8>> {
        let _ = (packet, nonce);
        unimplemented!()
    }
}

/// The packet that carries `password` to the server whose public key is `pem`; `None` when the
/// key cannot be used or the password is too long for it.
pub fn encrypt_password(
    pem: &[u8],
    password: &[u8],
    nonce: &[u8; SCRAMBLE_BYTES],
) -> Option<Vec<u8>> {
    let _ = (pem, password, nonce);
    unimplemented!()
}
