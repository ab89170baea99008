//! The types a field of a row may have.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use quiclab_wire::ConnectionId;

use crate::column::Column;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    U32,
    U64,
    I64,
    /// Stored once for all rows of a group.
    Text,
    /// Lists of inclusive ranges.
    Ranges,
}

/// A value of one column.
pub(crate) trait Cell {
    /// What its column holds.
    const KIND: Kind;
    /// Whether it may be missing.
    const IS_NULLABLE: bool = false;

    /// Appends it. The column is of the cell's kind.
    fn push_to(self, column: &mut Column);
}

impl Cell for bool {
    const KIND: Kind = Kind::Bool;

    fn push_to(self, column: &mut Column) {
        column.push_bool(self);
    }
}

impl Cell for u32 {
    const KIND: Kind = Kind::U32;

    fn push_to(self, column: &mut Column) {
        column.push_u32(self);
    }
}

impl Cell for u64 {
    const KIND: Kind = Kind::U64;

    fn push_to(self, column: &mut Column) {
        // Parquet keeps unsigned integers as the signed ones of the same bits.
        column.push_i64(self as i64);
    }
}

impl Cell for i64 {
    const KIND: Kind = Kind::I64;

    fn push_to(self, column: &mut Column) {
        column.push_i64(self);
    }
}

impl Cell for &str {
    const KIND: Kind = Kind::Text;

    fn push_to(self, column: &mut Column) {
        column.push_text(&self);
    }
}

/// A text that is made where it is stored.
macro_rules! text_cell {
    ($($cell:ty),*) => {
        $(impl Cell for $cell {
            const KIND: Kind = Kind::Text;

            fn push_to(self, column: &mut Column) {
                column.push_text(&self as &dyn Display);
            }
        })*
    };
}

text_cell!(SocketAddr, ConnectionId, crate::packets::FlagNames);

impl Cell for &[RangeInclusive<u64>] {
    const KIND: Kind = Kind::Ranges;

    fn push_to(self, column: &mut Column) {
        column.push_ranges(self);
    }
}

impl<C: Cell> Cell for Option<C> {
    const KIND: Kind = C::KIND;
    const IS_NULLABLE: bool = true;

    fn push_to(self, column: &mut Column) {
        match self {
            Some(cell) => cell.push_to(column),
            None => column.push_null(),
        }
    }
}
