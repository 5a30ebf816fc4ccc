//! The tour: a few statements through Tidegate, and proof of where each was carried out.
//!
//! Nothing printed is assumed: servers name themselves by `@@hostname` in results and in written
//! rows, and whatever is not as the text says ends the tour with an error.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};

use super::client::{Client, Refused, Reply};
use super::say;
use super::setup::Place;

/// Runs every step against Tidegate at `front`.
pub(super) fn run(front: SocketAddr, places: &[Place]) -> anyhow::Result<()> {
    let mut tour = Tour { front, places, client: Client::connect(front, "demo", "demo")?, step: 0 };
    tour.writes()?;
    tour.reads()?;
    tour.locking_read()?;
    tour.transaction()?;
    tour.straight_to_a_replica()?;
    tour.counters()
}

struct Tour<'a> {
    front: SocketAddr,
    places: &'a [Place],
    client: Client,
    step: u32,
}

impl Tour<'_> {
    /// A table, and rows that note who wrote them.
    fn writes(&mut self) -> anyhow::Result<()> {
        self.title("Writes match no rule and go to hostgroup 0")?;
        self.run(
            "CREATE TABLE visits (id INT AUTO_INCREMENT PRIMARY KEY, who TEXT, written_by TEXT)",
        )?;
        for who in ["Ada", "Grace", "Edsger"] {
            let insert = "INSERT INTO visits (who, written_by) VALUES";
            let reply = self.run(&format!("{insert} ('{who}', @@hostname)"))?;
            ensure!(reply.affected_rows == 1, "one row was to be written");
        }
        let written = self.run("SELECT DISTINCT written_by FROM visits")?;
        let by: Vec<&str> = written.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
        ensure!(by == [self.primary()?], "rows were written by {by:?}");
        outcome("primary: the server that wrote each row put its name in it")
    }

    /// The same read fifty times.
    fn reads(&mut self) -> anyhow::Result<()> {
        self.title("Reads match ^SELECT and are spread over hostgroup 1")?;
        show(&format!("{READ}      {READS} times"))?;
        let mut counts = vec![0_usize; self.places.len()];
        for _ in 0..READS {
            let reply = self.client.query(READ)?;
            let (server, rows) = (reply.value(0), reply.value(1));
            ensure!(rows == Some("3"), "a read saw {rows:?} rows instead of 3");
            let at = self.places.iter().position(|place| Some(place.name) == server);
            let at = at.with_context(|| format!("{server:?} answered"))?;
            counts[at] += 1;
        }
        for (place, count) in self.places.iter().zip(&counts) {
            let line = format!("{:<10} {count:>3}  {}", place.name, "#".repeat(*count));
            outcome(line.trim_end())?;
            if place.writable {
                ensure!(*count == 0, "the primary answered {count} reads");
            } else {
                ensure!(*count > 0, "{} answered no read", place.name);
            }
        }
        outcome("and every answer had the three rows")
    }

    /// FOR UPDATE belongs to the primary.
    fn locking_read(&mut self) -> anyhow::Result<()> {
        self.title("A read that locks matches ^SELECT.*FOR UPDATE first")?;
        let reply = self.run("SELECT @@hostname, who FROM visits WHERE id = 1 FOR UPDATE")?;
        let server = reply.value(0).unwrap_or_default().to_owned();
        ensure!(server == self.primary()?, "{server} answered");
        outcome(&format!("{server} answered; on a replica it would have been error 1290"))
    }

    /// A transaction keeps its server; another client meanwhile reads from the replicas.
    fn transaction(&mut self) -> anyhow::Result<()> {
        self.title("A transaction stays on its server, reads included")?;
        let begun = self.run("BEGIN")?;
        ensure!(begun.in_transaction, "BEGIN began nothing");
        self.run("UPDATE visits SET who = 'Barbara' WHERE id = 1")?;
        let who = "SELECT @@hostname, who FROM visits WHERE id = 1";
        let inside = self.run(who)?;
        self.expect(&inside, true, "Barbara")?;
        outcome("primary answered 'Barbara', though the text matches ^SELECT")?;
        let mut other = Client::connect(self.front, "demo", "demo")?;
        let outside = other.query(who)?;
        self.expect(&outside, false, "Ada")?;
        let server = outside.value(0).unwrap_or_default();
        outcome(&format!("another client, the same query: {server} answered 'Ada'"))?;
        let committed = self.run("COMMIT")?;
        ensure!(!committed.in_transaction, "COMMIT ended nothing");
        let after = other.query(who)?;
        self.expect(&after, false, "Barbara")?;
        let server = after.value(0).unwrap_or_default();
        outcome(&format!("the other client again: {server} answered 'Barbara'"))
    }

    /// What the rules keep from happening.
    fn straight_to_a_replica(&mut self) -> anyhow::Result<()> {
        self.title("Past Tidegate, straight to a replica")?;
        let replica = self.places.iter().find(|place| !place.writable).context("no replica")?;
        let mut direct = Client::connect(replica.address, "demo", "demo")?;
        let statement = "DELETE FROM visits";
        show(statement)?;
        match direct.query(statement).map_err(|error| error.downcast::<Refused>()) {
            Err(Ok(refused)) if refused.code == 1290 => {
                outcome(&format!("{} answered {refused}", replica.name))
            }
            Err(Ok(refused)) => bail!("{} answered {refused}", replica.name),
            Err(Err(error)) => Err(error),
            Ok(_) => bail!("{} took a write", replica.name),
        }
    }

    /// The servers' own counters.
    fn counters(&mut self) -> anyhow::Result<()> {
        self.title("What the servers counted themselves")?;
        for place in self.places {
            let mut direct = Client::connect(place.address, "demo", "demo")?;
            let status = direct.query("SHOW GLOBAL STATUS LIKE 'Questions'")?;
            let questions = status.value(1).context("no counter")?;
            outcome(&format!("{:<10} {questions:>3} statements", place.name))?;
        }
        outcome("all of the above, this question, and what Tidegate itself had to ask")
    }

    /// Whether a row came from the primary or a replica, with this name in it.
    fn expect(&self, reply: &Reply, from_primary: bool, who: &str) -> anyhow::Result<()> {
        let server = reply.value(0).unwrap_or_default();
        ensure!((server == self.primary()?) == from_primary, "{server} answered");
        ensure!(reply.value(1) == Some(who), "{server} answered {:?}", reply.value(1));
        Ok(())
    }

    fn primary(&self) -> anyhow::Result<&'static str> {
        let primary = self.places.iter().find(|place| place.writable);
        primary.map(|place| place.name).context("no primary")
    }

    /// Prints a statement and runs it.
    fn run(&mut self, statement: &str) -> anyhow::Result<Reply> {
        show(statement)?;
        self.client.query(statement)
    }

    fn title(&mut self, title: &str) -> anyhow::Result<()> {
        self.step += 1;
        say(&format!("\n{}. {title}\n", self.step))
    }
}

fn show(statement: &str) -> anyhow::Result<()> {
    say(&format!("   > {statement}"))
}

fn outcome(text: &str) -> anyhow::Result<()> {
    say(&format!("     {text}"))
}

const READ: &str = "SELECT @@hostname, COUNT(*) FROM visits";
const READS: usize = 50;
