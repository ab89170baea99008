//! Figures that a scenario file asks for.

mod read;

use serde::{Deserialize, Serialize};

use crate::expect::Compared;

/// The axis of curves over time.
pub const TIME: &str = "time";
/// Names groups of flows as the setting of a comparison: groups in the same run are compared, instead of runs with different settings.
pub const GROUPS: &str = "groups";

/// One figure: curves of metrics over a setting, of series over time, or a grid of two settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The title of the figure.
    pub title: String,
    /// What to read in it; `None`: only how values are averaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// The kind of drawing.
    #[serde(default)]
    pub kind: FigureKind,
    /// A dotted setting, or [`TIME`].
    pub x: String,
    /// The dotted setting of a grid's vertical axis; `None` for curves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Metrics, or with [`TIME`] series; at least one, and exactly one of a grid. All have the same unit, except in ratios.
    pub y: Vec<String>,
    /// Whether the horizontal axis is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
    /// Whether a series shows what came together since the beginning: the mean of a rate, the sum of a count.
    #[serde(default)]
    pub cumulative: bool,
    /// Show differences or ratios instead of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// Title of the horizontal axis, instead of the name of the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_label: Option<String>,
    /// Title of the vertical axis, instead of the name of the metric; of a grid the title of the colours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_label: Option<String>,
    /// Ends of the horizontal axis, in the unit of the axis, the smaller first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_range: Option<(f64, f64)>,
    /// Ends of the vertical axis, in the same way; of a grid the ends of the colours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_range: Option<(f64, f64)>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Curves, or bars where the values of the setting are no numbers.
    #[default]
    Curves,
    /// A colour for each pair of values of two settings.
    Grid,
}

/// Two values of a setting whose runs are compared, pair by pair of runs that are alike in all else and have the same seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The dotted setting, or [`GROUPS`].
    pub setting: String,
    /// The setting's value in the runs that are shown, as text; or the name of a group.
    pub of: String,
    /// The setting's value in the runs that those are compared with.
    pub with: String,
    /// How the two are compared.
    #[serde(rename = "as")]
    pub how: Compared,
}

impl FigureSpec {
    /// Curves of series over time.
    pub fn over_time(title: String, y: Vec<String>) -> Self {
        Self {
            title,
            caption: None,
            kind: FigureKind::Curves,
            x: TIME.to_owned(),
            by: None,
            y,
            logarithmic: false,
            cumulative: false,
            compare: None,
            x_label: None,
            y_label: None,
            x_range: None,
            y_range: None,
        }
    }

    /// The names of the metrics or series that are read: where groups are compared, those of both groups.
    pub fn names(&self) -> Vec<String> {
        match &self.compare {
            Some(Compare { setting, of, with, .. }) if setting == GROUPS => {
                let of_groups = |name: &String| [of, with].map(|group| format!("{name}.{group}"));
                self.y.iter().flat_map(of_groups).collect()
            }
            _ => self.y.clone(),
        }
    }
}
