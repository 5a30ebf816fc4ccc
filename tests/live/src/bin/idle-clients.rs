//! Opens many connections, logs in on each, says `ready`, and keeps them until its input ends. A
//! program of its own because the files it opens count against the limit of a process.
//! Usage: `idle-clients PORT USER COUNT`.
#![forbid(unsafe_code)]

use std::io::Read;

use anyhow::{Context, Result};
use live::Raw;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, port, user, count] = words.as_slice() else {
        anyhow::bail!("usage: idle-clients PORT USER COUNT")
    };
    let port = port.parse()?;
    let count: usize = count.parse()?;
    let mut clients = Vec::with_capacity(count);
    for number in 0..count {
        let client = Raw::login(port, user, user);
        clients.push(client.with_context(|| format!("client {number}"))?);
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
