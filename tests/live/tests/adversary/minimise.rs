//! The shortest sessions that still differ.

use crate::script::{Manner, Script};
use crate::stage::{Difference, Stage};

/// How many attempts are worth it.
const ATTEMPTS_MAX: usize = 150;

/// Leaves out of sessions that ran one after the other, of which the last differed, whatever the
/// difference does not need.
pub(crate) fn minimise(
    stage: &mut Stage,
    mut sessions: Vec<Script>,
) -> Option<(Vec<Script>, Vec<Difference>)> {
    let mut left = ATTEMPTS_MAX;
    let mut last = attempt(stage, &sessions);
    if last.is_empty() {
        return None;
    }
    let mut keep = |stage: &mut Stage, now: &mut Vec<Script>, shorter: Vec<Script>| {
        if left == 0 {
            return false;
        }
        left -= 1;
        let found = attempt(stage, &shorter);
        let differs = !found.is_empty();
        if differs {
            (*now, last) = (shorter, found);
        }
        differs
    };
    if let Some(alone) = sessions.last().cloned() {
        keep(stage, &mut sessions, vec![alone]);
    }
    let mut at = 0;
    while at + 1 < sessions.len() {
        let mut shorter = sessions.clone();
        shorter.remove(at);
        at += usize::from(!keep(stage, &mut sessions, shorter));
    }
    for session in (0..sessions.len()).rev() {
        let mut simpler = sessions.clone();
        (simpler[session].manner, simpler[session].no_eof) = (Manner::InTurn, false);
        keep(stage, &mut sessions, simpler);
        let mut at = sessions[session].lines.len();
        while at > 0 {
            at -= 1;
            let mut shorter = sessions.clone();
            shorter[session].lines.remove(at);
            keep(stage, &mut sessions, shorter);
        }
    }
    Some((sessions, last))
}

fn attempt(stage: &mut Stage, sessions: &[Script]) -> Vec<Difference> {
    stage.reset_and_read();
    let mut found = Vec::new();
    for script in sessions {
        found = stage.compare(script);
        if !found.is_empty() {
            break;
        }
    }
    found
}
