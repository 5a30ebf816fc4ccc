//! What a client believes of its session: the shadow that every answer is held against.
//! Knows no bytes and no sockets.

use wire::{Caps, Status};

use crate::meta::{AnswerKind, Bearing, Counts, Home, Meta, Shape};
use crate::settings::Settings;

/// A statement that a client has prepared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Handle {
    /// The id that the proxy gave it.
    pub(super) id: u32,
    /// It is a `SELECT`.
    pub(super) reads: bool,
    /// It is an `INSERT … RETURNING`.
    pub(super) returns: bool,
    /// Its text.
    pub(super) text: Meta,
    /// What its connection was when it was prepared.
    pub(super) home: Home,
    /// Only the server knew by then in which modes it read the text.
    pub(super) unsure: bool,
    /// The parameter's type, if one was sent.
    pub(super) kind: Option<u8>,
    /// Data was sent for it that no execution is to find.
    pub(super) littered: bool,
}

/// How a command changes the session when it succeeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Schema(String),
    Collation(u16),
    Autocommit(bool),
    /// Variables and their values; nothing for what a new connection has.
    Set(Vec<(String, Option<String>)>),
    Transaction(u32),
    End,
    Pin(u32),
    InsertId(u64),
    Warned(u32),
    /// Prepared; the id comes with the answer.
    Prepared(Handle),
    /// The cursor of a statement stands before this row of that result.
    Cursor(Option<(u32, Meta, u32)>),
    /// This type was sent for the parameter of a statement.
    Typed(u32, u8),
    /// The data that was sent for a statement is gone.
    Cleared(u32),
    /// The server has ended the transaction, which the proxy cannot know yet.
    Deadlock,
    Reset,
    /// The next statement meets other rules, or not.
    Flagged(bool),
    /// `COM_CHANGE_USER` to this account.
    User(String),
}

/// The session.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) tag: u32,
    pub(super) caps: Caps,
    pub(super) user: String,
    pub(super) relayed: bool,
    pub(super) schema: String,
    pub(super) collation: u16,
    pub(super) autocommit: bool,
    pub(super) settings: Settings,
    pub(super) transaction: u32,
    pub(super) pin: u32,
    pub(super) insert_id: u64,
    pub(super) warned: u32,
    /// What the last statement came to, where that is sure.
    pub(super) counts: Option<Counts>,
    pub(super) must_roll_back: bool,
    /// The proxy may have tied the session to a connection of its choice.
    pub(super) stuck: bool,
    /// Any server may take the writes, and be read from.
    pub(super) wanders: bool,
    /// The next statement meets other rules.
    pub(super) flagged: bool,
    pub(super) handles: Vec<Handle>,
    pub(super) cursor: Option<(u32, Meta, u32)>,
    /// It has set nothing since its login, not even to what that was.
    pub(super) is_plain: bool,
    pub(super) first_schema: String,
    pub(super) first_collation: u16,
}

/// The servers of a simulation, by what they are for.
pub(crate) const PRIMARY: [&str; 1] = ["prima"];
/// The readers.
pub(crate) const READERS: [&str; 2] = ["rhea", "rosa"];
const ALL: [&str; 3] = ["prima", "rhea", "rosa"];

impl Model {
    pub(super) fn new(tag: u32, user: &str, schema: &str, collation: u16, caps: Caps) -> Self {
        Self {
            tag,
            caps,
            user: user.into(),
            relayed: user == "fay",
            schema: schema.into(),
            collation,
            autocommit: true,
            settings: Settings::default(),
            transaction: 0,
            pin: 0,
            insert_id: 0,
            warned: 0,
            counts: None,
            must_roll_back: false,
            stuck: false,
            wanders: false,
            flagged: false,
            handles: Vec::new(),
            cursor: None,
            is_plain: true,
            first_schema: schema.into(),
            first_collation: collation,
        }
    }

    pub(super) fn status(&self) -> Status {
        let mut status = Status::NONE;
        if self.autocommit {
            status = status | Status::AUTOCOMMIT;
        }
        if self.transaction != 0 {
            status = status | Status::IN_TRANS;
        }
        status
    }

    pub(super) fn home(&self) -> Home {
        let (schema, settings) = (self.schema.clone(), self.settings.to_string());
        Home { schema, collation: self.collation, settings }
    }

    pub(super) fn bearing(&self) -> Bearing {
        Bearing {
            user: self.user.clone(),
            schema: self.schema.clone(),
            collation: self.collation,
            autocommit: self.autocommit,
            settings: self.settings.to_string(),
            transaction: self.transaction,
            pin: self.pin,
        }
    }

    pub(super) fn meta(&self, number: u32, shape: Shape) -> Meta {
        Meta {
            tag: self.tag,
            number,
            bearing: self.bearing(),
            opens: false,
            pins: false,
            insert_id: None,
            warned: 0,
            counts: None,
            shape,
        }
    }

    /// The servers that may answer a statement.
    pub(super) fn servers(&self, meta: &Meta, reads: bool) -> &'static [&'static str] {
        let bearing = &meta.bearing;
        let tied = bearing.transaction != 0 || bearing.pin != 0 || !self.autocommit;
        if self.wanders {
            &ALL
        } else if self.relayed
            || tied
            || matches!(meta.shape.kind, AnswerKind::Write | AnswerKind::Returning)
        {
            &PRIMARY
        } else if meta.warned != 0 || meta.insert_id.is_some() || self.stuck {
            &ALL
        } else if reads {
            &READERS
        } else {
            &PRIMARY
        }
    }

    /// Data for a statement was sent, or is gone.
    pub(super) fn litter(&mut self, id: Option<u32>, littered: bool) {
        let of_id = self.handles.iter_mut().filter(|handle| Some(handle.id) == id);
        of_id.for_each(|handle| handle.littered = littered);
    }

    /// Whether data was sent for a statement that no execution is to find.
    pub(super) fn is_littered(&self) -> bool {
        self.handles.iter().any(|handle| handle.littered)
    }

    /// Whether any statement may come now.
    pub(super) fn is_at_ease(&self) -> bool {
        !self.must_roll_back && !self.flagged && self.cursor.is_none() && self.warned == 0
    }

    /// Whether what many ask may come now, and leaves nothing behind.
    pub(super) fn shares(&self) -> bool {
        self.is_at_ease() && self.autocommit && !self.relayed
    }

    pub(super) fn after(&self, effects: &[Effect]) -> Self {
        let mut after = self.clone();
        effects.iter().for_each(|effect| after.apply(effect));
        after
    }

    pub(super) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Schema(schema) => self.schema.clone_from(schema),
            Effect::Collation(id) => self.collation = *id,
            Effect::Autocommit(on) => {
                self.autocommit = *on;
                if *on {
                    self.transaction = 0;
                }
            }
            Effect::Set(changes) => {
                changes.iter().for_each(|(name, to)| self.settings.set(name, to.as_deref()));
            }
            Effect::Transaction(number) => self.transaction = *number,
            Effect::End => {
                self.transaction = 0;
                self.must_roll_back = false;
            }
            Effect::Deadlock => {
                self.transaction = 0;
                self.must_roll_back = true;
            }
            Effect::Pin(number) => self.pin = *number,
            Effect::InsertId(id) => self.insert_id = *id,
            Effect::Warned(number) => self.warned = *number,
            Effect::Typed(id, kind) => {
                let of_id = self.handles.iter_mut().filter(|handle| handle.id == *id);
                of_id.for_each(|handle| handle.kind = Some(*kind));
            }
            Effect::Cleared(id) => self.litter(Some(*id), false),
            Effect::Prepared(handle) => self.handles.push(handle.clone()),
            Effect::Cursor(cursor) => self.cursor.clone_from(cursor),
            Effect::Flagged(on) => self.flagged = *on,
            Effect::Reset => {
                let (first, collation) = (self.first_schema.clone(), self.first_collation);
                let schema = std::mem::take(&mut self.schema);
                let fresh = Self::new(self.tag, &self.user, &first, collation, self.caps);
                *self = Self { schema, wanders: self.wanders, ..fresh };
            }
            Effect::User(user) => {
                // the schema is the one that was asked for, the collation too
                let (schema, collation) = (self.first_schema.clone(), self.first_collation);
                let fresh = Self::new(self.tag, user, &schema, collation, self.caps);
                *self = Self { wanders: self.wanders, ..fresh };
            }
        }
        self.is_plain &= !matches!(
            effect,
            Effect::Schema(_)
                | Effect::Collation(_)
                | Effect::Autocommit(_)
                | Effect::Set(_)
                | Effect::Reset
                | Effect::User(_)
        );
    }
}
