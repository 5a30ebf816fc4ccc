//! What happened on a worker, as plain numbers that are copied whole.

use crate::holds::Holds;

/// What `COM_STATISTICS` tells of all workers together; a worker knows the others' of a second ago.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Overall {
    /// Client connections.
    pub clients: u64,
    /// Commands of clients.
    pub queries: u64,
    /// Queries that took longer than `mysql-long_query_time`.
    pub slow: u64,
}

/// Declares [`Counters`]: a number each, by the name it is shown by.
macro_rules! counters {
    ($($(#[$doc:meta])* pub $name:ident: u64,)*) => {
        /// What happened on a worker since it started.
        ///
        /// `queries = ok + err + killed + active` at any time, where `active` is not counted but
        /// seen.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Times that a session began to keep a lane, by reason.
            pub holds: HoldCounts,
        }

        impl Counters {
            /// Adds what another worker counted.
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                self.holds.merge(&other.holds);
            }

            /// A session keeps a lane for `why` now, and did for `before`; the last thing it did
            /// was a `SET` or something else.
            pub(crate) fn note_holds(&mut self, before: Holds, why: Holds, by_set: bool) {
                let new = why.without(before);
                if new.is_empty() {
                    return;
                }
                self.holds.note(new);
                let was_pinned = before.intersects(Holds::PINNING);
                let is_pinned = !was_pinned && new.intersects(Holds::PINNING);
                self.pins += u64::from(is_pinned);
                self.sets_pinned += u64::from(is_pinned && by_set);
            }

            /// Every counter by its name.
            pub fn pairs(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

/// Numbers by reason to keep a lane.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HoldCounts([u64; 32]);

impl HoldCounts {
    fn note(&mut self, reasons: Holds) {
        let mut bits = reasons.bits();
        while bits != 0 {
            let at = usize::try_from(bits.trailing_zeros()).unwrap_or(0);
            if let Some(count) = self.0.get_mut(at) {
                *count += 1;
            }
            bits &= bits - 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }

    /// Each reason by its name.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Holds::all().filter_map(|(reason, name)| {
            let at = usize::try_from(reason.bits().trailing_zeros()).ok()?;
            Some((name, *self.0.get(at)?))
        })
    }
}

counters! {
    /// Clients accepted.
    pub clients_created: u64,
    /// Clients that were cut because they sent a part of a command and no more.
    pub unfinished_commands: u64,
    /// Long commands refused: a worker keeps too many that are not complete.
    pub long_commands_refused: u64,
    /// Clients that went away without a quit, or were cut.
    pub clients_aborted: u64,
    /// Clients whose address a header of the PROXY protocol told.
    pub proxy_headers: u64,
    /// Clients refused for such a header: not one of those that may send it, or malformed.
    pub proxy_headers_refused: u64,
    /// Clients whose TLS handshake succeeded.
    pub tls_clients: u64,
    /// Clients whose TLS came to nothing.
    pub tls_failures: u64,
    /// Connections to servers that could not be as secure as they have to be.
    pub server_tls_failures: u64,
    /// Logins refused: wrong user or password.
    pub denied_password: u64,
    /// Logins refused: account or listener demand TLS, or another certificate of the client.
    pub denied_without_tls: u64,
    /// Logins that had to wait because of wrong passwords before.
    pub logins_held_up: u64,
    /// Passwords that PAM or LDAP found right.
    pub login_checks_right: u64,
    /// Passwords that PAM or LDAP found wrong, and accounts that it lets nobody in with.
    pub login_checks_wrong: u64,
    /// Logins refused: PAM or LDAP could not say whether the password is right.
    pub login_checks_failed: u64,
    /// Logins refused: PAM or LDAP did not say so in time.
    pub login_checks_timed_out: u64,
    /// Logins refused: too many waited for PAM or LDAP.
    pub login_checks_full: u64,
    /// Logins refused: the process is full.
    pub denied_max_connections: u64,
    /// Clients that had not logged in and gave way to others, as the process was full.
    pub newcomers_gave_way: u64,
    /// Logins refused: the account is full.
    pub denied_max_user_connections: u64,
    /// Clients closed at once because their address failed to log in too often.
    pub hosts_refused: u64,
    /// Commands of clients that ask for an answer, from the moment they are whole.
    pub queries: u64,
    /// Of those, answered with anything but an error.
    pub ok: u64,
    /// Of those, answered with an error.
    pub err: u64,
    /// Of those, ended without an answer: the client or the session ended first.
    pub killed: u64,
    /// Commands tried again because their backend connection broke.
    pub retried: u64,
    /// Backend connections opened.
    pub lanes_created: u64,
    /// Backend connections that could not be opened.
    pub lanes_failed: u64,
    /// Backend connections that broke while in use.
    pub lanes_lost: u64,
    /// Times that a server offered another place for its connections, and it was remembered.
    pub redirects_offered: u64,
    /// Offers that were not followed: no valid url, the server itself, a second step, or one too
    /// many.
    pub redirects_refused: u64,
    /// Backend connections that were opened at such a place.
    pub redirects_followed: u64,
    /// Backend connections that could not be opened there, and went to the server itself.
    pub redirects_failed: u64,
    /// Clients that were told the address of a server.
    pub clients_redirected: u64,
    /// Checkouts served at once by an idle lane.
    pub checkouts_idle: u64,
    /// Checkouts that had to wait for a dial or another session.
    pub checkouts_waited: u64,
    /// Of those, such whose account had as many connections as it may.
    pub checkouts_limited: u64,
    /// Checkouts that failed for good.
    pub checkouts_failed: u64,
    /// Lanes that could not go back to the pool and were closed.
    pub lanes_dropped: u64,
    /// Lanes that were reset because of what a session had left there.
    pub lanes_reset: u64,
    /// Idle lanes that were closed: too old, too many, or idle for nearly as long as their server
    /// lets them be.
    pub lanes_expired: u64,
    /// Lanes that were opened ahead of need.
    pub lanes_warmed: u64,
    /// Lanes that came from other workers.
    pub lanes_given: u64,
    /// Tests of idle lanes.
    pub lane_pings: u64,
    /// Tests and resets of lanes that were not answered in time.
    pub lane_pings_failed: u64,
    /// Times that stored code was read from a server, for an account.
    pub stored_code_readings: u64,
    /// Of those, such as were not answered whole.
    pub stored_code_readings_failed: u64,
    /// Connections that were not begun at once because too many were under way.
    pub dials_delayed: u64,
    /// Times that servers were left out for the time that their pings take.
    pub checkouts_quick: u64,
    /// Queries that said how far their server may be behind.
    pub lag_limited: u64,
    /// Of those, such as had to wait for a server that could serve them.
    pub lag_limit_waits: u64,
    /// For how long they did, in microseconds.
    pub lag_limit_wait_us: u64,
    /// Sessions that were pinned to a lane for something other than a transaction.
    pub pins: u64,
    /// ERR packets made by the proxy.
    pub errors_generated: u64,
    /// Clients that broke the protocol.
    pub client_faults: u64,
    /// Servers that broke the protocol.
    pub server_faults: u64,
    /// Shunned servers.
    pub shuns: u64,
    /// Servers that stood still: they said nothing to anybody, though answers were due.
    pub server_stalls: u64,
    /// Slow receivers for whose sake a sender was paused.
    pub pauses: u64,
    /// Panics that cost one session each; any is a defect.
    pub panics: u64,
    /// Calls that ended because a session or lane was gone that had to be there; any is a defect.
    pub defects: u64,
    /// Queries killed on a server on behalf of a client.
    pub kills_sent: u64,
    /// Queries that ran longer than they may.
    pub timed_out: u64,
    /// Queries that took longer than `mysql-long_query_time`.
    pub slow: u64,
    /// Time that servers took for queries, waiting for a connection included, in microseconds;
    /// while that is summed up.
    pub backend_time_us: u64,
    /// Bytes received from clients.
    pub client_bytes_received: u64,
    /// Bytes sent to clients.
    pub client_bytes_sent: u64,
    /// Checkouts that gave a lane, at once or later.
    pub checkouts: u64,
    /// Lanes that sessions gave back to the pool.
    pub checkins: u64,
    /// Waits for a lane that ended without one because their time was over.
    pub connect_timeouts: u64,
    /// `COMMIT`s of clients.
    pub commits: u64,
    /// Of those, with nothing to end, so that no server was asked.
    pub commits_filtered: u64,
    /// `ROLLBACK`s of clients.
    pub rollbacks: u64,
    /// Of those, with nothing to end, so that no server was asked.
    pub rollbacks_filtered: u64,
    /// `SET autocommit`s of clients.
    pub autocommits: u64,
    /// Of those, that were noted and sent to no server.
    pub autocommits_filtered: u64,
    /// `SET NAMES` of clients.
    pub set_names: u64,
    /// `SET NAMES` sent to servers to align a lane.
    pub lane_set_names: u64,
    /// `COM_INIT_DB`s of clients.
    pub init_dbs: u64,
    /// `USE`s of clients.
    pub use_dbs: u64,
    /// `COM_INIT_DB`s sent to servers to align a lane.
    pub lane_init_dbs: u64,
    /// Statements that clients prepared.
    pub prepares: u64,
    /// Prepared statements that clients executed.
    pub executes: u64,
    /// Prepared statements that clients closed.
    pub closes: u64,
    /// Statements prepared on servers.
    pub lane_prepares: u64,
    /// Prepared statements executed on servers.
    pub lane_executes: u64,
    /// Prepared statements closed on servers.
    pub lane_closes: u64,
    /// `SET`s that are not replayed, each of which tied its session to a lane.
    pub sets_pinned: u64,
    /// Queries of sessions that are tied to a lane by something other than a transaction.
    pub pinned_queries: u64,
    /// `SELECT … FOR UPDATE` while autocommit is off.
    pub selects_for_update: u64,
    /// Queries that were made to wait before they ran.
    pub delayed: u64,
    /// Queries that a rule answered in place of a server.
    pub answered_by_rules: u64,
    /// Copies of queries that were set off.
    pub mirrored: u64,
    /// Of those, that ended with an error or without a reply.
    pub mirrors_failed: u64,
    /// Copies of queries that were not made: too many waited already.
    pub mirrors_dropped: u64,
    /// Queries that were put on a lane with other sessions' queries.
    pub shared_queries: u64,
    /// Of those, executions of prepared statements.
    pub shared_executes: u64,
    /// Sends of commands that were gathered on shared lanes.
    pub shared_batches: u64,
    /// Commands that went out in them.
    pub shared_sent: u64,
    /// Queries that were issued again because their shared lane did not serve them.
    pub shared_reissued: u64,
    /// Shared lanes on which nothing came for too long, so that those behind left.
    pub shared_stalls: u64,
    /// Shared lanes that broke.
    pub shared_losses: u64,
    /// Shared lanes that were left to one slow client.
    pub shared_slow_clients: u64,
    /// Reads that were run once more for the warnings that they left.
    pub shared_recalls: u64,
    /// Warnings and errors that sessions kept so that somebody else got their lane.
    pub diagnostics_kept: u64,
    /// Statements that were answered from them.
    pub diagnostics_told: u64,
    /// Statements for which one of them was raised again on another lane.
    pub diagnostics_raised: u64,
    /// Statements that were looked for in the cache.
    pub cache_lookups: u64,
    /// Statements that were answered from it.
    pub cache_hits: u64,
    /// Answers that were kept.
    pub cache_fills: u64,
    /// Bytes of answers that were kept.
    pub cache_bytes_kept: u64,
    /// Bytes of answers that were told from the cache.
    pub cache_bytes_told: u64,
    /// Statements that were answered by what others had asked for at the same time.
    pub cache_coalesced: u64,
    /// Statements that waited for such an answer as long as they may, and were sent.
    pub cache_coalesce_gave_up: u64,
    /// Statements that were sent because what they had waited for could not be shared.
    pub cache_coalesce_unshared: u64,
    /// Statements that were sent because too many waited for the same already.
    pub cache_coalesce_full: u64,
    /// Statements that no server could answer, and an answer did whose time was over.
    pub cache_stale_told: u64,
    /// Statements not looked for in the cache: no plain reads.
    pub uncached_statement: u64,
    /// Statements not looked for in the cache: they depend on more than data.
    pub uncached_varies: u64,
    /// Statements not looked for in the cache: they reach stored code.
    pub uncached_code: u64,
    /// Statements not looked for in the cache: for what their session is in.
    pub uncached_session: u64,
    /// Statements not looked for in the cache: they say how fresh data have to be.
    pub uncached_freshness: u64,
    /// Executions not looked for in the cache: a cursor, or parameters in several parts.
    pub uncached_execution: u64,
    /// Statements not looked for in the cache: unknown tables.
    pub uncached_tables: u64,
    /// Statements not looked for in the cache: changes of their tables are not seen.
    pub uncached_unfollowed: u64,
    /// Statements not looked for in the cache: writes of their session may not have been seen.
    pub uncached_own_writes: u64,
    /// Answers that were not kept: a table changed meanwhile.
    pub unkept_changed: u64,
    /// Answers that were not kept: too large.
    pub unkept_large: u64,
    /// Answers that were not kept: without rows.
    pub unkept_empty: u64,
    /// Answers that were not kept: with warnings.
    pub unkept_warnings: u64,
    /// Answers that were not kept: the bytes of others on their way left no room.
    pub unkept_room: u64,
    /// Answers that were not kept: errors, and what is not one result.
    pub unkept_other: u64,
    /// Reads that did not share a lane: configured so.
    pub unshared_forbidden: u64,
    /// Reads that did not share a lane: in a transaction.
    pub unshared_transaction: u64,
    /// Reads that did not share a lane: their session keeps one, or may ask about the last reply.
    pub unshared_held: u64,
    /// Reads that did not share a lane: too long a text.
    pub unshared_long: u64,
    /// Reads that did not share a lane: their digest is not known well enough.
    pub unshared_unknown: u64,
    /// Reads that did not share a lane: they call functions that may do more than compute.
    pub unshared_calls: u64,
    /// Reads that did not share a lane: their replies carried warnings, or changed a connection.
    pub unshared_untidy: u64,
    /// Reads that did not share a lane: they take too long.
    pub unshared_slow: u64,
    /// Reads that did not share a lane: their replies are too large.
    pub unshared_large: u64,
    /// Reads that did not share a lane: their digest held up others a while ago.
    pub unshared_barred: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_counted_when_it_begins() {
        let mut counters = Counters::default();
        let transaction = Holds::TRANSACTION;
        let both = transaction.union(Holds::SET);
        counters.note_holds(Holds::NONE, transaction, false);
        counters.note_holds(transaction, both, true);
        counters.note_holds(both, transaction, false);
        counters.note_holds(transaction, both, true);
        let mut sum = counters;
        sum.merge(&counters);
        let of = |name: &str| sum.holds.pairs().find(|(reason, _)| *reason == name);
        assert_eq!(of("transaction"), Some(("transaction", 2)));
        assert_eq!(of("set"), Some(("set", 4)));
        assert_eq!(of("cursor"), Some(("cursor", 0)));
        assert_eq!((sum.pins, sum.sets_pinned), (4, 4));
        assert_eq!(sum.holds.pairs().count(), Holds::all().count());
    }
}
