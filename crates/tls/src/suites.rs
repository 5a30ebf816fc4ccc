//! Versions and cipher suites by the names that MySQL and OpenSSL have for them.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::{
    CipherSuite, CipherSuiteCommon, SupportedCipherSuite, SupportedProtocolVersion,
    Tls12CipherSuite, version,
};

use crate::fault::TlsFault;

/// The suites that there are, by OpenSSL's names (openssl-ciphers(1)); those of TLS 1.3 first.
const NAMES: [(CipherSuite, &str); 9] = [
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305"),
];

/// The suites of TLS 1.2, in their order. `rustls` ends a connection after 2^24 records that are
/// encrypted with AES-GCM, and loses what it was given then: a busy one lasts hours. Nonces are
/// counted, so that no two are alike, and 2^40 records leave the chance of an attack below 2^-28
/// (RFC 8446, section 5.5). OpenSSL has no limit.
static OF_1_2: [Tls12CipherSuite; 6] = [
    lasting(&cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    lasting(&cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    lasting(&cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    lasting(&cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    lasting(&cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    lasting(&cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

const RECORDS_MAX: u64 = 1 << 40;

/// The same suite with that limit; any other suite does not compile.
const fn lasting(suite: &'static SupportedCipherSuite) -> Tls12CipherSuite {
    let SupportedCipherSuite::Tls12(suite) = suite else { unreachable!() };
    Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: RECORDS_MAX,
        },
        ..**suite
    }
}

/// What is spoken: the suites of TLS 1.3, which change their keys, and these.
fn spoken() -> CryptoProvider {
    let all = default_provider();
    let new = all.cipher_suites.iter().filter(|suite| suite.tls13().is_some()).copied();
    let cipher_suites = new.chain(OF_1_2.iter().map(SupportedCipherSuite::Tls12)).collect();
    CryptoProvider { cipher_suites, ..all }
}

/// OpenSSL's name of a suite.
pub(crate) fn name(suite: SupportedCipherSuite) -> &'static str {
    NAMES.iter().find(|(own, _)| *own == suite.suite()).map_or("unknown", |(_, name)| name)
}

/// The versions of a list like `TLSv1.2,TLSv1.3`; both where it is empty.
pub(crate) fn versions(
    setting: &'static str,
    list: &str,
) -> Result<Vec<&'static SupportedProtocolVersion>, TlsFault> {
    let mut versions = Vec::new();
    for (number, name) in items(list, ',') {
        versions.push(match name {
            "TLSv1.2" => &version::TLS12,
            "TLSv1.3" => &version::TLS13,
            _ => {
                let reason = match name {
                    "TLSv1" | "TLSv1.0" | "TLSv1.1" | "SSLv3" => "is broken, and not spoken",
                    _ => "is no version",
                };
                let reason = format!("item {number}, `{name}`, {reason}: TLSv1.2 and TLSv1.3 are");
                return Err(TlsFault::new(setting, reason));
            }
        });
    }
    if versions.is_empty() {
        versions.extend(rustls::ALL_VERSIONS);
    }
    Ok(versions)
}

/// The cryptography with the suites of two lists: up to TLS 1.2 and of TLS 1.3, by OpenSSL's names
/// and separated by `:`; all of a version where its list is empty.
pub(crate) fn provider([old, new]: [(&'static str, &str); 2]) -> Result<CryptoProvider, TlsFault> {
    let all = spoken();
    let mut chosen = Vec::new();
    for ((setting, list), is_new) in [(new, true), (old, false)] {
        let of_version = |suite: &&SupportedCipherSuite| suite.tls13().is_some() == is_new;
        let mut any = false;
        for (number, name) in items(list, ':') {
            any = true;
            let suite =
                all.cipher_suites.iter().filter(of_version).find(|it| self::name(**it) == name);
            let Some(suite) = suite else {
                return Err(TlsFault::new(
                    setting,
                    unknown(number, name, |name| is_of_1_3(name) == is_new),
                ));
            };
            chosen.push(*suite);
        }
        if !any {
            chosen.extend(all.cipher_suites.iter().filter(of_version));
        }
    }
    Ok(CryptoProvider { cipher_suites: chosen, ..all })
}

/// The same by one list with suites of both; all of a version of which it has none.
pub(crate) fn provider_of_both(
    setting: &'static str,
    list: &str,
) -> Result<CryptoProvider, TlsFault> {
    let is_known = |name: &str| NAMES.iter().any(|(_, known)| *known == name);
    if let Some((number, name)) = items(list, ':').find(|(_, name)| !is_known(name)) {
        return Err(TlsFault::new(setting, unknown(number, name, |_| true)));
    }
    let [new, old] = [true, false].map(|is_new| {
        let names = items(list, ':').map(|(_, name)| name);
        names.filter(|name| is_of_1_3(name) == is_new).collect::<Vec<_>>().join(":")
    });
    provider([(setting, &old), (setting, &new)])
}

/// Whether a suite is of TLS 1.3, by its name.
fn is_of_1_3(name: &str) -> bool {
    name.starts_with("TLS_")
}

fn unknown(number: usize, name: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let meant = NAMES.iter().filter(|(_, name)| is_meant(name));
    let names: Vec<_> = meant.map(|(_, name)| *name).collect();
    format!("item {number}, `{name}`, is no suite that is spoken; there are {}", names.join(", "))
}

/// The items of a list with their numbers, from 1.
fn items(list: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let items = list.split(separator).map(str::trim).enumerate();
    items.filter(|(_, item)| !item.is_empty()).map(|(at, item)| (at + 1, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_a_name_and_lists_choose_by_it() {
        let theirs: Vec<_> = default_provider().cipher_suites.iter().map(|it| it.suite()).collect();
        let all = spoken().cipher_suites;
        assert_eq!(all.iter().map(|suite| suite.suite()).collect::<Vec<_>>(), theirs);
        let names: Vec<_> = all.iter().map(|suite| name(*suite)).collect();
        assert_eq!(names, NAMES.map(|(_, name)| name));
        let lists = [("ssl_cipher", "ECDHE-RSA-AES128-GCM-SHA256"), ("tls_ciphersuites", "")];
        let chosen = provider(lists).expect("they are known").cipher_suites;
        let chosen: Vec<_> = chosen.iter().map(|suite| name(*suite)).collect();
        assert_eq!(chosen, [&names[..3], &["ECDHE-RSA-AES128-GCM-SHA256"]].concat());
    }

    #[test]
    fn what_is_not_spoken_is_refused_with_its_place() {
        let lists = [("ssl_cipher", "ECDHE-RSA-AES128-GCM-SHA256:HIGH"), ("tls_ciphersuites", "")];
        let fault = provider(lists).expect_err("a class is no suite").to_string();
        assert_eq!(
            fault,
            "ssl_cipher: item 2, `HIGH`, is no suite that is spoken; there are \
             ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-ECDSA-AES128-GCM-SHA256, \
             ECDHE-ECDSA-CHACHA20-POLY1305, ECDHE-RSA-AES256-GCM-SHA384, \
             ECDHE-RSA-AES128-GCM-SHA256, ECDHE-RSA-CHACHA20-POLY1305"
        );
        let fault = versions("tls_version", "TLSv1.2, TLSv1.1").expect_err("it is broken");
        assert_eq!(
            fault.to_string(),
            "tls_version: item 2, `TLSv1.1`, is broken, and not spoken: TLSv1.2 and TLSv1.3 are"
        );
        assert_eq!(versions("tls_version", "").map(|all| all.len()), Ok(2));
    }
}
