//! Reads made by dice: equal seeds make equal reads.

use live::dice::Dice;

/// A value of a read: in its text, or a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Double(f64),
    Text(String),
}

impl Value {
    fn literal(&self) -> String {
        match self {
            Self::Null => "NULL".into(),
            Self::Integer(number) => number.to_string(),
            Self::Double(number) => format!("{number:e}"),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// Two bytes of its type, and its bytes.
    fn binary(&self) -> ([u8; 2], Vec<u8>) {
        match self {
            Self::Null => ([6, 0], Vec::new()),
            Self::Integer(number) => ([8, 0], number.to_le_bytes().into()),
            Self::Double(number) => ([5, 0], number.to_le_bytes().into()),
            Self::Text(text) => {
                let len = u8::try_from(text.len()).expect("a short one");
                ([253, 0], [&[len], text.as_bytes()].concat())
            }
        }
    }
}

/// A read, with a mark in the place of each value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    text: String,
    values: Vec<Value>,
}

impl Read {
    /// The text with its values in it.
    pub(crate) fn text(&self) -> String {
        let mut parts = self.text.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (value, part) in self.values.iter().zip(parts) {
            text += &value.literal();
            text += part;
        }
        text
    }

    /// The text that is prepared, to be executed with values.
    pub(crate) fn with_marks(&self) -> &str {
        &self.text
    }

    /// What stands behind the statement's number in an execution, with the types or without.
    pub(crate) fn execution(&self, with_types: bool) -> Vec<u8> {
        let mut out = vec![0, 1, 0, 0, 0];
        if self.values.is_empty() {
            return out;
        }
        let mut nulls = vec![0_u8; self.values.len().div_ceil(8)];
        for (at, value) in self.values.iter().enumerate() {
            nulls[at / 8] |= u8::from(matches!(value, Value::Null)) << (at % 8);
        }
        out.extend(nulls);
        out.push(u8::from(with_types));
        let binary: Vec<_> = self.values.iter().map(Value::binary).collect();
        if with_types {
            out.extend(binary.iter().flat_map(|(kind, _)| *kind));
        }
        out.extend(binary.into_iter().flat_map(|(_, bytes)| bytes));
        out
    }

    fn put(&mut self, text: &str) {
        self.text += text;
    }

    fn value(&mut self, value: Value) {
        self.text.push('?');
        self.values.push(value);
    }
}

/// Columns of `kinds`, of each type one.
const COLUMNS: &[&str] = &[
    "id", "tiny", "small", "medium", "big", "de", "f", "d", "b", "y", "dt", "tm", "dtm", "ts", "c",
    "vc", "vb", "tx", "bl", "en", "st", "js", "g",
];

/// What is computed of a row of `kinds`.
const COMPUTED: &[&str] = &[
    "CONCAT(vc, c)",
    "COALESCE(tx, vc, 'none')",
    "UPPER(vc)",
    "HEX(vb)",
    "LENGTH(bl)",
    "CASE WHEN tiny < 0 THEN 'less' WHEN tiny > 50 THEN NULL ELSE id END",
    "CAST(d AS DECIMAL(10,2))",
    "CAST(vc AS SIGNED)",
    "DATE_FORMAT(dtm, '%Y-%m-%d')",
    "DATE_ADD(dt, INTERVAL id DAY)",
    "JSON_EXTRACT(js, '$.a')",
    "tiny / NULLIF(small, 0)",
    "big + 1",
    "b + 0",
    "REPEAT(c, id)",
    "ROW_NUMBER() OVER (ORDER BY id)",
    "(SELECT COUNT(*) FROM parents WHERE parents.id <= kinds.id)",
    "ST_AsText(g)",
    "SUBSTRING(tx, 2, 3)",
    "tm IS NULL",
    "ROUND(f, 2)",
];

const OPERATORS: &[&str] = &["=", "<", ">", "<=", ">=", "<>", "<=>", "LIKE"];

fn value(dice: &mut Dice) -> Value {
    match dice.below(12) {
        0 => Value::Null,
        1 => Value::Double([0.5, -1e10, 3.25, 1e-3][usize::try_from(dice.below(4)).unwrap_or(0)]),
        2 | 3 => {
            Value::Text(dice.pick(&["a", "B", "x y", "it's", "ä", "", "2024-03-01", "%a%"]).into())
        }
        4 => Value::Integer(dice.pick(&[-1, 0, 127, -128, 65535, i64::MAX])),
        _ => Value::Integer(i64::try_from(dice.below(70)).expect("few")),
    }
}

fn number(dice: &mut Dice, bound: u64) -> Value {
    Value::Integer(i64::try_from(dice.below(bound)).expect("few"))
}

fn list(dice: &mut Dice) -> String {
    if dice.percent(15) {
        return "*".into();
    }
    let count = 1 + dice.below(5);
    let mut one = |_| match dice.percent(40) {
        true => dice.pick(COMPUTED),
        false => dice.pick(COLUMNS),
    };
    (0..count).map(&mut one).collect::<Vec<_>>().join(", ")
}

fn condition(read: &mut Read, dice: &mut Dice) {
    match dice.below(8) {
        0 => {
            read.put("id BETWEEN ");
            read.value(number(dice, 70));
            read.put(" AND ");
            read.value(number(dice, 70));
        }
        1 => {
            read.put("id IN (");
            read.value(number(dice, 70));
            read.put(", ");
            read.value(value(dice));
            read.put(")");
        }
        2 => {
            read.put("EXISTS (SELECT 1 FROM children WHERE children.parent = kinds.id AND v > ");
            read.value(number(dice, 50));
            read.put(")");
        }
        3 => read.put(&format!("{} IS NOT NULL", dice.pick(COLUMNS))),
        4 => read.put("1 = 0"),
        _ => {
            read.put(&format!("{} {} ", dice.pick(&COLUMNS[..16]), dice.pick(OPERATORS)));
            read.value(value(dice));
        }
    }
}

/// Rows of the table with every type.
fn of_kinds(read: &mut Read, dice: &mut Dice) {
    read.put(&format!("SELECT {} FROM kinds", list(dice)));
    if dice.percent(80) {
        read.put(" WHERE ");
        condition(read, dice);
        while dice.percent(30) {
            read.put(dice.pick(&[" AND ", " OR ", " AND NOT "]));
            condition(read, dice);
        }
    }
    if dice.percent(60) {
        read.put(&format!(" ORDER BY {}, id", dice.pick(&COLUMNS[..16])));
        read.put(dice.pick(&["", " DESC"]));
        if dice.percent(50) {
            read.put(" LIMIT ");
            read.value(number(dice, 20));
            if dice.percent(40) {
                read.put(" OFFSET ");
                read.value(number(dice, 20));
            }
        }
    }
}

/// Rows of several tables.
fn joined(read: &mut Read, dice: &mut Dice) {
    let kind = dice.pick(&["JOIN", "LEFT JOIN", "STRAIGHT_JOIN"]);
    read.put(&format!("SELECT p.id, p.k, ch.v, ch.note FROM parents p {kind} children ch ON "));
    read.put("ch.parent = p.id AND ch.v < ");
    read.value(number(dice, 100));
    read.put(" WHERE p.k >= ");
    read.value(number(dice, 8));
    read.put(" ORDER BY p.id, ch.id");
}

fn grouped(read: &mut Read, dice: &mut Dice) {
    let of = dice.pick(&["SUM(v)", "AVG(v)", "MIN(note)", "COUNT(DISTINCT v)", "STD(v)", "MAX(v)"]);
    read.put(&format!("SELECT parent, COUNT(*), {of} FROM children WHERE v > "));
    read.value(number(dice, 100));
    read.put(" GROUP BY parent");
    read.put(dice.pick(&["", " WITH ROLLUP", " HAVING COUNT(*) > 1", " HAVING COUNT(*) > 99"]));
}

fn united(read: &mut Read, dice: &mut Dice) {
    read.put("SELECT id, k FROM parents WHERE id < ");
    read.value(number(dice, 20));
    read.put(dice.pick(&[" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT "]));
    read.put("SELECT id, v FROM children WHERE v > ");
    read.value(number(dice, 100));
    read.put(" ORDER BY 1, 2");
}

fn nested(read: &mut Read, dice: &mut Dice) {
    read.put(dice.pick(&[
        "WITH w AS (SELECT parent, SUM(v) AS s FROM children GROUP BY parent) SELECT p.k, w.s \
         FROM w JOIN parents p ON p.id = w.parent WHERE w.s > ",
        "SELECT d.n, d.k FROM (SELECT COUNT(*) AS n, k FROM parents GROUP BY k) d WHERE d.n > ",
        "SELECT id, name FROM parents WHERE id IN (SELECT parent FROM children) AND k <> ",
        "SELECT (SELECT MAX(v) FROM children WHERE parent = p.id) AS most, p.name FROM parents p \
         WHERE p.id < ",
        "SELECT id FROM seen WHERE k > ",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 40) \
         SELECT n, REPEAT('x', n * 100) FROM r WHERE n > ",
        "SELECT a.id, b.id FROM kinds a, kinds b WHERE a.id >= ",
    ]));
    read.value(number(dice, 60));
}

/// What servers refuse, at once or amid the rows.
const WRONG: &[&str] = &[
    "SELECT no_such FROM kinds WHERE id = ?",
    "SELECT id FROM no_such WHERE id = ?",
    "SELECT id FROM kinds WHERE id = (SELECT parent FROM children WHERE v > ?)",
    "SELEC id FROM kinds WHERE id = ?",
    "SELECT id FROM kinds GROUP BY tiny HAVING no_such > ?",
    "SELECT NO_SUCH(id) FROM kinds WHERE id = ?",
    "SELECT EXP(id * 1000) FROM kinds WHERE id >= ?",
    "SELECT big * 10000000000 FROM kinds WHERE id > ?",
];

/// A read.
pub(crate) fn read(dice: &mut Dice) -> Read {
    let mut read = Read::default();
    match dice.below(20) {
        0 => {
            read.text = dice.pick(WRONG).into();
            read.values.push(number(dice, 40));
        }
        1 => {
            read.put("SELECT ");
            read.value(value(dice));
            read.put(dice.pick(&[" AS a, ", " + 1, ", ", CONCAT('x', ?), "][..2]));
            read.value(value(dice));
        }
        2 | 3 => joined(&mut read, dice),
        4 | 5 => grouped(&mut read, dice),
        6 | 7 => united(&mut read, dice),
        8..11 => nested(&mut read, dice),
        _ => of_kinds(&mut read, dice),
    }
    read
}

/// The statements that make and fill the tables; nothing changes plans behind a test's back.
pub(crate) fn schema(dice: &mut Dice) -> Vec<String> {
    let mut all: Vec<String> = [
        "CREATE TABLE test.kinds (id INT PRIMARY KEY, tiny TINYINT, small SMALLINT UNSIGNED, \
         medium MEDIUMINT, big BIGINT UNSIGNED, de DECIMAL(20,6), f FLOAT, d DOUBLE, b BIT(10), \
         y YEAR, dt DATE, tm TIME(3), dtm DATETIME(6), ts TIMESTAMP NULL, c CHAR(10), \
         vc VARCHAR(50), vb VARBINARY(20), tx TEXT, bl BLOB, en ENUM('a', 'b', 'c'), \
         st SET('x', 'y', 'z'), js JSON, g POINT, KEY (tiny), KEY (vc)) STATS_AUTO_RECALC = 0",
        "CREATE TABLE test.parents (id INT PRIMARY KEY, k INT, name VARCHAR(20), KEY (k)) \
         STATS_AUTO_RECALC = 0",
        "CREATE TABLE test.children (id INT PRIMARY KEY, parent INT, v INT, note VARCHAR(30), \
         KEY (parent)) STATS_AUTO_RECALC = 0",
        "CREATE VIEW test.seen AS SELECT id, k FROM test.parents WHERE k IS NOT NULL",
    ]
    .map(str::to_owned)
    .into();
    for id in 0..60 {
        let mut values: Vec<String> = [
            format!("{}", i64::try_from(dice.below(250)).expect("few") - 125),
            dice.below(60_000).to_string(),
            format!("-{}", dice.below(8_000_000)),
            format!("{}", u64::MAX - dice.below(1 << 40)),
            format!("{}.{:06}", dice.below(1 << 30), dice.below(1_000_000)),
            format!("{}.25", dice.below(1000)),
            format!("{}e{}", dice.below(1000), dice.below(30)),
            format!("{}", dice.below(1024)),
            format!("{}", 1901 + dice.below(250)),
            format!("'20{:02}-0{}-1{}'", dice.below(100), 1 + dice.below(9), dice.below(10)),
            format!("'-{}:1{}:2{}.5'", dice.below(800), dice.below(10), dice.below(10)),
            format!("'19{:02}-12-31 23:59:5{}.123456'", dice.below(100), dice.below(10)),
            format!("'20{:02}-06-15 12:00:00'", 10 + dice.below(20)),
            format!("'c{}'", dice.below(100)),
            format!("'{}{}'", dice.pick(&["a", "B", "ä", "x y ", ""]), dice.below(20)),
            format!("X'00ff{:02x}'", dice.below(256)),
            format!("REPEAT('text ', {})", dice.below(100)),
            format!("REPEAT(X'00', {})", dice.below(1000)),
            format!("'{}'", dice.pick(&["a", "b", "c"])),
            format!("'{}'", dice.pick(&["", "x", "x,z", "x,y,z"])),
            format!("'{{\"a\": {}}}'", dice.below(9)),
            format!("POINT({}, -1.5)", dice.below(9)),
        ]
        .into();
        for value in &mut values {
            if dice.percent(12) {
                *value = "NULL".into();
            }
        }
        all.push(format!("INSERT INTO test.kinds VALUES ({id}, {})", values.join(", ")));
        all.push(format!(
            "INSERT INTO test.parents VALUES ({id}, {}, 'parent {}')",
            dice.below(8),
            dice.below(5)
        ));
        all.push(format!(
            "INSERT INTO test.children VALUES ({id}, {}, {}, 'note {}')",
            dice.below(30),
            dice.below(100),
            dice.below(9)
        ));
    }
    all
}

/// What another session changes between the reads.
pub(crate) fn write(dice: &mut Dice) -> String {
    let (id, number) = (dice.below(60), dice.below(100));
    match dice.below(6) {
        0 => format!("UPDATE test.kinds SET vc = 'w{number}', tiny = -tiny WHERE id >= {id}"),
        1 => format!("DELETE FROM test.children WHERE id = {id}"),
        2 => format!("REPLACE INTO test.children VALUES ({id}, {}, {number}, NULL)", number % 40),
        3 => format!("UPDATE test.parents SET k = k + 1, name = 'w{number}' WHERE id < {id}"),
        4 => format!("UPDATE test.kinds SET d = {number}e-2, js = NULL, tx = 'w' WHERE id = {id}"),
        _ => format!("REPLACE INTO test.parents VALUES ({}, NULL, NULL)", 60 + number),
    }
}
