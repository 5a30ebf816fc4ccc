//! Which of several servers is the writer that all say they take writes, as `hostgroup_settings`
//! of a writer hostgroup says it. Which server that is, is the keeper's to decide.

use crate::json;

/// Of the servers of two replication hostgroups that answer `read_only=0`, those that are writers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SeveralWriters {
    /// All of them, as in ProxySQL.
    #[default]
    All,
    /// One: the one that was the writer before, until another one has all that it has and more.
    NewestGtid,
    /// None of them, until only one says so.
    None,
}

impl SeveralWriters {
    /// All of them, by the name in `hostgroup_settings`.
    pub const ALL: [(&'static str, Self); 3] =
        [("all", Self::All), ("newest_gtid", Self::NewestGtid), ("none", Self::None)];

    /// What `hostgroup_settings` says of it.
    pub(super) fn of(settings: &str) -> Result<Self, String> {
        Ok(json::word(settings, "several_writers", &Self::ALL)?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_one_of_three_words() {
        assert_eq!(SeveralWriters::of(""), Ok(SeveralWriters::All));
        assert_eq!(
            SeveralWriters::of(r#"{"several_writers": "newest_gtid"}"#),
            Ok(SeveralWriters::NewestGtid)
        );
        assert_eq!(SeveralWriters::of(r#"{"several_writers": "none"}"#), Ok(SeveralWriters::None));
        let fault = Err("several_writers is none of all, newest_gtid, none".to_owned());
        assert_eq!(SeveralWriters::of(r#"{"several_writers": "None"}"#), fault);
        assert_eq!(SeveralWriters::of(r#"{"several_writers": null}"#), fault);
    }
}
