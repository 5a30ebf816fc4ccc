//! SQL texts, valid and not: from a grammar, from what is recorded, and what becomes of both when
//! pieces are cut out, put in, doubled and exchanged. The same ones in every run.

use sql::DigestOptions;

/// Makes texts, with the settings they are normalised by.
pub(crate) struct Texts {
    recorded: Vec<Vec<u8>>,
    state: u64,
}

impl Texts {
    pub(crate) fn new(recorded: Vec<Vec<u8>>) -> Self {
        let recorded = recorded.into_iter().filter(|text| text.len() < LONG).collect();
        Self { recorded, state: 0x7469_6465_6761_7465 }
    }

    pub(crate) fn next(&mut self) -> (Vec<u8>, DigestOptions) {
        let mut text = match self.below(4) {
            0 => {
                let which = self.below(self.recorded.len());
                self.recorded[which].clone()
            }
            1 => self.pieces(),
            _ => self.statement().into_bytes(),
        };
        for _ in 0..self.below(4) {
            self.change(&mut text);
        }
        (text, self.options())
    }

    fn options(&mut self) -> DigestOptions {
        let options = DigestOptions::default();
        if self.below(2) == 0 {
            return options;
        }
        DigestOptions {
            lowercase: self.below(3) == 0,
            replace_null: self.below(3) == 0,
            no_digits: self.below(3) == 0,
            keep_comment: self.below(3) == 0,
            grouping_limit: self.below(6),
            groups_grouping_limit: self.below(5),
            max_digest_length: [2048, 2048, 2048, 40][self.below(4)],
            ..options
        }
    }

    fn pieces(&mut self) -> Vec<u8> {
        (0..self.below(16)).flat_map(|_| self.one_of(PIECES).bytes()).collect()
    }

    fn statement(&mut self) -> String {
        let blank = self.blank();
        let (table, column, value) = (self.name(), self.name(), self.value(0));
        let end = self.one_of(ENDS);
        let statement = match self.below(6) {
            0 => {
                let columns: Vec<String> = (0..=self.below(6)).map(|_| self.name()).collect();
                let rows: Vec<String> = (0..=self.below(13)).map(|_| self.list()).collect();
                let (between, columns) = (self.comma(), columns.join(self.comma()));
                let rows = rows.join(between);
                format!("INSERT INTO {table} ({columns}){blank}VALUES{blank}{rows}")
            }
            1 => {
                let list = self.list();
                format!("SELECT{blank}{column} FROM {table} WHERE {column} IN{blank}{list}")
            }
            2 => {
                format!("update {table} set {column}{blank}={blank}{value} where {column}={value}")
            }
            3 => format!("delete from {table} where {column} between {value} and{blank}{value}"),
            4 => {
                let list = self.list();
                format!("select f{list}{blank}as {column},{value} from {table} for update")
            }
            _ => format!("SET {column}={blank}{value}"),
        };
        format!("{statement}{end}")
    }

    fn list(&mut self) -> String {
        let comma = self.comma();
        let values: Vec<String> = (0..self.below(9)).map(|_| self.value(1)).collect();
        format!("({})", values.join(comma))
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(26) {
            0 if depth < 3 => {
                let (function, value) = (self.one_of(&["NOW", "ABS", "f"]), self.value(depth + 1));
                format!("{function}({value},{value})")
            }
            1 => self
                .one_of(&["NOW()", "UUID()", "POINT(1,2)", "NULL", "null", "@v", "?"])
                .to_owned(),
            2 => {
                let (operator, value) =
                    (self.one_of(&["+", "-", " - ", "*", "> ", ">"]), self.value(depth + 1));
                format!("a{operator}{value}")
            }
            3 if depth < 3 => {
                let (operator, value) =
                    (self.one_of(&["+", "-", " - ", "*", " and "]), self.value(depth + 1));
                format!("7{operator}{value}")
            }
            4 => format!("{}'x y'", self.one_of(&["N", "x", "b", "_utf8mb4", "DATE", "DATE "])),
            5 => self.one_of(&["'it''s'", "\"q\"", "'\\''", "''", "'a' 'b'"]).to_owned(),
            6 => self
                .one_of(&["0x1F", "1e-5", "1.5e3", ".5", "5.", "1a", "0b11", "-1", "+ 2"])
                .to_owned(),
            7 => format!("/* {} */ 1", self.name()),
            8 => format!("/*!50001 {} */", self.name()),
            9 => format!("/*!{} /*! {} */", self.name(), self.name()),
            10 => format!("/* {} /*x{} */", self.name(), self.name()),
            11 => format!("1 {}\n", self.one_of(&["# c", "-- c", "#", "-- "])),
            _ => self.below(2000).to_string(),
        }
    }

    fn name(&mut self) -> String {
        self.one_of(NAMES).to_owned()
    }

    fn blank(&mut self) -> &'static str {
        self.one_of(&[" ", " ", " ", "  ", "\n", "\t ", "", "/* c */", " -- c\n", "/**/", "# c\r"])
    }

    fn comma(&mut self) -> &'static str {
        self.one_of(&[",", ",", ", ", " , ", ",\n", ",,"])
    }

    fn change(&mut self, text: &mut Vec<u8>) {
        let from = self.below(text.len() + 1);
        let to = (from + self.below(12)).min(text.len());
        match self.below(6) {
            0 => drop(text.drain(from..to)),
            1 => {
                let piece = text[from..to].repeat(1 + self.below(3));
                text.splice(from..from, piece);
            }
            2 => text.truncate(from),
            3 => {
                let byte = 1 + self.below(255) as u8;
                text.insert(from, byte);
            }
            _ => {
                let piece = self.one_of(PIECES).bytes();
                text.splice(from..from, piece);
            }
        }
    }

    fn one_of(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// SplitMix64.
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Longer recorded texts take the model too long.
const LONG: usize = 2000;

const NAMES: &[&str] = &[
    "a", "b1", "t", "`t#1`", "`a b`", "`a-1`", "a.b", "t.1", "1_a", "$a", "@v", "@@g", "\u{540d}",
    "null_1", "c$1",
];

const ENDS: &[&str] = &[
    "",
    "",
    "",
    ";",
    ";;",
    " ; ; ",
    " -- last",
    " -- aaaa",
    "-- abcd",
    " -- ab",
    " -- abcdefgh",
    " # a",
    "# ab",
    "#b",
    "#",
    "--",
    "-- ",
    " /* c",
    " '",
    " limit 1",
    " limit 1a",
    "\n",
    " # c\n",
    "#\n",
    "`#1`",
];

const PIECES: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    ",",
    " , ",
    "(",
    ")",
    "()",
    "?",
    "1",
    "-1",
    "+ 2",
    "1.5",
    "1e-5",
    "0xAF",
    "12ab",
    "a1",
    "t.1",
    "'x'",
    "'it''s'",
    "\"q\\\"\"",
    "`q 1`",
    "null",
    "NULL",
    "-",
    "+",
    "*",
    "/",
    "%",
    "--",
    "-- c\n",
    "# c\n",
    "#",
    "/* c */",
    "/*! y */",
    "/*!50001 x=1 */",
    "/*!99999 a /* b */ c */",
    "/*+ h */",
    "/*",
    "*/",
    ";",
    "'",
    "\"",
    "\\",
    "\u{e9}",
    "@v",
    "@@g",
    ":=",
    "=",
    "...",
    "(1,2,3,4,5,6)",
    "(?,?,?,...)",
    "x'4F'",
    "DATE'2020-01-01'",
    "(1,2,3,4,5),(1,2,3,4,5)",
    "in(1,2,3),(4,5,6),",
    "select",
    "FROM",
    "NOW(),1,2,3,4,5",
    "a>1,2,3,4,5",
    "_utf8'a',",
];
