//! HAProxy in front of Tidegate.

use std::path::Path;
use std::time::Duration;

use lab::{Process, RunDir};

/// Where Debian has it.
pub const HAPROXY: &str = "/usr/sbin/haproxy";

/// Whether there is one; says so where there is none.
pub fn is_there(what: &str) -> bool {
    let is_there = Path::new(HAPROXY).exists();
    if !is_there {
        crate::skip(what, "there is no HAProxy");
    }
    is_there
}

/// One in front of a port that tells clients' addresses so; where it listens.
pub fn in_front(dir: &RunDir, to: u16, word: &str) -> (Process, u16) {
    let port = lab::free_port().expect("a port");
    let text = format!(
        "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 60s\n    \
         timeout server 60s\nlisten mysql\n    bind 127.0.0.1:{port}\n    \
         server tidegate 127.0.0.1:{to} {word}\n"
    );
    let file = dir.path().join(format!("{word}.cfg"));
    std::fs::write(&file, text).expect("written");
    let words = [HAPROXY.into(), "-db".into(), "-f".into(), file.into()];
    let process = Process::launch(&words, &dir.path().join("haproxy.log")).expect("it starts");
    let greets = || crate::greeting_of(port).is_ok();
    crate::eventually("HAProxy passes the greeting on", Duration::from_secs(10), greets);
    (process, port)
}
