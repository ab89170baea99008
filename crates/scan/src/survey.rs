//! Surveys: all targets of a list are asked, and what comes of it is written to files.
//!
//! [`ask_once`] asks everyone on a list once, and goes on after an interruption. [`ask_repeatedly`] asks groups of targets again and
//! again. [`plan`] says how many packets that would be. A survey writes [`ScanRow`]s with [`RowsFile`], and counts them in a
//! [`Summary`]; [`report`] makes tables of rows of earlier surveys. What only the program can do is in [`SurveyHooks`].

mod capture;
mod csv_text;
mod hooks;
mod once;
mod origins;
mod parts;
mod plan;
mod repeated;
mod report;
mod row;
mod rows;
mod settings;
mod summary;
mod whom;

pub use hooks::{SurveyHooks, SurveyProgress};
pub use once::ask_once;
pub use origins::Origins;
pub use plan::plan;
pub use repeated::ask_repeatedly;
pub use report::report;
pub use row::ScanRow;
pub use rows::RowsFile;
pub use settings::{
    AddressChoice, OriginSettings, RowFormat, SurveySettings, TargetGroup, TargetSettings, http_settings,
};
pub use summary::{AnswerGroup, Summary};
