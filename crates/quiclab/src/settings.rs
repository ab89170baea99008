//! What verbs do, resolved from the command line: plain values that know nothing of how arguments are parsed.

mod ab;
mod advise;
mod analyze;
mod bundle;
mod doctor;
mod interop;
mod judge;
mod look;
mod packets;
mod perform;
mod prepare;
mod report;
mod run;
mod scan;
mod stacks_check;
mod stacks_import;
mod stacks_try;
mod verify;

pub use ab::{AbSettings, Budget, SMALLEST_CHANGE};
pub use advise::{AdviseCheckSettings, AdviseSettings, InstantAckSettings, PtoSettings, RttSamples};
pub use analyze::AnalyzeSettings;
pub use bundle::BundleSettings;
pub use doctor::DoctorSettings;
pub use interop::InteropSettings;
pub use judge::JudgeSettings;
pub use look::LookSettings;
pub use packets::PacketsSettings;
pub use perform::PerformSettings;
pub use prepare::PrepareSettings;
pub use report::ReportSettings;
pub use run::{MOST_REPETITIONS, RunAction, RunSettings, WAIT_FOR_QUIET, WALL_TIMEOUT};
pub use scan::{CaptureSettings, ScanAction, ScanRequest};
pub use stacks_check::StacksCheckSettings;
pub use stacks_import::{RoleChoice, StacksImportSettings};
pub use stacks_try::StacksTrySettings;
pub use verify::VerifySettings;
