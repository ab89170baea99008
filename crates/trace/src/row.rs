//! From structs to columns: each field is a column, its type the column's type.

use crate::cell::Kind;
use crate::column::Column;

/// A column as the schema has it.
pub(crate) struct ColumnDescription {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether a row may have no value.
    pub(crate) is_nullable: bool,
}

/// One row of a table.
pub(crate) trait Row {
    /// The columns, in the order of the file.
    const COLUMNS: &'static [ColumnDescription];
    /// The type of the row whose fields live as long as `'row`.
    type Of<'row>: Row;

    /// Appends each field to its column; the columns are those of [`COLUMNS`](Self::COLUMNS).
    fn push_to(self, columns: &mut [Column]);
}

/// Declares a struct of cells and makes it a [`Row`].
macro_rules! row {
    ($(#[$doc:meta])* struct $name:ident<$life:lifetime> { $($(#[$field_doc:meta])* $field:ident: $cell:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub(crate) struct $name<$life> { $($(#[$field_doc])* pub(crate) $field: $cell,)* }

        impl<$life> $crate::row::Row for $name<$life> {
            const COLUMNS: &'static [$crate::row::ColumnDescription] = &[$($crate::row::ColumnDescription {
                name: stringify!($field),
                kind: <$cell as $crate::cell::Cell>::KIND,
                is_nullable: <$cell as $crate::cell::Cell>::IS_NULLABLE,
            },)*];
            type Of<'row> = $name<'row>;

            fn push_to(self, columns: &mut [$crate::column::Column]) {
                let mut columns = columns.iter_mut();
                $(if let Some(column) = columns.next() {
                    $crate::cell::Cell::push_to(self.$field, column);
                })*
            }
        }
    };
}

pub(crate) use row;
