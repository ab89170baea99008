//! Whom a scan asks, and when.
//!
//! A [`List`] gives [`Target`]s. [`Exclusions`] say who is never asked. A [`Pace`] says when the next one may be asked, and a
//! [`Waiting`] queue holds those whose address was asked a moment ago. A [`Plan`] counts all that before a packet leaves. A
//! [`Schedule`] asks again and again. A [`journal`] knows who was asked already, after a kill too. [`resolve`] turns names into
//! addresses.
//!
//! Call order of a scan: `List` → `Journal::was_begun` → `Exclusions::host` → `resolve` → `Exclusions::address` of each address →
//! `Waiting` and `Pace` → `Journal::asking` → packets → `Journal::written`. `tests/it/targets/scan.rs` has it whole.
//!
//! Time is an argument everywhere. Only [`journal`] opens files, and only [`resolve::Client`] opens sockets.

pub mod exclusions;
pub mod journal;
mod line;
mod lines;
mod list;
mod name;
mod pace;
mod plan;
pub mod resolve;
mod schedule;
mod seen;
mod target;
mod waiting;

pub use exclusions::{Excluded, Exclusions};
pub use list::{BadLine, Counts, List, ListError, ListHash};
pub use name::{BadName, Name};
pub use pace::{BadFrequency, Frequency, Pace, Start};
pub use plan::{Cost, Plan, PrefixLoad, Summary};
pub use schedule::{Due, Group, Missed, Schedule, utc_day};
pub use seen::Seen;
pub use target::{DEFAULT_PORT, Host, Target};
pub use waiting::Waiting;
