//! The record of a run: a folder with everything that is known of it, the same on every testbed.
//!
//! Holds: which files there are ([`layout`]), what stands in them ([`RunFile`], [`Observed`]), how a record is written aside and put in its
//! place ([`Records`], [`Draft`]), how it is read and what can be wrong with it ([`Record`], [`RecordError`]), older schemas, and how its metrics
//! follow from its capture ([`measure`]). Does not contain: testbeds, what an agent or a simulator says of itself, reports.
//!
//! Writing, in this order: [`Records::begin`]; the testbed writes the capture and the endpoints' files into [`Draft::folder`];
//! [`Draft::fill`] and [`Draft::finish`]. Reading: [`Records::names`], [`Records::load`], which know records of transfers ([`Record`]) and of models
//! ([`ModelsRecord`]). docs/reference/record.md describes every file and field.
//!
//! [`bundle`] is an archive of files with their hashes, whatever they are: it knows nothing of records.

mod any_record;
mod audit;
mod bounded;
pub mod bundle;
mod clocks;
mod contents;
mod differences;
mod error;
mod forwarded;
mod host;
mod json;
pub mod layout;
pub mod linux;
mod machine;
pub mod measure;
mod migrate;
mod models;
mod nanoseconds;
mod observed;
mod profile;
mod record;
mod records;
mod replace;
mod run_file;
mod sender_log;

pub use any_record::{AnyRecord, Measured, Seen};
pub use audit::audit_record;
pub use bounded::MOST_QLOG_BYTES;
pub use clocks::{ClockSeen, ClocksSeen, Correction, OffsetSeen, TimekeepingSeen};
pub use contents::{Contents, FileFacts};
pub use differences::differences;
pub use error::RecordError;
pub use forwarded::{DropSeen, ForwarderSeen};
pub use host::{HostActivity, HostBatches, HostMissing, HostSeries};
pub use machine::{FrequencySeen, MachineSeen, MachineWindow, TemperatureSeen};
pub use measure::wire_role;
pub use models::{BottleneckSeen, End, GroupSeen, ModelsMetrics, ModelsObserved, ModelsRecord};
pub use observed::{
    CrossTrafficSeen, HostSeen, LostLog, MOST_STRAY_FILES, Observed, Outcome, PathSeen, ProcessEnd, StampsSeen,
    TapRole, TapSeen,
};
pub use profile::{profile, profiles};
pub use quiclab_agent_protocol::{profile::Profile, stage::StageSeen};
pub use quiclab_audit::AuditReport;
pub use record::{Record, read_observed};
pub use records::{ASIDE, Draft, Records, key, link_below};
pub use replace::put_in_place;
pub use run_file::{RecordedRun, RunFile};
pub use sender_log::{congestion_windows, qlog_files};
