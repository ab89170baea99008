//! What sets several settings apart.

use std::collections::BTreeMap;

use crate::{
    settings::{
        Settings, setting_keys,
        stages::{LISTS, parts, shortened},
    },
    text::setting_texts,
};

/// A short name for each of several settings: the stack, and what sets it apart from the others, such as
/// `quiche, gso=off`. Equal settings get equal names.
pub fn labels(all: &[&Settings]) -> Vec<String> {
    all.iter().zip(differences(all)).map(|(settings, differences)| label(settings, &differences)).collect()
}

/// The stack of a run, and some of what sets it apart from others.
pub fn label<'a>(settings: &Settings, differences: impl IntoIterator<Item = &'a Difference>) -> String {
    let mut label = settings.stack.name.clone();
    for (key, value) in differences {
        // The section says nothing that the name of the key does not.
        label.push_str(&format!(", {}={value}", key.rsplit('.').next().unwrap_or(key)));
    }
    label
}

/// Key and value of a setting that is not the same in all of several runs.
pub type Difference = (&'static str, String);

/// What sets each of several settings apart from the others, besides the stack that the run is about.
pub fn differences(all: &[&Settings]) -> Vec<Vec<Difference>> {
    let mut texts: Vec<_> = all.iter().map(|settings| setting_texts(settings)).collect();
    // Of lists with the same stages only what differs is worth naming.
    for (key, list) in LISTS.into_iter().zip([0, 1]) {
        let lists: Vec<_> =
            all.iter().map(|settings| [&settings.path.to_client, &settings.path.to_server][list]).collect();
        let place = setting_keys().iter().position(|known| *known == key);
        if let (Some(short), Some(place)) = (shortened(&lists), place) {
            for (texts, short) in texts.iter_mut().zip(short) {
                texts[place] = texts[place].take().map(|_| short);
            }
        }
    }
    // What differs between stacks only is each one's own default, and says little. What has no meaning in one run, because it goes with
    // another queueing discipline, differs from nothing.
    let differs = |key: usize| {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        all.iter().zip(&texts).any(|(settings, texts)| {
            let Some(text) = &texts[key] else { return false };
            *first.entry(&settings.stack.name).or_insert(text) != text
        })
    };
    let known = setting_keys();
    let keys: Vec<_> = (0..known.len()).filter(|key| known[*key] != "stack.name").filter(|key| differs(*key)).collect();
    let has = |texts: &Vec<Option<String>>, key: usize| Some((known[key], texts[key].clone()?));
    texts.iter().map(|texts| keys.iter().filter_map(|key| has(texts, *key)).collect()).collect()
}

/// The same as [`differences`], with a key of its own for each setting of a stage, such as `path.to_client.loss.probability`.
pub fn axes(all: &[&Settings]) -> Vec<Vec<(String, String)>> {
    let of_stages = LISTS.into_iter().zip([0, 1]).map(|(key, list)| {
        let lists: Vec<_> =
            all.iter().map(|settings| [&settings.path.to_client, &settings.path.to_server][list]).collect();
        (key, parts(&lists))
    });
    let of_stages: Vec<_> = of_stages.collect();
    let of_run = |(index, differences): (usize, Vec<Difference>)| {
        let mut axes = Vec::new();
        for (key, value) in differences {
            let stages = of_stages.iter().find(|(list, _)| *list == key).and_then(|(_, parts)| parts.as_ref());
            match stages {
                None => axes.push((key.to_owned(), value)),
                Some(parts) => axes.extend(parts[index].iter().map(|(part, value)| match part {
                    Some(part) => (format!("{key}.{part}"), value.clone()),
                    None => (key.to_owned(), value.clone()),
                })),
            }
        }
        axes
    };
    differences(all).into_iter().enumerate().map(of_run).collect()
}
