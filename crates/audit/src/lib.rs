//! Laws that every packet of a run must keep, whatever made it, and an auditor that compares both taps with them.
//!
//! Holds: the laws ([`Law`]), what a path promises in plain numbers ([`Rules`]), what its stages counted ([`Account`]), and the comparison
//! ([`audit`]). Does not contain: stages, queues or clocks of a path. It knows neither the crate that delays and drops packets nor records, so a
//! fault of theirs is not repeated here.
//!
//! Read first: [`rules`], then [`audit`]. What cannot be judged is listed with its reason ([`LawReport::not_audited`]).

mod auditor;
mod buffer;
mod content;
mod evidence;
mod law;
mod losses;
mod order;
mod pairing;
mod rate;
pub mod rules;
mod tap_packet;
mod times;

pub use auditor::audit;
pub use law::{AuditReport, DirectionReport, Law, LawReport, MOST_LISTED, Violation};
pub use rules::{Account, AuditedPath, Limit, ListedDrop, Rules, Stage, StageKind, Timing};
