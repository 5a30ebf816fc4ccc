//! G2, G3 and G13. The pure crates touch nothing outside their arguments. No crate but `io` and
//! `server` keeps state that is not passed to it. Code on a loop's thread takes no lock but the one
//! that counts.
//!
//! Decides by words in non-test code. Clippy's disallowed lists say the same of what they can name.

use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::rust_text::{line_of, whole_words};
use crate::tree::Source;

const PURE: [&str; 6] = ["wire", "sql", "engine", "advice", "keeper", "failover"];

const OUTSIDE_WORLD: [&str; 16] = [
    "std::net",
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "std::io",
    "Instant::now",
    "SystemTime",
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "dbg!",
    "rand::rng",
    "thread_rng",
    "tracing",
];

/// Crates that may hold process-wide state, because they are the process or its edge.
const MAY_HOLD_STATE: [&str; 2] = ["io", "server"];

const INTERIOR: [&str; 9] = [
    "Atomic", "Mutex", "RwLock", "OnceLock", "LazyLock", "Cell<", "OnceCell", "LazyCell", "Condvar",
];

/// Crates whose code runs on the threads of loops: workers', and the one that checks servers.
const ON_LOOPS: [&str; 9] =
    ["cache", "wire", "sql", "engine", "io", "tls", "compression", "worker", "monitor"];

/// What may make a thread wait for another one.
const LOCKS: [&str; 6] = ["Mutex", "RwLock", "Condvar", "Barrier", "mpsc", "LazyLock"];

const THE_LOCK: &str = "crates/io/src/lock.rs";

pub(super) fn pure_crates(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let mut files = 0;
    for source in sources.iter().filter(|s| PURE.contains(&s.krate())) {
        files += 1;
        for word in OUTSIDE_WORLD {
            let why = "a pure crate takes this as an argument or gives it as an order";
            let lines = source.lines_with(word);
            findings.extend(lines.iter().map(|&l| Finding::new("G2", source, l, word, why)));
        }
    }
    Ok(Checked { detail: format!("{files} files of {}", PURE.join(", ")), findings })
}

pub(super) fn ambient_state(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let mut files = 0;
    for source in sources.iter().filter(|s| !s.is_test_file()) {
        if MAY_HOLD_STATE.contains(&source.krate()) && source.path.starts_with("crates/") {
            continue;
        }
        files += 1;
        for line in source.lines_with("thread_local!") {
            let why = "state is passed, never ambient";
            findings.push(Finding::new("G3", source, line, "thread_local!", why));
        }
        findings.extend(mutable_statics(source));
    }
    Ok(Checked { detail: format!("{files} files"), findings })
}

pub(super) fn locks(_: &Path, sources: &[Source]) -> Result<Checked> {
    let on_loops = |source: &&Source| ON_LOOPS.contains(&source.krate());
    let mut findings = Vec::new();
    let mut files = 0;
    for source in sources.iter().filter(on_loops).filter(|source| source.path != THE_LOCK) {
        files += 1;
        for word in LOCKS {
            let why = "take an io::Lock, so that tests see it taken";
            let lines = source.lines_with(word);
            findings.extend(lines.iter().map(|&l| Finding::new("G13", source, l, word, why)));
        }
    }
    Ok(Checked { detail: format!("{files} files of {}", ON_LOOPS.join(", ")), findings })
}

fn mutable_statics(source: &Source) -> Vec<Finding> {
    let code = &source.code;
    let declarations = whole_words(code, "static").filter_map(|at| {
        let is_lifetime = at > 0 && code.as_bytes()[at - 1] == b'\'';
        let line = line_of(code, at);
        if is_lifetime || source.is_test_line(line) {
            return None;
        }
        let head = code[at..].split(['=', ';']).next().unwrap_or("");
        let mutable = head.starts_with("static mut ") || INTERIOR.iter().any(|t| head.contains(t));
        mutable.then_some((head.split(':').next().unwrap_or(head).trim().to_owned(), line))
    });
    let why = "a static that can change belongs to io or server only";
    declarations.map(|(name, line)| Finding::new("G3", source, line, &name, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::new(path.into(), text.into())
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_found_and_one_in_its_tests_is_not() {
        let text =
            "fn f() { Instant::now(); }\n#[cfg(test)]\nmod t { fn g() { Instant::now(); } }\n";
        let sources = [source("crates/wire/src/a.rs", text), source("crates/io/src/a.rs", text)];
        let checked = pure_crates(Path::new("."), &sources).expect("reads only its arguments");
        assert_eq!(checked.findings.len(), 1);
        assert_eq!(checked.findings[0].at, "crates/wire/src/a.rs:1");
    }

    #[test]
    fn a_lock_that_is_not_counted_is_found_where_loops_run() {
        let text = "struct A(Mutex<u8>);\n";
        let at = [
            "crates/worker/src/a.rs",
            "crates/tls/src/a.rs",
            "crates/compression/src/a.rs",
            "crates/monitor/src/a.rs",
            "crates/server/src/a.rs",
            THE_LOCK,
        ];
        let sources = at.map(|path| source(path, text));
        let checked = locks(Path::new("."), &sources).expect("reads only its arguments");
        let found: Vec<_> = checked.findings.iter().map(|f| f.at.as_str()).collect();
        let on_loops = ["worker", "tls", "compression", "monitor"];
        assert_eq!(found, on_loops.map(|krate| format!("crates/{krate}/src/a.rs:1")));
    }

    #[test]
    fn a_static_with_interior_mutability_is_found() {
        let text =
            "static A: AtomicU64 = x;\nstatic B: &str = y;\nfn f(x: &'static Mutex<u8>) {}\n";
        let sources = [source("crates/worker/src/a.rs", text)];
        let checked = ambient_state(Path::new("."), &sources).expect("reads only its arguments");
        let keys: Vec<_> = checked.findings.iter().map(|f| f.key.as_str()).collect();
        assert_eq!(keys, ["G3 crates/worker/src/a.rs static A"]);
    }
}
