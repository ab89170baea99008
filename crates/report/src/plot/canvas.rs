//! The area between the axes: which pixel a value has.

use super::{scale::Scale, tooltip::Tooltips};

/// Where the traces are.
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// What traces are drawn with.
pub(super) struct Canvas<'a> {
    pub x: Scale<'a>,
    pub y: Scale<'a>,
    pub area: Area,
    pub tooltips: Tooltips<'a>,
    /// Prefix of identities: a page has several pictures, and the names of their parts are those of the page.
    pub id: &'a str,
}

impl Canvas<'_> {
    /// The pixel of a value of the axis below.
    pub fn x(&self, value: f64) -> f64 {
        self.area.left + self.area.width * self.x.place(value)
    }

    /// The pixel of a value of the axis on the left.
    pub fn y(&self, value: f64) -> f64 {
        let place = self.y.place(value);
        let down = if matches!(self.y, Scale::Names(_)) { place } else { 1.0 - place };
        self.area.top + self.area.height * down
    }

    /// Attribute of what must not leave the area.
    pub fn clip(&self) -> String {
        format!("clip-path=\"url(#{}-area)\"", self.id)
    }

    /// Whether a point is in the area.
    pub fn has(&self, (x, y): (f64, f64)) -> bool {
        const TOLERANCE: f64 = 0.5;
        let is_in =
            |value: f64, from: f64, length: f64| (from - TOLERANCE..=from + length + TOLERANCE).contains(&value);
        is_in(x, self.area.left, self.area.width) && is_in(y, self.area.top, self.area.height)
    }
}
