//! What a figure shows: two axes, and lines, bars, boxes and cells between them. It does not know how they are drawn.

use super::style::{self, Dash};
use crate::quantiles::quantile;

/// Height of the space between the axes, in pixels, where a figure does not choose another one.
const HEIGHT: f64 = 350.0;

/// A picture and the words around it.
pub(crate) struct Figure {
    /// Identity in the page.
    pub id: String,
    /// What stands above it.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The picture.
    pub plot: Plot,
}

/// Two axes and what is drawn between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    /// The axis below.
    pub x: Axis,
    /// The axis on the left.
    pub y: Axis,
    /// The traces, in the order in which they are drawn, one over the other.
    pub traces: Vec<Trace>,
    /// Values of the axis below, each with a vertical line.
    pub guides: Vec<f64>,
    /// Whether bars of one place stand on each other instead of beside each other.
    pub is_stacked: bool,
    /// Height of the space between the axes, in pixels.
    pub height: f64,
}

impl Plot {
    /// Two axes with nothing between them.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, traces: Vec::new(), guides: Vec::new(), is_stacked: false, height: HEIGHT }
    }

    /// Adds a trace. The legend has no entry for one without a name.
    pub fn add(&mut self, name: &str, colour: &'static str, content: impl Into<Content>) {
        self.traces.push(Trace { name: name.to_owned(), colour, content: content.into() });
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// Whether bars lie, because the axis on the left has names.
    pub(super) fn is_horizontal(&self) -> bool {
        matches!(self.y.kind, AxisKind::Names(_))
    }

    /// The bars of each trace that has some.
    pub(super) fn bars(&self) -> impl Iterator<Item = &Bars> {
        self.traces.iter().filter_map(|trace| match &trace.content {
            Content::Bars(bars) => Some(bars),
            _ => None,
        })
    }

    /// Ends of the stacks.
    pub(super) fn stacked(&self) -> Vec<f64> {
        let longest = self.bars().map(|bars| bars.values.len()).max().unwrap_or(0);
        let end = |place: usize| self.bars().filter_map(|bars| *bars.values.get(place)?).sum();
        (0..longest).map(end).collect()
    }
}

/// An axis with its title, which ends with a comma and the unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub title: String,
    pub kind: AxisKind,
}

/// Describes an axis: its title, kind and range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AxisKind {
    /// Numbers: from 0, or from the smallest value if it is negative, unless there is a range.
    Linear { range: Option<(f64, f64)> },
    /// Numbers from the smallest to the largest value.
    Fitted,
    /// Positive numbers.
    Logarithmic { range: Option<(f64, f64)> },
    /// Names beside each other; on the left the first is at the top. The place of a name is its value.
    Names(Vec<String>),
}

impl Axis {
    pub fn linear(title: &str) -> Self {
        Self { title: title.to_owned(), kind: AxisKind::Linear { range: None } }
    }

    pub fn between(title: &str, low: f64, high: f64) -> Self {
        Self { title: title.to_owned(), kind: AxisKind::Linear { range: Some((low, high)) } }
    }

    pub fn fitted(title: &str) -> Self {
        Self { title: title.to_owned(), kind: AxisKind::Fitted }
    }

    pub fn logarithmic(title: &str) -> Self {
        Self { title: title.to_owned(), kind: AxisKind::Logarithmic { range: None } }
    }

    pub fn names(title: &str, names: Vec<String>) -> Self {
        Self { title: title.to_owned(), kind: AxisKind::Names(names) }
    }
}

/// Something that is drawn between the axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace {
    /// Name in the legend.
    pub name: String,
    /// `#RRGGBB`.
    pub colour: &'static str,
    pub content: Content,
}

/// Holds the data of a trace in its form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Line(Line),
    /// Corners of a surface that what lies behind can be seen through.
    Area(Vec<(f64, f64)>),
    Bars(Bars),
    /// Boxes at places of names.
    Boxes(Vec<(usize, Quartiles)>),
    /// Means with intervals, in rows: the row's place, and low end, mean and high end.
    Intervals(Vec<(usize, [f64; 3])>),
    /// Marks without a line.
    Marks(Mark, Vec<(f64, f64)>),
    Cells(Cells),
}

impl Content {
    /// How many points, bars or rows it has.
    pub(super) fn points(&self) -> usize {
        match self {
            Self::Line(line) => line.points.len(),
            Self::Area(points) => points.len().min(1),
            Self::Marks(_, points) => points.len(),
            Self::Bars(bars) => bars.values.iter().flatten().count(),
            Self::Boxes(boxes) => boxes.len(),
            Self::Intervals(rows) => rows.len(),
            Self::Cells(cells) => cells.cells.len(),
        }
    }
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Points from left to right; a value that is missing interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    pub dash: Dash,
    /// Width in pixels.
    pub width: f64,
    /// Whether a value holds until the next one.
    pub is_stepped: bool,
    /// Mark that stands at each point.
    pub mark: Option<Mark>,
}

impl Line {
    /// The line of the group at `place`, whose dash tells it apart in print without colours.
    pub fn of_place(place: usize, points: Vec<(f64, f64)>) -> Self {
        Self::with_gaps(place, points.into_iter().map(|(x, y)| (x, Some(y))).collect())
    }

    /// The line of the group at `place`, where values can be missing.
    pub fn with_gaps(place: usize, points: Vec<(f64, Option<f64>)>) -> Self {
        Self { points, dash: style::dash(place), width: 1.8, is_stepped: false, mark: None }
    }

    pub fn stepped(self) -> Self {
        Self { is_stepped: true, ..self }
    }

    pub fn width(self, width: f64) -> Self {
        Self { width, ..self }
    }

    pub fn dash(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }

    pub fn marks(self, mark: Mark) -> Self {
        Self { mark: Some(mark), ..self }
    }
}

/// How a point is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Dot,
    SmallDot,
    Diamond,
    SmallDiamond,
    Cross,
    Triangle,
}

/// Bars, one for each name of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bars {
    /// The values, in the order of the names; a missing value has no bar.
    pub values: Vec<Option<f64>>,
    /// Standard deviations. Empty: none has one.
    pub errors: Vec<f64>,
    /// Whether they are hatched, so that the colour is not all that tells them from others.
    pub is_hatched: bool,
}

impl Bars {
    pub fn of(values: Vec<f64>) -> Self {
        Self { values: values.into_iter().map(Some).collect(), ..Self::default() }
    }
}

/// A box with its whiskers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    /// Ends of the whiskers and of the box, with the median between them: ascending.
    pub values: [f64; 5],
}

impl Quartiles {
    /// Ends of the whiskers and of the box, and the median, as shares of the values.
    const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

    /// Quartiles of ascending values; `None` where there are none.
    pub fn of(ascending: &[f64]) -> Option<Self> {
        let mut values = [0.0; 5];
        for (value, share) in values.iter_mut().zip(Self::SHARES) {
            *value = quantile(ascending, share)?;
        }
        Some(Self { values })
    }
}

/// A map of cells between two axes with names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cells {
    pub cells: Vec<Cell>,
    /// Colours from few to much, at equal distances, as `#RRGGBB`.
    pub colours: &'static [&'static str],
    /// Values of the first and the last colour.
    pub ends: (f64, f64),
    /// Title of the bar of colours.
    pub title: String,
}

/// A cell at a place of each axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    /// Place of the cell from left to right.
    pub column: usize,
    /// Place of the cell from the top.
    pub row: usize,
    /// What its colour shows; `None` of a cell without one.
    pub value: Option<f64>,
    /// What stands in it.
    pub words: String,
}

impl From<Line> for Content {
    fn from(line: Line) -> Self {
        Self::Line(line)
    }
}

impl From<Bars> for Content {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}
