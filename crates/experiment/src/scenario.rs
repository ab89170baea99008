//! Scenarios: experiment files about many flows of models instead of transfers between stacks. Read [`Scenario::parse`], then
//! [`Scenario::plan`].

pub(crate) mod declaration;
mod figure;
mod file;
mod flows;
mod groups;
mod identity;
mod labels;
mod measured;
mod plan;
pub(crate) mod settings;
mod texts;
mod unused;

pub use figure::{Compare, FigureKind, FigureSpec, GROUPS, TIME};
pub use file::{Scenario, is_scenario};
pub use flows::{CongestionControl, Flows, FlowsPacing, Recovery, WorkloadKind};
pub use labels::{Labels, SettingLabels};
pub use measured::{MetricName, Quantity};
pub use plan::{ScenarioPlan, ScenarioRun};
pub use settings::{Bottleneck, QueueKind, ScenarioSettings};
pub use texts::{follows, scenario_labels};
