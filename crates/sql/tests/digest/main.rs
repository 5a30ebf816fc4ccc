//! Every recorded digest of ProxySQL 2.7.2 is reproduced: text, hash, settings. So does a slow and
//! plain [`model`] of how they come about, which then says what the digests of other texts are.
//!
//! `testdata/digest.jsonl` was recorded by sending each query through ProxySQL and reading its
//! statistics. Where nothing can be equal, the reason stands in `DIFFERENCES`.
//!
//! `TIDEGATE_DIGEST_TEXTS` says for how many made texts model and code are compared,
//! `TIDEGATE_DIGEST_FOLDER` names a folder of scripts, such as a server's own test suite, whose
//! statements are compared too.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // runs say for how many texts

mod model;
mod texts;

use std::path::{Path, PathBuf};

use sql::{DigestOptions, Digester, KnownFacts};

/// Queries whose recorded digest cannot be had, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    // a comment that ends its line and has no blank before it leaves one byte of ProxySQL's buffer
    // unwritten, so that its digest holds whatever was there before; here it is a blank
    ("1# c\n\t0xAB 日本 b'1'", "? ? 日本 b?"),
    (
        "f(1,2) /*! x */\t!=\t+`x`  日本  - t1 ,-- c\n .5 between ",
        "f(?,?) x != +`x` 日本  t1,.? between",
    ),
];

struct Case {
    options: DigestOptions,
    query: Vec<u8>,
    text: Vec<u8>,
    hash: u64,
}

#[test]
fn every_recorded_digest_is_reproduced() {
    let mut digester = Digester::new();
    let (mut cases, mut different) = (0, 0);
    for line in corpus().lines() {
        let case = case(line);
        cases += 1;
        let digest = digester.digest(&case.query, &case.options);
        if digest.text == case.text && digest.hash == case.hash {
            continue;
        }
        let query = String::from_utf8_lossy(&case.query);
        let known = DIFFERENCES.iter().find(|(text, _)| *text == query);
        let expected = known.map_or(&*case.text, |(_, ours)| ours.as_bytes());
        assert_eq!(
            String::from_utf8_lossy(digest.text),
            String::from_utf8_lossy(expected),
            "{query}\n{:?}",
            case.options
        );
        assert!(known.is_some(), "{query}: the same text with another hash");
        different += 1;
    }
    assert_eq!((cases, different), (4440, 13), "fewer than one in a hundred differ");
}

#[test]
fn the_model_reproduces_what_is_recorded() {
    let mut cases = 0;
    for case in corpus().lines().map(case) {
        let query = String::from_utf8_lossy(&case.query);
        let is_known = DIFFERENCES.iter().any(|(text, _)| *text == query);
        let Some(text) = model::digest(&case.query, &case.options).filter(|_| !is_known) else {
            continue;
        };
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text, String::from_utf8_lossy(&case.text), "{query}\n{:?}", case.options);
        cases += 1;
    }
    assert!(cases > 4300, "{cases}");
}

#[test]
fn the_digest_of_any_text_is_the_models() {
    let count = std::env::var("TIDEGATE_DIGEST_TEXTS");
    let count = count.map_or(60_000, |count| count.parse().expect("a number"));
    let recorded: Vec<Vec<u8>> = corpus().lines().map(|line| case(line).query).collect();
    let (mut texts, mut digester) = (texts::Texts::new(recorded), Digester::new());
    let mut different = 0;
    for _ in 0..count {
        let (text, options) = texts.next();
        let digest = digester.digest(&text, &options);
        let Some(expected) = model::digest(&text, &options) else { continue };
        assert_eq!(
            String::from_utf8_lossy(digest.text),
            String::from_utf8_lossy(&expected),
            "{}\n{options:?}",
            String::from_utf8_lossy(&text)
        );
        different += usize::from(digest.text.len() < text.len());
    }
    assert!(different > count / 2, "texts that nothing happens to tell nothing");
}

#[test]
fn the_digest_of_a_statement_of_any_script_is_the_models() {
    let folder = std::env::var_os("TIDEGATE_DIGEST_FOLDER");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/session_state");
    let folder = folder.map_or(scripts, PathBuf::from);
    let mut files = Vec::new();
    files_in(&folder, &mut files);
    let (mut digester, mut texts, mut unknown) = (Digester::new(), 0, 0);
    for path in files {
        let script = std::fs::read(&path).expect("a file that is there");
        for text in statements(&script) {
            for options in ALL_OPTIONS {
                let Some(expected) = model::digest(text, &options) else {
                    unknown += 1;
                    continue;
                };
                let digest = digester.digest(text, &options);
                assert_eq!(
                    String::from_utf8_lossy(digest.text),
                    String::from_utf8_lossy(&expected),
                    "{}: {}\n{options:?}",
                    path.display(),
                    String::from_utf8_lossy(text)
                );
            }
            texts += 1;
        }
    }
    let compared = texts * ALL_OPTIONS.len() - unknown;
    println!("{texts} statements, {compared} digests, {unknown} more that are not determined");
    assert!(texts > 1000 && unknown < compared / 10, "{texts} {compared} {unknown}");
}

/// Settings under which statements of scripts are compared: each that may matter, once.
const ALL_OPTIONS: [DigestOptions; 5] = {
    let usual = DigestOptions {
        max_query_length: 65_000,
        max_digest_length: 2048,
        lowercase: false,
        replace_null: false,
        no_digits: false,
        keep_comment: false,
        grouping_limit: 3,
        groups_grouping_limit: 10,
    };
    let words = DigestOptions { lowercase: true, replace_null: true, no_digits: true, ..usual };
    let lists = DigestOptions { grouping_limit: 1, groups_grouping_limit: 1, ..usual };
    let short = DigestOptions { max_query_length: 60, max_digest_length: 40, ..usual };
    [usual, words, lists, short, DigestOptions { keep_comment: true, ..usual }]
};

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_in(&path, files);
        } else if path.extension().is_some_and(|is| is == "test" || is == "inc" || is == "sql") {
            files.push(path);
        }
    }
}

/// The lines of a script, and its parts between semicolons at the ends of lines.
fn statements(script: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = script.split(|byte| *byte == b'\n');
    let ends = script.windows(2).enumerate().filter(|(_, pair)| pair == b";\n").map(|(at, _)| at);
    let mut from = 0;
    let parts = ends.filter_map(move |end| {
        let part = script.get(from..end);
        from = end + 1;
        part
    });
    lines.chain(parts).map(<[u8]>::trim_ascii).filter(|text| text.len() > 5)
}

#[test]
fn facts_that_are_remembered_by_digest_are_those_of_the_query() {
    let (mut digester, mut known) = (Digester::new(), KnownFacts::default());
    for _ in 0..2 {
        for case in corpus().lines().map(case) {
            let digest = digester.digest(&case.query, &case.options);
            let told = known.facts(&case.query, &digest);
            assert_eq!(told, sql::facts(&case.query), "{}", String::from_utf8_lossy(&case.query));
        }
    }
}

#[test]
fn facts_of_a_text_whose_digest_is_cut_are_its_own() {
    let options = DigestOptions { max_digest_length: 40, ..DigestOptions::default() };
    let (mut digester, mut known) = (Digester::new(), KnownFacts::default());
    let read = "SELECT name FROM customers WHERE country = 'DE' AND city = 'Kiel'";
    let tails = ["", " AND GET_LOCK('a', 1)", " AND pay(id)", " FOR UPDATE", "; DELETE FROM t"];
    let texts = tails.map(|tail| format!("{read}{tail}"));
    let digests = texts.each_ref().map(|text| digester.digest(text.as_bytes(), &options).hash);
    assert!(digests.iter().all(|digest| *digest == digests[0]), "as far as they go");
    for text in texts.iter().chain(texts.iter().rev()) {
        let digest = digester.digest(text.as_bytes(), &options);
        assert_eq!(known.facts(text.as_bytes(), &digest), sql::facts(text.as_bytes()), "{text}");
    }
}

fn corpus() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/digest.jsonl");
    std::fs::read_to_string(path).expect("testdata/digest.jsonl")
}

fn case(line: &str) -> Case {
    let hash = field(line, "digest").trim_start_matches("0x");
    Case {
        options: options(line),
        query: bytes(field(line, "query_hex")),
        text: bytes(field(line, "digest_text_hex")),
        hash: u64::from_str_radix(hash, 16).expect("a hash"),
    }
}

fn options(line: &str) -> DigestOptions {
    let mut options = DigestOptions::default();
    let (_, settings) = line.split_once("\"settings\": {").expect("settings");
    let (settings, _) = settings.split_once('}').expect("their end");
    for pair in settings.split(", ").filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once(": ").expect("a pair");
        let value = value.trim_matches('"');
        let number = || value.parse().expect("a number");
        match name.trim_matches('"') {
            "query_digests_lowercase" => options.lowercase = value == "true",
            "query_digests_replace_null" => options.replace_null = value == "true",
            "query_digests_no_digits" => options.no_digits = value == "true",
            "query_digests_keep_comment" => options.keep_comment = value == "true",
            "query_digests_grouping_limit" => options.grouping_limit = number(),
            "query_digests_groups_grouping_limit" => options.groups_grouping_limit = number(),
            "query_digests_max_digest_length" => options.max_digest_length = number(),
            "query_digests_max_query_length" => options.max_query_length = number(),
            other => panic!("{other} is no setting"),
        }
    }
    options
}

/// The text of a field that holds no escapes.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!("\"{name}\": \"")).expect("the field");
    rest.split_once('"').expect("its end").0
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a digit") as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
