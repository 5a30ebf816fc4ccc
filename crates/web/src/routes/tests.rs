//! What comes of parameters and of scripts, down to the texts.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use super::*;

/// A script that is there until it is dropped.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, text: &str) -> Self {
        let file = format!("tidegate-route-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(file);
        // by another process: a file that a test beside this one has open to write, by a fork at
        // the wrong moment, cannot be run
        let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
        let path_text = path.to_str().expect("a text");
        let written = Command::new("/bin/sh").args(["-c", write, "sh", text, path_text]).status();
        assert!(written.expect("it runs").success());
        Self(path)
    }

    fn row(&self, method: &str) -> RestapiRouteRow {
        RestapiRouteRow {
            id: 1,
            active: 1,
            timeout_ms: 20_000,
            method: method.to_owned(),
            uri: "it".to_owned(),
            script: self.0.to_string_lossy().into_owned(),
            comment: String::new(),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn ask(row: &RestapiRouteRow, at: (&str, &str), given: Given<'_>) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let stop = watch::Sender::new(false);
    let (status, body) = match find(std::slice::from_ref(row), at.0, at.1) {
        Ok(row) => runtime.expect("a runtime").block_on(answer(row, given, stop.subscribe())),
        Err(answer) => answer,
    };
    (status.as_u16(), body)
}

#[test]
fn parameters_are_one_object_of_json() {
    let query = |text| parameters(Given::Query(text)).expect("any is right");
    assert_eq!(query(""), "{}");
    assert_eq!(query("a=1&b=x%20y+z%22&a=%zz&c"), r#"{"a":"%zz","b":"x y z\"","c":""}"#);
    let body = |text: &str| parameters(Given::Body(text.as_bytes()));
    assert_eq!(body(r#"{"a": [1]}"#), Ok(r#"{"a":[1]}"#.to_owned()));
    assert_eq!(body(""), Err("Empty parameters".to_owned()));
    for wrong in ["[1]", "{\"a\":", "nonsense"] {
        let why = body(wrong).expect_err("no object");
        assert!(why.starts_with("Error parsing input JSON parameters - "), "{wrong}: {why}");
    }
}

#[test]
fn a_script_gets_the_parameters_and_its_output_is_the_answer() {
    let script = Script::new("echo", "#!/bin/sh\nprintf '{\"given\":%s}' \"$1\"\n");
    let (get, post) = (script.row("get"), script.row("POST"));
    let given = Given::Query("id=7");
    assert_eq!(ask(&get, ("GET", "it"), given), (200, r#"{"given":{"id":"7"}}"#.into()));
    let given = Given::Body(br#"{"id":7}"#);
    assert_eq!(ask(&post, ("POST", "it"), given), (200, r#"{"given":{"id":7}}"#.into()));
    let error = r#"{"error":"Empty parameters","type":"in"}"#;
    assert_eq!(ask(&post, ("POST", "it"), Given::Body(b"")), (400, error.into()));
    let unknown = |route: &str, method: &str| {
        format!(
            "{{\"error\":\"The script for method [{method}] and route [/sync/{route}] was not \
             found. Rows count returned [0]\"}}"
        )
    };
    assert_eq!(ask(&get, ("GET", "at"), given), (400, unknown("at", "GET")));
    assert_eq!(ask(&get, ("POST", "it"), given), (400, unknown("it", "POST")));
    let off = RestapiRouteRow { active: 0, ..get };
    assert_eq!(ask(&off, ("GET", "it"), Given::Query("")), (400, unknown("it", "GET")));
}

#[test]
fn a_script_knows_nothing_of_the_environment_of_the_process() {
    assert!(std::env::vars_os().count() > 0, "there is something to hide");
    let script = Script::new("env", "#!/bin/sh\ntr '\\0' '\\n' < /proc/$$/environ | wc -l\n");
    assert_eq!(ask(&script.row("GET"), ("GET", "it"), Given::Query("")), (200, "0\n".into()));
}

#[test]
fn what_goes_wrong_with_a_script_is_told() {
    let script = Script::new("fail", "#!/bin/sh\necho half; echo why >&2; exit 3\n");
    assert_eq!(
        ask(&script.row("GET"), ("GET", "it"), Given::Query("")),
        (
            424,
            concat!(
                r#"{"error":"Script failed to be executed","error_code":"3","#,
                r#""script_stderr":"why\n","script_stdout":"half\n","type":"out"}"#
            )
            .into()
        )
    );
    let script = Script::new("text", "#!/bin/sh\necho no json\n");
    let (status, body) = ask(&script.row("GET"), ("GET", "it"), Given::Query(""));
    assert_eq!(status, 424);
    assert!(body.contains(r#""script_stdout":"no json\n""#), "{body}");
    let missing = RestapiRouteRow { script: "/nonexistent/x".into(), ..script.row("GET") };
    let (status, body) = ask(&missing, ("GET", "it"), Given::Query(""));
    assert_eq!(status, 424);
    assert!(body.contains("No such file or directory"), "{body}");
    assert!(body.contains(r#""error_code":"2""#), "the system's number: {body}");
}

#[test]
fn a_script_whose_time_is_over_ends_with_what_it_started() {
    let note = std::env::temp_dir().join(format!("tidegate-route-pid-{}", std::process::id()));
    let text = format!("#!/bin/sh\nsleep 600 &\necho $! > {}\nwait\n", note.display());
    let script = Script::new("slow", &text);
    let row = RestapiRouteRow { timeout_ms: 700, ..script.row("GET") };
    let error = r#"{"error":"Script execution timed out","error_code":"62","type":"out"}"#;
    assert_eq!(ask(&row, ("GET", "it"), Given::Query("")), (424, error.into()));
    let child = std::fs::read_to_string(&note).expect("it was noted");
    drop(std::fs::remove_file(&note));
    let deadline = Instant::now() + Duration::from_secs(10);
    let runs = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        state.is_ok_and(|state| !state.contains(") Z "))
    };
    while runs() {
        assert!(Instant::now() < deadline, "the script's own program {child} runs on");
        std::thread::yield_now();
    }
}
