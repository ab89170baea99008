//! Settings of runs as figures see them: the axes, and what else sets the runs apart.

use std::collections::BTreeMap;

use crate::{
    settings::{Settings, one_stage::list_unless, setting_keys},
    text::{setting_text, setting_texts},
};

/// Settings of each run, by dotted key: those in `axes`, and those of the others in which runs differ that have the same values of `axes`.
/// What follows from the axes, such as a default of the stack that an axis names, is left out.
pub fn figure_settings(all: &[&Settings], axes: &[&str]) -> Vec<BTreeMap<String, String>> {
    let of_axes = |settings: &&Settings| -> BTreeMap<String, String> {
        axes.iter().filter_map(|key| Some(((*key).to_owned(), setting_text(settings, key)?))).collect()
    };
    let mut found: Vec<BTreeMap<String, String>> = all.iter().map(of_axes).collect();
    let places = found.clone();
    let texts: Vec<Vec<Option<String>>> = all.iter().map(|settings| setting_texts(settings)).collect();
    for (number, key) in setting_keys().iter().enumerate().filter(|(_, key)| !axes.contains(key)) {
        // A list of stages is compared without the settings of its stages that are axes.
        let text = |place: usize| {
            list_unless(all[place], key, &|key| axes.contains(&key)).or_else(|| texts[place][number].clone())
        };
        let values: Vec<Option<String>> = (0..all.len()).map(text).collect();
        let mut by_place: BTreeMap<&BTreeMap<String, String>, &Option<String>> = BTreeMap::new();
        let differs = places.iter().zip(&values).any(|(place, value)| *by_place.entry(place).or_insert(value) != value);
        if !differs {
            continue;
        }
        for (settings, value) in found.iter_mut().zip(&values) {
            if let Some(value) = value {
                settings.insert((*key).to_owned(), value.clone());
            }
        }
    }
    found
}
