//! `stats_tidegate_certificates`: the certificates of TLS in force, towards clients and towards
//! servers.

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable =
    LiveTable { name: "stats_tidegate_certificates", parts: None, rows };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let now_s = (seen.unix_us / 1_000_000).cast_signed();
    let certificates = seen.runtime.map_or_else(Vec::new, |runtime| runtime.certificates());
    let row = |certificate: tls::Certificate| {
        let days_left = certificate.days_left(now_s);
        vec![
            text(certificate.setting),
            text(certificate.file),
            text(certificate.subject),
            text(certificate.issuer),
            text(certificate.names.join(" ")),
            text(certificate.serial),
            text(certificate.fingerprint),
            int(certificate.not_before_s),
            int(certificate.not_after_s),
            int(days_left),
        ]
    };
    certificates.into_iter().map(row).collect()
}
