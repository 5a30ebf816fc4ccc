//! What other threads may ask of a worker.

use std::sync::Arc;

use engine::orders::KillRequest;
use engine::stats::{Parts, Share};
use io::{Driver, Edge, Mailbox};

use crate::{Places, Worker};

/// A message to a worker.
pub enum Mail {
    /// The mailboxes of all workers, this one's included.
    Peers(Vec<Mailbox<Mail>>),
    /// Names were resolved anew.
    Places(Arc<Places>),
    /// A client of some worker wants a connection killed.
    Kill(KillRequest),
    /// Accept nothing more; end when the last session has ended.
    Drain,
    /// End now.
    Stop,
    /// Tell what was counted.
    Collect {
        /// How much of it.
        parts: Parts,
        /// Is told; must not block.
        tell: Box<dyn FnOnce(Share) + Send>,
    },
}

impl Worker {
    pub(crate) fn open<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        match mail {
            Mail::Peers(peers) => self.peers = peers,
            Mail::Places(places) => self.outside.places = places,
            Mail::Kill(request) => self.proxy.on_kill(&request),
            Mail::Drain => {
                self.draining = true;
                io.pause_accepting();
                self.proxy.drain();
            }
            Mail::Stop => {
                io.pause_accepting();
                self.proxy.close_all();
                io.stop();
            }
            Mail::Collect { parts, tell } => tell(self.proxy.share(parts)),
        }
    }
}
