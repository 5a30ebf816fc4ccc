//! Annotations: what a client asks of the proxy in the first comment of a query.
//!
//! A comment holds `key=value` pairs between semicolons. What is not one of the known keys is an
//! ordinary remark; a known key with a value that cannot be is not followed, and said to be so.

/// What the first comment asks for; `None` where it says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hints<'a> {
    /// `hostgroup`: where the query goes, whatever the rules say.
    pub hostgroup: Option<u32>,
    /// `cache_ttl`, in milliseconds.
    pub cache_ttl_ms: Option<u32>,
    /// `query_timeout`, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// `query_delay`, in milliseconds.
    pub delay_ms: Option<u32>,
    /// `query_retries`.
    pub retries: Option<u32>,
    /// `mirror`: the hostgroup that gets a copy.
    pub mirror: Option<u32>,
    /// `max_lag_ms`: how far behind a replica may be, in milliseconds.
    pub max_lag_ms: Option<u32>,
    /// `min_epoch_ms`: data must be at least as new as this time since 1970, in milliseconds.
    pub min_epoch_ms: Option<u64>,
    /// `min_gtid`, as written: `uuid:number`.
    pub min_gtid: Option<&'a [u8]>,
    /// `create_new_connection=1`: a connection made for this query, and not pooled.
    pub new_connection: bool,
    /// The first pair with a known key that was not followed since its value cannot be.
    pub not_understood: Option<&'a [u8]>,
}

/// The annotations of a comment, given with or without its marks.
pub fn parse_hints(comment: &[u8]) -> Hints<'_> {
    let mut hints = Hints::default();
    let body = comment.strip_prefix(b"/*").unwrap_or(comment);
    let body = body.strip_suffix(b"*/").unwrap_or(body);
    for pair in body.split(|byte| *byte == b';') {
        let pair = pair.trim_ascii();
        if hints.take(pair).is_none() && hints.not_understood.is_none() {
            hints.not_understood = Some(pair);
        }
    }
    hints
}

impl<'a> Hints<'a> {
    /// Follows a pair; `None` when its key is known and its value cannot be.
    fn take(&mut self, pair: &'a [u8]) -> Option<()> {
        let Some(equals) = memchr::memchr(b'=', pair) else { return Some(()) };
        let (key, value) = pair.split_at_checked(equals)?;
        let (key, value) = (key.trim_ascii(), value.get(1..)?.trim_ascii());
        match key {
            b"hostgroup" => self.hostgroup = Some(number(value, i32::MAX as u64)?),
            b"cache_ttl" => self.cache_ttl_ms = Some(number(value, i32::MAX as u64)?),
            b"query_timeout" => self.timeout_ms = Some(number(value, i32::MAX as u64)?),
            b"query_delay" => self.delay_ms = Some(number(value, i32::MAX as u64)?),
            b"query_retries" => self.retries = Some(number(value, i32::MAX as u64)?),
            b"mirror" => self.mirror = Some(number(value, i32::MAX as u64)?),
            b"max_lag_ms" => self.max_lag_ms = Some(number(value, MAX_LAG_MS)?),
            b"min_epoch_ms" => self.min_epoch_ms = Some(digits(value)?),
            b"min_gtid" => self.min_gtid = Some(gtid(value)?),
            b"create_new_connection" => self.new_connection = number(value, 1)? == 1,
            _ => {}
        }
        Some(())
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        Self { not_understood: None, ..*self } == Self::default()
    }
}

fn number(value: &[u8], limit: u64) -> Option<u32> {
    let number = digits(value)?;
    if number > limit { None } else { u32::try_from(number).ok() }
}

fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// `uuid:number`, with or without the dashes of the UUID.
fn gtid(value: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memchr(b':', value)?;
    let (uuid, number) = value.split_at_checked(colon)?;
    digits(number.get(1..)?)?;
    let hex = uuid.iter().filter(|byte| **byte != b'-');
    let is_uuid = hex.clone().count() == 32 && hex.clone().all(u8::is_ascii_hexdigit);
    is_uuid.then_some(value)
}

/// Ten minutes: no replica further behind is worth asking for.
const MAX_LAG_MS: u64 = 600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pairs_between_semicolons_among_blanks() {
        let hints = parse_hints(b"/* hostgroup=12; max_lag_ms = 500 ;cache_ttl=7;*/");
        let expected = Hints {
            hostgroup: Some(12),
            max_lag_ms: Some(500),
            cache_ttl_ms: Some(7),
            ..Hints::default()
        };
        assert_eq!(hints, expected);
    }

    #[test]
    fn reads_every_key() {
        let hints = parse_hints(
            b"query_timeout=1;query_delay=2;query_retries=3;mirror=4;min_epoch_ms=1700000000123;\
              min_gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562:23;create_new_connection=1",
        );
        let expected = Hints {
            timeout_ms: Some(1),
            delay_ms: Some(2),
            retries: Some(3),
            mirror: Some(4),
            min_epoch_ms: Some(1_700_000_000_123),
            min_gtid: Some(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:23"),
            new_connection: true,
            ..Hints::default()
        };
        assert_eq!(hints, expected);
    }

    #[test]
    fn a_value_that_cannot_be_is_reported_and_not_followed() {
        for pair in [
            "hostgroup=-1",
            "hostgroup=a",
            "hostgroup=",
            "hostgroup=99999999999999999999999",
            "max_lag_ms=600001",
            "min_gtid=abc:1",
            "min_gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562",
            "create_new_connection=2",
        ] {
            let text = format!("/* {pair}; mirror=3 */");
            let hints = parse_hints(text.as_bytes());
            assert_eq!(hints.not_understood, Some(pair.as_bytes()), "{pair}");
            assert_eq!(Hints { not_understood: None, ..hints }, parse_hints(b"mirror=3"), "{pair}");
        }
    }

    #[test]
    fn a_remark_is_no_annotation() {
        for text in ["/* list of orders */", "/* a=b */", "/**/", "/* ; ; */", "hostgroup", ""] {
            let hints = parse_hints(text.as_bytes());
            assert!(hints.is_empty() && hints.not_understood.is_none(), "{text}");
        }
    }
}
