//! What a keeper was told is written, and comes to the same when it is read.

use engine::rows::{Row, ServerRow};
use keeper::{Keeper, Replay};

use crate::{Has, Play};

/// Replays a recording: line by line the same events, in the end the same keeper.
pub(crate) fn check(recording: &str, keeper: &Keeper) {
    let mut replay = Replay::default();
    for line in recording.lines() {
        let replayed = replay.take(line).unwrap_or_else(|why| panic!("{why}\n{line}"));
        let differences = replayed.map(|it| it.differences).unwrap_or_default();
        assert_eq!(differences, [], "{line}");
    }
    assert_eq!(replay.keeper(), keeper, "{recording}");
    let mut later = Replay::default();
    for line in keeper::beginning(keeper).lines() {
        assert_eq!(later.take(line), Ok(None), "{line}");
    }
    assert_eq!(later.keeper(), keeper, "all that it knows is written");
}

/// What comes of the lines of a recording: the differences, or what is wrong with the last.
fn replay(lines: &[&str]) -> Result<Vec<String>, String> {
    let mut replay = Replay::default();
    let mut told = Vec::new();
    for line in lines {
        let Some(replayed) = replay.take(line)? else { continue };
        for (then, now) in replayed.differences {
            told.push(format!("then {then:?}, now {now:?}"));
        }
    }
    Ok(told)
}

fn played() -> Play {
    let mut play = Play::new(Has::Pair, "10:a 20:b*7");
    play.step("a ping=250");
    play.step("a ro1");
    play
}

#[test]
fn a_recording_may_begin_at_any_time() {
    let mut play = played();
    play.recording = keeper::beginning(&play.keeper);
    play.step("b ro0");
    check(&play.recording, &play.keeper);
}

#[test]
fn another_decision_is_told_as_it_was_and_as_it_is() {
    let play = played();
    let other = play.recording.replace("it answered read_only=1", "somebody said so");
    let lines: Vec<_> = other.lines().collect();
    let now = "it answered read_only=1";
    assert_eq!(
        replay(&lines),
        Ok(vec![
            format!(
                "then Some(\"20 a:3306 - ONLINE somebody said so\"), \
                 now Some(\"20 a:3306 - ONLINE {now}\")"
            ),
            format!(
                "then Some(\"10 a:3306 ONLINE - somebody said so\"), \
                 now Some(\"10 a:3306 ONLINE - {now}\")"
            ),
        ])
    );
    let silent = play.recording.replace("\"events\":[]", "\"events\":[\"10 b:3306 x\"]");
    let lines: Vec<_> = silent.lines().collect();
    assert_eq!(replay(&lines), Ok(vec!["then Some(\"10 b:3306 x\"), now None".to_owned()]));
}

#[test]
fn what_is_no_line_of_a_recording_is_told() {
    let head = r#"{"tidegate_topology_recording":1}"#;
    let wanted = r#"{"adopt":{"servers":[{"hostname":"a"}]},"at_us":1}"#;
    let hear = |told: &str| format!(r#"{{"at_us":2,"hear":{told}}}"#);
    assert_eq!(replay(&[head, wanted]), Ok(Vec::new()), "by hand, and with nothing compared");
    let server = r#""server":{"hostname":"a","port":3306}"#;
    for (line, why) in [
        ("SELECT 1".to_owned(), "no JSON: expected value at line 1 column 1"),
        (
            "{\"tidegate_topology_recording\":2}".to_owned(),
            "the recording has version 2; this Tidegate reads version 1",
        ),
        ("{\"at_us\":2}".to_owned(), "there is none of `adopt`, `hear` and `depose`"),
        ("{\"adopt\":{}}".to_owned(), "`at_us`: a number (u64) is wanted, not null"),
        (
            hear(r#"{"server":{"hostname":"a","port":"x"}}"#),
            "`hear`: `server`: `port`: a number (i64) is wanted, not \"x\"",
        ),
        (
            hear(&format!("{{{server},\"seen\":{{\"pong\":1}}}}")),
            "`hear`: `seen`: `pong`: `pong` is no kind of report",
        ),
        (
            hear(&format!("{{{server},\"seen\":{{\"ping\":{{\"ok\":-1}}}}}}")),
            "`hear`: `seen`: `ping`: a number (u64) is wanted, not -1",
        ),
        (
            wanted.replace("hostname", "hostnames"),
            "`adopt`: `servers`: `hostnames` is no column of a server",
        ),
    ] {
        assert_eq!(replay(&[head, wanted, &line]), Err(why.to_owned()), "{line}");
    }
    let headless = Err("no recording: there is no `tidegate_topology_recording` with a version");
    assert_eq!(replay(&[wanted]), headless.map_err(str::to_owned));
}

#[test]
fn no_column_of_a_server_is_secret() {
    let secret = ServerRow::TABLE.columns.iter().find(|column| column.secret);
    assert!(secret.is_none(), "it is not recorded, and a keeper compares it");
}
