//! The common suite in simulated networks, smooth and rough.

mod suite;

use io::Faults;
use suite::world::Simulated;

mod smooth {
    use super::*;

    every_scenario!(Some(Simulated::new(1, Faults::none())));
}

mod rough {
    use super::*;

    every_scenario!(Some(Simulated::new(7, Faults::cuts())));
}
