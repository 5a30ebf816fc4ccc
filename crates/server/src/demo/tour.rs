//! The tour: a few statements through Tidegate, and proof of where each was carried out.
//!
//! Nothing printed is assumed: servers name themselves by `@@hostname` in results and in written
//! rows. Anything that is not as the text says ends the tour with an error.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use client::{Client, Login, Packets, Reply};
use wire::Status;

use super::say;
use super::setup::ShownServer;

/// Runs every step against Tidegate at `front`.
pub(super) fn run(
    front: SocketAddr,
    admin: SocketAddr,
    places: &[ShownServer],
) -> anyhow::Result<()> {
    let client = connect(front, "demo")?;
    let admin = connect(admin, "admin")?;
    let mut tour = Tour { front, places, client, admin, step: 0 };
    tour.writes()?;
    tour.reads()?;
    tour.locking_read()?;
    tour.transaction()?;
    tour.straight_to_a_replica()?;
    tour.administration()?;
    tour.counters()
}

struct Tour<'a> {
    front: SocketAddr,
    places: &'a [ShownServer],
    client: Client<TcpStream>,
    admin: Client<TcpStream>,
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
            let reply = self.client.query(READ).context(READ)?;
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
        ensure!(begun.status.contains(Status::IN_TRANS), "BEGIN began nothing");
        self.run("UPDATE visits SET who = 'Barbara' WHERE id = 1")?;
        let who = "SELECT @@hostname, who FROM visits WHERE id = 1";
        let inside = self.run(who)?;
        self.expect(&inside, true, "Barbara")?;
        outcome("primary answered 'Barbara', though the text matches ^SELECT")?;
        let mut other = connect(self.front, "demo")?;
        let outside = other.query(who).context(who)?;
        self.expect(&outside, false, "Ada")?;
        let server = outside.value(0).unwrap_or_default();
        outcome(&format!("another client, the same query: {server} answered 'Ada'"))?;
        let committed = self.run("COMMIT")?;
        ensure!(!committed.status.contains(Status::IN_TRANS), "COMMIT ended nothing");
        let after = other.query(who).context(who)?;
        self.expect(&after, false, "Barbara")?;
        let server = after.value(0).unwrap_or_default();
        outcome(&format!("the other client again: {server} answered 'Barbara'"))
    }

    /// What the rules keep from happening.
    fn straight_to_a_replica(&mut self) -> anyhow::Result<()> {
        self.title("Past Tidegate, straight to a replica")?;
        let replica = self.places.iter().find(|place| !place.writable).context("no replica")?;
        let mut direct = connect(replica.address, "demo")?;
        let statement = "DELETE FROM visits";
        show(statement)?;
        let Err(error) = direct.query(statement) else { bail!("{} took a write", replica.name) };
        let answered = format!("{} answered {error}", replica.name);
        ensure!(error.refusal().is_some_and(|refusal| refusal.code == 1290), answered);
        outcome(&answered)
    }

    /// A rule is looked at, changed in memory, put in force, and taken back; digests tell of it.
    fn administration(&mut self) -> anyhow::Result<()> {
        self.title("The administrative interface: change a rule while clients are connected")?;
        let explained = self.administer(&format!("EXPLAIN ROUTE {READ}"))?;
        tell_rows(&explained)?;
        let decides =
            ["match", "2", "destination_hostgroup=1, apply=1"].map(|cell| Some(cell.to_owned()));
        ensure!(explained.rows.iter().any(|row| *row == decides), "rule 2 was to decide");
        self.administer(
            "UPDATE mysql_query_rules SET destination_hostgroup = 0 WHERE rule_id = 2",
        )?;
        self.administer("LOAD MYSQL QUERY RULES TO RUNTIME")?;
        self.expect_reads(true)?;
        outcome("the primary answers reads now; nobody had to connect again")?;
        self.administer("LOAD MYSQL QUERY RULES FROM CONFIG")?;
        self.administer("LOAD MYSQL QUERY RULES TO RUNTIME")?;
        self.expect_reads(false)?;
        outcome("and the replicas again")?;
        let digests = self.administer(DIGESTS)?;
        tell_rows(&digests)?;
        ensure!(digests.value(0) == Some("1"), "most statements were reads of replicas");
        Ok(())
    }

    /// Prints a statement of the administrator and runs it.
    fn administer(&mut self, statement: &str) -> anyhow::Result<Reply> {
        show(statement)?;
        self.admin.query(statement).with_context(|| statement.to_owned())
    }

    /// Who answers a few reads.
    fn expect_reads(&mut self, by_primary: bool) -> anyhow::Result<()> {
        for _ in 0..10 {
            let reply = self.client.query(READ).context(READ)?;
            let server = reply.value(0).unwrap_or_default();
            ensure!((server == self.primary()?) == by_primary, "{server} answered a read");
        }
        Ok(())
    }

    /// The servers' own counters.
    fn counters(&mut self) -> anyhow::Result<()> {
        self.title("What the servers counted themselves")?;
        for place in self.places {
            let mut direct = connect(place.address, "demo")?;
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
        self.client.query(statement).with_context(|| statement.to_owned())
    }

    fn title(&mut self, title: &str) -> anyhow::Result<()> {
        self.step += 1;
        say(&format!("\n{}. {title}\n", self.step))
    }
}

/// A client whose password is its name, in the schema of the demo.
fn connect(to: SocketAddr, user: &str) -> anyhow::Result<Client<TcpStream>> {
    let login = Login { schema: Some("demo"), ..Login::new(user, user) };
    let packets = Packets::tcp(to, PATIENCE).with_context(|| format!("cannot connect to {to}"))?;
    Client::log_in(packets, &login).with_context(|| format!("cannot log in at {to}"))
}

fn show(statement: &str) -> anyhow::Result<()> {
    say(&format!("   > {statement}"))
}

fn outcome(text: &str) -> anyhow::Result<()> {
    say(&format!("     {text}"))
}

/// Prints the rows of a result.
fn tell_rows(reply: &Reply) -> anyhow::Result<()> {
    let text = |row: &Vec<Option<String>>| {
        let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
        cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("  ")
    };
    reply.rows.iter().try_for_each(|row| outcome(&text(row)))
}

const READ: &str = "SELECT @@hostname, COUNT(*) FROM visits";
const READS: usize = 50;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
const DIGESTS: &str = "SELECT hostgroup, count_star, digest_text FROM stats_mysql_query_digest \
                       ORDER BY count_star DESC LIMIT 3";
