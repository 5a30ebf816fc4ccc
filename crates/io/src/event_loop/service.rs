//! What a loop tells its service. Deliberately says nothing of how events are found.

use super::Edge;
use crate::addr::{Addr, Failure};
use crate::driver::Driver;
use crate::sockets::{Listener, Sock};

/// What runs on a loop. No callback is ever called inside another.
///
/// Everything a callback may ask of the loop is on [`Edge`].
pub trait Service {
    /// What other threads may send to this service.
    type Mail: Send + 'static;

    /// A connection was accepted; bytes will follow by [`Service::on_bytes`].
    fn on_accepted<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        listener: Listener,
        sock: Sock,
        from: Addr,
    );

    /// A connect completed. On `Err` the socket is closed already and nothing follows.
    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    );

    /// Bytes that arrived and were not consumed before. Returns how many it took; the loop keeps
    /// the rest and offers it again together with the next bytes, or on [`Edge::redeliver`] and
    /// [`Edge::resume`]. What is kept has no bound of the loop's: a service that cannot go on
    /// pauses the socket.
    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize;

    /// The other side will send nothing more, and all bytes before that were offered. Returns
    /// whether the socket is still of use, for answers: then it stays open, and this is asked again
    /// whenever bytes would be offered. Otherwise [`Service::on_gone`] follows.
    fn on_end<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) -> bool {
        false
    }

    /// The other side of a paused socket ended what it sends, or is gone (`is_gone`): nothing that
    /// it is sent arrives any more. Told while bytes of before are kept back, which come on
    /// [`Edge::resume`], and behind them [`Service::on_end`] or [`Service::on_gone`].
    fn on_hung_up<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _is_gone: bool) {}

    /// The other side ended the stream (`None`) or the socket failed. Called once, never after
    /// [`Edge::close`], and after all bytes that arrived before the end. The socket is closed when
    /// this returns; after an orderly end, or where only the way in failed ([`Failure::is_deaf`]),
    /// a service that still has something to say may send and call [`Edge::close_drained`] here.
    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>);

    /// The backlog of a socket that could not take everything is fully sent.
    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock);

    /// A timer set with [`Edge::set_timer`] is due.
    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64);

    /// A message from a [`crate::Mailbox`].
    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Self::Mail);

    /// All events of the turn were delivered; what was queued is sent right after this.
    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>);
}
