//! Which combinations there are, which of them run, and which are refused.

use lab::Flavour;
use live::cover::{Case, Cover, product};

/// What combinations are made of, and the values of each.
pub(crate) const DIMENSIONS: [(&str, &[&str]); 9] = [
    ("the client's TLS", &["none", "1.2", "1.2 resumed", "1.3", "1.3 resumed"]),
    ("the server's TLS", &["none", "TLSv1.2", "TLSv1.3"]),
    ("the client's compression", &["none", "zlib", "zstd"]),
    ("the server's compression", &["none", "zlib", "zstd"]),
    (
        "the client's account",
        &[
            "clear by native",
            "clear by sha2",
            "* by native",
            "* by sha2, cold",
            "* by sha2, warm",
            "$A$, cold",
            "$A$, warm",
            "empty",
        ],
    ),
    ("the server's plugin", &["native", "ed25519", "sha2, cold", "sha2, warm", "sha256"]),
    ("the server's account", &["the client's", "another"]),
    ("the session", &["shared", "fast forward"]),
    ("what goes by", &["text", "prepared", "a file", "long packets"]),
];
pub(crate) const CLIENT_TLS: usize = 0;
pub(crate) const SERVER_TLS: usize = 1;
pub(crate) const CLIENT_COMPRESSION: usize = 2;
pub(crate) const SERVER_COMPRESSION: usize = 3;
pub(crate) const CLIENT_ACCOUNT: usize = 4;
pub(crate) const SERVER_PLUGIN: usize = 5;
pub(crate) const SERVER_ACCOUNT: usize = 6;
pub(crate) const SESSION: usize = 7;
pub(crate) const WORK: usize = 8;

pub(crate) fn value(case: &[usize], dimension: usize) -> &'static str {
    DIMENSIONS[dimension].1[case[dimension]]
}

pub(crate) fn name_of(case: &[usize]) -> String {
    let told = |at: usize| format!("{} {}", DIMENSIONS[at].0, value(case, at));
    (0..case.len()).map(told).collect::<Vec<_>>().join("; ")
}

/// Why a combination is none that works.
pub(crate) enum Excluded {
    /// The server has not what it takes, and nobody can ask for it.
    Absent,
    /// It can be asked for, and the client is told this.
    Refused(&'static str),
}

pub(crate) fn excluded(flavour: Flavour, case: &[usize]) -> Option<Excluded> {
    let plugin = value(case, SERVER_PLUGIN);
    let is_of_mariadb = ["native", "ed25519"].contains(&plugin);
    let client = value(case, CLIENT_ACCOUNT);
    let is_same = value(case, SERVER_ACCOUNT) == "the client's";
    match flavour {
        // neither caching_sha2_password nor sha256_password, and no compression but by zlib
        Flavour::MariaDb if !is_of_mariadb || value(case, SERVER_COMPRESSION) == "zstd" => {
            Some(Excluded::Absent)
        }
        // mysql_native_password is gone with 9.0
        Flavour::MySql if is_of_mariadb => Some(Excluded::Absent),
        // a client of mysql_native_password shows no more than the SHA-1 of its password
        _ if is_same && client == "* by native" && plugin != "native" => {
            Some(Excluded::Refused(NO_PASSWORD))
        }
        // MariaDB lets in nobody by an empty password, whoever the client is
        _ if is_same && client == "empty" && plugin == "ed25519" => {
            Some(Excluded::Refused("1045 (28000): Access denied for user"))
        }
        _ => None,
    }
}

pub(crate) const NO_PASSWORD: &str = "failed: password not known yet (account stored hashed)";

fn all_of(flavour: Flavour, is_wanted: impl Fn(Option<Excluded>) -> bool) -> Cover {
    let all = product(&DIMENSIONS.map(|(_, values)| values.len()));
    Cover::of(all.into_iter().filter(|case| is_wanted(excluded(flavour, case))).collect())
}

pub(crate) fn candidates(flavour: Flavour) -> Cover {
    all_of(flavour, |excluded| excluded.is_none())
}

/// The combinations that run.
pub(crate) fn chosen(flavour: Flavour) -> Vec<Case> {
    let mut cover = candidates(flavour);
    let is_long = |case: &[usize]| value(case, WORK) == "long packets";
    let login = [CLIENT_TLS, SERVER_TLS, CLIENT_ACCOUNT, SERVER_PLUGIN, SERVER_ACCOUNT];
    cover.with_every(&login, |case| !is_long(case));
    let legs = [CLIENT_TLS, SERVER_TLS, CLIENT_COMPRESSION, SERVER_COMPRESSION, WORK];
    cover.with_every(&legs, |case| !is_long(case));
    // a second of processor time each
    cover.with_every(&[CLIENT_COMPRESSION, SERVER_COMPRESSION, WORK], is_long);
    cover.with_all_pairs();
    let mut chosen = cover.chosen();
    // what a MySQL offers is changed once
    chosen.sort_by_key(|case| value(case, SERVER_COMPRESSION) == "zlib");
    chosen
}

/// Those that are refused.
pub(crate) fn refused(flavour: Flavour) -> Vec<Case> {
    let mut cover = all_of(flavour, |it| matches!(it, Some(Excluded::Refused(_))));
    // one that is relayed has its server from its login on, which fails then
    let is_shared = |case: &[usize]| value(case, SESSION) == "shared";
    cover.with_every(&[CLIENT_ACCOUNT, SERVER_PLUGIN, SERVER_TLS], is_shared);
    cover.chosen()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use live::cover::{Pair, pairs};

    use super::*;

    #[test]
    fn every_value_and_every_pair_is_chosen_that_one_of_the_servers_has() {
        let mut chosen_pairs = BTreeSet::new();
        for flavour in [Flavour::MariaDb, Flavour::MySql] {
            let chosen = chosen(flavour);
            chosen_pairs.extend(chosen.iter().flat_map(|case| pairs(case)));
        }
        let all = Cover::of(product(&DIMENSIONS.map(|(_, values)| values.len()))).pairs();
        let told = |[one, other]: &Pair| {
            let told = |(at, number): (usize, usize)| DIMENSIONS[at].1[number];
            (told(*one), told(*other))
        };
        let missing: Vec<_> = all.difference(&chosen_pairs).map(told).collect();
        // zstd is MySQL's, and these are MariaDB's
        assert_eq!(missing, [("zstd", "native"), ("zstd", "ed25519")]);
    }
}
