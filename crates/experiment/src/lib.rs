//! Experiment files, stack manifests, and the plans they expand to.
//!
//! Pure: text in, values out; nothing here opens a file. Read [`Experiment::parse`] (file to experiment), then
//! [`Experiment::plan`] (experiment to runs), then [`run::Run`] and [`scenario::ScenarioRun`] (one
//! run, every value resolved), which [`AnyRun`] unites. Does not know where a
//! run happens or what is measured.

mod any_run;
mod changes;
mod common;
mod differences;
pub mod error;
mod expect;
mod figure_settings;
mod file;
mod folder_names;
mod hosts;
mod includes;
mod kind;
mod matrix;
mod overrides;
mod own_stacks;
mod plan;
mod published;
pub mod quantity;
mod reader;
mod reading;
mod repetitions;
mod resolve;
pub mod run;
pub mod scenario;
mod sections;
mod set;
mod settings;
mod skipped;
pub mod stack;
mod testbed_name;
mod text;
mod value;

pub use any_run::AnyRun;
pub use common::Common;
pub use differences::{Difference, axes, differences, label, labels};
pub use error::ExperimentError;
pub use expect::{Bound, Comparable, Compared, Expectation, LOST_BYTES, Subject};
pub use figure_settings::figure_settings;
pub use file::Experiment;
pub use folder_names::id_of_folder;
pub use includes::files::{NamedFile, ReadInclude};
pub use overrides::Overrides;
pub use plan::Plan;
pub use published::{CURVES, Published};
pub use repetitions::{Repetitions, Until};
pub use resolve::{first_acks, server_test_case};
pub use run::identity::{IDENTITY_VERSION, RELEASE};
pub use settings::{
    PATCHED_KERNEL, changed_settings, foreign_setting, setting_about, setting_keys, setting_words, settings_reference,
    testbed_only,
};
pub use testbed_name::TestbedName;
pub use text::{setting_list, setting_text, settings_differences, settings_text};
