//! Starts a cluster, prints where it is, and keeps it until the input ends: for trying things by
//! hand. Usage: `serve [mariadb|mysql] [REPLICAS]`.

use std::io::Read;

use lab::{Cluster, Flavour, LabOptions};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let flavour = match arguments.next().as_deref() {
        Some("mysql") => Flavour::MySql,
        _ => Flavour::MariaDb,
    };
    let replicas = arguments.next().map_or(Ok(0), |count| count.parse())?;
    let options = LabOptions { replicas, flavour, may_fetch: true, ..Default::default() };
    let cluster = Cluster::start(options)?;
    println!("{} {}", flavour.name(), cluster.software().version);
    for server in cluster.servers() {
        println!("{} {} {}", server.address(), server.socket.display(), server.pid());
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
