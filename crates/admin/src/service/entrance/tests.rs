//! Who may wait, who gives way, and when passwords are judged.

use super::*;

fn ip(text: &str) -> Origin {
    let ip: IpAddr = text.parse().expect("an address");
    Origin::of(&Addr::Tcp((ip, 1).into()))
}

fn sock(number: u64) -> Sock {
    Sock::from_raw(number)
}

const NOW: Micros = Micros::from_secs(100);

#[test]
fn each_wrong_password_puts_off_the_next_one_longer_and_a_right_one_ends_that() {
    let (mut entrance, origin) = (Entrance::default(), ip("192.0.2.1"));
    let mut now = NOW;
    assert_eq!(entrance.on_password(sock(0), origin, now), Turn::Now);
    let mut waits = Vec::new();
    for times in 1..=10 {
        assert_eq!(entrance.fail(origin, "admin", now), times);
        let number = sock(times.into());
        assert_eq!(entrance.on_password(number, origin, now), Turn::Later);
        let (next, at) = entrance.next(origin).expect("it waits");
        assert_eq!(next, number);
        waits.push((at.0 - now.0) / 1000);
        entrance.leave(number, origin);
        now = at;
    }
    assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    entrance.fail(origin, "admin", now);
    assert_eq!(entrance.on_password(sock(11), ip("192.0.2.2"), now), Turn::Now, "others");
    entrance.succeed(origin, "admin");
    assert_eq!(entrance.on_password(sock(12), origin, now), Turn::Now);
}

#[test]
fn an_account_of_ones_own_does_not_help_to_guess_at_others() {
    let (mut entrance, origin) = (Entrance::default(), ip("192.0.2.1"));
    let mut now = NOW;
    for times in 1..=10 {
        assert_eq!(entrance.fail(origin, "admin", now), times, "a right one forgave others");
        now = entrance.judged[&origin].next_at;
        assert_eq!(entrance.on_password(sock(1), origin, now), Turn::Now);
        entrance.succeed(origin, "viewer");
    }
    entrance.fail(origin, "viewer", now);
    entrance.succeed(origin, "viewer");
    assert_eq!(entrance.fail(origin, "admin", now), 12, "for two names, and one was right");
    entrance.judged.clear();
    entrance.fail(origin, "admin", now);
    entrance.succeed(origin, "admin");
    assert_eq!(entrance.fail(origin, "viewer", now), 1);
    assert_eq!(entrance.fail(origin, "admin", now), 2);
}

#[test]
fn passwords_of_one_address_are_judged_one_at_a_time_and_who_is_gone_has_no_turn() {
    let (mut entrance, origin) = (Entrance::default(), ip("192.0.2.1"));
    entrance.fail(origin, "admin", NOW);
    let turns: Vec<Turn> =
        (1..=9).map(|number| entrance.on_password(sock(number), origin, NOW)).collect();
    // after 50, 150, 350, 750, 1550, 3150 and 6350 ms; the next would be after 11.35 s
    assert_eq!(turns[..7], [Turn::Later; 7]);
    assert_eq!(turns[7..], [Turn::Never; 2]);
    assert_eq!(entrance.next(origin), Some((sock(1), NOW + Micros::from_ms(50))));
    for number in 1..=6 {
        entrance.leave(sock(number), origin);
    }
    assert_eq!(entrance.next(origin), Some((sock(7), NOW + Micros::from_ms(50))));
    assert_eq!(entrance.on_password(sock(8), origin, NOW), Turn::Later);
    entrance.leave(sock(7), origin);
    entrance.succeed(origin, "admin");
    assert_eq!(entrance.next(origin), Some((sock(8), Micros(0))), "it need not wait any more");
}

#[test]
fn a_network_of_ipv6_is_one_and_so_is_an_address_of_ipv4_however_it_is_written() {
    assert_eq!(ip("2001:db8:1:2::1"), ip("2001:db8:1:2:ffff::9"));
    assert_ne!(ip("2001:db8:1:2::1"), ip("2001:db8:1:3::1"));
    assert_eq!(ip("::ffff:192.0.2.1"), ip("192.0.2.1"));
    assert_ne!(ip("192.0.2.1"), ip("192.0.2.2"));
    for (origin, local) in
        [(ip("::1"), true), (ip("127.0.0.5"), true), (Origin::Socket, true), (ip("::2"), false)]
    {
        assert_eq!(origin.is_local(), local, "{origin:?}");
    }
}

#[test]
fn wrong_passwords_are_forgotten_after_a_while() {
    let (mut entrance, origin) = (Entrance::default(), ip("192.0.2.1"));
    entrance.fail(origin, "admin", NOW);
    let later = NOW + Micros::from_ms(50) + FORGOTTEN;
    entrance.on_password(sock(1), ip("192.0.2.2"), later);
    assert!(entrance.judged.contains_key(&origin));
    entrance.on_password(sock(1), ip("192.0.2.2"), later + Micros(1));
    assert!(!entrance.judged.contains_key(&origin));
    for number in 0..5000 {
        let origin = Origin::Ip(IpAddr::V4(number.into()));
        entrance.fail(origin, "admin", NOW);
        entrance.on_password(sock(number.into()), ip("192.0.2.2"), NOW);
    }
    assert!(entrance.judged.len() < ORIGINS_MAX);
}

#[test]
fn the_one_of_an_address_that_waits_longest_gives_way() {
    let (mut entrance, origin) = (Entrance::default(), ip("127.0.0.1"));
    assert_eq!(entrance.admit(sock(900), ip("127.0.0.2"), 0), Admission::Granted);
    for number in 0..32 {
        assert_eq!(entrance.admit(sock(number), origin, 1), Admission::Granted);
    }
    assert_eq!(entrance.admit(sock(32), origin, 33), Admission::InPlaceOf(sock(0)));
    entrance.leave(sock(1), origin);
    assert_eq!(entrance.admit(sock(33), origin, 32), Admission::Granted);
    assert_eq!(entrance.admit(sock(34), origin, 33), Admission::InPlaceOf(sock(2)));
}

#[test]
fn this_machine_has_slots_of_its_own() {
    let mut entrance = Entrance::default();
    let (here, there) = (Origin::Socket, ip("192.0.2.1"));
    assert_eq!(entrance.admit(sock(1), there, 959), Admission::Granted);
    assert_eq!(entrance.admit(sock(2), there, 960), Admission::InPlaceOf(sock(1)));
    assert_eq!(entrance.admit(sock(3), here, 960), Admission::Granted);
    assert_eq!(entrance.admit(sock(4), here, 1024), Admission::InPlaceOf(sock(2)));
    assert_eq!(entrance.admit(sock(5), there, 1024), Admission::Refused, "nobody else gives way");
    assert_eq!(entrance.admit(sock(6), here, 1024), Admission::InPlaceOf(sock(3)));
}
