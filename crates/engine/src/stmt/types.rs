//! The parameter types in a kept `COM_STMT_EXECUTE` or `COM_STMT_BULK_EXECUTE`.

use std::ops::Range;

use wire::command::code;
use wire::execute::cursor;
use wire::frame::{HEADER_BYTES, Header, MAX_PAYLOAD};

use crate::stmt::LaneStmt;

/// Where a command says whether types follow: the byte, and the bit in it that says so. They follow
/// right after the range.
struct Flag {
    at: Range<usize>,
    bit: u8,
}

fn flag_in(kept: &[u8], params: u16) -> Option<Flag> {
    /// Code, id, cursor flags, iterations; then the NULLs.
    const EXECUTE_FIXED: usize = 10;
    /// Code and id; then the flags.
    const BULK_FIXED: usize = 5;
    const BULK_SENDS_TYPES: u8 = 128;
    let flag = match *kept.get(HEADER_BYTES)? {
        code::STMT_EXECUTE => {
            let at = HEADER_BYTES + EXECUTE_FIXED + usize::from(params).div_ceil(8);
            Flag { at: at..at + 1, bit: 1 }
        }
        code::STMT_BULK_EXECUTE => {
            let at = HEADER_BYTES + BULK_FIXED;
            Flag { at: at..at + 2, bit: BULK_SENDS_TYPES }
        }
        _ => return None,
    };
    (params > 0 && flag.at.end <= kept.len()).then_some(flag)
}

/// The parameter types in a kept command, if it has them: two bytes each.
pub(crate) fn types_in(kept: &[u8], params: u16) -> Option<&[u8]> {
    let flag = flag_in(kept, params)?;
    if kept.get(flag.at.start)? & flag.bit == 0 {
        return None;
    }
    kept.get(flag.at.end..flag.at.end + 2 * usize::from(params))
}

/// Which parameters of a kept execution without a cursor are `NULL`, with the values of the others;
/// `None` where it has a cursor, several rows, or is cut.
pub(crate) fn values_in(kept: &[u8], params: u16) -> Option<[&[u8]; 2]> {
    /// Code, id, cursor flags, iterations.
    const FIXED: usize = 10;
    let rest = kept.get(HEADER_BYTES + FIXED..)?;
    let head = kept.get(HEADER_BYTES..HEADER_BYTES + FIXED)?;
    let is_one = head.first() == Some(&code::STMT_EXECUTE) && head.get(5) == Some(&cursor::NONE);
    if !is_one || params == 0 {
        return Some([&[][..]; 2]).filter(|_| is_one);
    }
    let flag = flag_in(kept, params)?;
    let types = types_in(kept, params).map_or(0, <[u8]>::len);
    let nulls = rest.get(..usize::from(params).div_ceil(8))?;
    Some([nulls, kept.get(flag.at.end + types..)?])
}

/// Whether a command is too short for what it says that it has, or has no types where none are
/// known.
pub(crate) fn lacks_types(raw: &[u8], params: u16, known: &[u8]) -> bool {
    match flag_in(raw, params).map(|flag| raw.get(flag.at.start).unwrap_or(&0) & flag.bit) {
        _ if params == 0 => false,
        None => true,
        Some(0) => known.is_empty(),
        Some(_) => types_in(raw, params).is_none(),
    }
}

/// Adds the parameter types to a kept execution that was noted, where the server would read it with
/// others or with none, and notes what the server knows then.
pub(crate) fn tell_types(
    kept: &mut Vec<u8>,
    (params, types): (u16, &[u8]),
    on_lane: Option<&mut LaneStmt>,
    shares: bool,
) {
    let told = on_lane.as_ref().is_some_and(|on_lane| on_lane.knows_types());
    // an execution on a shared lane cannot rely on those before it to succeed
    let relies = told && !shares;
    if relies || types.is_empty() {
        return;
    }
    let sends = types_in(kept, params).is_some() || insert_types(kept, params, types);
    if let Some(on_lane) = on_lane.filter(|_| sends) {
        on_lane.tell_types();
        // should it be taken off the lane, nobody sees whether it fails
        if shares && !told {
            on_lane.forget_types();
        }
    }
}

/// Adds parameter types to a kept command that has none; `false` when it has no place for them.
fn insert_types(kept: &mut Vec<u8>, params: u16, types: &[u8]) -> bool {
    let Some(flag) = flag_in(kept, params) else { return false };
    let Some(header) = Header::parse(kept) else { return false };
    // the header counts what is still to come of a long command, too
    let len = header.len + types.len();
    if types.len() != 2 * usize::from(params) || len >= MAX_PAYLOAD {
        return false;
    }
    if let Some(byte) = kept.get_mut(flag.at.start) {
        *byte |= flag.bit;
    }
    kept.splice(flag.at.end..flag.at.end, types.iter().copied());
    let header = Header { len, seq: 0 }.encode();
    if let Some(place) = kept.get_mut(..HEADER_BYTES) {
        place.copy_from_slice(&header);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ServerStmtId, StmtKey};
    use crate::link::{Charset, LinkState};
    use crate::slab::Key;
    use crate::stmt::{Manner, OnLane, Wanted};

    fn execute(flag: u8, rest: &[u8]) -> Vec<u8> {
        framed(vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, flag], rest)
    }

    fn framed(mut payload: Vec<u8>, rest: &[u8]) -> Vec<u8> {
        payload.extend_from_slice(rest);
        let length = u8::try_from(payload.len()).unwrap();
        [vec![length, 0, 0, 0], payload].concat()
    }

    #[test]
    fn types_are_found_where_the_flag_says_so() {
        let with = execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']);
        assert_eq!(types_in(&with, 2), Some([3, 0, 253, 0].as_slice()));
        assert_eq!(types_in(&execute(0, &[7, 0, 0, 0, 1, b'x']), 2), None);
    }

    #[test]
    fn an_execution_without_types_that_are_known_or_cut_short_lacks_them() {
        let types = [3, 0, 253, 0];
        let with = execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']);
        let without = execute(0, &[7, 0, 0, 0, 1, b'x']);
        assert!(!lacks_types(&with, 2, &[]));
        assert!(!lacks_types(&without, 2, &types));
        assert!(lacks_types(&without, 2, &[]));
        for cut in 0..with.len() - 6 {
            assert!(lacks_types(&with[..cut], 2, &types), "{cut}");
            assert!(!lacks_types(&with[..cut], 0, &[]), "{cut}");
        }
    }

    #[test]
    fn types_go_between_the_flag_and_the_values() {
        let mut kept = execute(0, &[7, 0, 0, 0, 1, b'x']);
        assert!(insert_types(&mut kept, 2, &[3, 0, 253, 0]));
        assert_eq!(kept, execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']));
    }

    /// What is sent of an execution without types, alone or shared, on a lane with the statement.
    fn sent(lane: &mut OnLane, shares: bool) -> Vec<u8> {
        let mut kept = execute(0, &[7, 0, 0, 0, 1, b'x']);
        let state = LinkState::new(None, Charset::Collation(45));
        let (key, types) = (StmtKey::new(1, 0), [3, 0, 253, 0].as_slice());
        let manner = Manner::new(state.read_by(false), false);
        let wanted = Wanted { key, types, manner };
        let mut on_lane = lane.take(wanted, None);
        on_lane.as_mut().expect("it is there").note_execution(wanted);
        tell_types(&mut kept, (2, types), on_lane, shares);
        kept
    }

    #[test]
    fn types_of_a_shared_execution_are_told_again_by_the_next() {
        let bare = execute(0, &[7, 0, 0, 0, 1, b'x']);
        let typed = execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']);
        let mut lane = OnLane::default();
        lane.insert(StmtKey::new(1, 0), ServerStmtId(1), None);
        // it may have been taken off its lane, and nobody knows what came of it
        assert_eq!(sent(&mut lane, true), typed);
        assert_eq!(sent(&mut lane, false), typed, "nobody has told them for certain");
        assert_eq!(sent(&mut lane, false), bare, "the one before has");
        assert_eq!(sent(&mut lane, true), typed, "among others it relies on none before it");
        assert_eq!(sent(&mut lane, false), bare, "they are what they were");
    }

    #[test]
    fn a_bulk_execute_has_its_types_before_its_rows() {
        let bulk = |flags: u8, rest: &[u8]| framed(vec![0xfa, 1, 0, 0, 0, flags, 0], rest);
        let mut kept = bulk(64, &[0, 7, 0, 0, 0]);
        assert_eq!(types_in(&kept, 1), None);
        assert!(insert_types(&mut kept, 1, &[3, 0]));
        assert_eq!(kept, bulk(64 | 128, &[3, 0, 0, 7, 0, 0, 0]));
        assert_eq!(types_in(&kept, 1), Some([3, 0].as_slice()));
    }
}
