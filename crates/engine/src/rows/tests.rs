//! Tests of rows and their registry.

use super::*;

fn faults(rows: &mut dyn TableRows, values: Vec<Vec<Cell>>) -> Vec<String> {
    rows.replace(&mut values.into_iter()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_row_comes_back_as_it_went_and_wrong_types_are_told_with_their_place() {
    let server = ServerRow { hostname: "db".into(), weight: 7, ..ServerRow::default() };
    let rule = RuleRow { rule_id: 4, flag_out: Some(2), ..RuleRow::default() };
    let (mut servers, mut rules) = (vec![server.clone()], vec![rule.clone()]);
    let cells = vec![servers.cells(0)];
    assert_eq!(faults(&mut servers, cells.clone()), [""; 0]);
    assert_eq!(servers, [server]);
    let of_rules = vec![rules.cells(0)];
    assert_eq!(faults(&mut rules, of_rules), [""; 0]);
    assert_eq!(rules, [rule]);
    let mut wrong = cells;
    wrong[0][2] = Cell::Text("x".into());
    assert_eq!(
        faults(&mut servers, wrong),
        ["mysql_servers row 1 column port: `x` is not a whole number"]
    );
}

#[test]
fn passwords_may_hold_any_byte() {
    let user = UserRow { password: vec![0xff, 0, 1], ..UserRow::default() };
    let mut users = vec![user.clone()];
    let cells = users.cells(0);
    assert_eq!(cells[1], Cell::Bytes(vec![0xff, 0, 1]));
    assert_eq!(faults(&mut users, vec![cells]), [""; 0]);
    assert_eq!(users, [user]);
}

#[test]
fn defaults_are_those_of_the_columns() {
    let server = ServerRow::default();
    assert_eq!((server.port, server.weight, server.status.as_str()), (3306, 1, "ONLINE"));
    assert_eq!((HostgroupRow::default().autocommit, RuleRow::default().active), (-1, 0));
    assert_eq!(RuleRow::default().re_modifiers.as_deref(), Some("CASELESS"));
    assert_eq!((UserRow::default().default_schema, UserRow::default().backend), (None, 1));
}

#[test]
fn rows_that_are_left_out_are_those_that_were_named() {
    let mut rules: Vec<_> =
        (0..4).map(|rule_id| RuleRow { rule_id, ..RuleRow::default() }).collect();
    rules.leave_out(&[0, 2].into());
    assert_eq!(rules.iter().map(|rule| rule.rule_id).collect::<Vec<_>>(), [1, 3]);
}
