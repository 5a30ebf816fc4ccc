//! What a rule sets, by column.

use engine::rows::RuleRow;

/// The columns that act and are set, with their values.
pub(super) fn of_row(row: &RuleRow) -> Vec<(&'static str, String)> {
    let numbers = [
        ("flagOUT", row.flag_out),
        ("destination_hostgroup", row.destination_hostgroup),
        ("cache_ttl", row.cache_ttl),
        ("cache_empty_result", row.cache_empty_result),
        ("timeout", row.timeout),
        ("retries", row.retries),
        ("delay", row.delay),
        ("next_query_flagIN", row.next_query_flag_in),
        ("mirror_flagOUT", row.mirror_flag_out),
        ("mirror_hostgroup", row.mirror_hostgroup),
        ("multiplex", row.multiplex),
    ];
    let texts = [
        ("replace_pattern", row.replace_pattern.as_ref()),
        ("error_msg", row.error_msg.as_ref()),
        ("OK_msg", row.ok_msg.as_ref()),
        ("attributes", Some(&row.attributes).filter(|text| !text.is_empty())),
    ];
    let numbers =
        numbers.into_iter().filter_map(|(column, cell)| Some((column, cell?.to_string())));
    let texts = texts.into_iter().filter_map(|(column, cell)| Some((column, cell?.clone())));
    numbers.chain(texts).collect()
}
