//! Which names stand in a text, and what they look like: a table or view, a function or procedure
//! that is called, or anything else.
//!
//! There is no syntax tree. Every name is given, so that a caller that knows what exists misses
//! nothing. The role is what the words around a name say; it matters only for names that are not
//! known.

use crate::Modes;
use crate::calls::{is_native, is_of_one_kind, is_own_function};
use crate::lexer::{Lexer, Token, TokenKind};

/// What a name looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It stands where a table or view does.
    Table,
    /// A parenthesis follows, and no word of the language is meant.
    Call,
    /// The same of the name of a function that servers have, with a blank before the parenthesis:
    /// that is meant, or a stored function of the name.
    OwnCall,
    /// The same without the blank, of a function that not every server has: a stored function's to
    /// the others.
    DoubtfulCall,
    /// It stands behind `CALL`.
    Procedure,
    /// A schema, column, alias, variable, or a word of the language.
    Other,
}

/// The names of a text, from left to right, without their quotes; doubled ones within are as they
/// stand there.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    lexer: Lexer<'a>,
    token: Option<Token>,
    /// Word before the one at hand; empty where that is none.
    before: &'a [u8],
    levels: [Level; LEVELS],
    /// The same of depths from `LEVELS` on.
    deeper: Vec<Level>,
    /// Parentheses that are open.
    depth: usize,
    /// A dot stands in front of the name at hand.
    qualified: bool,
    /// One stood in front of the name given last.
    behind_dot: bool,
    /// The name of a server's own schema stands in front of the one at hand.
    of_server: bool,
    /// Tables that a `WITH` makes, each with the depth of that.
    made: Vec<(&'a [u8], usize)>,
    /// Those whose queries have not ended, in which the name is still another's: with the depth
    /// at which they stand, and whether the `AS` has come.
    making: Vec<(&'a [u8], usize, bool)>,
    /// In the `WITH` at hand, queries may name their own tables.
    recursive: bool,
    /// A `SELECT`, `WHERE`, or the `VALUES` of rows was passed.
    queries: bool,
    /// The statement had the word `TABLE`.
    has_table: bool,
    /// It is an `EXPLAIN`.
    explains: bool,
    /// A brace was opened in front of the word at hand, as in `{OJ a LEFT JOIN b}`.
    braced: bool,
}

/// What is known at one depth of parentheses.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// A statement stands there, not a list of arguments.
    statement: bool,
    /// Rows are put into a table.
    inserts: bool,
    /// Rows are deleted.
    deletes: bool,
    /// What comes next.
    expects: Expects,
    /// A comma leads to another table.
    list: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Expects {
    #[default]
    Anything,
    Table,
    Procedure,
    /// The name of a table that a `WITH` makes.
    Made,
    /// An alias.
    Alias,
}

/// Whether a text names what another session may change or drop: a table, stored code, or the
/// object of a `SHOW CREATE`. Servers lock that until the transaction ends.
pub fn names_objects(text: &[u8], modes: Modes) -> bool {
    let is_create = |name: &[u8]| name.eq_ignore_ascii_case(b"CREATE");
    names(text, modes).any(|(name, role)| role != Role::Other || is_create(name))
}

/// The names of `text`, read as `modes` say.
pub fn names(text: &[u8], modes: Modes) -> Names<'_> {
    let mut lexer = Lexer::new(text, modes);
    let token = lexer.next_token();
    let mut names = Names {
        lexer,
        token,
        before: b"",
        levels: [Level::default(); LEVELS],
        deeper: Vec::new(),
        depth: 0,
        qualified: false,
        behind_dot: false,
        of_server: false,
        made: Vec::new(),
        making: Vec::new(),
        recursive: false,
        queries: false,
        has_table: false,
        explains: false,
        braced: false,
    };
    names.begin();
    names
}

impl<'a> Iterator for Names<'a> {
    type Item = (&'a [u8], Role);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let token = self.token?;
            self.token = self.lexer.next_token();
            let name = match token.kind {
                TokenKind::Word => self.lexer.slice(token),
                TokenKind::Quoted => self.lexer.unquoted(token),
                TokenKind::At | TokenKind::SystemAt => {
                    self.skip_variable(token);
                    continue;
                }
                kind => {
                    self.mark(kind);
                    continue;
                }
            };
            let before = std::mem::replace(&mut self.before, name);
            let qualified = std::mem::take(&mut self.qualified);
            self.behind_dot = qualified;
            let is_word = token.kind == TokenKind::Word && !qualified;
            let braced = std::mem::take(&mut self.braced);
            if is_word && !self.names_table(name) && self.clause(name, before) {
                self.queries |= is_one_of(name, &["SELECT", "WHERE"])
                    || self.lists_rows(name)
                    || self.reads_table(name, before);
                match is_one_of(name, &NOT_RESERVED) {
                    true => return Some((name, Role::Other)),
                    false => continue,
                }
            }
            if braced && self.level().expects == Expects::Table {
                // a table follows, or the word is one
                return Some((name, Role::Table));
            }
            self.explains |= is_word && is_one_of(name, &["EXPLAIN", "DESCRIBE", "DESC"]);
            let role = match self.role(name, is_word) {
                Role::Other if is_word && self.is_called_apart(token) && is_own_function(name) => {
                    Role::OwnCall
                }
                role => role,
            };
            return Some((name, role));
        }
    }
}

impl<'a> Names<'a> {
    /// Whether the name given last stands behind a `SELECT`, a `WHERE`, the `VALUES` of rows, or
    /// the `TABLE` of a query: a call there is one.
    pub fn is_in_query(&self) -> bool {
        self.queries
    }

    /// Whether the name given last stands behind that of its schema or table.
    pub fn is_qualified(&self) -> bool {
        self.behind_dot
    }

    /// A statement begins.
    fn begin(&mut self) {
        self.depth = 0;
        (self.has_table, self.explains) = (false, false);
        self.making.clear();
        self.made.clear();
        *self.level() = Level { statement: true, ..Level::default() };
    }

    fn level(&mut self) -> &mut Level {
        let [first, others @ ..] = &mut self.levels;
        let Some(at) = self.depth.checked_sub(1) else { return first };
        let Some(at) = at.checked_sub(LEVELS - 1) else {
            return others.get_mut(at).unwrap_or(first);
        };
        let at = at.min(DEEPER_MAX);
        self.deeper.resize(self.deeper.len().max(at + 1), Level::default());
        self.deeper.get_mut(at).unwrap_or(first)
    }

    /// Whether a word that leads elsewhere is the name of a table here: no server has reserved it.
    fn names_table(&mut self, word: &[u8]) -> bool {
        let called = self.is_next(b'(');
        let level = self.level();
        let may_be = level.expects == Expects::Table && (!called || level.inserts);
        may_be && is_one_of(word, &NOT_RESERVED)
    }

    fn is_next(&self, punct: u8) -> bool {
        self.token.is_some_and(|token| token.kind == TokenKind::Punct(punct))
    }

    /// Whether a word begins a list of rows, and not that of what a partition holds.
    fn lists_rows(&self, word: &[u8]) -> bool {
        let is_row = |token| is_one_of(self.lexer.slice(token), &["ROW"]);
        is_one_of(word, &["VALUES"]) && (self.is_next(b'(') || self.token.is_some_and(is_row))
    }

    /// Whether a word is the `TABLE t` that stands for `SELECT * FROM t`, and not that of a
    /// definition.
    fn reads_table(&mut self, word: &[u8], before: &[u8]) -> bool {
        if !is_one_of(word, &["TABLE"]) {
            return false;
        }
        let is_first = !std::mem::replace(&mut self.has_table, true);
        self.explains || !(is_first && is_one_of(before, &IN_FRONT_OF_TABLE))
    }

    /// Whether something is between a name and the parenthesis behind it.
    fn is_called_apart(&self, name: Token) -> bool {
        self.is_next(b'(') && self.token.is_some_and(|next| next.start != name.end)
    }

    /// Goes past the name of a variable, and the scope of a system variable.
    fn skip_variable(&mut self, at: Token) {
        self.before = b"";
        let (mut end, mut names) = (at.end, true);
        while let Some(token) = self.token.filter(|token| token.start == end) {
            names = match token.kind {
                TokenKind::Word | TokenKind::Quoted | TokenKind::Text if names => false,
                TokenKind::Punct(b'.') => true,
                // a name right behind another one is none of the variable's
                _ => break,
            };
            end = token.end;
            self.token = self.lexer.next_token();
        }
        self.level().expects = Expects::Anything;
    }

    fn mark(&mut self, kind: TokenKind) {
        self.before = b"";
        self.qualified = false;
        let level = self.level();
        match kind {
            TokenKind::Punct(b'(') => {
                let expects_table = level.expects == Expects::Table;
                let mut inner = Level { list: expects_table, ..Level::default() };
                if expects_table {
                    inner.expects = Expects::Table;
                    level.expects = Expects::Alias;
                    level.list = true;
                }
                self.depth += 1;
                *self.level() = inner;
            }
            TokenKind::Punct(b')') => {
                self.depth = self.depth.saturating_sub(1);
                let depth = self.depth;
                let is_over = |making: &mut (&[u8], usize, bool)| making.1 == depth && making.2;
                self.made.retain(|(_, made_at)| *made_at <= depth);
                self.made.extend(self.making.pop_if(is_over).map(|(name, at, _)| (name, at)));
            }
            TokenKind::Punct(b',') if level.list => level.expects = Expects::Table,
            TokenKind::Punct(b',') if level.expects == Expects::Alias => {}
            TokenKind::Punct(b';') => self.begin(),
            // a schema or table in front of the name
            TokenKind::Punct(b'.') => self.qualified = true,
            TokenKind::Punct(b'{') => self.braced = true,
            _ if level.expects != Expects::Made => level.expects = Expects::Anything,
            _ => {}
        }
    }

    /// Takes a word that says what follows; false for any other.
    fn clause(&mut self, word: &[u8], before: &[u8]) -> bool {
        let called = self.is_next(b'(');
        let is = |list: &[&str]| is_one_of(word, list);
        let was = |list: &[&str]| is_one_of(before, list);
        let level = self.level();
        // a column or an alias may have any of these names behind a dot
        if is(&["SELECT"]) {
            *level = Level { statement: true, inserts: level.inserts, ..Level::default() };
        } else if is(&["INSERT", "REPLACE"]) && !called {
            *level = Level { statement: true, inserts: true, expects: Expects::Table, ..*level };
        } else if is(&["DELETE"]) {
            *level = Level { statement: true, deletes: true, ..Level::default() };
        } else if is(&["UPDATE"]) {
            let heads = !was(&["FOR", "KEY", "ON", "BEFORE", "AFTER"]);
            level.list = false;
            if heads {
                level.expects = Expects::Table;
            }
        } else if is(&["FROM"]) && was(&["SYSTEM_TIME"]) || is(&["JOIN"]) && was(&["FOR"]) {
            // about the table in front, or what an index of it is for
        } else if is(&["FROM"]) {
            level.expects = if level.statement { Expects::Table } else { Expects::Anything };
            level.list = false;
        } else if is(&["STRAIGHT_JOIN"]) && !level.list {
            // of the SELECT
        } else if is(&["JOIN", "STRAIGHT_JOIN"])
            || (is(&["TABLE", "TABLES", "TRUNCATE"]) && !called)
            || (is(&["USING"]) && level.deletes && !called)
        {
            level.expects = Expects::Table;
        } else if is(&["INTO"]) {
            level.list = false;
            level.expects = if level.inserts { Expects::Table } else { Expects::Anything };
        } else if is(&["CALL"]) {
            level.expects = Expects::Procedure;
        } else if is(&["WITH"]) && !was(&["START"]) && !called {
            level.expects = Expects::Made;
            self.recursive = false;
        } else if is(&["RECURSIVE"]) && was(&["WITH"]) {
            self.recursive = true;
        } else if is(&["AS"]) {
            let depth = self.depth;
            if let Some(making) = self.making.last_mut().filter(|making| making.1 == depth) {
                making.2 = true;
            }
            let level = self.level();
            if level.expects != Expects::Made {
                level.expects = Expects::Alias;
            }
        } else if is(&["ORDER", "GROUP"]) && was(&["FOR"]) {
            // likewise
        } else if is(&ENDS_LIST) || is(&["VALUE"]) && called {
            level.list = false;
            level.expects = Expects::Anything;
        } else {
            // words between these and the name they lead to
            let leads = is(&BETWEEN) || is(&["LATERAL"]) && called;
            return level.expects != Expects::Anything && leads && !self.is_next(b'.');
        }
        true
    }

    fn role(&mut self, name: &'a [u8], is_word: bool) -> Role {
        let (called, qualifies) = (self.is_next(b'('), self.is_next(b'.'));
        let level = self.level();
        let expected = level.expects;
        if qualifies && matches!(expected, Expects::Table | Expects::Procedure) {
            self.of_server = is_one_of(name, &OF_SERVER);
            return Role::Other;
        }
        let of_server = std::mem::take(&mut self.of_server);
        let behind_dot = self.behind_dot;
        let level = self.level();
        if expected != Expects::Made {
            level.expects = Expects::Anything;
        }
        let is_native = is_word && is_native(name);
        match expected {
            Expects::Table
                if called && is_word && is_one_of(name, &["JSON_TABLE", "VALUES", "LATERAL"]) =>
            {
                level.list = true;
                Role::Other
            }
            Expects::Table => {
                level.list = true;
                // to some servers, another case is another table
                let has_name = |(made, _): &(&[u8], usize)| *made == name;
                let is_made = !behind_dot && self.made.iter().any(has_name)
                    || is_word && name.eq_ignore_ascii_case(b"DUAL");
                if is_made || of_server { Role::Other } else { Role::Table }
            }
            Expects::Procedure => Role::Procedure,
            Expects::Made => {
                match self.recursive {
                    true => self.made.push((name, self.depth)),
                    false => self.making.push((name, self.depth, false)),
                }
                Role::Other
            }
            Expects::Alias => Role::Other,
            Expects::Anything if called && !is_native => Role::Call,
            Expects::Anything if called && is_of_one_kind(name) => Role::DoubtfulCall,
            Expects::Anything => Role::Other,
        }
    }
}

/// What may stand in front of the word `TABLE` that says what a statement is about.
const IN_FRONT_OF_TABLE: [&str; 20] = [
    "CREATE",
    "REPLACE",
    "TEMPORARY",
    "ALTER",
    "IGNORE",
    "ONLINE",
    "OFFLINE",
    "DROP",
    "RENAME",
    "TRUNCATE",
    "LOCK",
    "FLUSH",
    "LOCAL",
    "SHOW",
    "ON",
    "ANALYZE",
    "CHECK",
    "CHECKSUM",
    "OPTIMIZE",
    "REPAIR",
];

fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Depths of parentheses that need no memory of their own.
const LEVELS: usize = 32;

/// Depths beyond these that are told apart: more than servers read.
const DEEPER_MAX: usize = 1 << 16;

/// Schemas of which no table runs anybody's code.
const OF_SERVER: [&str; 3] = ["information_schema", "performance_schema", "mysql"];

/// Words with a meaning here that some server takes for names.
const NOT_RESERVED: [&str; 6] = ["TABLES", "TRUNCATE", "VALUE", "WINDOW", "RETURNING", "LATERAL"];

/// Words after which no comma leads to another table. Not among them are those that may be an
/// alias, nor `FOR`: more may stand behind `FOR SYSTEM_TIME ALL`, or what an index is for.
const ENDS_LIST: [&str; 11] = [
    "WHERE",
    "SET",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "VALUES",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "LOCK",
];

/// Words between a table and the word that leads to it.
const BETWEEN: [&str; 7] =
    ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE", "IF", "NOT", "EXISTS"];

#[cfg(test)]
mod tests;
