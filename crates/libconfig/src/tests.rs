//! What is read of texts, and that nothing stops the reader.

use super::*;

fn read(text: &str) -> Document {
    parse("x.cnf", text, &mut |_, _| Err("there are no files here".to_owned()))
}

/// The only setting's value, of a text without faults.
fn value(text: &str) -> SettingValue {
    let document = read(&format!("a = {text}"));
    assert_eq!(document.faults, [], "{text}");
    document.settings[0].item.value.clone()
}

fn text(text: &str) -> SettingValue {
    SettingValue::Text(text.as_bytes().to_vec())
}

/// Line, column and reason of every fault.
fn faults(text: &str) -> Vec<String> {
    let document = read(text);
    let place = |fault: &SyntaxFault| {
        assert!(fault.fatal, "{fault:?}");
        let source = document.sources.find(fault.span.start).expect("it is of a file");
        let before = &source.text[..fault.span.start - source.start];
        let column = before.rsplit('\n').next().expect("a line").chars().count() + 1;
        format!("{}:{column}: {}", before.matches('\n').count() + 1, fault.reason)
    };
    document.faults.iter().map(place).collect()
}

#[test]
fn scalars_are_read_however_they_are_written() {
    for (written, number) in [
        ("0", 0),
        ("+5", 5),
        ("-17", -17),
        ("3306L", 3306),
        ("9000000000LL", 9_000_000_000),
        ("0x1F", 31),
        ("0XffL", 255),
        ("0b101", 5),
        ("0o17", 15),
        ("-0x10", -16),
    ] {
        assert_eq!(value(written), SettingValue::Int(number), "{written}");
    }
    for (written, number) in [("1.5", 1.5), (".5", 0.5), ("2.", 2.0), ("-1e3", -1000.0)] {
        assert_eq!(value(written), SettingValue::Float(number), "{written}");
    }
    for (written, truth) in [("true", true), ("TRUE", true), ("False", false)] {
        assert_eq!(value(written), SettingValue::Bool(truth), "{written}");
    }
}

#[test]
fn texts_are_joined_and_escapes_are_bytes() {
    assert_eq!(value(r#""one" " two" /* and */ "\n""#), text("one two\n"));
    assert_eq!(value(r#""\\ \" \t \r \f \v \x41""#), text("\\ \" \t \r \x0c \x0b A"));
    assert_eq!(value(r#""^SELECT \d+\.\(x\) \1""#), text(r"^SELECT \d+\.\(x\) \1"));
    assert_eq!(value(r#""\xff\x00é""#), SettingValue::Text(b"\xff\x00\xc3\xa9".to_vec()));
    assert_eq!(value("\"two\nlines\""), text("two\nlines"));
    assert_eq!(value(r##""# // /* no comments ""##), text("# // /* no comments "));
}

#[test]
fn separators_signs_and_comments_are_free() {
    let one = read("a=1;b:2,c = 3 d=4\n# x\n// y = 1\n/* z\n = 2 */ e = { f = 1, g = 2; h: 3 }\n");
    assert_eq!(one.faults, []);
    let names: Vec<_> = one.settings.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let SettingValue::Group(inner) = &one.settings[4].item.value else { panic!("a group") };
    assert_eq!(inner.len(), 3);
    let list = value("( { a = 1 }, [ 1, 2, ], ( ), \"x\", )");
    let SettingValue::List(elements) = list else { panic!("a list") };
    assert_eq!(elements.len(), 4);
}

#[test]
fn spans_are_those_of_the_values() {
    let text = "a = 12\nbb = ( \"x\" \"y\" )";
    let document = read(text);
    let span = |item: &Item| text[item.span.clone()].to_owned();
    assert_eq!(span(&document.settings[0].item), "12");
    assert_eq!(span(&document.settings[1].item), "( \"x\" \"y\" )");
    assert_eq!(&text[document.settings[1].name_span.clone()], "bb");
}

#[test]
fn every_fault_is_told_at_its_place() {
    assert_eq!(
        faults("a 1\nb = yes;\nc = 08\nd = ( 1 2 )\n)\ne = 9999999999999999999\nf = 1x"),
        [
            "1:1: expected `=` after `a`, found the number 1",
            "2:5: `yes` is no value; a text stands in quotes",
            "3:5: 08 is decimal to some versions of libconfig and octal to others; write 8",
            "4:9: expected `,` or `)`, found the number 2",
            "5:1: `)` closes nothing",
            "6:5: 9999999999999999999 does not fit in 64 bits",
            "7:5: `1x` is not a number",
        ]
    );
    assert_eq!(
        faults("a = { b = 1 c 2 b = 3\ne = \"x"),
        [
            "1:5: this `{` is never closed",
            "1:13: expected `=` after `c`, found the number 2",
            "1:17: `b` is given twice in this group",
            "2:5: this text is never closed",
        ]
    );
}

#[test]
fn what_is_never_closed_is_told_where_it_begins() {
    for (text, told) in [
        ("a = ( 1,", "1:5: this `(` is never closed"),
        ("a = [ 1", "1:5: this `[` is never closed"),
        ("a = 1; /* b = 2", "1:8: this comment is never closed"),
        ("a = ( 1 ]", "1:9: expected `)`, found `]`"),
    ] {
        assert_eq!(faults(text).first().map(String::as_str), Some(told), "{text}");
    }
}

#[test]
fn an_array_holds_scalars_of_one_kind() {
    assert_eq!(faults("a = [ 1, 2 ]; b = [ \"x\" ]; c = [ true ]; d = [ ]"), [""; 0]);
    let one_kind = "the values in `[]` are all of one kind; use `()`";
    let scalars = "`[]` holds numbers, texts or truth values only; use `()`";
    assert_eq!(
        faults("a = [ 1, \"x\", 2, true ]\nb = [ ( ), { }, [ ] ]\nc = ( 1, \"x\", ( ) )"),
        [
            format!("1:10: {one_kind}"),
            format!("1:18: {one_kind}"),
            format!("2:7: {scalars}"),
            format!("2:12: {scalars}"),
            format!("2:17: {scalars}"),
        ]
    );
}

#[test]
fn after_a_fault_reading_goes_on_behind_it() {
    assert_eq!(
        faults("a = = ( x = 1, y ) b = no\nc = ( { d 1 }, nope, 2 )\n= 5; e = 08"),
        [
            "1:5: expected a value, found `=`",
            "1:24: `no` is no value; a text stands in quotes",
            "2:9: expected `=` after `d`, found the number 1",
            "2:16: `nope` is no value; a text stands in quotes",
            "3:1: expected a name, found `=`",
            "3:10: 08 is decimal to some versions of libconfig and octal to others; write 8",
        ]
    );
    assert_eq!(
        faults("a = ( { b = 1 }, c = 2, { d = 08 } )"),
        [
            "1:18: expected `)` or a value, found the setting `c`; is a bracket missing before it?",
            "1:31: 08 is decimal to some versions of libconfig and octal to others; write 8",
        ]
    );
    assert_eq!(
        faults("a = ( 1; 2 = 3 4 )"),
        [
            "1:8: expected `,` or `)`, found `;`",
            "1:12: expected `,` or `)`, found `=`",
            "1:16: expected `,` or `)`, found the number 4",
        ]
    );
}

#[test]
fn what_is_included_must_be_a_file_in_quotes_that_can_be_read() {
    assert_eq!(
        faults("@import \"x\"\n@include x\n@include \"x\""),
        [
            "1:1: `@include` is the only directive there is",
            "2:1: the path of a file in quotes must follow `@include`",
            "2:10: expected `=` after `x`",
            "3:10: there are no files here",
        ]
    );
    let many = "@include \"x\"\n".repeat(40);
    let document = parse("x.cnf", &many, &mut |_, path| Ok((path.to_owned(), "".to_owned())));
    assert_eq!(document.faults, [], "one after the other is not deep");
}

#[test]
fn doubtful_escapes_are_told_and_read() {
    let document = read(r#"p = "\bword""#);
    assert_eq!(document.settings[0].item.value, SettingValue::Text(b"\x08word".to_vec()));
    let [odd] = document.faults.as_slice() else { panic!("one") };
    assert!(!odd.fatal);
    assert_eq!(odd.reason, r"`\b` is a control character; a pattern's `\b` is written `\\b`");
}

#[test]
fn included_files_come_in_place_and_are_bounded() {
    let mut asked = Vec::new();
    let document = parse(
        "/etc/a.cnf",
        "a = 1\n@include \"b.cnf\"\nc = (\n  @include \"b.cnf\"\n)",
        &mut |from, path| {
            asked.push((from.to_owned(), path.to_owned()));
            Ok((format!("/etc/{path}"), if asked.len() == 1 { "b = x" } else { "7" }.to_owned()))
        },
    );
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], ("/etc/a.cnf".to_owned(), "b.cnf".to_owned()));
    let [fault] = document.faults.as_slice() else { panic!("{:?}", document.faults) };
    let source = document.sources.find(fault.span.start).expect("a file");
    assert_eq!((source.origin.as_str(), fault.span.start - source.start), ("/etc/b.cnf", 4));
    let names: Vec<_> = document.settings.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);

    let mut count = 0;
    let endless = parse("x", "@include \"x\"\n@include \"x\"", &mut |_, path| {
        count += 1;
        Ok((path.to_owned(), "@include \"x\"\n@include \"x\"".to_owned()))
    });
    assert!(count <= 101, "{count}");
    assert!(endless.faults.iter().any(|fault| fault.reason.contains("10 deep at most")));
    assert!(endless.faults.iter().any(|fault| fault.reason.starts_with("too much is included")));
}

#[test]
fn deep_nesting_is_refused() {
    assert_eq!(faults(&format!("a = ({})", "(), ".repeat(100))), [""; 0], "that is not deep");
    let text = format!("a = {}", "(".repeat(100_000));
    let document = read(&text);
    assert!(document.faults.iter().any(|fault| fault.reason.contains("32 deep at most")));
}

proptest::proptest! {
    #[test]
    fn nothing_stops_the_reader(
        text in r#"([a-b =:;,{}()\[\]"\\\n0-9x.+-]|@include "x"|/\*|#|é){0,80}"#
    ) {
        let document = read(&text);
        for fault in &document.faults {
            let source = document.sources.find(fault.span.start).expect("a place");
            assert!(source.text.get(fault.span.start - source.start..).is_some(), "{text:?}");
        }
    }

    #[test]
    fn quoted_bytes_come_back(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
        assert_eq!(value(&quoted(&bytes)), SettingValue::Text(bytes));
    }
}
