//! The command line: which commands there are and what each may be told.
//!
//! Only names, defaults and help texts; no command is carried out here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// An SQL-aware load balancer for MySQL and MariaDB.
#[derive(Parser, Debug)]
#[command(name = "tidegate", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, one module each.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Serve clients with a configuration file
    ///
    /// SIGHUP reads the file again: all of it comes into force without a restart, or, when anything
    /// in it is wrong, nothing. SIGUSR1 writes statistics. SIGTERM lets transactions end.
    Run(RunOptions),
    /// Read a configuration file and show what it would run, or everything that is wrong with it
    ///
    /// A file is a tidegate.toml or a proxysql.cnf, here and wherever a configuration file is asked
    /// for: by the end of its name (.toml; .cnf, .cfg, .conf), else by its text.
    Check {
        /// File to read
        file: PathBuf,
    },
    /// Look for what is allowed in a configuration file and yet hardly meant
    ///
    /// Finds rules that no query reaches, patterns that match nothing or everything, flags that
    /// nobody sets, hostgroups without servers and much more. Exits with 0 when there is nothing to
    /// say, with 1 when there are findings, and with 2 when the file is wrong.
    Lint(LintOptions),
    /// Show why a query goes where it goes
    ///
    /// Every rule that is looked at, in order: whether it matches, or which column does not; flags,
    /// rewriting, the resulting hostgroup, its servers, and what else is done with the query. The
    /// query may be written as an admin statement: EXPLAIN ROUTE SQL [FOR USER 'u'] [SCHEMA 's']
    /// [FROM 'addr'] [SNI 'host'].
    Explain(ExplainOptions),
    /// Compare the rules of two configuration files by the queries of a log
    ///
    /// The log has an object of JSON a line ({"user": …, "schema": …, "client": …, "query": …,
    /// "count": …}), or is a general or slow log of MySQL or MariaDB. Exits with 0 when nothing
    /// changes, with 1 when something does, and with 2 when a file is wrong.
    Candidate(CandidateOptions),
    /// Convert a configuration: proxysql.cnf, proxysql.db or tidegate.toml
    ///
    /// Says what was taken, what has no effect or another meaning here, what is left out and what
    /// has to be corrected before it runs; then writes tidegate.toml, to standard output or with
    /// --output to a file. An output that ends in .cnf is written as proxysql.cnf. Exits with 0
    /// when what was written can run, with 1 when it has to be corrected, and with 2 when nothing
    /// was written.
    Import(ImportOptions),
    /// Show where the servers of a running Tidegate stand, and why
    ///
    /// By hostgroup: role, status, lag, latency, and what changed last; what SHOW TOPOLOGY says on
    /// the administrative interface, which is asked with the address and the account of the
    /// configuration file.
    Topology(TopologyOptions),
    /// Decide again what a recording of the topology says was decided
    ///
    /// A recording is what mysql-topology_recording had written: checks, LOADs and what followed.
    /// Prints a line for each change (time, hostgroup, server, status before and after, reason)
    /// and where servers stand in the end. Exits with 0 when the changes are those of the time,
    /// with 1 when they are not, and with 2 when the file is wrong.
    ReplayTopology {
        /// File to read
        file: PathBuf,
    },
    /// Ask for the essentials and write a configuration file
    Init(InitOptions),
    /// Show Tidegate at work with three embedded servers; needs no database
    Demo {
        /// Exit after the tour instead of serving until Ctrl-C
        #[arg(long)]
        tour_only: bool,
    },
    /// Start real servers (a primary and replicas) on loopback to try things with
    Sandbox(SandboxOptions),
}

/// What `tidegate run` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    /// Configuration file; without it ./tidegate.toml, then /etc/tidegate/tidegate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How log lines are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Least severe level that is logged
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log_level: LogLevel,
    /// File that statistics are appended to at SIGUSR1, a JSON document a line; without it they
    /// are logged
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_file: Option<PathBuf>,
    /// Let a crash write a core file, which holds passwords
    #[arg(long)]
    pub(crate) core_file: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

/// Where the administrative interface keeps configurations.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct StoreOptions {
    /// Directory of the database with the configuration; without it nothing is saved to disk
    #[arg(short = 'D', long, value_name = "DIR")]
    pub(crate) datadir: Option<PathBuf>,
    /// What the configuration is taken from: auto is the database when there is one, else the file
    #[arg(long, value_enum, default_value_t = ConfigSource::Auto)]
    pub(crate) config_source: ConfigSource,
    /// Put an existing database aside and begin with the file
    #[arg(long)]
    pub(crate) initial: bool,
    /// Lay the file over what the database says, and save both
    #[arg(long, conflicts_with = "initial")]
    pub(crate) reload: bool,
}

/// Values of `--config-source`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ConfigSource {
    /// The database when there is one, else the file; differences are logged
    #[default]
    Auto,
    /// The file; the database is brought to what it says
    File,
    /// The database
    Db,
}

/// What `tidegate lint` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct LintOptions {
    /// Configuration file; without it ./tidegate.toml, then /etc/tidegate/tidegate.toml
    pub(crate) file: Option<PathBuf>,
    /// The same
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) config: Option<PathBuf>,
    /// Write the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `tidegate explain` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainOptions {
    /// The query
    pub(crate) sql: String,
    /// Configuration file; without it ./tidegate.toml, then /etc/tidegate/tidegate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// User who sends it; without it the first by name
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Schema of the session; without it the user's default
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// Address of the client; without it one that satisfies every rule
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) from: Option<String>,
    /// Local address that the client connected to; without it one that satisfies every rule
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) proxy_addr: Option<String>,
    /// Local port that the client connected to; without it the first that is listened on
    #[arg(long, value_name = "PORT")]
    pub(crate) proxy_port: Option<u16>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `tidegate candidate` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct CandidateOptions {
    /// Configuration file in force; without it ./tidegate.toml, then /etc/tidegate/tidegate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Configuration file that may replace it
    #[arg(long, value_name = "FILE")]
    pub(crate) candidate: PathBuf,
    /// Log of queries
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `tidegate import` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct ImportOptions {
    /// File to convert; a proxysql.db is opened read-only
    pub(crate) file: PathBuf,
    /// File to write; without it standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file when it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// What `tidegate topology` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct TopologyOptions {
    /// Configuration file; without it ./tidegate.toml, then /etc/tidegate/tidegate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `tidegate init` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct InitOptions {
    /// File to write
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub(crate) output: PathBuf,
    /// Overwrite the file when it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// What `tidegate sandbox` may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct SandboxOptions {
    /// Replicas beside the primary
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(crate) replicas: u32,
    /// Directory for the servers' data and the configuration file; without it a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Also run Tidegate in front of the servers
    #[arg(long)]
    pub(crate) run: bool,
}

/// Values of `--log-format`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// A line for people
    Text,
    /// A JSON object a line
    Json,
}

/// Values of `--log-level`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogLevel {
    /// Only what stops something from working
    Error,
    /// Also what needs attention
    Warn,
    /// Also what an operator wants to see in normal work
    Info,
    /// Also a line for each session and server event
    Debug,
    /// Everything
    Trace,
}
