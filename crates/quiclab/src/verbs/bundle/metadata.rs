//! What a bundle says to people and to archives: README.md, CITATION.cff, .zenodo.json, LICENCES.md.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use serde_json::json;

use super::About;

/// Stands where nobody named an author.
const NOBODY: &str = "unknown";

/// Says what is in it and how to verify it.
pub fn readme(about: &About, experiment: &BTreeMap<String, PathBuf>) -> String {
    let mut text = format!("# {}\n\nRecords of the experiment `{}`, ", about.title, about.experiment);
    let _ = writeln!(text, "made with quiclab {}: a laboratory for how QUIC behaves on the wire.\n", about.quiclab);
    let _ = writeln!(text, "Made by:\n\n    {}\n", about.command);
    text.push_str(
        "## Verify it\n\nThat no file was changed or cut, with nothing but coreutils:\n\n    sha256sum --check --quiet SHA256SUMS\n\n\
         The same, and that the runs give the same packets on your machine, with quiclab and the archive as you got it:\n\n    \
         quiclab verify BUNDLE.zip --sample 3\n\n\
         Without `--sample` all runs are repeated. A run in virtual time follows from its `run.toml` and from the versions below; other \
         versions are named, because they are other runs. Runs in real time are samples, so only their hashes are compared.\n\n\
         quiclab builds stacks from its own folder of stacks. To build those that are in here, which runs their build commands on your \
         machine, unpack the archive, read them, and add `--stacks` with their folder.\n\n## What is in it\n\n| | |\n|---|---|\n",
    );
    if !experiment.is_empty() {
        let names: Vec<_> = experiment.keys().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {} | the experiment, and files that it names |", names.join(", "));
    }
    let _ = writeln!(text, "| `results/report.html`, `report.md`, `report.json` | the report |");
    let _ = writeln!(text, "| `results/runs.parquet` | every run with settings and metrics, as a table |");
    let _ = writeln!(text, "| `results/NAME-REPETITION-IDENTITY/` | {} records |", about.records.len());
    for (name, stack) in &about.stacks {
        let _ = writeln!(text, "| `{}/` | the stack {name} {}: manifest and endpoints |", stack.folder, stack.version);
    }
    text.push_str("| `bundle.json` | all of this for programs |\n");
    text.push_str("| `LICENCES.md` | licences of the stacks |\n| `SHA256SUMS` | the hash of every file |\n");
    if !about.left_out.is_empty() {
        let names: Vec<_> = about.left_out.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "\nNot in it, because they are long: {} of each record. `contents.json` of the record has its hash, and `quiclab verify` \
             compares it with that of the run it repeats.",
            names.join(", ")
        );
    }
    text.push_str("\n## Versions\n\n| of | version |\n|---|---|\n");
    for (what, versions) in &about.versions {
        let versions: Vec<_> = versions.iter().map(String::as_str).collect();
        let _ = writeln!(text, "| {what} | {} |", versions.join(", "));
    }
    text
}

/// CITATION.cff, version 1.2.0 of the Citation File Format.
pub fn citation(about: &About, authors: &[String], licence: Option<&str>) -> String {
    let mut text =
        String::from("cff-version: 1.2.0\nmessage: If you use these data, please cite them.\ntype: dataset\n");
    let _ = writeln!(text, "title: {}\nauthors:", quoted(&about.title));
    for author in or_nobody(authors) {
        match author.split_once(',') {
            Some((family, given)) => {
                let _ =
                    writeln!(text, "  - family-names: {}\n    given-names: {}", quoted(family), quoted(given.trim()));
            }
            None => {
                let _ = writeln!(text, "  - name: {}", quoted(&author));
            }
        }
    }
    if let Some(licence) = licence {
        let _ = writeln!(text, "license: {}", quoted(licence));
    }
    text.push_str("keywords:\n  - QUIC\n  - network measurement\n  - quiclab\n");
    text
}

/// `.zenodo.json`, from which Zenodo fills its form.
pub fn zenodo(about: &About, authors: &[String], licence: Option<&str>) -> String {
    let mut all = json!({
        "title": about.title,
        "upload_type": "dataset",
        "description": format!(
            "Records of the experiment {}, made with quiclab {} by: {}",
            about.experiment, about.quiclab, about.command
        ),
        "creators": or_nobody(authors).iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        "keywords": ["QUIC", "network measurement", "quiclab"],
    });
    if let Some(licence) = licence {
        all["license"] = json!(licence.to_lowercase());
    }
    format!("{all:#}\n")
}

/// The licences of what was run.
pub fn licences(about: &About) -> String {
    let mut text = String::from(
        "# Licences\n\nThe endpoints and manifests of quiclab's own stacks are MIT OR Apache-2.0, as quiclab is. They use these \
         libraries and programs, which are not in the bundle; lock files name all that a build takes.\n\n\
         | stack | version | licence (SPDX) |\n|---|---|---|\n",
    );
    for (name, stack) in &about.stacks {
        let _ = writeln!(text, "| {name} | {} | {} |", stack.version, stack.licence);
    }
    text
}

fn or_nobody(authors: &[String]) -> Vec<String> {
    if authors.is_empty() { vec![NOBODY.to_owned()] } else { authors.to_vec() }
}

/// A scalar of YAML in double quotes, which JSON's strings are.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            schema: 1,
            quiclab: "0.1.0".into(),
            experiment: "examples/first".into(),
            title: "One \"transfer\": 1 MiB".into(),
            command: "quiclab run first.toml".into(),
            records: vec!["a-01-0123456789abcdef".into()],
            left_out: vec!["wire.pcapng".into()],
            versions: BTreeMap::from([("qemu".into(), ["7.2".to_owned()].into())]),
            stacks: BTreeMap::new(),
        }
    }

    #[test]
    fn the_citation_names_authors_and_quotes_what_yaml_would_take_apart() {
        let text = citation(&about(), &["Doe, Jane".to_owned(), "A Group".to_owned()], Some("CC-BY-4.0"));
        assert!(text.contains("title: \"One \\\"transfer\\\": 1 MiB\"\n"), "{text}");
        assert!(
            text.contains("  - family-names: \"Doe\"\n    given-names: \"Jane\"\n  - name: \"A Group\"\n"),
            "{text}"
        );
        assert!(text.contains("license: \"CC-BY-4.0\"\n"), "{text}");
        assert!(citation(&about(), &[], None).contains("  - name: \"unknown\"\n"));
    }

    #[test]
    fn the_readme_says_how_to_verify_and_what_is_missing() {
        let text = readme(&about(), &BTreeMap::new());
        for part in ["sha256sum --check", "quiclab verify", "`wire.pcapng` of each record", "| qemu | 7.2 |"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let whole = About { left_out: Vec::new(), ..about() };
        assert!(!readme(&whole, &BTreeMap::new()).contains("Not in it"));
    }

    #[test]
    fn zenodo_gets_json_with_what_it_requires() {
        let value: serde_json::Value = serde_json::from_str(&zenodo(&about(), &[], Some("CC-BY-4.0"))).unwrap();
        assert_eq!((&value["upload_type"], &value["license"]), (&json!("dataset"), &json!("cc-by-4.0")));
        assert_eq!(value["creators"][0]["name"], "unknown");
    }
}
