//! The commands behind the Makefile.
fn main() {}
