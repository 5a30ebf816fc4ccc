//! How bytes and time reach the proxy: sockets, clocks, timers and wake-ups, on one thread each.
//!
//! ```text
//!   Service  (sessions, admin, probes, test servers: knows MySQL, knows no socket)
//!      ▲ on_accepted on_connected on_bytes on_end on_gone on_drained on_timer on_mail on_turn_end
//!      │                                                     │ send queue connect pause …
//!   Loop  ──────────────── owns ──────────────────────────► Edge
//!      ▲ codecs, on sockets that have some                    │
//!      ▲ events                                               │ sends, interest
//!   Driver: EpollDriver | SimDriver  ◄────────────────────────┘
//! ```
//!
//! A [`Loop`] is generic over both ends, so that everything between a readiness event and the
//! service's decision is static calls. One turn: wait for events, deliver them, fire the timers
//! that are due, hand over mail, let the service finish the turn, flush what it queued.
//!
//! **Invariants.** I-IO-1: no callback runs inside another. I-IO-2: nothing is reported for a
//! [`Sock`] after [`Edge::close`] or after `on_gone`. I-IO-3: bytes leave a socket in the order
//! in which [`Edge::send`] and [`Edge::queue`] were called. I-IO-4: a socket without unconsumed or
//! unsent bytes holds no buffer. I-IO-5: a steady request and reply allocate nothing. I-IO-6:
//! bytes that arrived behind the last one consumed when a [`Codec`] is put on reach the service
//! decoded or not at all. I-IO-7: the end of a stream that was cut off is never an orderly one.
//!
//! **Not here.** This crate knows no MySQL, decides no policy, and is the only one with `unsafe`
//! (in `sys`).
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

mod addr;
mod buffer;
mod codec;
mod dial;
mod driver;
mod event_loop;
mod listen;
mod lock;
mod mailbox;
mod micros;
mod sockets;
mod sys;
mod timers;

pub use addr::{Addr, Failure, Op, network_of};
pub use codec::{CODEC_ROOM_BYTES, Codec, DecodeCost, Step, StreamEnd};
pub use dial::connect_unix;
pub use driver::epoll::EpollDriver;
pub use driver::sim::{Faults, SimDriver, SimListener, SimNet, SimSocket, SimTurn};
pub use driver::{Driver, Event, Interest, Started};
pub use event_loop::{Detached, Edge, Loop, LoopStats, Options, Service};
pub use listen::{bound_to, listen, stop_listening};
pub use lock::{Lock, locks_taken};
pub use mailbox::{Mailbox, Waker};
pub use micros::Micros;
pub use sockets::{Listener, Sock};
pub use sys::core_file::write_core_files;
pub use sys::disk::free_bytes;
pub use sys::fds::reserve_descriptors;
pub use sys::memory::{Heap, heap};
pub use sys::process::{Ending, end_group};
