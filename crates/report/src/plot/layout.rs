//! Sizes that all parts of a picture share.

/// Width of a picture in pixels.
pub(super) const WIDTH: f64 = 900.0;
/// Space around the area between the axes, in pixels.
pub(super) const LEFT: f64 = 75.0;
pub(super) const RIGHT: f64 = 20.0;
/// Size of the font in pixels.
pub(super) const FONT: f64 = 12.0;
