//! Which part may stand on which, as data: the crates, and the modules inside `engine`.
//!
//! The only place to edit when a boundary moves; moving one needs an ADR first.

/// A crate's folder, our own crates it may name, and the foreign ones.
pub(super) struct LayerRow {
    pub(super) folder: &'static str,
    pub(super) own: &'static [&'static str],
    pub(super) foreign: &'static [&'static str],
    /// Own crates it may name in tests only.
    pub(super) own_in_tests: &'static [&'static str],
}

/// A row that holds for every crate that ships.
const fn row(
    folder: &'static str,
    own: &'static [&'static str],
    foreign: &'static [&'static str],
    own_in_tests: &'static [&'static str],
) -> LayerRow {
    LayerRow { folder, own, foreign, own_in_tests }
}

/// Every member of the workspace; a member without a row is an error.
pub(super) const CRATES: &[LayerRow] = &[
    row("crates/cache", &["io"], &["foldhash", "quick_cache"], &[]),
    row("crates/wire", &[], &["aws-lc-rs", "ed25519-dalek", "memchr"], &[]),
    row("crates/binlog", &["wire"], &["flate2", "zstd"], &[]),
    row("crates/client", &["wire"], &[], &[]),
    row("crates/sql", &[], &["memchr"], &[]),
    row("crates/libconfig", &[], &[], &[]),
    row(
        "crates/engine",
        &["cache", "wire", "sql"],
        &[
            "memchr",
            "regex-automata",
            "regex-syntax",
            "aho-corasick",
            "pcre2",
            "serde",
            "serde_json",
            "zeroize",
        ],
        &["testkit"],
    ),
    row(
        "crates/advice",
        &["sql", "engine"],
        &["regex-automata", "regex-syntax", "serde_json"],
        &[],
    ),
    row("crates/keeper", &["engine"], &["serde_json"], &[]),
    row("crates/following", &["binlog", "cache", "engine", "keeper", "io"], &[], &[]),
    row("crates/failover", &["wire", "keeper"], &[], &[]),
    row("crates/io", &[], &["libc"], &[]),
    row("crates/monitor", &["wire", "engine", "keeper", "io", "tls"], &[], &[]),
    row(
        "crates/tls",
        &["io"],
        &["aws-lc-rs", "libc", "rcgen", "rustls", "rustls-native-certs", "webpki", "x509-parser"],
        &[],
    ),
    row("crates/compression", &["wire", "io"], &["flate2", "libc", "zstd"], &["proptest"]),
    row("crates/worker", &["engine", "wire", "io", "tls", "compression"], &[], &["testkit"]),
    row("crates/mysql_server", &["wire"], &[], &[]),
    row(
        "crates/admin",
        &[
            "wire",
            "sql",
            "engine",
            "keeper",
            "failover",
            "monitor",
            "advice",
            "mysql_server",
            "io",
            "tls",
        ],
        &["rusqlite"],
        &["client"],
    ),
    row(
        "crates/web",
        &["wire", "engine", "io", "tls"],
        &[
            "tokio",
            "tokio-rustls",
            "hyper",
            "hyper-util",
            "http-body-util",
            "base64",
            "serde_json",
            "form_urlencoded",
        ],
        &["sql"],
    ),
    row("crates/demo_servers", &["wire", "sql", "mysql_server"], &["rusqlite"], &[]),
    row("crates/lab", &["wire", "client"], &["anyhow"], &[]),
    row(
        "crates/server",
        &[
            "cache",
            "wire",
            "binlog",
            "client",
            "sql",
            "libconfig",
            "engine",
            "advice",
            "keeper",
            "following",
            "failover",
            "monitor",
            "io",
            "tls",
            "worker",
            "admin",
            "web",
            "demo_servers",
            "lab",
        ],
        &[
            "rusqlite",
            "tracing",
            "tracing-subscriber",
            "clap",
            "toml",
            "annotate-snippets",
            "anyhow",
            "serde_json",
            "signal-hook",
            "aws-lc-rs",
            "nonstick",
            "ldap3",
        ],
        &["testkit"],
    ),
    row(
        "crates/testkit",
        &["wire", "sql", "engine", "keeper", "worker", "io", "binlog", "cache", "following"],
        &[],
        &[],
    ),
    row("xtask", &[], &["anyhow", "serde_json", "spdx", "toml"], &["engine", "admin"]),
    row("bench", &["lab"], &["anyhow", "rcgen"], &[]),
    row("bench/icount", &["wire", "client", "sql", "engine", "io", "worker"], &[], &[]),
    row(
        "tests/live",
        &["wire", "client", "sql", "engine", "io", "compression", "worker", "lab", "testkit"],
        &["anyhow", "base64", "mysql", "rcgen", "rustls", "serde_json"],
        &["wire", "lab", "testkit"],
    ),
];

/// The modules of `engine` from the ground up. A module may use those in earlier groups and its
/// own; those of one group do not know each other.
pub(super) const ENGINE: &[&[&str]] = &[
    &["slab"],
    &["ids", "config_fault", "document", "link", "holds", "server_error"],
    &["rows"],
    &["json", "catalog"],
    &["vars"],
    &["error", "guesses", "login_checks"],
    &["users", "topology", "rules"],
    &["hostgroups", "clusters"],
    &["snapshot"],
    &["route"],
    &["report"],
    &["orders"],
    &["stats"],
    &["first_bytes"],
    &["stmt"],
    &["caching"],
    &["backend", "redirects"],
    &["lane"],
    &["pool"],
    &["session", "proxy"],
];

/// Modules of one group that do know each other, each pair with an ADR: a session's steps are
/// written as methods of the worker's core, which owns all sessions and lanes (ADR 002).
pub(super) const TOGETHER: &[(&str, &str)] = &[("session", "proxy")];
