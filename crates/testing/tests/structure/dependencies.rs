//! docs/reference/dependencies.md lists libraries that quiclab has, in the versions that it has.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/reference/dependencies.md");
const LOCK: &str = include_str!("../../../../Cargo.lock");
const MANIFESTS: [&str; 2] = [include_str!("../../../wire/Cargo.toml"), include_str!("../../../testbed/Cargo.toml")];

/// All versions of each library in `Cargo.lock`.
fn locked() -> BTreeMap<String, Vec<String>> {
    let lock: toml::Table = LOCK.parse().unwrap();
    let mut locked = BTreeMap::<_, Vec<_>>::new();
    for package in lock["package"].as_array().unwrap() {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap().to_owned());
        locked.entry(name).or_default().push(version);
    }
    locked
}

/// Name and version of each row.
fn listed() -> Vec<(&'static str, &'static str)> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once("` | ").and_then(|(name, rest)| Some((name, rest.split_once(" |")?.0))).unwrap())
        .collect()
}

#[test]
fn every_library_of_the_page_is_locked_in_the_version_that_was_looked_at() {
    let locked = locked();
    assert!(listed().len() > 10);
    for (name, version) in listed() {
        let found = locked.get(name).unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
        let is_it = |found: &String| found == version || found.starts_with(&format!("{version}."));
        assert!(found.iter().any(is_it), "{name}: found {found:?}, the page says {version}");
    }
}

#[test]
fn every_library_by_which_captures_and_images_are_read_is_on_the_page() {
    // Those that see no foreign bytes, or whose rows have another name.
    const OTHERS: [&str; 26] = [
        "anyhow",
        "cpio",
        "glob",
        "indexmap",
        "libc",
        "nix",
        "p256",
        "p384",
        "rand_chacha",
        "rsa",
        "rcgen",
        "rustc-hash",
        "serde",
        "tempfile",
        "thiserror",
        "time",
        "zstd",
        "landlock",
        "seccompiler",
        "rustix",
        "blake3",
        "rayon",
        "signal-hook",
        "xattr",
        "memmap2",
        "syscalls",
    ];
    let listed: Vec<_> = listed().into_iter().map(|(name, _)| name).collect();
    for manifest in MANIFESTS {
        let manifest: toml::Table = manifest.parse().unwrap();
        let names = manifest["dependencies"].as_table().unwrap().keys().filter(|name| !name.starts_with("quiclab-"));
        for name in names.filter(|name| !OTHERS.contains(&name.as_str())) {
            assert!(
                listed.contains(&name.as_str()),
                "{name} is not in docs/reference/dependencies.md: does it read foreign bytes?"
            );
        }
    }
}
