//! starts real MariaDB and MySQL servers on loopback.
