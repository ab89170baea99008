//! What the identity of a run is derived from.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Declaration, Settings, all};
use crate::{run::Run, value::inline};

/// Version of the canonical text. It changes only where the text of an unchanged run would.
pub const IDENTITY_VERSION: u32 = 1;

/// Key and value of every setting that counts, in the order of the keys.
///
/// A setting counts by the first key it ever had, so that moving it changes nothing. It does not count where it has no meaning beside the
/// others, and at its neutral value, so that adding a setting changes no identity.
pub(crate) fn settings_that_count<D: 'static, S>(
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
        (!is_neutral && ![super::INCLUDE, super::SCENARIO].contains(&setting.key)).then(|| (key, inline(&value)))
    });
    counted.collect()
}

/// The release of quiclab that made a record, among its versions. Readers need it; what a release changes about outcomes has versions of its own, such as the
/// bytes of the agent and the digest of the simulator.
pub const RELEASE: &str = "quiclab";

/// Everything that can change the outcome of a run, as text: a version, then `key = value` lines.
pub(crate) fn canonical_text(run: &Run, versions: &BTreeMap<String, String>) -> String {
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
