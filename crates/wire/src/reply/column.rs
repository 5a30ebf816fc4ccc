//! Column definitions: what the columns of a result are called and of which type they are.

use crate::reader::Reader;
use crate::{Caps, Malformed, lenenc};

/// The definition of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDef<'a> {
    /// The schema.
    pub schema: &'a [u8],
    /// The table's alias.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// The column's alias.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// The collation's id; [`ColumnDef::BINARY`] for numbers and blobs.
    pub collation: u16,
    /// The longest text a value can have.
    pub length: u32,
    /// The type.
    pub kind: ColumnKind,
    /// The flags.
    pub flags: ColumnFlags,
    /// Digits after the point: 0x1f for floating point, 0 to 0x51 for decimals.
    pub decimals: u8,
}

/// The type of a column or of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnKind(pub u8);

/// The flags of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ColumnFlags(pub u16);

impl ColumnKind {
    /// `DECIMAL` of old servers.
    pub const DECIMAL: Self = Self(0);
    /// `TINYINT`.
    pub const TINY: Self = Self(1);
    /// `SMALLINT`.
    pub const SHORT: Self = Self(2);
    /// `INT`.
    pub const LONG: Self = Self(3);
    /// `FLOAT`.
    pub const FLOAT: Self = Self(4);
    /// `DOUBLE`.
    pub const DOUBLE: Self = Self(5);
    /// The type of a NULL literal.
    pub const NULL: Self = Self(6);
    /// `TIMESTAMP`.
    pub const TIMESTAMP: Self = Self(7);
    /// `BIGINT`.
    pub const LONGLONG: Self = Self(8);
    /// `MEDIUMINT`.
    pub const INT24: Self = Self(9);
    /// `DATE`.
    pub const DATE: Self = Self(10);
    /// `TIME`.
    pub const TIME: Self = Self(11);
    /// `DATETIME`.
    pub const DATETIME: Self = Self(12);
    /// `YEAR`.
    pub const YEAR: Self = Self(13);
    /// `VARCHAR` of a table's definition.
    pub const VARCHAR: Self = Self(15);
    /// `BIT`.
    pub const BIT: Self = Self(16);
    /// `VECTOR` of MySQL.
    pub const VECTOR: Self = Self(242);
    /// `JSON` of MySQL.
    pub const JSON: Self = Self(245);
    /// `DECIMAL`.
    pub const NEWDECIMAL: Self = Self(246);
    /// `ENUM`.
    pub const ENUM: Self = Self(247);
    /// `SET`.
    pub const SET: Self = Self(248);
    /// `TINYBLOB` and `TINYTEXT`.
    pub const TINY_BLOB: Self = Self(249);
    /// `MEDIUMBLOB` and `MEDIUMTEXT`.
    pub const MEDIUM_BLOB: Self = Self(250);
    /// `LONGBLOB` and `LONGTEXT`.
    pub const LONG_BLOB: Self = Self(251);
    /// `BLOB` and `TEXT`.
    pub const BLOB: Self = Self(252);
    /// `VARCHAR` and `VARBINARY`.
    pub const VAR_STRING: Self = Self(253);
    /// `CHAR` and `BINARY`.
    pub const STRING: Self = Self(254);
    /// Geometries.
    pub const GEOMETRY: Self = Self(255);
}

impl ColumnFlags {
    /// Never NULL.
    pub const NOT_NULL: Self = Self(1);
    /// Part of the primary key.
    pub const PRIMARY_KEY: Self = Self(2);
    /// A blob or a text.
    pub const BLOB: Self = Self(16);
    /// Unsigned.
    pub const UNSIGNED: Self = Self(32);
    /// Of a binary collation.
    pub const BINARY: Self = Self(128);
    /// `AUTO_INCREMENT`.
    pub const AUTO_INCREMENT: Self = Self(512);

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl<'a> ColumnDef<'a> {
    /// The id of the collation `binary`.
    pub const BINARY: u16 = 63;
    /// The id of the collation `utf8mb4_general_ci`.
    pub const UTF8MB4: u16 = 45;

    /// A text column that belongs to no table.
    pub const fn text(name: &'a [u8]) -> Self {
        Self {
            schema: &[],
            table: &[],
            org_table: &[],
            name,
            org_name: &[],
            collation: Self::UTF8MB4,
            length: 1024,
            kind: ColumnKind::VAR_STRING,
            flags: ColumnFlags(0),
            decimals: 0,
        }
    }

    /// A signed 64-bit integer column that belongs to no table.
    pub const fn integer(name: &'a [u8]) -> Self {
        Self {
            collation: Self::BINARY,
            length: 21,
            kind: ColumnKind::LONGLONG,
            flags: ColumnFlags::BINARY,
            ..Self::text(name)
        }
    }

    /// Reads the payload. `caps` are those of the connection.
    pub fn parse(payload: &'a [u8], caps: Caps) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        let _catalog = read.lenenc_bytes()?;
        let schema = read.lenenc_bytes()?;
        let table = read.lenenc_bytes()?;
        let org_table = read.lenenc_bytes()?;
        let name = read.lenenc_bytes()?;
        let org_name = read.lenenc_bytes()?;
        if caps.contains(Caps::MARIADB_EXTENDED_METADATA) {
            let _type_and_format = read.lenenc_bytes()?;
        }
        let _fixed_len = read.lenenc()?;
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation: read.u16()?,
            length: read.u32()?,
            kind: ColumnKind(read.u8()?),
            flags: ColumnFlags(read.u16()?),
            decimals: read.u8()?,
        })
    }

    /// Appends the payload.
    pub fn encode(&self, caps: Caps, out: &mut Vec<u8>) {
        for text in [b"def", self.schema, self.table, self.org_table, self.name, self.org_name] {
            lenenc::write_bytes(out, text);
        }
        if caps.contains(Caps::MARIADB_EXTENDED_METADATA) {
            lenenc::write_bytes(out, &[]);
        }
        out.push(FIXED_LEN);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.kind.0);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
    }
}

/// The length of what follows the names.
const FIXED_LEN: u8 = 12;
