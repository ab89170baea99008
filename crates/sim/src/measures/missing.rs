//! Which metrics a run does not have, and why.

use std::collections::BTreeMap;

use super::{GROUP, METRICS, transfers::is_biased};

/// The names of all metrics of a run with these groups, in the order of [`METRICS`].
pub fn names<'a>(groups: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut names = Vec::new();
    for name in METRICS {
        match name.strip_suffix(GROUP) {
            Some(base) => names.extend(groups.clone().map(|group| format!("{base}{group}"))),
            None => names.push((*name).to_owned()),
        }
    }
    names
}

/// The metrics that could not be measured, by the reason. `metrics` are those that could.
pub fn missing<'a>(
    groups: impl Iterator<Item = &'a str> + Clone,
    metrics: &BTreeMap<String, f64>,
) -> BTreeMap<&'static str, Vec<String>> {
    let mut missing: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for name in names(groups).into_iter().filter(|name| !metrics.contains_key(name)) {
        let reason = if metrics.is_empty() { NOTHING_MEASURED } else { reason(&name, metrics) };
        missing.entry(reason).or_default().push(name);
    }
    missing
}

const NOTHING_MEASURED: &str = "the run ended before the first interval after the warm-up";

fn reason(name: &str, metrics: &BTreeMap<String, f64>) -> &'static str {
    let (base, group) = name.split_once('.').unwrap_or((name, ""));
    match base {
        "transfer_time_mean_s" | "transfer_time_over_ideal" if has_biased_times(group, metrics) => {
            "more than 5 % of the group's transfers had not ended when the run ended"
        }
        "transfer_time_over_others" => {
            "there are no transfers of two groups, or more than 5 % of one had not ended when the run ended"
        }
        "transfers_unfinished" => "the group does not send transfers",
        "first_loss_s" | "first_loss_window_segments" => "no sender detected a loss",
        "transfers" | "transfer_time_mean_s" | "transfer_time_over_ideal" => {
            "no transfer that began after the warm-up ended"
        }
        "drop_share" => "no packet reached a bottleneck",
        "queue_delay_mean_s" => "the first bottleneck sent no packet after the warm-up",
        "retransmitted_share" => "no segment was sent",
        _ => "nothing was delivered after the warm-up",
    }
}

/// Whether so many of a group's transfers had not ended that the times of the others are withheld.
fn has_biased_times(group: &str, metrics: &BTreeMap<String, f64>) -> bool {
    let count = |base: &str| metrics.get(&format!("{base}.{group}")).copied().unwrap_or(0.0);
    is_biased(count("transfers"), count("transfers_unfinished"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_there_or_missing_for_a_reason() {
        let groups = || ["a", "b"].into_iter();
        let all = names(groups());
        assert_eq!(all.len(), METRICS.len() + METRICS.iter().filter(|name| name.ends_with(GROUP)).count());
        assert_eq!(&all[..4], ["goodput_bps", "goodput_bps.a", "goodput_bps.b", "utilisation"]);
        let measured: BTreeMap<_, _> =
            all.iter().filter(|name| !name.starts_with("first_loss")).map(|name| (name.clone(), 1.0)).collect();
        let first_losses = ["first_loss_s", "first_loss_s.a", "first_loss_s.b", "first_loss_window_segments"];
        let expected = BTreeMap::from([("no sender detected a loss", first_losses.map(str::to_owned).to_vec())]);
        assert_eq!(missing(groups(), &measured), expected);
        assert_eq!(missing(groups(), &BTreeMap::new()), BTreeMap::from([(NOTHING_MEASURED, all)]));
    }
}
