//! Where this process listens, for clients and for administrators, and changes of that while it
//! runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::config_fault::ConfigFault;
use engine::vars::{Interface, Vars};
use io::Mailbox;
use web::Serving;
use worker::Mail;

use crate::listeners::{ListenerChange, Listeners, Tell};

/// Every listener of the process.
pub(crate) struct Listening {
    state: Mutex<State>,
    workers: Vec<Mailbox<Mail>>,
}

struct State {
    clients: Listeners,
    /// Of the administrative interface; `None` while there is none.
    admin: Option<Listeners>,
    serving: Serving,
}

impl Listening {
    /// Where clients of those workers are listened for already.
    pub(crate) fn new(mut clients: Listeners, workers: Vec<Mailbox<Mail>>, vars: &Vars) -> Self {
        clients.tell_by(&vars.interfaces, to_workers(workers.clone()));
        let state = State { clients, admin: None, serving: Serving::Open };
        Self { state: Mutex::new(state), workers }
    }

    /// Where the administrative interface listens already.
    pub(crate) fn add_admin(&self, admin: Listeners) {
        self.lock().admin = Some(admin);
    }

    /// Listens where `vars` say: everywhere, or nothing has changed.
    pub(crate) fn follow(&self, before: &Vars, after: &Vars) -> Result<(), ConfigFault> {
        let mut state = self.lock();
        let prepare = |listeners: &Listeners, wanted: &[Interface], (table, column)| {
            let fault = |reason: String| ConfigFault { table, row: None, column, reason };
            listeners.prepare(wanted).map_err(|error| fault(format!("{error:#}")))
        };
        let clients = match before.interfaces == after.interfaces {
            true => None,
            false => Some(prepare(
                &state.clients,
                &after.interfaces,
                ("mysql_variables", "interfaces".to_owned()),
            )?),
        };
        let admin = match &state.admin {
            Some(admin) if before.admin_interfaces != after.admin_interfaces => Some(prepare(
                admin,
                &after.admin_interfaces,
                ("admin_variables", "mysql_ifaces".to_owned()),
            )?),
            _ => None,
        };
        if let Some(clients) = clients {
            state.clients.follow(clients);
        }
        if let (Some(listeners), Some(admin)) = (&mut state.admin, admin) {
            listeners.follow(admin);
        }
        Ok(())
    }

    /// Accepts no clients, and ends those without a transaction as soon as they have none.
    pub(crate) fn pause(&self) -> Result<(), String> {
        let mut state = self.lock();
        match state.serving {
            Serving::Open => {}
            Serving::Paused => {
                return Err(format!("{MODULE} is already paused, impossible to pause"));
            }
            Serving::Stopped | Serving::Draining => {
                return Err(format!("{MODULE} is stopped, impossible to pause"));
            }
        }
        state.serving = Serving::Paused;
        state.clients.shut();
        self.tell(|| Mail::Pause);
        Ok(())
    }

    /// Accepts clients again after a pause.
    pub(crate) fn resume(&self) -> Result<(), String> {
        let mut state = self.lock();
        if state.serving != Serving::Paused {
            let instead = match state.serving {
                Serving::Stopped => ": it is stopped; PROXYSQL START serves again",
                _ => "",
            };
            return Err(format!("{MODULE} is not paused, impossible to resume{instead}"));
        }
        self.reopen(&mut state)
    }

    /// Serves nobody: no new clients, and every session is ended.
    pub(crate) fn stop(&self) -> Result<(), String> {
        let mut state = self.lock();
        if state.serving == Serving::Stopped {
            return Err(format!("{MODULE} is already stopped"));
        }
        state.serving = Serving::Stopped;
        state.clients.shut();
        self.tell(|| Mail::EndSessions);
        Ok(())
    }

    /// Serves clients again after a stop.
    pub(crate) fn start(&self) -> Result<(), String> {
        let mut state = self.lock();
        if state.serving != Serving::Stopped {
            let instead = match state.serving {
                Serving::Paused => ": it is paused; PROXYSQL RESUME accepts clients again",
                _ => "",
            };
            return Err(format!("ProxySQL already started{instead}"));
        }
        self.reopen(&mut state)
    }

    /// Whether clients are accepted.
    pub(crate) fn serving(&self) -> Serving {
        self.lock().serving
    }

    /// Refuses every client from now on, for good.
    pub(crate) fn refuse(&self) {
        self.lock().clients.refuse();
    }

    fn reopen(&self, state: &mut State) -> Result<(), String> {
        // sessions are let go on first, that none of the new ones is ended
        self.tell(|| Mail::Resume);
        if let Err(error) = state.clients.reopen() {
            self.tell(|| Mail::Pause);
            return Err(format!("{error:#}"));
        }
        state.serving = Serving::Open;
        Ok(())
    }

    fn tell(&self, mail: impl Fn() -> Mail) {
        for mailbox in &self.workers {
            post(mailbox, mail());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // listeners are whole between calls, whatever happened to the thread that held them
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells workers of their listeners.
fn to_workers(workers: Vec<Mailbox<Mail>>) -> Tell {
    Box::new(move |number, change| {
        let Some(mailbox) = workers.get(number) else { return };
        let mail = match change {
            ListenerChange::Open(socket, on) => Mail::Listen { socket, on },
            ListenerChange::Close(on) => Mail::Unlisten(on),
        };
        post(mailbox, mail);
    })
}

/// Mails what somebody who administers the process wants, which must not be lost; one who has ended
/// needs no mail any more.
pub(crate) fn post<M>(mailbox: &Mailbox<M>, mail: M) {
    let _ = mailbox.insist(mail);
}

/// How ProxySQL calls what serves clients.
const MODULE: &str = "ProxySQL MySQL module";
