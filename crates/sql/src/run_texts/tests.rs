//! Texts that a text has run, in the ways that MariaDB takes them.

use super::*;

fn found(text: &str) -> RunTexts {
    let known = |name: &[u8]| match name {
        b"ki" => Some(&b"_utf8mb4'KI' COLLATE utf8mb4_general_ci"[..]),
        b"kill" => Some(&b"_utf8mb4'kill 5'"[..]),
        b"k\xc3\xa9" => Some(&b"_utf8mb4'KILL 6'"[..]),
        b"itself" => Some(&b"_utf8mb4'EXECUTE IMMEDIATE @itself'"[..]),
        b"number" => Some(&b"7"[..]),
        _ => None,
    };
    run_texts(text.as_bytes(), Modes::default(), &known)
}

#[test]
fn a_kill_is_found_however_its_text_is_spelled() {
    for expression in [
        "'KILL 5'",
        r"'\nK\ILL 5'",
        "N'KILL 5'",
        "'KI' 'LL 5'",
        "x'4b494c4C2035'",
        "0x4b494c4C2035",
        "b'010010110100100101001100010011000010000000110101'",
        "0b10010110100100101001100010011000010000000110101",
        "_latin1'KILL 5'",
        "_latin1 x'4b494c4C2035'",
        "_utf16 x'004b0049004c004C00200035'",
        "_UCS2 X'004b0049004c004C00200035'",
        "_utf16le 0x4b0049004c004C0020003500",
        "_utf32 x'4b000000490000004c0000004c0000002000000035'",
        "_latin1 b'010010110100100101001100010011000010000000110101'",
        "(('KILL 5'))",
        "BINARY 'KILL 5'",
        "'KILL 5' COLLATE utf8mb4_bin",
        "'KI' || 'LL 5'",
        "CONCAT('KI', 'LL ', 5)",
        "CONCAT('KI', @unknown, 'LL 5')",
        "CONCAT (_utf16 x'004b0049', CONCAT('LL', ' 5'))",
        "CONCAT_WS(' ', 'KILL', 5)",
        "CONCAT('KILL ', CONNECTION_ID())",
        "CONCAT(@ki, 'LL 5')",
        "CONCAT(@KI, LOWER('LL '), @number)",
        "@kill",
        "@`Kill`",
        "@'kill'",
        "@`KÉ`",
        "@fresh := 'KILL 5'",
        "IF(@a = 'x', 'DO 1', 'KILL 5')",
        "IFNULL(@unknown, 'KILL 5')",
        "CASE @a WHEN 1 THEN 'DO 1' ELSE 'KILL 5' END",
        "REPLACE('KALL 5', 'A', 'I')",
        "TRIM(CONVERT('KILL 5' USING latin1))",
        "CONCAT('BEGIN NOT ATOMIC SELECT ', QUOTE(@x), '; KILL 5; END')",
        "'EXECUTE IMMEDIATE CONCAT(''KI'', ''LL 5'')'",
        "'EXECUTE IMMEDIATE @kill'",
        "CONCAT('EXECUTE IMMEDIATE ', QUOTE('KILL 5'))",
        "CONCAT('SET STATEMENT max_statement_time=', @x, ' FOR KILL 5')",
    ] {
        for text in [
            format!("EXECUTE IMMEDIATE {expression}"),
            format!("execute immediate {expression} USING @x"),
            format!("PREPARE s FROM {expression};"),
            format!("BEGIN NOT ATOMIC PREPARE `s` FROM {expression}; EXECUTE s; END"),
            format!("SET @a = {expression}; EXECUTE IMMEDIATE @a"),
        ] {
            assert_eq!(found(&text), RunTexts::Kill, "{text}");
        }
    }
}

#[test]
fn a_text_that_is_run_is_read_in_its_character_set_and_any_mode() {
    let block = |string: &[u8]| {
        [b"BEGIN NOT ATOMIC SELECT ", string, b"; KILL 5; SELECT ", string, b"; END"].concat()
    };
    let utf16 = "BEGIN NOT ATOMIC SELECT 1 AS a\u{2765}; KILL 5; SELECT 1 AS a\u{2765}; END";
    for (introducer, bytes) in [
        ("", block(b"\"\\\"")),
        ("_sjis ", block(b"\"\x83\x5c\"")),
        ("_gbk ", block(b"'\xbf\x5c'")),
        ("_utf16 ", utf16.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("_utf16le ", utf16.encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ] {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("EXECUTE IMMEDIATE {introducer}x'{hex}'");
        assert_eq!(found(&text), RunTexts::Kill, "{text}");
    }
}

#[test]
fn what_variables_of_the_text_may_be_is_put_in() {
    for text in [
        "SET @a='KI', @b='LL 5'; EXECUTE IMMEDIATE CONCAT(@a,@b)",
        "SET @`a b` = 'KILL 5'; PREPARE s FROM @`A B`",
        "SET @é = 'KILL 5'; PREPARE s FROM @É",
        "SET @a = 'DO 1'; SELECT @a := 'KILL 5'; PREPARE s FROM @a",
        "SET @a = @kill; SELECT 1 WHERE @a = 'x'; EXECUTE IMMEDIATE @a",
        "SET @a = 'KILL '; SET @a = CONCAT(@a, 5); EXECUTE IMMEDIATE @a",
        "BEGIN NOT ATOMIC DECLARE v TEXT DEFAULT CONCAT('ki','ll 5'); EXECUTE IMMEDIATE v; END",
        "BEGIN NOT ATOMIC DECLARE v, w VARCHAR(30) DEFAULT 'KILL 5'; EXECUTE IMMEDIATE W; END",
        "BEGIN NOT ATOMIC DECLARE `v w` TEXT; SET `v w` = 'KILL 5'; EXECUTE IMMEDIATE `v w`; END",
        "BEGIN NOT ATOMIC DECLARE v ROW(a TEXT); SET v.a='KILL 5'; EXECUTE IMMEDIATE v.a; END",
        "BEGIN NOT ATOMIC IF a THEN SET @a = 'KILL 5'; ELSE SET @a = 'DO 1'; END IF; \
         EXECUTE IMMEDIATE @a; END",
        "DECLARE v VARCHAR(30) := 'KILL '; w INT := 5; BEGIN EXECUTE IMMEDIATE v || w; END",
        "SET @1='KILL 5'; EXECUTE IMMEDIATE @1",
        "SET @1e5 = 'KILL 5'; EXECUTE IMMEDIATE @1E5",
        "SET @0x4b = 'KILL 5'; EXECUTE IMMEDIATE @0x4b",
        "SET @a.1 = 'KILL 5'; EXECUTE IMMEDIATE @a.1",
        "EXECUTE IMMEDIATE \"SET @a = 'KILL 5'\"; EXECUTE IMMEDIATE @a",
        "PREPARE s FROM \"SET @a = 'KILL 5'\"; EXECUTE s; EXECUTE IMMEDIATE @a",
    ] {
        assert_eq!(found(text), RunTexts::Kill, "{text}");
    }
    for text in [
        "SET @kill = 'DO 1'; EXECUTE IMMEDIATE @kill",
        "SET @a = 'KILL 5'; SET @a = 'SELECT 1'; EXECUTE IMMEDIATE @a",
        "SELECT * FROM t WHERE a = 'KILL 5'; PREPARE s FROM 'SELECT 1'",
        "INSERT INTO t VALUES ('KILL 5'); PREPARE s FROM @q",
    ] {
        assert_eq!(found(text), RunTexts::Harmless, "{text}");
    }
}

#[test]
fn what_no_function_that_is_read_begins_is_told() {
    for expression in [
        "REVERSE('5 LLIK')",
        "CHAR(75, 73, 76, 76, 32, 53)",
        "UNHEX('4B494C4C2035')",
        "FROM_BASE64('S0lMTCA1')",
        "INSERT('SELL 5', 1, 2, 'KI')",
        "SUBSTR('xKILL 5', 2)",
        "JSON_UNQUOTE('\"KILL 5\"')",
        "REPLACE('KALL 5', CHAR(65), 'I')",
        "REPLACE(REVERSE('5 LLAK'), 'A', 'I')",
        "REPLACE('x', 'x', REVERSE('5 LLIK'))",
        "TRIM(LEADING 'x' FROM 'xKILL 5')",
        "CONCAT(CHAR(75), 'ILL 5')",
        "CONCAT('K', CHAR(73), 'LL 5')",
        "CONCAT('/* ', CHAR(65), ' */ KILL_ 5')",
        "CONCAT('SET', CHAR(32), 'STATEMENT ...')",
        "CONCAT('BEGIN', CHAR(32))",
        "CONCAT('BEGIN NOT ATOMIC ', CHAR(75))",
        "CONCAT('SET STATEMENT max_statement_time=', CHAR(48))",
        "IF(@a, 'DO 1', REVERSE('5 LLIK'))",
        "CASE WHEN 1 THEN REVERSE('5 LLIK') END",
        "@itself",
        "'BEGIN NOT ATOMIC EXECUTE IMMEDIATE ?; END' USING 'KILL 5'",
        "@@init_connect",
        "_swe7 'SELECT 1 AS a`; KILL 5; SELECT 1 AS a`'",
        "_armscii8 x'444fff'",
        "CONVERT(x'2765' USING utf16)",
        "CAST(x'2765' AS CHAR(9) CHARACTER SET ucs2)",
    ] {
        let text = format!("EXECUTE IMMEDIATE {expression}");
        assert_eq!(found(&text), RunTexts::Unread, "{text}");
    }
    for text in [
        "EXECUTE IMMEDIATE CONCAT('CREATE TABLE log_', DATE_FORMAT(NOW(), '%Y%m'), ' LIKE log')",
        "EXECUTE IMMEDIATE CONCAT('ALTER TABLE t AUTO_INCREMENT = ', GREATEST(@a, 5) + 1)",
        "EXECUTE IMMEDIATE CONCAT('SET GLOBAL max_connections = ', ROUND(@@max_connections * 2))",
        "EXECUTE IMMEDIATE CONCAT('SELECT * FROM t WHERE a = ', QUOTE('KILL 5'), REVERSE(@b))",
        "EXECUTE IMMEDIATE CONCAT('GRANT ALL ON ', REPLACE(DATABASE(), '_', '\\_'), '.* TO u')",
        "EXECUTE IMMEDIATE REPLACE('SELECT * FROM $t', '$t', REVERSE(@t))",
        "EXECUTE IMMEDIATE IF(VERSION() LIKE '8%', 'ALTER TABLE t ADD a INT', 'DO 0')",
        "EXECUTE IMMEDIATE @unknown",
        "PREPARE s FROM @sql",
        "SET @sql = (SELECT GROUP_CONCAT(CONCAT('MAX(', QUOTE(a), ')')) FROM t); \
         SET @sql = CONCAT('SELECT ', @sql, ' FROM t'); PREPARE s FROM @sql; EXECUTE s",
        "SET @sql = SUBSTRING(@sql, 2); PREPARE s FROM @sql",
        "SELECT REVERSE('x'), prepare FROM t",
        "EXECUTE s USING @kill",
        "PREPARE s FROM",
        "PREPARE s FROM 'SELECT 1",
        "EXECUTE IMMEDIATE CONCAT('SELECT 1'",
        "EXECUTE IMMEDIATE @`",
    ] {
        assert_eq!(found(text), RunTexts::Harmless, "{text}");
    }
    let deep = format!("EXECUTE IMMEDIATE {}'DO 1'{}", "(".repeat(40), ")".repeat(40));
    assert_eq!(found(&deep), RunTexts::Unread);
}

#[test]
fn a_text_that_would_take_too_long_to_read_is_told() {
    let nested = |levels: usize| {
        let within = |text: String, _| format!("EXECUTE IMMEDIATE '{}'", text.replace('\'', "''"));
        (0..levels).fold("SELECT \"\u{e9}\\\\\" /* kill */".to_owned(), within)
    };
    assert_eq!(found(&nested(1)), RunTexts::Harmless);
    assert_ne!(found(&nested(5)), RunTexts::Harmless);
    for text in [
        format!("EXECUTE IMMEDIATE {}", "CASE ".repeat(100_000)),
        format!("EXECUTE IMMEDIATE CASE {} END", "WHEN 1 THEN NULL ".repeat(100_000)),
        format!("PREPARE s FROM CASE {}", "1 THEN CASE ".repeat(100_000)),
    ] {
        assert_ne!(found(&text), RunTexts::Kill, "{}", &text[..50]);
    }
    let distinct: String = (0..50_000).map(|number| format!("WHEN 1 THEN '{number}' ")).collect();
    assert_eq!(found(&format!("EXECUTE IMMEDIATE CASE {distinct} END")), RunTexts::Unread);
}

#[test]
fn a_parameter_may_be_what_a_block_runs() {
    for (text, may_run) in [
        ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE ?; END", true),
        ("BEGIN NOT ATOMIC SET @z = ?; PREPARE s FROM @z; EXECUTE s; END", true),
        ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'SELECT ?' USING 1; END", false),
        ("BEGIN NOT ATOMIC SELECT ? AS `execute`; END", false),
    ] {
        assert_eq!(may_run_parameters(text.as_bytes(), Modes::default()), may_run, "{text}");
    }
}
