//! The common suite on real sockets, without codecs and with one.

mod suite;

use io::EpollDriver;
use suite::world::{Coding, Real};

fn world(layers: usize) -> Option<Real<EpollDriver, impl Fn() -> EpollDriver>> {
    let make = || EpollDriver::new().expect("epoll is always there");
    Some(Real { make, coding: Coding::layers(layers) })
}

every_scenario!(world(0));
every_coding_scenario!(world(0));

mod coded {
    use super::*;

    every_scenario!(world(1));
}
