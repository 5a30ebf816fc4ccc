//! What a change of rows means to sessions that have an account as it was before. Knows no session:
//! which session has which account is known where a configuration comes into force.

use std::sync::Arc;

use super::{Account, AdditionalPassword, Credential, PasswordRank, Users};

impl Account {
    /// The version of the account that follows `before`.
    pub(super) fn after(self, before: &Arc<Self>) -> Arc<Self> {
        let taught = |credential: &Credential| before.lessons_of(credential).cloned();
        let learned = taught(&self.credential).unwrap_or(self.learned);
        let additional = self.additional.map(|AdditionalPassword { credential, learned }| {
            let learned = taught(&credential).unwrap_or(learned);
            AdditionalPassword { credential, learned }
        });
        let (connected, backends) = (before.connected.clone(), before.backends.clone());
        let next = Self { learned, additional, connected, backends, ..self };
        if next.is_unchanged(before) { before.clone() } else { Arc::new(next) }
    }

    /// Whether it lets a client in that has proved that password to that version of it.
    pub(crate) fn asks_as(&self, other: &Self, proved: PasswordRank) -> bool {
        let flags = |account: &Self| (account.frontend, account.use_ssl, account.plugin);
        let proved = other.stored(proved);
        let is_right = self.passwords().any(|(_, stored)| Some(stored) == proved);
        is_right && self.demands == other.demands && flags(self) == flags(other)
    }

    /// Whether sessions of this version go on with the one that is in force.
    pub(crate) fn is_followed_by(&self, next: &Self) -> bool {
        next.row.is_none() && next.can_take_over(self)
    }

    fn is_unchanged(&self, before: &Arc<Self>) -> bool {
        let Self {
            // of the name, or shared by the versions
            name: _,
            row: _,
            learned: _,
            connected: _,
            backends: _,
            // of a session alone
            unproved: _,
            proof: _,
            names,
            credential,
            plugin,
            additional,
            at_servers,
            also_at_servers,
            is_read,
            name_at_servers,
            default_hostgroup,
            default_schema,
            transaction_persistent,
            fast_forward,
            use_ssl,
            demands,
            frontend,
            max_connections,
            max_backend_connections,
            pipeline_depth,
            redirect,
            replication,
            annotations,
            isolation,
        } = self;
        *names == before.names
            && *credential == before.credential
            && *plugin == before.plugin
            && *additional == before.additional
            && *at_servers == before.at_servers
            && *also_at_servers == before.also_at_servers
            && *is_read == before.is_read
            && *name_at_servers == before.name_at_servers
            && *default_hostgroup == before.default_hostgroup
            && *default_schema == before.default_schema
            && *transaction_persistent == before.transaction_persistent
            && *fast_forward == before.fast_forward
            && *use_ssl == before.use_ssl
            && *demands == before.demands
            && *frontend == before.frontend
            && *max_connections == before.max_connections
            && *max_backend_connections == before.max_backend_connections
            && *pipeline_depth == before.pipeline_depth
            && *redirect == before.redirect
            && *replication == before.replication
            && *annotations == before.annotations
            && *isolation == before.isolation
    }

    /// Whether servers can be logged in to with it wherever they could with `before`.
    fn can_take_over(&self, before: &Self) -> bool {
        // what no server has seen yet is proved by no change of rows
        if before.unproved != 0 {
            return false;
        }
        let is_same = self.shown_at_all().eq(before.shown_at_all());
        is_same || self.shown_at_all().any(|stored| self.can_show(stored))
    }
}

impl Users {
    /// The version in force of an account that a session logged in with; `None` when the session
    /// has to go on with its own: the account was removed, or has a new password that is stored as
    /// a hash and that nobody has told yet.
    pub fn successor(&self, account: &Account) -> Option<&Arc<Account>> {
        self.row_in_force(account).filter(|next| account.is_followed_by(next))
    }

    /// The version in force of an account, or its row, if that lets a client in that has proved
    /// that password to this version.
    pub(crate) fn letting_in(
        &self,
        account: &Arc<Account>,
        proved: PasswordRank,
    ) -> Option<&Arc<Account>> {
        let now = self.row_in_force(account)?;
        (Arc::ptr_eq(now, account) || now.asks_as(account, proved)).then_some(now)
    }

    /// Whether an account is in force no more, or has none of its passwords any more.
    pub fn has_changed(&self, account: &Account) -> bool {
        let now = self.row_in_force(account);
        // of one that servers prove, each session has a password of its own
        let is_same = |now: &Account| {
            now.credential == Credential::AtServers || now.is_same_at_servers(account)
        };
        now.is_none_or(|now| !now.shares_password(account) || !is_same(now))
    }
}
