//! How servers read the bytes from 0x80 up, which each character set has uses of its own for.
//!
//! As in the `ctype` tables of MariaDB and MySQL, which their lexers ask. Where a byte ends a
//! statement with a syntax error, it is given the use that needs no table of its own.

/// What bytes from 0x80 up are in a client's character set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HighBytes {
    /// Letters all, as those of UTF-8 are.
    #[default]
    Letters,
    /// Letters, and some make one character with the byte behind them, which may be a back quote or
    /// a backslash.
    Big5,
    /// The same with the pairs of `sjis` and `cp932`.
    Sjis,
    /// The same with the pairs of `gbk`, and of `gb18030`, of which longer characters have only
    /// digits and letters.
    Gbk,
    /// 0xA0 is a blank.
    Latin,
    /// 0xA0 is a blank, some others are control characters.
    Cp1250,
    /// 0xA0 is a blank, some others are control characters.
    Latin7,
    /// 0xA0 is a blank, some others are control characters.
    Hebrew,
    /// 0xFF is a blank.
    Dos,
    /// Some are control characters.
    Hp8,
    /// Some are control characters.
    MacRoman,
}

impl HighBytes {
    /// Each of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::Letters,
        Self::Big5,
        Self::Sjis,
        Self::Gbk,
        Self::Latin,
        Self::Cp1250,
        Self::Latin7,
        Self::Hebrew,
        Self::Dos,
        Self::Hp8,
        Self::MacRoman,
    ];

    /// Those of a character set that clients may have, by its name.
    pub const fn of(charset: &str) -> Self {
        match charset.as_bytes() {
            b"big5" => Self::Big5,
            b"cp932" | b"sjis" => Self::Sjis,
            b"gb18030" | b"gbk" => Self::Gbk,
            b"armscii8" | b"dec8" | b"geostd8" | b"greek" | b"latin1" | b"latin2" | b"latin5" => {
                Self::Latin
            }
            b"cp1250" => Self::Cp1250,
            b"latin7" => Self::Latin7,
            b"hebrew" => Self::Hebrew,
            b"cp850" | b"cp852" | b"cp866" | b"keybcs2" => Self::Dos,
            b"hp8" => Self::Hp8,
            b"macroman" => Self::MacRoman,
            _ => Self::Letters,
        }
    }

    /// Whether a quote or backslash may be half a character.
    #[inline]
    pub fn are_paired(self) -> bool {
        matches!(self, Self::Big5 | Self::Sjis | Self::Gbk)
    }

    /// Whether two bytes are one character.
    pub(crate) const fn is_pair(self, first: u8, second: u8) -> bool {
        match self {
            Self::Big5 => matches!((first, second), (0xa1..=0xf9, 0x40..=0x7e | 0xa1..=0xfe)),
            Self::Sjis => {
                matches!((first, second), (0x81..=0x9f | 0xe0..=0xfc, 0x40..=0x7e | 0x80..=0xfc))
            }
            Self::Gbk => matches!((first, second), (0x81..=0xfe, 0x40..=0x7e | 0x80..=0xfe)),
            _ => false,
        }
    }

    pub(crate) const fn is_blank(self, byte: u8) -> bool {
        match self {
            Self::Latin | Self::Cp1250 | Self::Latin7 | Self::Hebrew => byte == 0xa0,
            Self::Dos => byte == 0xff,
            _ => false,
        }
    }

    /// Control characters begin a comment where two dashes stand before them.
    pub(crate) const fn is_control(self, byte: u8) -> bool {
        match self {
            Self::Cp1250 => matches!(byte, 0x80 | 0x81 | 0x83 | 0x88 | 0x90 | 0x98),
            Self::Latin7 => matches!(
                byte,
                0x81 | 0x83 | 0x88 | 0x8a | 0x8c | 0x90 | 0x98 | 0x9a | 0x9c | 0x9f | 0xa1 | 0xa5
            ),
            Self::Hebrew => matches!(byte, 0xfd | 0xfe),
            Self::Hp8 => matches!(byte, 0x80..=0xa0 | 0xb1 | 0xb2 | 0xf2..=0xf5 | 0xff),
            Self::MacRoman => matches!(byte, 0x80 | 0xcb | 0xe5),
            _ => false,
        }
    }

    /// Whether all of a text's are letters, or may be taken for such.
    pub(crate) fn are_letters_in(self, text: &[u8]) -> bool {
        match self {
            Self::Letters => true,
            Self::Latin => memchr::memchr(0xa0, text).is_none(),
            Self::Dos => memchr::memchr(0xff, text).is_none(),
            _ => text.is_ascii(),
        }
    }
}
