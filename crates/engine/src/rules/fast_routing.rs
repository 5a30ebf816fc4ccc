//! `mysql_query_rules_fast_routing`: exact user, schema and flag to hostgroup, however many.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::FastRoutingRow;

/// The table, compiled; immutable, shared by the workers.
#[derive(Debug, Default)]
pub struct FastRouting {
    /// The empty user is for all.
    by_user: HashMap<Box<[u8]>, Schemas>,
}

/// By schema, each with its flags.
type Schemas = HashMap<Box<[u8]>, Vec<(u32, HostgroupId)>>;

impl FastRouting {
    /// Compiles the rows, or gives everything that is wrong with any.
    pub fn compile(rows: &[FastRoutingRow]) -> Result<Self, Vec<ConfigFault>> {
        let mut compiled = Self::default();
        let mut faults = Vec::new();
        let mut seen = HashMap::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let mut number = |column: &str, value: i64| {
                let number = u32::try_from(value).ok().filter(|number| *number <= NUMBER_MAX);
                if number.is_none() {
                    let reason = format!("{value} is not allowed; allowed: 0 to {NUMBER_MAX}");
                    faults.push(fault(place, column, reason));
                }
                number
            };
            let flag = number("flagIN", row.flag_in);
            let hostgroup = number("destination_hostgroup", row.destination_hostgroup);
            let key = (row.username.as_str(), row.schemaname.as_str(), row.flag_in);
            match seen.entry(key) {
                Entry::Occupied(earlier) => {
                    let earlier: usize = *earlier.get();
                    let reason =
                        format!("user, schema and flag are those of row {} already", earlier + 1);
                    faults.push(fault(place, "username", reason));
                }
                Entry::Vacant(entry) => {
                    entry.insert(place);
                }
            }
            if let (Some(flag), Some(hostgroup)) = (flag, hostgroup) {
                let schemas = compiled.by_user.entry(row.username.as_bytes().into()).or_default();
                let flags = schemas.entry(row.schemaname.as_bytes().into()).or_default();
                flags.push((flag, HostgroupId(hostgroup)));
            }
        }
        if faults.is_empty() { Ok(compiled) } else { Err(faults) }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_user.is_empty()
    }

    /// The hostgroup for a user, or for all users, in a schema and with a flag.
    pub fn find(&self, username: &[u8], schemaname: &[u8], flag: u32) -> Option<HostgroupId> {
        if self.is_empty() {
            return None;
        }
        [username, b""].into_iter().find_map(|username| {
            let flags = self.by_user.get(username)?.get(schemaname)?;
            flags.iter().find(|(asked, _)| *asked == flag).map(|(_, hostgroup)| *hostgroup)
        })
    }
}

fn fault(place: usize, column: &str, reason: String) -> ConfigFault {
    let table = "mysql_query_rules_fast_routing";
    ConfigFault { table, row: Some(place), column: column.into(), reason }
}

const NUMBER_MAX: u32 = i32::MAX.unsigned_abs();

#[cfg(test)]
mod tests {
    use super::*;

    fn row(username: &str, schemaname: &str, flag_in: i64, hostgroup: i64) -> FastRoutingRow {
        FastRoutingRow {
            username: username.into(),
            schemaname: schemaname.into(),
            flag_in,
            destination_hostgroup: hostgroup,
            comment: String::new(),
        }
    }

    #[test]
    fn the_user_wins_over_all_users() {
        let rows =
            [row("", "s", 0, 1), row("u", "s", 0, 2), row("u", "t", 5, 3), row("", "", 0, 4)];
        let table = FastRouting::compile(&rows).expect("valid");
        for (user, schema, flag, expected) in [
            ("u", "s", 0, Some(2)),
            ("v", "s", 0, Some(1)),
            ("", "s", 0, Some(1)),
            ("u", "s", 1, None),
            ("u", "t", 5, Some(3)),
            ("v", "t", 5, None),
            ("u", "", 0, Some(4)),
            ("u", "S", 0, None),
        ] {
            let found = table.find(user.as_bytes(), schema.as_bytes(), flag);
            assert_eq!(found, expected.map(HostgroupId), "{user} {schema} {flag}");
        }
    }

    #[test]
    fn gives_all_faults() {
        let rows = [row("u", "s", -1, -1), row("u", "s", 0, 1), row("u", "s", 0, 2)];
        let faults = FastRouting::compile(&rows).expect_err("faults");
        let shown: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "mysql_query_rules_fast_routing row 1 column flagIN: -1 is not allowed; allowed: \
                 0 to 2147483647",
                "mysql_query_rules_fast_routing row 1 column destination_hostgroup: -1 is not \
                 allowed; allowed: 0 to 2147483647",
                "mysql_query_rules_fast_routing row 3 column username: user, schema and flag are \
                 those of row 2 already",
            ]
        );
    }
}
