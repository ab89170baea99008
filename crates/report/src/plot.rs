//! Figures are made of the types of [`model`]; [`draw`] turns one into SVG, for a page and for a file.

mod axes;
mod bars;
mod boxes;
mod canvas;
mod cells;
mod draw;
mod layout;
mod legend;
mod lines;
mod model;
mod scale;
pub(crate) mod style;
#[cfg(test)]
mod tests;
mod tooltip;
mod words;

pub(crate) use draw::{file, inline};
#[cfg(test)]
pub(crate) use model::Trace;
pub(crate) use model::{Axis, AxisKind, Bars, Cell, Cells, Content, Figure, Line, Mark, Plot, Quartiles};
pub(crate) use style::Dash;
pub(crate) use words::{escaped, shortened, width};
