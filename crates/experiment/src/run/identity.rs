//! What the identity of a run is derived from.

use std::{collections::BTreeMap, fmt::Write as _};

use sha2::Digest as _;

use super::{Run, Versions};
use crate::{
    settings::{
        Settings,
        declaration::Declaration,
        draft::all,
        stages::{INCLUDE, SCENARIO},
    },
    value::inline,
};

/// Version of the canonical text. It changes only where the text of an unchanged run would.
pub const IDENTITY_VERSION: u32 = 1;

/// Key and value of every setting that counts, in the order of the keys.
///
/// A setting counts by the first key it ever had, so that moving it changes nothing. It does not count where it has no meaning beside the
/// others, and at its neutral value, so that adding a setting changes no identity.
fn settings_that_count<D: 'static, S>(
    settings: &S,
    all: impl Iterator<Item = &'static Declaration<D, S>>,
) -> BTreeMap<&'static str, String>
where
    S: 'static,
{
    let counted = all.filter_map(|setting| {
        let value = (setting.value)(settings)?;
        let is_neutral = setting.neutral.and_then(|neutral| neutral()).as_ref() == Some(&value);
        let key = setting.formerly.last().copied().unwrap_or(setting.key);
        (!is_neutral && ![INCLUDE, SCENARIO].contains(&setting.key)).then(|| (key, inline(&value)))
    });
    counted.collect()
}

/// The release of quiclab that made a record, among its versions. Readers need it; what a release changes about outcomes has versions of its own, such as the
/// bytes of the agent and the digest of the simulator.
pub const RELEASE: &str = "quiclab";

impl Run {
    /// Identity of everything that can change the outcome: settings, seed, start shift, versions. 16 hexadecimal digits. Name
    /// of the experiment and number of the repetition change nothing, and neither does a setting at the value that stands for what versions did that
    /// did not have it.
    pub fn id(&self, versions: &Versions) -> String {
        of_text(canonical_text(self, versions))
    }
}

/// The identity of what has this canonical text: 16 hexadecimal digits.
pub(crate) fn of_text(canonical: String) -> String {
    sha2::Sha256::digest(canonical).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that can change the outcome of a run, as text: a version, then `key = value` lines.
fn canonical_text(run: &Run, versions: &BTreeMap<String, String>) -> String {
    of_parts(run.seed, run.start_shift, &settings_that_count::<_, Settings>(&run.settings, all()), versions)
}

fn of_parts(
    seed: u64,
    start_shift: quiclab_units::Duration,
    settings: &BTreeMap<&str, String>,
    versions: &BTreeMap<String, String>,
) -> String {
    let mut text = format!("quiclab run {IDENTITY_VERSION}\nseed = {seed}\nstart_shift = \"{start_shift}\"\n");
    for (key, value) in settings {
        let _ = writeln!(text, "{key} = {value}");
    }
    for (name, version) in versions.iter().filter(|(name, _)| *name != RELEASE) {
        let _ = writeln!(text, "versions.{name:?} = {version:?}");
    }
    text
}

#[cfg(test)]
mod tests;
