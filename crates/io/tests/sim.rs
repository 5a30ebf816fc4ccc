//! The common suite in simulated networks, smooth and rough, without codecs and with some.

mod suite;

use io::Faults;
use suite::world::{Coding, Simulated};

fn smooth(layers: usize) -> Option<Simulated> {
    Some(Simulated::new(1, Faults::none(), Coding::layers(layers)))
}

fn rough(layers: usize) -> Option<Simulated> {
    Some(Simulated::new(7, Faults::cuts(), Coding::layers(layers)))
}

mod smooth_network {
    use super::*;

    every_scenario!(smooth(0));
    every_coding_scenario!(smooth(0));
}

mod rough_network {
    use super::*;

    every_scenario!(rough(0));
    every_coding_scenario!(rough(0));
}

mod smooth_and_coded {
    use super::*;

    every_scenario!(smooth(1));
}

mod rough_and_coded {
    use super::*;

    every_scenario!(rough(1));
}

mod rough_and_coded_twice {
    use super::*;

    every_scenario!(rough(2));
}
