use super::*;

const ELSEWHERE: Origin = Origin {
    from: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)),
    is_told: false,
    is_secure: false,
};
const HERE: Origin =
    Origin { from: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), is_told: false, is_secure: false };

fn vars(set: &[(&str, &str)]) -> Vars {
    let pairs: Vec<_> =
        set.iter().map(|(name, value)| (format!("admin-{name}"), (*value).to_owned())).collect();
    Vars::from_pairs(&pairs).expect("valid")
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a header")
}

fn basic(pair: &str) -> HeaderValue {
    header(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Judged by somebody who has not seen anything yet.
fn judged(vars: &Vars, origin: Origin, shown: &HeaderValue) -> Verdict {
    Guesses::default().judge(vars, origin, Some(shown), Instant::now())
}

#[test]
fn accounts_and_tokens_are_let_in_and_nothing_else_is() {
    let hash = native::to_stored(&native::double_sha1(b"secret"));
    let credentials = format!("exporter:p:w;hashed:{hash};empty:");
    let vars = vars(&[
        ("stats_credentials", &credentials),
        ("admin_credentials", "operator:pass"),
        ("restapi_tokens", "token-one; token-two"),
    ]);
    for right in ["exporter:p:w", "hashed:secret", "operator:pass", "empty:"] {
        assert_eq!(judged(&vars, ELSEWHERE, &basic(right)), Verdict::Granted, "{right}");
    }
    for right in ["Bearer token-one", "bearer  token-two"] {
        assert_eq!(judged(&vars, ELSEWHERE, &header(right)), Verdict::Granted, "{right}");
    }
    for wrong in ["exporter:p", "exporter:", "nobody:", "nobody:x", "empty:x", "Exporter:p:w"] {
        let name = wrong.split(':').next().expect("one");
        let told = Verdict::Wrong(format!("account '{name}'"), 1);
        assert_eq!(judged(&vars, ELSEWHERE, &basic(wrong)), told, "{wrong}");
    }
    // the hash itself is no password
    let told = Verdict::Wrong("account 'hashed'".to_owned(), 1);
    assert_eq!(judged(&vars, ELSEWHERE, &basic(&format!("hashed:{hash}"))), told);
    for wrong in ["Bearer token", "Bearer token-one;", "Bearer ;"] {
        let told = Verdict::Wrong("a token".to_owned(), 1);
        assert_eq!(judged(&vars, ELSEWHERE, &header(wrong)), told, "{wrong}");
    }
    for none in ["Bearer ", "Basic", "Basic x", "Basic ====", "Digest a", "", "Bearer"] {
        assert_eq!(judged(&vars, ELSEWHERE, &header(none)), Verdict::Unknown, "{none}");
    }
    assert_eq!(judged(&vars, ELSEWHERE, &basic(":pass")), Verdict::Unknown);
    let nothing = Guesses::default().judge(&vars, ELSEWHERE, None, Instant::now());
    assert_eq!(nothing, Verdict::Unknown);
}

#[test]
fn a_hash_that_takes_long_is_looked_at_once_for_the_last_right_password() {
    let stored = |password: &[u8], salt: &[u8; 20]| {
        String::from_utf8(sha2::make_stored_hash(password, salt)).expect("text")
    };
    let (one, other) = (stored(b"pear", b"a;salt:of 20 letters"), stored(b"plum", &[b'x'; 20]));
    let credentials = |hash: &str| {
        vars(&[
            ("stats_credentials", &format!("scraper:{hash};clear:apple")),
            ("admin_credentials", &format!("admin:{one}")),
        ])
    };
    let (before, after) = (credentials(&one), credentials(&other));
    let (guesses, mut now) = (Guesses::default(), Instant::now());
    let mut judge = |vars: &Vars, origin: Origin, pair: &str| {
        now += FORGOTTEN;
        guesses.judge(vars, origin, Some(&basic(pair)), now)
    };
    let wrong = |name: &str| Verdict::Wrong(format!("account '{name}'"), 1);
    for (pair, verdict) in [
        ("scraper:peer", wrong("scraper")),
        ("scraper:pear", Verdict::Granted),
        ("clear:apple", Verdict::Granted),
        ("clear:pear", wrong("clear")),
        ("nobody:pear", wrong("nobody")),
        ("admin:pear", wrong("admin")),
    ] {
        assert_eq!(judge(&before, ELSEWHERE, pair), verdict, "{pair}");
    }
    let hash_as_password = format!("scraper:{one}");
    assert_eq!(judge(&before, ELSEWHERE, &hash_as_password), wrong("scraper"));
    assert_eq!(judge(&before, HERE, "admin:pear"), Verdict::Granted);
    // what is remembered is of that hash and that password
    let many = Instant::now();
    for _ in 0..1000 {
        assert_eq!(judge(&before, ELSEWHERE, "scraper:pear"), Verdict::Granted);
    }
    let (many, once) = (many.elapsed(), Instant::now());
    assert_eq!(judge(&after, ELSEWHERE, "scraper:pear"), wrong("scraper"));
    let once = once.elapsed();
    assert!(many < once * 300, "1000 in {many:?}, one that is hashed {once:?}");
    assert_eq!(judge(&after, ELSEWHERE, "scraper:plum"), Verdict::Granted);
    assert_eq!(judge(&after, ELSEWHERE, "scraper:pear"), wrong("scraper"));
}

#[test]
fn the_accounts_that_everybody_knows_come_from_this_machine_alone() {
    let vars = Vars::default();
    for known in ["stats:stats", "admin:admin"] {
        assert_eq!(judged(&vars, HERE, &basic(known)), Verdict::Granted, "{known}");
        let refused = judged(&vars, ELSEWHERE, &basic(known));
        assert!(matches!(refused, Verdict::Wrong(_, 1)), "{refused:?}");
    }
    // no tokens are configured
    let refused = judged(&vars, HERE, &header("Bearer x"));
    assert!(matches!(refused, Verdict::Wrong(_, 1)), "{refused:?}");
}

#[test]
fn who_is_let_in_without_an_account_still_needs_https_where_that_is_demanded() {
    let open = [("restapi_authentication", "false"), ("require_secure_transport", "true")];
    let vars = vars(&open);
    let guesses = Guesses::default();
    let asked = |origin| guesses.judge(&vars, origin, None, Instant::now());
    assert_eq!(asked(ELSEWHERE), Verdict::Insecure);
    assert_eq!(asked(Origin { is_secure: true, ..ELSEWHERE }), Verdict::Granted);
    assert_eq!(asked(HERE), Verdict::Granted);
}

#[test]
fn guesses_for_an_account_are_looked_at_ever_less_often_and_hold_up_nobody_else() {
    let vars = vars(&[("stats_credentials", "exporter:right;other:too")]);
    let guesses = Guesses::default();
    let began = Instant::now();
    let mut now = began;
    let mut seen = 0;
    while now < began + Duration::from_secs(60) {
        match guesses.judge(&vars, ELSEWHERE, Some(&basic("exporter:wrong")), now) {
            Verdict::Wrong(_, times) => {
                seen += 1;
                assert_eq!(times, seen);
            }
            Verdict::Delayed(wait) => assert!(wait <= DELAY_MAX, "{wait:?}"),
            other => panic!("{other:?}"),
        }
        now += Duration::from_millis(10);
    }
    // 50 ms, doubled up to 5 s: seven within 6.3 s, then one in five seconds
    assert_eq!(seen, 18);
    let ask = |origin, pair: &str, now| guesses.judge(&vars, origin, Some(&basic(pair)), now);
    let right = ask(ELSEWHERE, "exporter:right", now);
    assert!(matches!(right, Verdict::Delayed(_)), "{right:?}");
    let elsewhere = Origin { from: "10.0.0.10".parse().expect("one"), ..ELSEWHERE };
    assert_eq!(ask(elsewhere, "exporter:right", now), Verdict::Granted);
    assert_eq!(ask(ELSEWHERE, "other:too", now), Verdict::Granted);
    now += DELAY_MAX;
    assert_eq!(ask(ELSEWHERE, "exporter:right", now), Verdict::Granted);
    // which forgives those before
    assert_eq!(
        ask(ELSEWHERE, "exporter:x", now),
        Verdict::Wrong("account 'exporter'".to_owned(), 1)
    );
}

#[test]
fn addresses_of_one_network_guess_together_and_their_memory_has_an_end() {
    let vars = Vars::default();
    let guesses = Guesses::default();
    let now = Instant::now();
    let from =
        |text: &str| Origin { from: text.parse().expect("one"), is_told: false, is_secure: true };
    let ask =
        |origin, user: &str| guesses.judge(&vars, origin, Some(&basic(&format!("{user}:x"))), now);
    assert!(matches!(ask(from("2001:db8::1"), "a"), Verdict::Wrong(_, 1)));
    assert!(matches!(ask(from("2001:db8::2"), "a"), Verdict::Delayed(_)));
    assert!(matches!(ask(from("2001:db8:0:1::1"), "a"), Verdict::Wrong(_, 1)));
    for name in 0..100 {
        ask(ELSEWHERE, &name.to_string());
    }
    let counted = guesses.wrong.lock().expect("whole").len();
    assert!(counted <= NAMES_MAX + 4, "made-up names fill no memory: {counted}");
    assert!(matches!(ask(ELSEWHERE, "0"), Verdict::Delayed(_)), "nor have others forgotten");
    assert!(matches!(ask(ELSEWHERE, "new"), Verdict::Delayed(_)));
    for address in 0..2 * GUESSED_MAX {
        let address = IpAddr::from(u32::try_from(address).expect("small").to_be_bytes());
        ask(Origin { from: address, is_told: false, is_secure: true }, "a");
    }
    assert!(guesses.wrong.lock().expect("whole").len() <= GUESSED_MAX);
}
