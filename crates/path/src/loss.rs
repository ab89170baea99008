//! Loss that no queue causes.

pub mod burst;
pub mod content;
pub mod gilbert_elliott;
pub mod independent;
pub mod limited;
pub mod list;
pub mod rule;
pub mod rule_report;
