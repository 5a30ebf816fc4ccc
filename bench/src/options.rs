//! What is to be measured, from the command line.
//!
//! Decides defaults and ranges; knows nothing of how a run is made.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::sysbench::Load;
use crate::target::Target;

pub(crate) const HELP: &str = "\
cargo xtask bench [OPTIONS]

  --targets LIST   of direct, haproxy, relay, fast-forward, split, cached, split-exclusive,
                   split-narrow, haproxy-tls, split-tls     (all but relay and split-narrow)
  --loads LIST     of point-text, point-prepared, read-only-text, read-only-prepared,
                   new-keys-text, new-keys-prepared         (all)
  --conns LIST     numbers of connections                           (1,8,64,256)
  --rounds N       interleaved rounds                               (5)
  --seconds N      length of one run                                (3)
  --out FILE       where the table goes   (a full run: bench/RESULTS.md, else the build folder)
";

const DEFAULT_TARGETS: [Target; 8] = [
    Target::Direct,
    Target::HaProxy,
    Target::FastForward,
    Target::Split,
    Target::Cached,
    Target::SplitExclusive,
    Target::HaProxyTls,
    Target::SplitTls,
];

/// What is to be measured.
pub(crate) struct Options {
    pub(crate) targets: Vec<Target>,
    pub(crate) loads: Vec<Load>,
    pub(crate) connections: Vec<usize>,
    pub(crate) rounds: usize,
    pub(crate) seconds: u64,
    pub(crate) arguments: Vec<String>,
    out: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            targets: DEFAULT_TARGETS.to_vec(),
            loads: Load::ALL.to_vec(),
            connections: vec![1, 8, 64, 256],
            rounds: 5,
            seconds: 3,
            arguments: arguments.to_vec(),
            out: None,
        };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().with_context(|| format!("{name} wants a value\n{HELP}"))?;
            options.take(name, value).with_context(|| format!("{name} {value}"))?;
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--targets" => self.targets = list(value, Target::named)?,
            "--loads" => self.loads = list(value, Load::named)?,
            "--conns" => self.connections = list(value, |word| word.parse().ok())?,
            "--rounds" => self.rounds = value.parse()?,
            "--seconds" => self.seconds = value.parse()?,
            "--out" => self.out = Some(value.into()),
            _ => bail!("no such option\n{HELP}"),
        }
        if self.rounds == 0 || self.seconds == 0 || self.connections.contains(&0) {
            bail!("zero measures nothing");
        }
        Ok(())
    }

    /// Where the table is written: only a full run replaces the one that is kept.
    pub(crate) fn output(&self) -> PathBuf {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        match &self.out {
            Some(path) => path.clone(),
            None if self.arguments.is_empty() => root.join("RESULTS.md"),
            None => std::env::temp_dir().join("tidegate-bench.md"),
        }
    }
}

fn list<T>(value: &str, one: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    let words = value.split(',').map(str::trim);
    words.map(|word| one(word).with_context(|| format!("`{word}` is none\n{HELP}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn lists_and_numbers_are_taken() {
        let options = parse("--conns 64,1 --targets direct,split --rounds 2").expect("valid");
        assert_eq!(options.connections, [64, 1]);
        assert_eq!(options.targets, [Target::Direct, Target::Split]);
        assert_eq!((options.rounds, options.seconds), (2, 3));
    }

    #[test]
    fn unknown_words_and_zeros_are_refused() {
        assert!(parse("--targets nginx").is_err());
        assert!(parse("--rounds 0").is_err());
        assert!(parse("--conns").is_err());
    }

    #[test]
    fn only_a_full_run_replaces_the_kept_table() {
        assert!(parse("").expect("valid").output().ends_with("bench/RESULTS.md"));
        assert!(!parse("--rounds 1").expect("valid").output().ends_with("bench/RESULTS.md"));
    }
}
