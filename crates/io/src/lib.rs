//! file descriptors, time and threads; knows no MySQL.
