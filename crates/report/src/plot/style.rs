//! What all pictures share: colours and dashes.

/// Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008), and a dark violet in place of their black, which
/// as a surface would outshine all others.
const COLOURS: &[&str] = &["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B2A86"];
/// Is the colour of published values.
pub const INK: &str = "#000000";
/// Colour of what is neither better nor worse, such as a limit.
pub const GREY: &str = "#777777";

/// What colours that are too dark on the ground of a dark page become there.
const ON_DARK: [(&str, &str); 12] = [
    (INK, "#e6e6e6"),
    (GREY, "#a6a9b0"),
    ("#0072B2", "#3a9bdc"),
    ("#5B2A86", "#b58ae6"),
    ("#08519c", "#2171b5"),
    ("#b30000", "#d7301f"),
    ("#B25000", "#e08a3c"),
    ("#C00000", "#ff6b6b"),
    ("#006B4E", "#4ecfa2"),
    ("#7A3DB8", "#b58ae6"),
    ("#B8006B", "#f06bb0"),
    ("#8A5A00", "#e0b040"),
];

/// Rules of a page for the pictures in it: of their parts, and of their colours where the reader wants dark pages.
pub(crate) fn rules_of_pages() -> String {
    let rule = |(light, dark): (&str, &str)| {
        ["color", "fill", "stroke"].map(|name| format!("  .plot [{name}=\"{light}\"] {{ {name}: {dark}; }}\n")).concat()
    };
    let rules: String = ON_DARK.into_iter().map(rule).collect();
    format!("{}@media (prefers-color-scheme: dark) {{\n{rules}}}\n", include_str!("page.css"))
}

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
