//! `tidegate explain` and `tidegate candidate` from outside.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// A directory of its own for a test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary directory is writable");
        Self(dir)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).expect("it is writable");
        file.to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(arguments)
        .output()
        .expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

const SPLIT: &str = r#"
[mysql_variables]
interfaces = "127.0.0.1:6033"

[[mysql_servers]]
hostgroup_id = 0
hostname = "primary"

[[mysql_servers]]
hostgroup_id = 1
hostname = "replica1"

[[mysql_servers]]
hostgroup_id = 1
hostname = "replica2"
status = "OFFLINE_SOFT"

[[mysql_users]]
username = "app"
password = "secret"
default_schema = "shop"

[[mysql_query_rules]]
rule_id = 1
active = 1
match_digest = '^SELECT.*FOR UPDATE'
destination_hostgroup = 0
apply = 1

[[mysql_query_rules]]
rule_id = 2
active = 1
match_digest = '^SELECT'
destination_hostgroup = 1
timeout = 5000
apply = 1
"#;

#[test]
fn an_explanation_reads_as_it_should() {
    let scratch = Scratch::new("explain");
    let file = scratch.write("split.toml", SPLIT);
    let (code, out, err) = run(&["explain", "--config", &file, "SELECT c FROM t WHERE id = 1"]);
    let expected = "\
query      SELECT c FROM t WHERE id = 1
client     user app, schema shop, from any, to any:6033
digest     0x802DE920991ADCF5  SELECT c FROM t WHERE id = ?
command    SELECT
rules
       1  no: match_digest is `SELECT c FROM t WHERE id = ?`, not `^SELECT.*FOR UPDATE`
       2  MATCH: destination_hostgroup=1, timeout=5000, apply=1: the end
hostgroup  1: rule 2
  replica1:3306  ONLINE, weight 1: 100.0 %
  replica2:3306  not used: its status is OFFLINE_SOFT
           within a transaction, the one it began on
action     killed after 5000 ms, at most 1 retries
";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    let rewriting = scratch.write(
        "rewriting.toml",
        &SPLIT.replacen(
            "match_digest = '^SELECT.*FOR UPDATE'",
            "match_pattern = 'foo'\nreplace_pattern = 'bar'\nflagOUT = 3",
            1,
        ),
    );
    let (_, out, _) = run(&["explain", "--config", &rewriting, "UPDATE foo SET c=1"]);
    let expected = "
       1  MATCH: flagOUT=3, destination_hostgroup=0, replace_pattern=bar, apply=1: the end
          flag 0 becomes 3
          rewritten: UPDATE foo SET c=1
                 → UPDATE bar SET c=1
          looks into the text: the verdict is not remembered
sent as    UPDATE bar SET c=1
hostgroup  0: rule 1
";
    assert!(out.contains(expected), "{out}");
    let statement = "EXPLAIN ROUTE UPDATE t SET c=1 FOR USER 'nobody'";
    let (code, out, err) = run(&["explain", "--config", &file, statement]);
    let expected = "there is no user `nobody` that may log in\n";
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", expected));
}

/// A configuration with the rules of a recorded set.
fn recorded_set(rows: &Value) -> String {
    let mut text = "[mysql_variables]\ninterfaces = \"127.0.0.1:26033\"\n".to_owned();
    for (user, hostgroup) in [("app", 0), ("rep", 5)] {
        text += &format!(
            "[[mysql_users]]\nusername = \"{user}\"\npassword = \"x\"\n\
             default_hostgroup = {hostgroup}\ntransaction_persistent = 0\n"
        );
    }
    for hostgroup in 0..6 {
        text += &format!("[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"db\"\n");
    }
    for row in rows.as_array().expect("rows") {
        text += "[[mysql_query_rules]]\n";
        let row = row.as_object().expect("a row");
        if !row.contains_key("active") {
            text += "active = 1\n";
        }
        for (column, value) in row {
            let digest = "0x1C46AE529DD5A40E";
            text += &format!("{column} = {}\n", value.to_string().replace("0x%DIGEST%", digest));
        }
    }
    text
}

#[test]
fn recorded_queries_are_explained_with_the_hostgroup_that_served_them() {
    let scratch = Scratch::new("recorded");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rules.json");
    let recorded: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect(path)).expect("JSON");
    let cases = recorded["cases"].as_array().expect("cases");
    let text = |case: &Value, member: &str| case[member].as_str().expect(member).to_owned();
    // a COMMIT outside of a transaction is answered without being routed; the chains of
    // `next_flag` depend on earlier queries
    let plain = cases.iter().filter(|case| case["query"] != "COMMIT" && case["set"] != "next_flag");
    let mut count = 0;
    for case in plain.step_by(31) {
        let set = text(case, "set");
        let file =
            scratch.write(&format!("{set}.toml"), &recorded_set(&recorded["rule_sets"][&set]));
        let (user, schema, query) = (text(case, "user"), text(case, "schema"), text(case, "query"));
        let (code, out, err) = run(&[
            "explain",
            "--json",
            "--config",
            &file,
            "--user",
            &user,
            "--schema",
            &schema,
            "--from",
            "127.0.0.1",
            "--proxy-addr",
            "127.0.0.1",
            "--proxy-port",
            "26033",
            "--",
            &query,
        ]);
        assert_eq!((code, err.as_str()), (0, ""), "{case}");
        let explained: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(explained["digest_text"], case["digest_text"][0], "{case}");
        if explained["answer"].is_null() {
            assert_eq!(explained["hostgroup"], case["hostgroup"][0], "{case}\n{out}");
        } else if let Some(error) = explained["answer"]["error_msg"].as_str() {
            assert_eq!(case["outcome"]["error"], serde_json::json!([1148, error]), "{case}");
        }
        count += 1;
    }
    assert!(count >= 50, "{count} cases");
}

#[test]
fn a_candidate_is_compared_by_the_queries_of_a_log() {
    let scratch = Scratch::new("candidate");
    let live = scratch.write("live.toml", SPLIT);
    let new = scratch.write("new.toml", &SPLIT.replace("'^SELECT'", "'^(SELECT|SHOW)'"));
    let log = scratch.write(
        "queries.json",
        "{\"user\":\"app\",\"query\":\"SHOW TABLES\",\"count\":3}\n\
         {\"user\":\"app\",\"schema\":\"x\",\"query\":\"SELECT 1\"}\n",
    );
    let arguments = ["candidate", "--config", &live, "--candidate", &new, "--queries", &log];
    let (code, out, err) = run(&arguments);
    let expected = "\
3 of 4 queries change (75.0 %)

3 (75.0 %)  0x033B6B2289D620EB  SHOW TABLES
  hostgroup: 0 → 1
  timeout: 86400000 → 5000
  such as, of app in shop: SHOW TABLES
";
    assert_eq!((code, out.as_str(), err.as_str()), (1, expected, ""));
    let same = ["candidate", "--config", &live, "--candidate", &live, "--queries", &log];
    assert_eq!(run(&same), (0, "0 of 4 queries change (0.0 %)\n".into(), String::new()));
    let wrong = scratch.write("wrong.json", "{\"user\":\"app\"}\n");
    let arguments = ["candidate", "--config", &live, "--candidate", &new, "--queries", &wrong];
    let expected = format!("{wrong}: line 1: there is no `query`\n");
    assert_eq!(run(&arguments), (2, String::new(), expected));
}
