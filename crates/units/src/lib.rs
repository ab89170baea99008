//! Quantities with their units in the type: points in time, durations, rates, byte counts.
//!
//! All are whole numbers of their base unit (nanosecond, bit per second, byte). Texts are parsed exactly or not at
//! all, and what is displayed can be parsed back to the same value. Besides, [`shown`]: foreign text for a person, and
//! [`Bounded`]: foreign input that may never end. No dependencies.

mod bounded;
mod parse;
mod quantity;
mod shown;
mod time;

pub use bounded::{Bounded, read_bounded, read_text_bounded};
pub use parse::ParseUnitError;
pub use quantity::{ByteCount, Rate};
pub use shown::{ShowPath, shown, shown_lines};
pub use time::{Duration, Time};
