//! Another implementation of clients' answers, which ours are compared with.

use mysql_common::auth::plugins::{ChallengeResponsePlugin, Context, Response};

/// A client that knows a password.
#[derive(Clone, Copy)]
pub(super) struct Oracle<'a> {
    password: &'a [u8],
}

impl<'a> Oracle<'a> {
    pub(super) fn new(password: &'a [u8]) -> Self {
        Self { password }
    }

    /// Its last answer to what a server asks, and what a server would store.
    pub(super) fn answers(
        self,
        mut plugin: impl ChallengeResponsePlugin,
        asked: &[&[u8]],
    ) -> (Vec<u8>, Vec<u8>) {
        let mut answer = Vec::new();
        for challenge in asked {
            match plugin.run(self, challenge).expect("it is asked the right things") {
                Response::Next { packet } | Response::Last { packet } => {
                    answer = packet.unwrap_or_default();
                }
            }
        }
        (answer, plugin.password_hash(self).expect("it has been asked all"))
    }
}

impl Context for Oracle<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        false
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        b""
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
