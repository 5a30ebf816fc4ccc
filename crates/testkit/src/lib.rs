//! the other ends of our sockets, for tests.
