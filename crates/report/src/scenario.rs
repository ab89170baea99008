//! The report of a scenario: many runs of models, their metrics, and curves over time or over a setting.

mod brief;
mod figure;
mod findings;
mod group;
mod html;
mod json;
mod markdown;
mod metric;
mod report;
mod terminal;
mod transfers;

pub use figure::render_scenario_figures;
pub use findings::scenario_findings;
pub(crate) use group::scenario_groups;
pub use html::render_scenario_html;
pub use json::render_scenario_json;
pub use markdown::render_scenario_markdown;
pub use report::{ScenarioReport, ScenarioRow};
pub use terminal::render_scenario_terminal;
pub(crate) use transfers::transfer_figures;
