//! Which server software there is on this machine: MariaDB as installed, MySQL as installed or as
//! unpacked into the lab's cache. It does not start servers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::debian;
use crate::process::find_program;

/// Whose server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flavour {
    /// MariaDB, from the installed `mariadbd`.
    #[default]
    MariaDb,
    /// MySQL, from an installed `mysqld` or from Debian's package unpacked into a cache.
    MySql,
}

/// A server program that can be started.
#[derive(Debug, Clone)]
pub struct Software {
    /// Whose it is.
    pub flavour: Flavour,
    /// What it says of its version, such as `10.11.14-MariaDB`.
    pub version: String,
    /// The words that start it, without options.
    pub(crate) program: Vec<OsString>,
    /// Options that say where its own files are, for one that is not installed.
    pub(crate) files: Vec<OsString>,
}

impl Flavour {
    /// The name in messages and file names.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::MariaDb => "MariaDB",
            Flavour::MySql => "MySQL",
        }
    }

    /// Finds the software. For MySQL that is not installed, `may_fetch` allows downloading
    /// Debian's packages by `apt-get` into the lab's cache (about 50 MB, once).
    pub fn find(self, may_fetch: bool) -> Result<Software> {
        match self {
            Flavour::MariaDb => installed(self, "TIDEGATE_MARIADBD", &["mariadbd", "mysqld"])?
                .context(
                    "no MariaDB server here: install the package mariadb-server, \
                     or name the program in TIDEGATE_MARIADBD",
                ),
            Flavour::MySql => {
                if let Some(software) = installed(self, "TIDEGATE_MYSQLD", &["mysqld"])? {
                    return Ok(software);
                }
                let root = debian::unpacked_mysql(may_fetch).context(
                    "no MySQL server here: install it, or name the program in TIDEGATE_MYSQLD",
                )?;
                unpacked(&root)
            }
        }
    }
}

/// The installed program of this flavour: the one that the variable names, or the first by name.
fn installed(flavour: Flavour, variable: &str, names: &[&str]) -> Result<Option<Software>> {
    if let Some(named) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let program = vec![named];
        let version = version_of(&program)?;
        return Ok(Some(Software { flavour, version, program, files: Vec::new() }));
    }
    for program in names.iter().filter_map(|name| find_program(name)) {
        let program = vec![program.into_os_string()];
        let Ok(version) = version_of(&program) else { continue };
        if version.contains("MariaDB") == (flavour == Flavour::MariaDb) {
            return Ok(Some(Software { flavour, version, program, files: Vec::new() }));
        }
    }
    Ok(None)
}

/// MySQL below a directory that Debian packages were unpacked into, with the libraries it was
/// built against: it is started through its own dynamic loader.
fn unpacked(root: &Path) -> Result<Software> {
    let (loader, libraries) = loader_below(root)?;
    let mut path = libraries.clone().into_os_string();
    for private in ["mysql/private", "openldap"] {
        path.push(":");
        path.push(libraries.join(private));
    }
    let program: Vec<OsString> =
        vec![loader.into(), "--library-path".into(), path, root.join("usr/sbin/mysqld").into()];
    let option = |name: &str, below: &str| -> OsString {
        let mut option = OsString::from(name);
        option.push(root.join(below));
        option
    };
    let files = vec![
        option("--lc-messages-dir=", "usr/share/mysql"),
        option("--character-sets-dir=", "usr/share/mysql/charsets"),
        option("--plugin-dir=", "usr/lib/mysql/plugin"),
    ];
    let version = version_of(&program)?;
    Ok(Software { flavour: Flavour::MySql, version, program, files })
}

fn loader_below(root: &Path) -> Result<(PathBuf, PathBuf)> {
    for entry in std::fs::read_dir(root.join("usr/lib"))?.flatten() {
        let libraries = entry.path();
        let Ok(files) = std::fs::read_dir(&libraries) else { continue };
        for file in files.flatten() {
            let name = file.file_name();
            if name.to_string_lossy().starts_with("ld-linux") {
                return Ok((file.path(), libraries));
            }
        }
    }
    bail!("no dynamic loader below {}", root.display())
}

fn version_of(program: &[OsString]) -> Result<String> {
    let (name, arguments) = program.split_first().context("no program")?;
    let output = Command::new(name)
        .args(arguments)
        .args(["--no-defaults", "--version"])
        .output()
        .with_context(|| format!("cannot run {}", name.display()))?;
    ensure!(output.status.success(), "{} --version: {}", name.display(), output.status);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    version_in(&text).with_context(|| format!("no version in {text:?}"))
}

fn version_in(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != "Ver");
    words.nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_the_word_after_ver() {
        let maria = "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64";
        assert_eq!(version_in(maria).as_deref(), Some("10.11.14-MariaDB-0+deb12u2"));
        let mysql = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))";
        assert_eq!(version_in(mysql).as_deref(), Some("9.7.4-2"));
        assert_eq!(version_in("nothing"), None);
    }
}
