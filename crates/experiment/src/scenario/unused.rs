//! Settings that have no effect in any run of a file.
//!
//! A matrix may have runs in which one of its axes does nothing, such as RED's thresholds beside a drop-tail queue. What does nothing in any of
//! them is a mistake.

use toml::Value;

use crate::{
    changes::{Assignment, Changes, Origin},
    error::ExperimentError,
    matrix::combinations,
};

use super::{
    declaration::{FLOWS, group_and_key, of_flows},
    file::Scenario,
    settings::ScenarioSettings,
};

/// Settings that have an effect only if another one has one of these values.
struct Need {
    of: &'static [&'static str],
    setting: &'static str,
    values: &'static [&'static str],
}

const NEEDS: &[Need] = &[
    Need {
        of: &[
            "bottleneck.red_weight",
            "bottleneck.red_minimum",
            "bottleneck.red_maximum",
            "bottleneck.red_probability",
            "bottleneck.red_gentle",
        ],
        setting: "bottleneck.queue",
        values: &["red"],
    },
    Need { of: &["bottleneck.target"], setting: "bottleneck.queue", values: &["codel", "fq_codel", "pie"] },
    Need { of: &["bottleneck.codel_interval"], setting: "bottleneck.queue", values: &["codel", "fq_codel"] },
    Need { of: &["flows.ecn"], setting: "bottleneck.queue", values: &["red", "codel", "fq_codel", "pie"] },
    Need { of: &["flows.pacing_gain", "flows.pacing_burst"], setting: "flows.pacing", values: &["rtt"] },
    // BBR has a rate and a slow start of its own.
    Need {
        of: &["flows.hystart", "flows.pacing_gain"],
        setting: "flows.congestion_control",
        values: &["reno", "cubic"],
    },
    Need {
        of: &["flows.transfer_segments", "flows.transfers", "flows.think"],
        setting: "flows.workload",
        values: &["transfers"],
    },
    Need { of: &["scenario.transfers_begin_by"], setting: "flows.workload", values: &["transfers", "arrivals"] },
    Need { of: &["flows.on", "flows.off"], setting: "flows.workload", values: &["on_off"] },
    Need { of: &["flows.arrivals"], setting: "flows.workload", values: &["arrivals"] },
];

impl Need {
    /// The needs of a setting, whose key names no group.
    fn all(key: &str) -> impl Iterator<Item = &'static Need> {
        NEEDS.iter().filter(move |need| need.of.contains(&key))
    }

    /// Whether a run meets it for a group.
    fn is_met(&self, settings: &ScenarioSettings, group: &str) -> bool {
        let value = settings.texts().remove(&self.key(Some(group)));
        value.is_some_and(|value| self.values.contains(&value.as_str()))
    }

    /// The key of the setting that is needed, for a group.
    fn key(&self, group: Option<&str>) -> String {
        match (of_flows(self.setting), group) {
            (Some(_), Some(group)) => self.setting.replacen(FLOWS, &format!("{FLOWS}.{group}"), 1),
            _ => self.setting.to_owned(),
        }
    }
}

impl Assignment {
    /// The group that it names, and its key without that.
    fn group_and_key(&self) -> (Option<&str>, String) {
        group_and_key(&self.key)
    }

    /// Whether it may have no effect. To switch something off that is not there is no mistake.
    fn has_needs(&self) -> bool {
        let is_off = self.value == Value::Boolean(false) || self.value.as_str() == Some("none");
        !is_off && Need::all(&self.group_and_key().1).next().is_some()
    }

    /// Whether it has an effect in a run that it is part of.
    fn has_effect(&self, settings: &ScenarioSettings) -> bool {
        let (named, key) = self.group_and_key();
        let mut groups = settings.flows.keys().filter(|group| named.is_none_or(|named| *group == named));
        groups.any(|group| Need::all(&key).all(|need| need.is_met(settings, group)))
    }
}

impl Scenario {
    /// Refuses a setting that has no effect in any run of this scenario with the changes `set` of a command line.
    ///
    /// A line of the file is refused only if it has no effect without the command line either, and, if it is not in the profile, without the profile:
    /// nobody has to edit a file to try another setting.
    ///
    /// # Errors
    /// The first such setting, and what it needs.
    pub(super) fn check_effects(&self, set: Changes) -> Result<(), ExperimentError> {
        let file = &self.common.changes;
        let all = file.clone().overridden_by(set);
        for one in self.without_effect(&all) {
            let is_in = |changes: &Changes| self.without_effect(changes).iter().any(|other| other.origin == one.origin);
            let is_of = |changes: &Changes| changes.values_of(&one.key).any(|other| other.origin == one.origin);
            let is_mistake = one.origin == Origin::Set
                || is_in(file) && self.without_profile.as_ref().is_none_or(|base| !is_of(base) || is_in(base));
            if is_mistake {
                return Err(self.no_effect(one, &all));
            }
        }
        Ok(())
    }

    /// The values among `changes` that have no effect in any of their runs; none where there are no such runs.
    fn without_effect<'a>(&self, changes: &'a Changes) -> Vec<&'a Assignment> {
        let axes = changes.matrix.iter().flat_map(|axis| &axis.1);
        let mut left: Vec<_> = changes.assignments.iter().chain(axes).filter(|one| one.has_needs()).collect();
        if left.is_empty() {
            return left;
        }
        for combination in combinations(&changes.matrix) {
            let assignments: Vec<_> = changes.assignments.iter().chain(combination).collect();
            let Ok((settings, _)) = self.resolve(&changes.named, &assignments) else { return Vec::new() };
            let is_part = |one: &Assignment| assignments.iter().any(|other| std::ptr::eq(*other, one));
            left.retain(|one| !(is_part(one) && one.has_effect(&settings)));
        }
        left
    }

    fn no_effect(&self, one: &Assignment, changes: &Changes) -> ExperimentError {
        let (group, key) = one.group_and_key();
        let is_missing = |need: &&Need| {
            let keys = [need.key(group), need.setting.to_owned()];
            let mut values = keys.iter().flat_map(|key| changes.values_of(key)).filter_map(|one| one.value.as_str());
            !values.any(|value| need.values.contains(&value))
        };
        let Some(need) = Need::all(&key).find(is_missing).or_else(|| Need::all(&key).next()) else {
            unreachable!("only settings with needs can have no effect")
        };
        let values: Vec<_> = need.values.iter().map(|value| format!("{value:?}")).collect();
        let needed = format!("{} = {}", need.key(group), values.join(" or "));
        let message = format!("{}: found a value that has no effect in any run; it needs {needed}", one.key);
        self.common.error_from(Some(one.origin), message, Some(format!("remove it, or set {needed}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::settings::{check, keys};

    #[test]
    fn needs_name_settings_and_values_that_exist() {
        for need in NEEDS {
            assert!(need.of.iter().all(|key| keys().any(|known| known == *key)), "{:?}", need.of);
            for value in need.values {
                let value = Value::String((*value).to_owned());
                assert_eq!(check(need.setting, &value), Some(Ok(())), "{} = {value}", need.setting);
            }
        }
    }
}
