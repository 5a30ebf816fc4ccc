//! The common suite under epoll, and what only real sockets can show.

mod suite;

use suite::world::Real;

fn world() -> Option<Real<io::EpollDriver, impl Fn() -> io::EpollDriver>> {
    Some(Real { make: || io::EpollDriver::new().expect("epoll is always there") })
}

every_scenario!(world());
