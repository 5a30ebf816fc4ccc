//! Whether what a client shows proves its account's password, and when that is looked at: after so
//! many wrong passwords a further one waits, right or not.
//!
//! A name that does not exist is asked for the same things as one that does, and takes as long.

use std::borrow::Cow;
use std::sync::Arc;

use wire::Caps;
use wire::auth::{PASSWORD_BYTES_MAX, Plugin, ed25519, native, parsec, sha2};
use wire::connect::{AuthMore, AuthSwitch};
use wire::reply::{write_auth_more, write_auth_switch};

use crate::error;
use crate::guesses::{GuessLimits, Guesser};
use crate::ids::SessionId;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::Phase;
use crate::session::arriving::login::{Expect, Login};
use crate::users::{Account, AskedProof, Credential, Form, Lack, Learned, PasswordRank, Users};

/// How long a password waits at least that servers are to be asked about, where its address has its
/// share.
const PROOF_PAUSE_US: u64 = 20_000;

/// When it is looked at the latest whether places have been given back.
const LOOK_AGAIN_US: u64 = 500_000;

/// What a client has shown and nobody has looked at.
#[derive(Debug)]
pub(crate) struct Unjudged {
    login: Box<Login>,
    what: Unlooked,
}

/// What nobody has looked at.
#[derive(Debug)]
enum Unlooked {
    /// What is to prove the password, where too many were wrong.
    Proof(Shown<'static>),
    /// The same, where servers are asked about as many as they may be.
    AtServers(Shown<'static>),
    /// The certificate that the listener demands; behind it the response to the challenge.
    AtListener(Vec<u8>),
}

pub(crate) enum Shown<'a> {
    /// The response to a challenge.
    Response(Cow<'a, [u8]>),
    /// The password itself.
    Password(Cow<'a, [u8]>),
    /// The password itself, under the key of the process.
    Encrypted(Cow<'a, [u8]>),
    /// A certificate that stands for the password, if an authority vouches for it.
    Certificate,
}

impl Shown<'_> {
    fn into_owned(self) -> Shown<'static> {
        match self {
            Self::Response(bytes) => Shown::Response(bytes.into_owned().into()),
            Self::Password(bytes) => Shown::Password(bytes.into_owned().into()),
            Self::Encrypted(bytes) => Shown::Encrypted(bytes.into_owned().into()),
            Self::Certificate => Shown::Certificate,
        }
    }
}

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Response(_) => "a response",
            Self::Password(_) | Self::Encrypted(_) => "a password",
            Self::Certificate => "a certificate",
        })
    }
}

impl Unjudged {
    /// The sequence number of what it is answered with.
    pub(crate) fn seq(&self) -> u8 {
        self.login.seq
    }
}

/// What something that was shown is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// It proves that password of the account.
    Right(PasswordRank),
    Wrong,
    /// The password itself has to be shown, whether this was compared with a known one or not.
    Unknown,
    /// A server is to say.
    OfServers,
    /// PAM or LDAP is to say.
    OfOthers,
}

impl Proxy {
    /// A response to the challenge, by the plugin that the client goes by.
    pub(crate) fn judge(&mut self, id: SessionId, login: Box<Login>, response: &[u8]) {
        let account = login.account.as_ref().filter(|account| account.demands.replace_password());
        let stands = |it: &Arc<Account>| it.demands.differ_from(self.certificate_of(id)).is_none();
        if account.is_some_and(stands) {
            return self.judge_first(id, login, Shown::Certificate);
        }
        let asked = self.asked_of(&login);
        let plugin = asked.plugin(login.plugin);
        if plugin == login.plugin {
            return self.judge_first(id, login, Shown::Response(response.into()));
        }
        let session = self.sessions.get(id);
        let can = session.is_some_and(|session| session.caps.contains(Caps::PLUGIN_AUTH));
        if !can && asked.plugin.is_some_and(|plugin| plugin != Plugin::NativePassword) {
            self.note_login(id, true);
            return self.refuse(id, login.seq, error::plugin_unsupported());
        }
        self.switch(id, login, plugin);
    }

    /// Judges what a client shows, unless it is held up by wrong passwords.
    pub(crate) fn judge_first(&mut self, id: SessionId, login: Box<Login>, shown: Shown<'_>) {
        self.try_proof(id, login, shown, false);
        let session = self.sessions.get(id);
        let is_held_up = session.is_some_and(|s| matches!(s.phase, Phase::Unjudged(_)));
        self.stats.logins_held_up += u64::from(is_held_up);
    }

    /// What a client is asked.
    pub(super) fn asked_of(&self, login: &Login) -> AskedProof {
        match &login.account {
            Some(account) => account.asked(),
            None => {
                let number = self.offer.guesses.number_of(&login.user);
                self.snapshot.users.asked_of_nobody(number)
            }
        }
    }

    fn switch(&mut self, id: SessionId, mut login: Box<Login>, plugin: Plugin) {
        let is_secure = self.sessions.get(id).is_some_and(|session| session.client.secure);
        // whoever is asked says it, whoever listens
        if plugin == Plugin::ClearPassword && !is_secure {
            self.report_insecure(id, &login, "SSL is required");
            return self.deny(id, &login);
        }
        login.plugin = plugin;
        login.expect = match plugin {
            Plugin::Sha256Password | Plugin::ClearPassword => Expect::Password,
            Plugin::Parsec => Expect::BeforeSalt,
            _ => Expect::Response,
        };
        let challenge = self.challenge(&login);
        let data = match plugin {
            Plugin::Ed25519 | Plugin::Parsec => challenge.as_slice(),
            _ => &login.scramble,
        };
        let switch = AuthSwitch { plugin: plugin.name().as_bytes(), data };
        let seq = &mut login.seq;
        self.orders.send(End::Client(id), |out| write_auth_switch(out, seq, &switch));
        self.await_login(id, login);
    }

    /// Looks at what was shown, or lets it wait for its turn. Whoever shows the password itself has
    /// taken a place for the name before, unless it waited for servers since.
    fn try_proof(&mut self, id: SessionId, login: Box<Login>, shown: Shown<'_>, waited: bool) {
        let holds = !waited && !takes_both_places(login.plugin);
        let Some(by_name) = self.guesser_by_name(id, &login.user) else { return };
        let (name, address) = match &shown {
            Shown::Certificate => (Some(by_name), None),
            // nothing was judged before, and it takes long
            _ if !holds => (Some(by_name), self.guesser_by_address(id)),
            Shown::Response(_) => (Some(by_name), None),
            Shown::Password(_) | Shown::Encrypted(_) => (None, self.guesser_by_address(id)),
        };
        let login = match self.begin_proof(id, login, &shown) {
            Ok(login) => login,
            Err(login) => {
                // nobody has guessed who waits for others
                if holds {
                    let (who, limits) = by_name;
                    self.offer.guesses.give_back(who, limits);
                }
                let what = Unlooked::AtServers(shown.into_owned());
                let pause = (PROOF_PAUSE_US, PROOF_PAUSE_US);
                return self.hold_up(id, Unjudged { login, what }, pause);
            }
        };
        let guesses = &self.offer.guesses;
        let begin = |place: Option<(Guesser, GuessLimits)>| {
            place.map_or(Ok(()), |(who, limits)| guesses.begin(who, self.now_us, limits))
        };
        let begun = begin(name).and_then(|()| {
            begin(address).inspect_err(|_| {
                name.into_iter().for_each(|(who, limits)| guesses.give_back(who, limits));
            })
        });
        match begun {
            Ok(()) => self.weigh(id, login, &shown, by_name),
            Err(wait_us) => {
                let what = match waited {
                    true => Unlooked::AtServers(shown.into_owned()),
                    false => Unlooked::Proof(shown.into_owned()),
                };
                self.hold_up(id, Unjudged { login, what }, self.after_guesses(wait_us));
            }
        }
    }

    /// A password that servers are to be asked about has a place among these from now on, if its
    /// address may have one more.
    fn begin_proof(
        &self,
        id: SessionId,
        mut login: Box<Login>,
        shown: &Shown<'_>,
    ) -> Result<Box<Login>, Box<Login>> {
        let is_password = matches!(shown, Shown::Password(_));
        let account = login
            .account
            .as_ref()
            .filter(|it| is_password && it.credential == Credential::AtServers);
        let (Some(account), Some(session)) = (account, self.sessions.get(id)) else {
            return Ok(login);
        };
        let hostgroup = account.default_hostgroup;
        let servers = self.snapshot.topology.hostgroup(hostgroup);
        let limits = self.snapshot.hostgroups.dial_limits(hostgroup, &self.snapshot.vars);
        let at_once = limits.of_unproved().at_once;
        let most = servers.iter().map(|server| server.proofs_max().min(at_once)).sum();
        login.proof = self.offer.guesses.begin_proof(&session.client.addr, hostgroup, most);
        if login.proof.is_some() { Ok(login) } else { Err(login) }
    }

    /// When a login is looked at again that waits for others' wrong passwords to count no more, or
    /// to turn out to be right.
    fn after_guesses(&self, wait_us: u64) -> (u64, u64) {
        let each_us = self.snapshot.vars.failed_connection_delay_ms * 1000;
        (wait_us.min(LOOK_AGAIN_US), each_us.min(LOOK_AGAIN_US))
    }

    /// What is shown is looked at later, and not for all who wait at the same moment.
    fn hold_up(&mut self, id: SessionId, mut unjudged: Unjudged, (wait_us, spread_us): (u64, u64)) {
        unjudged.login.proof = None;
        let jitter_us = self.pool.random() % spread_us.max(1);
        let at_us = self.now_us.saturating_add(wait_us).saturating_add(jitter_us);
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Unjudged(unjudged);
        }
        self.wake(id, at_us);
    }

    /// A login comes in, or waits until its certificate may be looked at.
    pub(super) fn come_in_or_wait(&mut self, id: SessionId, login: Box<Login>, response: &[u8]) {
        if let Err((login, wait_us)) = self.come_in(id, login, response) {
            self.stats.logins_held_up += 1;
            let what = Unlooked::AtListener(response.to_vec());
            self.hold_up(id, Unjudged { login, what }, self.after_guesses(wait_us));
        }
    }

    /// The time has come to look again at what waits; beyond `due_us` it is not looked at any more.
    pub(crate) fn judge_again(&mut self, id: SessionId, due_us: u64) {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        match std::mem::replace(&mut session.phase, Phase::Idle) {
            Phase::Unjudged(Unjudged { login, what }) if now_us < due_us => match what {
                Unlooked::Proof(shown) => self.try_proof(id, login, shown, false),
                Unlooked::AtServers(shown) => self.try_proof(id, login, shown, true),
                Unlooked::AtListener(response) => {
                    if let Err((login, wait_us)) = self.come_in(id, login, &response) {
                        let what = Unlooked::AtListener(response);
                        self.hold_up(id, Unjudged { login, what }, self.after_guesses(wait_us));
                    }
                }
            },
            // nobody has guessed
            Phase::Unjudged(Unjudged { login, what: Unlooked::AtServers(_) }) => {
                self.refuse_unlooked(id, &login);
            }
            Phase::Unjudged(unjudged) => {
                self.note_login(id, true);
                self.refuse(id, unjudged.login.seq, error::too_many_wrong_passwords());
            }
            other => session.phase = other,
        }
    }

    /// No server could be asked about a password in the time that there is for a login.
    fn refuse_unlooked(&mut self, id: SessionId, login: &Login) {
        let Some(account) = &login.account else { return self.impossible(()) };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (hostgroup, connection) = (account.default_hostgroup, session.client.connection);
        let waited_ms = self.snapshot.vars.connect_timeout_client_ms;
        let error = error::connect_timeout(hostgroup, waited_ms, error::PROOFS_TAKEN);
        self.report_client(LogEvent::NoConnection { hostgroup, connection, error });
        self.refuse(id, login.seq, error::unproved());
    }

    /// The limits on guesses at the password of a name.
    pub(super) fn guess_limits(&self) -> GuessLimits {
        let vars = &self.snapshot.vars;
        GuessLimits {
            at_once: vars.failed_connections_threshold,
            each_us: vars.failed_connection_delay_ms * 1000,
        }
    }

    /// Who guesses, by the name and by the address alone.
    pub(crate) fn guessers(
        &self,
        id: SessionId,
        user: &[u8],
    ) -> Option<[(Guesser, GuessLimits); 2]> {
        Some([self.guesser_by_name(id, user)?, self.guesser_by_address(id)?])
    }

    fn guesser_by_name(&self, id: SessionId, user: &[u8]) -> Option<(Guesser, GuessLimits)> {
        let client = &self.sessions.get(id)?.client;
        Some((self.offer.guesses.guesser(&client.addr, user), self.guess_limits()))
    }

    fn guesser_by_address(&self, id: SessionId) -> Option<(Guesser, GuessLimits)> {
        let client = &self.sessions.get(id)?.client;
        Some((self.offer.guesses.address(&client.addr), self.guess_limits().of_address()))
    }

    fn weigh(
        &mut self,
        id: SessionId,
        mut login: Box<Login>,
        shown: &Shown<'_>,
        by_name: (Guesser, GuessLimits),
    ) {
        let form = self.asked_of(&login).form;
        let key = &self.offer.key;
        let clear = match shown {
            Shown::Certificate => return self.weigh_certificate(id, login, by_name),
            Shown::Response(_) => None,
            Shown::Password(clear) => Some(Cow::Borrowed(&**clear)),
            Shown::Encrypted(bytes) => {
                Some(key.decrypt(bytes, &login.scramble).unwrap_or_default().into())
            }
        };
        let worth = match (shown, &clear) {
            (Shown::Response(response), _) if login.plugin.signs() => {
                match self.is_signed(&login, response) {
                    true => Worth::Right(PasswordRank::Primary),
                    false => Worth::Wrong,
                }
            }
            (Shown::Response(response), _) => worth_of_response(&login, form, response),
            (_, clear) => {
                let clear = clear.as_deref().unwrap_or_default();
                // what came under the key is shown to no server
                let may_be_passed_on = matches!(shown, Shown::Password(_));
                worth_of_clear(&login, form, (clear, may_be_passed_on), &self.snapshot.users)
            }
        };
        match worth {
            Worth::Right(rank) => {
                login.proved = rank;
                let has_both = clear.is_some() || takes_both_places(login.plugin);
                let by_address = has_both.then(|| self.guesser_by_address(id)).flatten();
                let times = 1 + usize::from(login.was_stale);
                for (who, limits) in [by_name].into_iter().chain(by_address) {
                    (0..times).for_each(|_| self.offer.guesses.give_back(who, limits));
                }
                self.accept_login(id, login);
            }
            // it was given by a salt of before, or was a guess: only the next answer tells
            Worth::Wrong if login.expect == Expect::BeforeSalt => {
                login.was_stale = true;
                self.tell_salt(id, login);
            }
            Worth::Wrong => {
                if login.is_passed_on() && matches!(shown, Shown::Encrypted(_)) {
                    self.report_insecure(id, &login, "SSL is required");
                }
                self.deny(id, &login);
            }
            Worth::Unknown => self.ask_for_password(id, login),
            Worth::OfServers => self.ask_servers(id, login, &clear.unwrap_or_default()),
            Worth::OfOthers => self.ask_others(id, login, &clear.unwrap_or_default()),
        }
    }

    /// Whether an authority vouches for a certificate that stands for the password. To find that
    /// none does may take long: it is a guess, as a wrong password is.
    fn weigh_certificate(
        &mut self,
        id: SessionId,
        login: Box<Login>,
        (who, limits): (Guesser, GuessLimits),
    ) {
        let Some(shown) = self.certificate_of(id) else { return self.impossible(()) };
        if let Some(why) = shown.doubt() {
            self.report_insecure(id, &login, &Lack::Doubted(why).to_string());
            return self.deny(id, &login);
        }
        self.offer.guesses.give_back(who, limits);
        self.accept_login(id, login);
    }

    /// What a client has shown was no guess: the places that it took are free again.
    pub(super) fn give_guesses_back(&mut self, id: SessionId, user: &[u8]) {
        for (who, limits) in self.guessers(id, user).into_iter().flatten() {
            self.offer.guesses.give_back(who, limits);
        }
    }

    /// A server is to prove a password by a login of its own; the places of the try stay taken
    /// until then.
    fn ask_servers(&mut self, id: SessionId, mut login: Box<Login>, password: &[u8]) {
        let number = self.pool.random();
        let proof = login.proof.take();
        let proving = |account: Arc<Account>| Arc::new(account.proving(password, number, proof));
        login.account = login.account.map(proving);
        if let Some(session) = self.sessions.get_mut(id) {
            session.auth.was_shown = false;
        }
        self.accept_login(id, login);
    }

    /// The place of the try stays taken: given back where nothing is known to compare with, it
    /// would tell names that have logged in from those that have not or do not exist.
    fn ask_for_password(&mut self, id: SessionId, mut login: Box<Login>) {
        let seq = &mut login.seq;
        let end = End::Client(id);
        self.orders.send(end, |out| write_auth_more(out, seq, &[AuthMore::FULL_AUTH]));
        login.expect = Expect::Password;
        self.await_login(id, login);
    }
}

/// Whether what a client of a plugin shows is the first thing that is judged of it, and costs more
/// than a digest.
fn takes_both_places(plugin: Plugin) -> bool {
    matches!(plugin, Plugin::Sha256Password | Plugin::ClearPassword | Plugin::Parsec)
}

/// What a response is worth. Whoever names an account that is not there is told what the wrong
/// password of one that is would be. To compare it with two passwords takes a microsecond more.
fn worth_of_response(login: &Login, form: Form, response: &[u8]) -> Worth {
    let account = login.account.as_deref();
    if form == Form::Empty {
        // caching_sha2 clients send a lone zero byte for an empty password
        let is_empty = response.iter().all(|byte| *byte == 0);
        let is_right = is_empty && !account.is_some_and(|it| proves_nothing(it, &it.credential));
        return if is_right { Worth::Right(PasswordRank::Primary) } else { Worth::Wrong };
    }
    if login.plugin == Plugin::NativePassword {
        let proved = account.and_then(|account| proved_native(account, login, response));
        return proved.map_or(Worth::Wrong, Worth::Right);
    }
    if response.len() <= 1 {
        return Worth::Wrong;
    }
    let proves = |account: &Account, stored| {
        let clear = clear_of(account, stored);
        clear.is_some_and(|clear| sha2::verify_fast(response, &login.scramble, clear))
    };
    match account.and_then(|it| it.passwords().find(|(_, stored)| proves(it, stored))) {
        Some((rank, _)) => Worth::Right(rank),
        None if form == Form::Clear => Worth::Wrong,
        // MySQL does the same: what is known may be out of date
        None => Worth::Unknown,
    }
}

/// The password that the answer of `mysql_native_password` proves; what it teaches is kept.
fn proved_native(account: &Account, login: &Login, response: &[u8]) -> Option<PasswordRank> {
    account.passwords().find_map(|(rank, stored)| {
        let (Credential::Clear { double_sha1, .. } | Credential::Native(double_sha1)) = stored
        else {
            return None;
        };
        let sha1 = native::verify(response, &login.scramble, double_sha1)?;
        if clear_of(account, stored).is_none() {
            account.learn(stored, Learned::Sha1(sha1));
        }
        Some(rank)
    })
}

/// What a password is worth that was shown as it is.
///
/// Before one of a name that is asked for the password itself is wrong, as many rounds are spent as
/// on the account that takes most: whether the name takes more, fewer, or is not there.
fn worth_of_clear(
    login: &Login,
    form: Form,
    (clear, may_be_passed_on): (&[u8], bool),
    users: &Users,
) -> Worth {
    if clear.len() > PASSWORD_BYTES_MAX {
        return Worth::Wrong;
    }
    let mut spent = 0_u32;
    if let Some(account) = &login.account {
        match account.credential {
            // to many LDAP servers, a bind without a password is none, and right
            _ if clear.is_empty() || !may_be_passed_on => {}
            Credential::AtServers => return Worth::OfServers,
            Credential::Checked(_) => return Worth::OfOthers,
            _ => {}
        }
        for (rank, stored) in account.passwords() {
            spent = spent.saturating_add(stored.sha2_rounds());
            if is_password(clear, stored) && !proves_nothing(account, stored) {
                account.learn(stored, Learned::Clear(clear.into()));
                return Worth::Right(rank);
            }
        }
    }
    match form {
        Form::CachingSha2 => sha2::spend(clear, users.sha2_rounds().saturating_sub(spent)),
        Form::Ed25519 if login.account.is_none() => drop(ed25519::public_key(clear)),
        Form::Parsec(factor) if login.account.is_none() => {
            drop(parsec::Key::derive(clear, &parsec::salt_for(b"", &[0; 32], factor)));
        }
        _ => {}
    }
    Worth::Wrong
}

/// Whether it is no password that could be right: of an account whose clients are known by their
/// certificates, an empty one is none.
fn proves_nothing(account: &Account, stored: &Credential) -> bool {
    account.demands.replace_password() && stored.is_empty()
}

fn is_password(clear: &[u8], stored: &Credential) -> bool {
    match stored {
        Credential::Empty => clear.is_empty(),
        Credential::Clear { password, .. } => **password == *clear,
        Credential::Native(double) => native::double_sha1(clear) == *double,
        Credential::CachingSha2(stored) => sha2::verify_stored(clear, stored),
        Credential::Ed25519(public) => ed25519::public_key(clear) == *public,
        Credential::Parsec(stored) => stored.is_of(clear),
        Credential::Unread | Credential::AtServers | Credential::Checked(_) => false,
    }
}

/// A password of an account, where it is known.
fn clear_of<'a>(account: &'a Account, stored: &'a Credential) -> Option<&'a [u8]> {
    match (stored, account.learned_of(stored)) {
        (Credential::Clear { password, .. }, _) => Some(password),
        (_, Some(Learned::Clear(password))) => Some(password),
        _ => None,
    }
}
