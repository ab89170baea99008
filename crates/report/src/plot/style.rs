//! What all pictures share: colours and dashes.

/// Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
const COLOURS: &[&str] = &["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK];
/// Is the colour of published values.
pub const INK: &str = "#000000";
/// Colour of what is neither better nor worse, such as a limit.
pub const GREY: &str = "#777777";

/// How a line is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    Dashes,
    Dots,
    Alternating,
    LongDashes,
}

/// Colour of the group at `place`.
pub fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// Dash of the group at `place`, for print without colours.
pub fn dash(place: usize) -> Dash {
    let dashes = [Dash::Solid, Dash::Dashes, Dash::Dots, Dash::Alternating, Dash::LongDashes];
    dashes[place % dashes.len()]
}
