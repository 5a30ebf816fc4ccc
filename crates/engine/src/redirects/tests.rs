//! What becomes of offers: followed, left alone, forgotten, and never too many.

use super::*;
use crate::rows::ServerRow;

const TTL_US: u64 = 600_000_000;
const FIRST: &[u8] = b"mysql://10.0.0.2:3307";

fn topology() -> Topology {
    let row = |hostname: &str| ServerRow { hostname: hostname.into(), ..ServerRow::default() };
    Topology::compile(&[row("db"), row("other")]).expect("valid")
}

/// What a worker remembers, and the time there.
struct Stage {
    redirects: Redirects,
    server: ServerRef,
    now_us: u64,
}

impl Stage {
    fn new() -> Self {
        let server = topology().servers()[0].clone();
        Self { redirects: Redirects::default(), server, now_us: 1 }
    }

    fn hear_as(&mut self, account: &str, url: Option<&[u8]>) -> Heard {
        let login = RedirectLogin {
            server: &self.server,
            account: &Arc::from(account),
            now_us: self.now_us,
        };
        self.redirects.hear(login, url, TTL_US)
    }

    fn hear(&mut self, url: &[u8]) -> Heard {
        self.hear_as("app", Some(url))
    }

    fn via_as(&mut self, account: &str) -> Option<Via> {
        let login = RedirectLogin {
            server: &self.server,
            account: &Arc::from(account),
            now_us: self.now_us,
        };
        self.redirects.via(login)
    }

    /// Where the next connection goes, in words.
    fn via(&mut self) -> Option<String> {
        self.via_as("app").map(|via| format!("{} at {}", via.target, via.addr))
    }

    fn end(&mut self, note: impl FnOnce(&mut Redirects, &Via)) {
        let target = self.redirects.rows[0].target.clone().expect("a place");
        let via = Via { target, addr: ([10, 0, 0, 2], 3307).into() };
        note(&mut self.redirects, &via);
    }

    fn fail(&mut self) {
        let now_us = self.now_us;
        self.end(|redirects, via| redirects.note_failure(via, "refused", now_us));
    }

    fn succeed(&mut self) {
        self.end(Redirects::note_success);
    }

    fn shown(&self) -> Vec<(String, u64, u64, u64, String)> {
        let row = |row: RedirectRow| {
            (row.to, row.ttl_us / 1_000_000, row.followed, row.failed, row.last_error)
        };
        self.redirects.rows(self.now_us).map(row).collect()
    }
}

fn reason_of(heard: &Heard) -> &str {
    match heard {
        Heard::Refused { reason, .. } => reason,
        _ => "none",
    }
}

#[test]
fn one_connection_tries_a_place_and_the_others_follow_when_it_was_let_in() {
    let mut stage = Stage::new();
    assert_eq!(stage.via(), None);
    assert!(matches!(stage.hear(FIRST), Heard::New(_)));
    let there = Some("10.0.0.2:3307 at 10.0.0.2:3307".to_owned());
    assert_eq!(stage.via(), there);
    assert_eq!(stage.via(), None, "the first one is on its way");
    stage.succeed();
    assert_eq!((stage.via(), stage.via()), (there.clone(), there.clone()));
    assert_eq!(stage.hear(FIRST), Heard::Nothing, "it is known");
    assert_eq!(stage.shown(), [("10.0.0.2:3307".into(), 600, 1, 0, String::new())]);
    stage.now_us += TTL_US;
    assert_eq!((stage.via(), stage.shown().len()), (None, 0), "its time is over");
    assert_eq!(stage.hear(FIRST), Heard::Nothing);
    assert_eq!(stage.via(), there, "offered again");
}

#[test]
fn a_trial_that_nobody_heard_of_again_is_made_once_more() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    assert!(stage.via().is_some() && stage.via().is_none());
    stage.now_us += TRIAL_US;
    assert!(stage.via().is_some() && stage.via().is_none());
    stage.end(Redirects::note_undecided);
    assert!(stage.via().is_some());
}

#[test]
fn what_failed_is_left_alone_for_a_while_and_shown() {
    let mut stage = Stage::new();
    stage.hear(b"mysql://10.0.0.2:3307/?ttl=5");
    assert!(stage.via().is_some());
    stage.fail();
    assert_eq!(stage.via(), None);
    assert_eq!(stage.hear(b"mysql://10.0.0.2:3307/?ttl=5"), Heard::Nothing);
    assert_eq!(stage.via(), None, "though it is offered");
    assert_eq!(stage.shown(), [("10.0.0.2:3307".into(), 0, 0, 1, "refused".into())]);
    assert_eq!(stage.hear_as("app", None), Heard::Nothing);
    assert_eq!(stage.shown().len(), 1, "though a login tells nothing");
    stage.now_us += PAUSE_US;
    assert_eq!(stage.via(), None, "until it is offered again");
    stage.hear(b"mysql://10.0.0.2:3307/?ttl=5");
    assert!(stage.via().is_some());
    assert_eq!(stage.shown()[0].1, 5);
}

#[test]
fn a_url_with_a_user_is_for_the_account_that_it_was_offered_to() {
    let mut stage = Stage::new();
    stage.hear(b"mysql://10.0.0.2:3307/user=app@db&ttl=9");
    assert!(stage.via_as("other").is_none());
    let via = stage.via_as("app").expect("followed");
    assert_eq!(via.target.user.as_deref(), Some(&b"app@db"[..]));
    let mut stage = Stage::new();
    stage.hear(b"mysql://10.0.0.2:3307/user=app");
    assert_eq!(stage.via_as("app").expect("followed").target.user, None, "its own name");
    let mut stage = Stage::new();
    stage.hear(FIRST);
    assert!(stage.via_as("other").is_some());
    stage.hear_as("third", None);
    stage.succeed();
    assert!(stage.via_as("other").is_some(), "another account's login takes nothing back");
    stage.hear_as("app", None);
    assert!(stage.via_as("other").is_none());
}

#[test]
fn a_server_that_names_another_place_sends_there_from_then_on() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    stage.hear(b"mysql://[::1]:3307");
    assert_eq!(stage.via().as_deref(), Some("[::1]:3307 at [::1]:3307"));
    assert_eq!(stage.shown().len(), 1);
}

#[test]
fn what_cannot_be_followed_is_told_once_and_never_followed() {
    for (url, reason) in [
        ("mysql://DB:3306", "the url names the server itself"),
        ("http://db2", "the url begins neither with mysql:// nor with mariadb://"),
        ("mysql://10.0.0.2/?ttl=0", "the url has a ttl of 0: there is nothing to remember"),
        (&"x".repeat(100_000), "the url is too long"),
    ] {
        let mut stage = Stage::new();
        let first = stage.hear(url.as_bytes());
        assert_eq!(reason_of(&first), reason);
        let again = stage.hear(url.as_bytes());
        assert!(matches!(again, Heard::Refused { told: false, .. }), "{again:?}");
        assert_eq!(stage.via(), None);
        let shown = stage.shown();
        assert!(shown[0].0.len() <= URL_BYTES_MAX + 1);
        assert_eq!((shown[0].1, shown[0].4.as_str()), (0, reason));
    }
}

#[test]
fn a_name_is_followed_when_its_address_is_known() {
    let mut stage = Stage::new();
    let heard = stage.hear(b"mysql://db2:3307");
    assert!(matches!(&heard, Heard::LookUp(target) if &*target.host == "db2"), "{heard:?}");
    assert_eq!(stage.via(), None);
    assert!(stage.redirects.found("db3", None, 1).is_empty());
    assert!(stage.redirects.found("db2", Some([10, 0, 0, 9].into()), 1).is_empty());
    assert_eq!(stage.via().as_deref(), Some("db2:3307 at 10.0.0.9:3307"));
    let mut stage = Stage::new();
    stage.hear(b"mysql://db2:3307");
    assert_eq!(stage.redirects.found("db2", None, 1).len(), 1);
    assert_eq!(stage.via(), None);
    assert_eq!(stage.shown()[0].4, "the name has no address");
}

#[test]
fn a_place_that_sends_on_is_where_the_way_ends() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    assert!(stage.via().is_some());
    stage.succeed();
    let mut hops = Vec::new();
    for url in [FIRST, b"mysql://db", b"mysql://db", b"nonsense"] {
        stage.end(|redirects, via| hops.push(redirects.hear_hop(via, url)));
    }
    let reason = "10.0.0.2:3307 redirects again, and only one step is followed";
    let hop = |told| Some((reason.to_owned(), told));
    assert_eq!(hops, [None, hop(true), hop(false), hop(false)]);
    assert!(stage.via().is_some(), "it is where connections go all the same");
}

#[test]
fn so_many_offers_are_remembered_and_no_more() {
    let mut stage = Stage::new();
    for at in 0..ROWS_MAX {
        let heard = stage.hear_as(&format!("u{at}"), Some(b"mysql://10.0.0.2/?user=x"));
        assert!(matches!(heard, Heard::New(_)));
    }
    let one_more = |stage: &mut Stage| stage.hear_as("app", Some(b"mysql://10.0.0.2/?user=x"));
    let reason = "256 others are remembered";
    let told = [true, false].map(|told| Heard::Refused { reason: reason.into(), told });
    assert_eq!([one_more(&mut stage), one_more(&mut stage)], told);
    stage.now_us += TTL_US;
    assert!(matches!(one_more(&mut stage), Heard::New(_)), "the others are over");
    assert_eq!(stage.shown().len(), 1);
}

#[test]
fn offers_go_with_their_servers() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    stage.redirects.adopt(&topology());
    assert!(stage.via().is_some());
    stage.succeed();
    stage.redirects.adopt(&Topology::default());
    assert_eq!(stage.via(), None);
}

#[test]
fn of_what_a_place_said_so_much_is_remembered() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    let long = "ü".repeat(1 << 20);
    stage.end(|redirects, via| redirects.note_failure(via, &long, 1));
    assert_eq!(stage.redirects.rows[0].last_error, "ü".repeat(LAST_ERROR_CHARS));
}

#[test]
fn what_fails_is_the_offer_that_was_followed() {
    let mut stage = Stage::new();
    stage.hear(FIRST);
    // the same place for one account, by the name that it has anyway
    stage.hear_as("app", Some(b"mysql://app@10.0.0.2:3307"));
    let via = stage.via_as("app").expect("a place");
    stage.redirects.note_failure(&via, "refused", 1);
    let failed: Vec<_> =
        stage.redirects.rows.iter().map(|row| (row.only.is_some(), row.failed)).collect();
    assert_eq!(failed, [(false, 0), (true, 1)]);
}
