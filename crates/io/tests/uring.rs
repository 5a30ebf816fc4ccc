//! The common suite under io_uring, where this machine lets us.

mod suite;

use suite::world::Real;

fn world() -> Option<Real<io::UringDriver, impl Fn() -> io::UringDriver>> {
    match io::probe_uring() {
        Ok(()) => Some(Real { make: || io::UringDriver::new().expect("the probe just had one") }),
        Err(why) => {
            eprintln!("SKIPPED: io_uring cannot be tried here: {why}");
            None
        }
    }
}

every_scenario!(world());
