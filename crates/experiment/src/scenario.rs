//! Scenarios: experiment files about many flows of models instead of transfers between stacks. Read [`Scenario::parse`], then
//! [`Scenario::plan`].

mod figure;
mod file;
mod flows;
mod groups;
mod identity;
mod labels;
mod measured;
mod plan;
mod settings;
mod texts;
mod unused;

pub use figure::{Compare, CompareAs, FigureKind, FigureSpec, GROUPS, TIME};
pub use file::{Scenario, is_scenario};
pub use flows::{CongestionControl, Flows, FlowsPacing, Recovery, WorkloadKind};
pub use labels::{Labels, SettingLabels};
pub use measured::{Quantity, metric_in_words, quantity_of};
pub use plan::{ScenarioPlan, ScenarioRun, scenario_labels};
pub use settings::{Bottleneck, QueueKind, ScenarioSettings};
pub use texts::follows;

pub(crate) use settings::{check, keys};

/// The section whose tables are groups of flows.
pub(crate) const FLOWS: &str = "flows";

/// Settings of which a run has one or the other.
pub(crate) const ALTERNATIVES: [[&str; 2]; 2] =
    [["bottleneck.buffer_bdp", "bottleneck.buffer_packets"], ["scenario.duration", "scenario.duration_sawtooths"]];
