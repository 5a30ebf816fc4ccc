//! an embedded MySQL-protocol server over in-memory SQLite.
