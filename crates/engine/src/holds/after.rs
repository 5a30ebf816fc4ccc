//! What a session keeps its lane for once a command has ended, and what becomes of a lane that it
//! does not keep.
//!
//! A command counts as having done all that it may do, unless its server or its text proves
//! otherwise. One that failed, in any place, leaves every reason that it would have given. Both
//! decisions are made here for every command and every end. Names, by which some reasons end, are
//! followed elsewhere; here it only counts that they have ended.

use sql::Effects;

use super::Holds;

/// A command that has ended, and what is known of that.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// What its text may do.
    pub effects: Effects,
    /// The reasons that its text gives.
    pub gives: Holds,
    /// Reasons that are certain to have ended with it.
    pub over: Holds,
    /// Reasons that follow from the configuration.
    pub standing: Holds,
    /// Its reply had several results.
    pub several: bool,
    /// It left warnings, or showed some that are still there.
    pub warned: bool,
    /// The server told of a change in its session that the text does not explain.
    pub hidden: bool,
    /// The flags that the server told last have a transaction open.
    pub in_transaction: bool,
    /// Each statement of the session commits by itself.
    pub autocommit: bool,
    /// It only chooses a schema, which opens no transaction, not even where it fails.
    pub only_schema: bool,
    /// It names what its server locks until the transaction ends, whether or not the flags tell of
    /// one; only asked for where autocommit is off.
    pub locks: bool,
}

/// How a command ended. After a lost connection there is no lane to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Every result came.
    Done,
    /// It prepared a statement, which tells nothing of the session.
    Prepared,
    /// An error came, with which the server says that it did none of it.
    Refused,
    /// An error came, before the first result, between two or in the middle of one; it may have
    /// been interrupted.
    Failed,
}

/// The reasons to keep a lane after a command, by those before it.
#[inline]
pub fn after(before: Holds, ended: &Ended) -> Holds {
    let mut why = before.without(Holds::STANDING).union(ended.standing);
    why = with_transaction(why, ended);
    why.set(Holds::WARNINGS, ended.warned);
    why.union(given(ended)).without(ended.over)
}

/// The reasons that a command gives, as it ended.
fn given(ended: &Ended) -> Holds {
    /// May come to several results by themselves.
    const OF_SEVERAL: Effects = Effects::MULTI_STATEMENT
        .union(Effects::CALLS_PROCEDURE)
        .union(Effects::TEXT_EXECUTE)
        .union(Effects::UNCLEAR);
    let mut given = match ended.how {
        How::Done | How::Prepared | How::Failed => ended.gives,
        How::Refused if ended.gives == Holds::NOT_UNDERSTOOD => Holds::NONE,
        How::Refused => ended.gives.without(Holds::SET),
    };
    given.set(Holds::STATE_CHANGE, given.intersects(Holds::STATE_CHANGE) || ended.hidden);
    // there were statements in it that were not seen
    let unseen = ended.several && !ended.effects.intersects(OF_SEVERAL);
    given.set(Holds::NOT_UNDERSTOOD, given.intersects(Holds::NOT_UNDERSTOOD) || unseen);
    given
}

/// The same reasons with those about transactions brought up to date.
fn with_transaction(mut why: Holds, ended: &Ended) -> Holds {
    let Ended { how, effects, autocommit, in_transaction, .. } = *ended;
    let was_open = why.intersects(Holds::TRANSACTION);
    // an error and a prepare tell no flags: what was open is taken to be open still
    let told = how == How::Done;
    let ends = effects.intersects(Effects::TRANSACTION_END.union(Effects::IMPLICIT_COMMIT));
    let may_begin =
        !ended.only_schema && (!autocommit || effects.intersects(Effects::TRANSACTION_START));
    let failed = matches!(how, How::Refused | How::Failed);
    let untold = !in_transaction
        && !autocommit
        && (effects.intersects(Effects::SAVEPOINT)
            || (ended.locks && !ends)
            || (why.intersects(Holds::UNTOLD_TRANSACTION) && !(told && ends)));
    let is_open = in_transaction || untold || (!told && (was_open || (failed && may_begin)));
    why.set(Holds::UNTOLD_TRANSACTION, untold);
    why.set(Holds::TRANSACTION, is_open);
    if told {
        why = with_characteristics(why, effects, in_transaction);
    }
    why
}

/// The same with those about characteristics of a transaction. One that the server tells of has
/// taken them; one that is only presumed may never have begun, and then they are still to come.
/// Servers forget them at a `COMMIT` or `ROLLBACK` alone, and keep them for the next transaction
/// where this one ends otherwise: by `SET autocommit`, or a deadlock.
fn with_characteristics(mut why: Holds, effects: Effects, in_transaction: bool) -> Holds {
    /// What may have come behind it.
    const MORE: Effects = Effects::MULTI_STATEMENT
        .union(Effects::CALLS_PROCEDURE)
        .union(Effects::TEXT_EXECUTE)
        .union(Effects::UNCLEAR);
    const EITHER: Holds = Holds::NEXT_TRANSACTION.union(Holds::CHARACTERISTICS);
    if !why.intersects(EITHER) {
        return why;
    }
    let ends = effects.intersects(Effects::TRANSACTION_END) && !effects.intersects(MORE);
    let are_forgotten = ends && !why.intersects(Holds::TRANSACTION);
    why = why.without(EITHER);
    why.set(Holds::CHARACTERISTICS, in_transaction);
    why.set(Holds::NEXT_TRANSACTION, !in_transaction && !are_forgotten);
    why
}

/// What becomes of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Its session keeps it.
    Kept,
    /// It is any session's.
    Free,
    /// It is any session's once it has been reset.
    Reset,
    /// It is closed.
    Closed,
}

/// A lane whose session runs nothing on it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Why the session keeps it.
    pub why: Holds,
    /// The session gives up whatever it has.
    pub for_good: bool,
    /// Nothing is on its way.
    pub quiet: bool,
    /// Its texts may have several statements, so that one may have switched the schema after
    /// another had the server tell nothing of that.
    pub several: bool,
    /// A part of a command that failed may have been done.
    pub unsure: bool,
}

/// Decides what becomes of a lane. One that is not known to be clean is reset, and one of which a
/// reset is not known to leave nothing is closed.
#[inline]
pub fn fate(left: &Left) -> Fate {
    let why = left.why;
    match left {
        Left { for_good: false, .. } if !why.is_empty() => Fate::Kept,
        Left { quiet: false, .. } => Fate::Closed,
        Left { several: true, .. } if why.intersects(Holds::STATE_CHANGE) => Fate::Closed,
        _ if !why.end_with_a_reset() => Fate::Closed,
        Left { unsure: true, .. } => Fate::Reset,
        _ if !why.leave_it_clean() => Fate::Reset,
        _ => Fate::Free,
    }
}

#[cfg(test)]
mod tests;
