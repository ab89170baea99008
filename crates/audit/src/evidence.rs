//! The evidence by which the laws of one direction are judged.

use crate::{
    law::TapFacts,
    pairing::Pairing,
    rules::{Rules, Timing},
};

/// The evidence by which the laws of one direction are judged.
pub(crate) struct Evidence<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) timing: &'a Timing,
    pub(crate) pairing: &'a Pairing,
    /// The tap where the direction begins.
    pub(crate) entrance: &'a TapFacts,
    /// The tap where it ends.
    pub(crate) exit: &'a TapFacts,
    /// Fewest bytes of a frame that was cut; `None` where none was.
    pub(crate) shortest_cut: Option<usize>,
}
