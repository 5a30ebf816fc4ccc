//! MySQL from Debian's unstable packages, unpacked beside the system with every library it needs.
//! `apt-get` downloads it, with a configuration of its own, from the mirror that the system's
//! sources name. Debian's keyring checks it. Nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::place;
use crate::process::find_program;

const PACKAGE: &str = "mysql-server-core";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The directory that MySQL's files lie below; with `may_fetch`, it is made when missing.
pub(crate) fn unpacked_mysql(may_fetch: bool) -> Result<PathBuf> {
    let cache = place::cache_dir()?;
    let root = cache.join("mysql");
    if root.join("usr/sbin/mysqld").exists() {
        return Ok(root);
    }
    if !may_fetch {
        bail!("MySQL is not in {} and was not to be downloaded", root.display());
    }
    let _lock = place::lock_cache(&cache)?;
    if root.join("usr/sbin/mysqld").exists() {
        return Ok(root);
    }
    let work = cache.join("fetching");
    drop(fs::remove_dir_all(&work));
    let fetched = fetch(&work).context("MySQL cannot be had from Debian's unstable packages");
    let moved = fetched.and_then(|()| Ok(fs::rename(work.join("root"), &root)?));
    drop(fs::remove_dir_all(&work));
    moved.map(|()| root)
}

fn fetch(work: &Path) -> Result<()> {
    for tool in ["apt-get", "dpkg-deb"] {
        find_program(tool).with_context(|| format!("there is no {tool} here"))?;
    }
    let mirror = debian_mirror().context("no Debian mirror in this machine's apt sources")?;
    for dir in ["lists/partial", "cache/archives/partial", "debs", "root", "etc"] {
        fs::create_dir_all(work.join(dir))?;
    }
    let signed =
        if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
    fs::write(work.join("etc/sources.list"), format!("deb {signed}{mirror} sid main\n"))?;
    fs::write(work.join("status"), "")?;

    apt(work, &["update"])?;
    let plan = apt(work, &["install", "--simulate", "--no-install-recommends", PACKAGE])?;
    let packages = planned_packages(&plan);
    ensure!(packages.iter().any(|name| name == PACKAGE), "apt-get does not plan {PACKAGE}: {plan}");
    let mut download = vec!["download"];
    download.extend(packages.iter().map(String::as_str));
    apt(work, &download)?;
    for entry in fs::read_dir(work.join("debs"))? {
        run(Command::new("dpkg-deb").arg("-x").arg(entry?.path()).arg(work.join("root")))?;
    }
    ensure!(work.join("root/usr/sbin/mysqld").exists(), "{PACKAGE} has no usr/sbin/mysqld");
    Ok(())
}

fn apt(work: &Path, arguments: &[&str]) -> Result<String> {
    let at = |key: &str, below: &str| format!("{key}={}", work.join(below).display());
    let mut command = Command::new("apt-get");
    for option in [
        at("Dir::Etc::sourcelist", "etc/sources.list"),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        at("Dir::State::lists", "lists"),
        at("Dir::State::status", "status"),
        at("Dir::State::extended_states", "extended_states"),
        at("Dir::Cache", "cache"),
        "APT::Sandbox::User=".to_owned(),
        "APT::Update::Post-Invoke-Success::=true".to_owned(),
        "Acquire::Languages=none".to_owned(),
        "Debug::NoLocking=1".to_owned(),
    ] {
        command.arg("-o").arg(option);
    }
    run(command.args(["-q", "-y"]).args(arguments).current_dir(work.join("debs")))
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.env("LC_ALL", "C").output().context("cannot run it")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{text}{errors}", output.status);
    Ok(text)
}

/// The packages that a simulated installation names, without those a server can run without.
fn planned_packages(plan: &str) -> Vec<String> {
    plan.lines()
        .filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
        .filter(|name| !name.contains("perl"))
        .map(str::to_owned)
        .collect()
}

/// The first mirror of Debian proper that this machine's own apt sources name.
fn debian_mirror() -> Option<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let parts = fs::read_dir("/etc/apt/sources.list.d").ok();
    files.extend(parts.into_iter().flatten().flatten().map(|entry| entry.path()));
    files.iter().filter_map(|file| mirror_in(&fs::read_to_string(file).ok()?)).next()
}

fn mirror_in(sources: &str) -> Option<String> {
    sources
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .find(|word| word.contains("://") && word.trim_end_matches('/').ends_with("/debian"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_is_read_from_both_forms_of_sources() {
        let new = "# http://no.example/debian\nTypes: deb\nURIs: http://a.example/debian\n";
        assert_eq!(mirror_in(new).as_deref(), Some("http://a.example/debian"));
        let old = "deb [x=y] https://b.example/debian/ bookworm main\n";
        assert_eq!(mirror_in(old).as_deref(), Some("https://b.example/debian/"));
        assert_eq!(mirror_in("URIs: http://c.example/debian-security\n"), None);
    }

    #[test]
    fn planned_packages_are_named_without_perl() {
        let plan = "Reading\nInst libc6 (2.43 Debian [amd64])\nInst perl (5)\nConf libc6 (2.43)\n";
        assert_eq!(planned_packages(plan), ["libc6"]);
    }
}
