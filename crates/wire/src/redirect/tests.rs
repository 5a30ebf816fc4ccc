//! The forms that servers use, what is refused, and that nothing panics.

use proptest::prelude::*;

use super::*;
use crate::Status;

fn redirect(host: &str, port: u16, user: Option<&str>, ttl_s: Option<u32>) -> Redirect {
    Redirect { host: host.into(), port, user: user.map(Into::into), ttl_s }
}

#[test]
fn urls_of_mariadb_are_read() {
    for (url, expected) in [
        ("mysql://db2", redirect("db2", 3306, None, None)),
        ("mariadb://DB2.example:3307", redirect("db2.example", 3307, None, None)),
        ("MYSQL://10.0.0.2:3307/", redirect("10.0.0.2", 3307, None, None)),
        ("mysql://[::1]:3307", redirect("::1", 3307, None, None)),
        ("mysql://u%40x@db2:1", redirect("db2", 1, Some("u@x"), None)),
        ("mysql://db2/?user=u&ttl=60", redirect("db2", 3306, Some("u"), Some(60))),
        ("mysql://db2?ttl=60&other=1", redirect("db2", 3306, None, Some(60))),
    ] {
        assert_eq!(Redirect::parse(url.as_bytes()), Ok(expected), "{url}");
    }
}

#[test]
fn urls_of_azure_are_read_in_both_forms() {
    for (url, expected) in [
        (
            "mysql://a.worker.example:16001/user=cloud@a&ttl=3600",
            redirect("a.worker.example", 16001, Some("cloud@a"), Some(3600)),
        ),
        (
            "mysql://[a.worker.example]:16001/?user=cloud@a&ttl=0",
            redirect("a.worker.example", 16001, Some("cloud@a"), Some(0)),
        ),
    ] {
        assert_eq!(Redirect::parse(url.as_bytes()), Ok(expected), "{url}");
    }
}

#[test]
fn hostile_urls_are_refused_for_what_is_wrong_with_them() {
    let long = format!("mysql://{}", "h".repeat(URL_BYTES_MAX));
    let long_host = format!("mysql://{}", "h".repeat(HOST_BYTES_MAX + 1));
    let long_user = format!("mysql://h/?user={}", "u".repeat(USER_BYTES_MAX + 1));
    for (url, reason) in [
        ("", BadUrl::Scheme),
        ("http://h", BadUrl::Scheme),
        ("://h", BadUrl::Scheme),
        (&long, BadUrl::Long),
        ("mysql://", BadUrl::Host),
        ("mysql://:3306", BadUrl::Host),
        ("mysql:///run/mysqld.sock", BadUrl::Host),
        ("mysql://-h", BadUrl::Host),
        ("mysql://a b", BadUrl::Host),
        ("mysql://h\0", BadUrl::Host),
        ("mysql://h\u{e4}", BadUrl::Host),
        ("mysql://[::1", BadUrl::Host),
        ("mysql://[::1%lo]", BadUrl::Host),
        (&long_host, BadUrl::Host),
        ("mysql://h:", BadUrl::Port),
        ("mysql://h:0", BadUrl::Port),
        ("mysql://h:65536", BadUrl::Port),
        ("mysql://h:+1", BadUrl::Port),
        ("mysql://[h]3306", BadUrl::Port),
        ("mysql://::1", BadUrl::Host),
        ("mysql://u:p@h", BadUrl::Password),
        ("mysql://@h", BadUrl::User),
        ("mysql://h/?user=", BadUrl::User),
        ("mysql://h/?user=a%0", BadUrl::User),
        ("mysql://h/?user=a%00", BadUrl::User),
        ("mysql://h/?user=a%zz", BadUrl::User),
        (&long_user, BadUrl::User),
        ("mysql://h/?ttl=", BadUrl::TimeToLive),
        ("mysql://h/?ttl=-1", BadUrl::TimeToLive),
        ("mysql://h/?ttl=4294967296", BadUrl::TimeToLive),
        ("mysql://h/schema", BadUrl::Path),
        ("mysql://h/schema?user=u", BadUrl::Path),
    ] {
        let found = Redirect::parse(url.as_bytes());
        // a second colon is a port that is none, or no host: either is refused
        let alike = url == "mysql://::1" && found.is_err();
        assert!(alike || found == Err(reason), "{url}: {found:?}");
    }
}

fn track(changes: &[SessionChange<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    changes.iter().for_each(|change| change.encode(&mut out));
    out
}

#[test]
fn an_offer_is_found_in_either_place_and_the_variable_counts_first() {
    let schema = SessionChange::Schema(b"db");
    let variable = |name, value| SessionChange::SystemVariable { name, value };
    let session_track =
        track(&[schema, variable(b"autocommit", b"ON"), variable(VARIABLE, b"mysql://b")]);
    let status = Status::SESSION_STATE_CHANGED;
    let ok = OkPacket { status, session_track: &session_track, ..OkPacket::default() };
    assert_eq!(offered(&ok), Some(&b"mysql://b"[..]));
    let info = b"Location: mysql://a:1/user=u\nmore";
    assert_eq!(offered(&OkPacket { info, ..ok }), Some(&b"mysql://b"[..]));
    let alone = OkPacket { info, ..OkPacket::default() };
    assert_eq!(offered(&alone), Some(&b"mysql://a:1/user=u"[..]));
    let unset = track(&[variable(VARIABLE, b"")]);
    assert_eq!(offered(&OkPacket { session_track: &unset, ..ok }), None);
    let info = b"no Location: mysql://a:1";
    assert_eq!(offered(&OkPacket { info, ..OkPacket::default() }), None);
}

#[test]
fn what_clients_are_told_is_what_is_read() {
    for (host, port) in [("db2", 3307), ("::1", 3306), ("10.0.0.2", 1)] {
        let mut session_track = Vec::new();
        write_tracked(host, port, &mut session_track);
        let ok = OkPacket { session_track: &session_track, ..OkPacket::default() };
        let url = offered(&ok).expect("it is an offer");
        assert_eq!(Redirect::parse(url), Ok(redirect(host, port, None, None)));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic(url: Vec<u8>, info: Vec<u8>, session_track: Vec<u8>) {
        let _ = Redirect::parse(&url);
        let ok = OkPacket { info: &info, session_track: &session_track, ..OkPacket::default() };
        let _ = offered(&ok).map(Redirect::parse);
    }

    #[test]
    fn nearly_valid_urls_give_hosts_and_users_within_their_bounds(
        url in "(mysql|mariadb)://[a-z%:@\\[\\]./?&=0-9-]{0,60}((/\\?)?user=[ -~]{0,20}(&ttl=[0-9]{0,11})?)?"
    ) {
        if let Ok(redirect) = Redirect::parse(url.as_bytes()) {
            prop_assert!(redirect.port != 0 && is_host(&redirect.host));
            prop_assert!(redirect.user.is_none_or(|user| (1..=128).contains(&user.len())));
        }
    }
}
