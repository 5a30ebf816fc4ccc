//! What happened on a worker, as plain numbers that are copied whole.

/// Declares [`Counters`]: a number each, by the name it is shown by.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What happened on a worker since it started.
        ///
        /// `queries = ok + err + killed + active` at any time, where `active` is not counted but
        /// seen.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Adds what another worker counted.
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Every counter by its name.
            pub fn pairs(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counters! {
    /// Clients accepted.
    clients_created,
    /// Clients that went away without a quit, or were cut.
    clients_aborted,
    /// Logins refused: wrong user or password.
    denied_password,
    /// Logins refused: the process is full.
    denied_max_connections,
    /// Logins refused: the account is full.
    denied_max_user_connections,
    /// Commands of clients that ask for an answer, from the moment they are whole.
    queries,
    /// Of those, answered with anything but an error.
    ok,
    /// Of those, answered with an error.
    err,
    /// Of those, ended without an answer: the client or the session ended first.
    killed,
    /// Commands tried again because their backend connection broke.
    retried,
    /// Backend connections opened.
    lanes_created,
    /// Backend connections that could not be opened.
    lanes_failed,
    /// Backend connections that broke while in use.
    lanes_lost,
    /// Checkouts served at once by an idle lane.
    checkouts_idle,
    /// Checkouts that had to wait for a dial or another session.
    checkouts_waited,
    /// Checkouts that failed for good.
    checkouts_failed,
    /// Lanes that could not go back to the pool and were closed.
    lanes_dropped,
    /// Sessions that were pinned to a lane for something other than a transaction.
    pins,
    /// ERR packets made by the proxy.
    errors_generated,
    /// Clients that broke the protocol.
    client_faults,
    /// Servers that broke the protocol.
    server_faults,
    /// Shunned servers.
    shuns,
    /// Slow receivers for whose sake a sender was paused.
    pauses,
    /// Panics that cost one session each; any is a defect.
    panics,
    /// Queries killed on a server on behalf of a client.
    kills_sent,
}
