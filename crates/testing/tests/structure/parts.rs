//! Parts of one crate that know nothing of each other.

use std::path::Path;

use crate::{modules::Modules, paths::paths, source::sources};

/// Modules of a crate that neither use the rest of it nor are used there, and those that use both and are used by neither.
const PARTS: &[(&str, &[&str], &[&str])] = &[
    ("perf", &["roofline"], &["measure"]),
    ("record", &["bundle"], &[]),
    ("scan", &["origin", "targets"], &["survey"]),
    ("wire", &["offload"], &[]),
];

/// Modules of the command that do not know what it is asked for: neither the command line nor any verb.
const BELOW_VERBS: &[&str] = &["session", "settings", "terminal"];

#[test]
fn parts_of_a_crate_and_its_rest_know_nothing_of_each_other() {
    let sources = sources(false);
    let mut wrong = Vec::new();
    for (krate, parts, above) in PARTS {
        let modules = Modules::of(&Path::new("crates").join(krate), &sources);
        let is_in = |name: &[String], part: &str| name.first().is_some_and(|first| first == part);
        let part_of = |name: &[String]| parts.iter().chain(*above).find(|part| is_in(name, part));
        let is_above = |name: &[String]| above.iter().any(|part| is_in(name, part));
        assert!(
            parts.iter().chain(*above).all(|part| modules.by_name.contains_key(&[(*part).to_owned()][..])),
            "{krate}: {parts:?}"
        );
        for (name, source) in modules.by_name.iter().filter(|(name, _)| !name.is_empty() && !is_above(name)) {
            paths(source.tokens.clone(), &mut |path| {
                if modules.module_of(name, path).is_some_and(|used| part_of(&used) != part_of(name)) {
                    wrong.push(format!("{krate}: {} uses {}", name.join("::"), path.join("::")));
                }
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_verbs_have_in_common_knows_no_verb() {
    let sources = sources(false);
    let modules = Modules::of(Path::new("crates/quiclab"), &sources);
    let begins_with = |name: &[String], rooms: &[&str]| name.first().is_some_and(|first| rooms.contains(&&**first));
    assert!(BELOW_VERBS.iter().all(|room| modules.by_name.contains_key(&[(*room).to_owned()][..])), "{BELOW_VERBS:?}");
    let mut wrong = Vec::new();
    for name in modules.by_name.keys().filter(|name| begins_with(name, BELOW_VERBS)) {
        for used in modules.used_by(name).iter().filter(|used| begins_with(used, &["cli", "verbs"])) {
            wrong.push(format!("{} uses {}", name.join("::"), used.join("::")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
