//! What the query cache is told of views.

use super::*;

#[test]
fn a_view_that_gives_other_values_each_time_is_told_with_what_stands_on_it() {
    let views: &[_] = &[
        ["", "late", "", "select now(6) AS `t`,`t`.`a` AS `a` from `test`.`t`"],
        ["", "above", "", "select `late`.`a` AS `a` from `test`.`late`"],
        ["", "plain", "", "select count(0) AS `n` from `test`.`t`"],
    ];
    let tables = (Part::Tables, &[["test", "t", "", ""]][..]);
    let mut known = known(catalog(&[MARIADB, tables, (Part::Views, views)]));
    for (text, varies) in [
        ("SELECT a FROM late", true),
        ("SELECT a FROM above", true),
        ("SELECT n FROM plain", false),
    ] {
        let how = How { modes: Modes::default(), is_utf8: true, naming: Naming::Reads };
        let asked = AskedText { text: text.as_bytes(), how };
        let reached = known.reach(&asked, &defined(3), |_| false);
        assert_eq!(reached.known.intersects(Effects::VARIES), varies, "{text}");
    }
}
