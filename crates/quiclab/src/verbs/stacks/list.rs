//! `quiclab stacks list`

use std::fmt::Write as _;

use anyhow::Result;
use quiclab_experiment::{first_acks, stack::StackManifest};
use quiclab_testbed::{cache::Origin, stack::BuiltStack, stack_store::StackRequest};
use serde::Serialize;

use crate::{
    session::{laboratory::open, signals},
    terminal::output,
};

/// Prints the table of stacks, or everything of those that are named.
///
/// # Errors
/// Where there are none, or a manifest is wrong.
pub fn list(names: &[String], stacks: &StackRequest, as_json: bool) -> Result<u8> {
    let laboratory = open(stacks, signals::stop_flag()?)?;
    let chosen: Vec<_> = match names {
        [] => laboratory.stack_store.default_builds().collect(),
        names => names.iter().map(|name| Ok(&laboratory.stack_store.source(name)?.manifest)).collect::<Result<_>>()?,
    };
    if as_json {
        output::print(&(serde_json::to_string_pretty(&chosen)? + "\n"))?;
    } else if names.is_empty() {
        output::print(&table(&chosen))?;
    } else {
        let texts = chosen.into_iter().map(|manifest| {
            let source = laboratory.stack_store.source(&manifest.name)?;
            let built = BuiltStack::find(&laboratory.stack_store.cache, source)?;
            let origin = built.and_then(|built| Origin::of(built.folder()));
            Ok(everything(manifest) + &origin.map_or_else(String::new, |origin| format!("  its build is {origin}\n")))
        });
        output::print(&texts.collect::<Result<Vec<_>>>()?.join("\n"))?;
    }
    Ok(0)
}

fn table(manifests: &[&StackManifest]) -> String {
    let mut table =
        output::table(["stack", "version", "roles", "HTTP", "congestion control", "GSO", "pacing", "IP", "licence"]);
    for manifest in manifests {
        table.add_row([
            manifest.name.clone(),
            manifest.version.clone(),
            words(&manifest.roles),
            words(&manifest.http),
            manifest.congestion_control.join(", "),
            words(&manifest.gso),
            words(&manifest.pacing),
            words(&manifest.ip),
            manifest.licence.clone(),
        ]);
    }
    format!("{table}\nDetails of one, with its defaults and test cases: quiclab stacks list NAME\n")
}

fn everything(manifest: &StackManifest) -> String {
    let mut text = String::new();
    let default = &manifest.default;
    let relative = manifest.relative_of.as_ref().map_or_else(String::new, |name| format!(", a relative of {name}"));
    let _ = writeln!(text, "{} {} ({}){relative}", manifest.name, manifest.version, manifest.licence);
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<20} {value}");
    };
    row("roles", words(&manifest.roles));
    if let Some(peer) = &manifest.peer {
        row("peer for the other role", peer.clone());
    }
    let or = |values: String, default: &str| format!("{values} (default {default})");
    row("HTTP", or(words(&manifest.http), &words(&[default.http])));
    row("congestion control", or(manifest.congestion_control.join(", "), &default.congestion_control));
    row("GSO", or(words(&manifest.gso), &words(&[default.gso])));
    row("pacing", or(words(&manifest.pacing), &words(&[default.pacing])));
    row("IP", words(&manifest.ip));
    row("qlog", if manifest.qlog { "yes" } else { "no" }.to_owned());
    row("key log", words(&manifest.key_log));
    row("certificate delay", words(&[manifest.certificate_delay]));
    if manifest.is_quic() {
        row("before ServerHello", words(&first_acks(manifest)));
        let exchanges = &manifest.key_exchanges;
        row(
            "key exchange",
            if exchanges.is_empty() { "the stack's".to_owned() } else { or(words(exchanges), "the stack's") },
        );
        row("default PTO", if manifest.default_pto { "can be set" } else { "the stack's" }.to_owned());
    }
    let cases = |cases: &std::collections::BTreeSet<String>| cases.iter().cloned().collect::<Vec<_>>().join(", ");
    row("cases as server", cases(&manifest.test_cases.server));
    row("cases as client", cases(&manifest.test_cases.client));
    row("build profile", manifest.build.profile.clone());
    if !manifest.build.inputs.is_empty() {
        row("build inputs", manifest.build.inputs.join(", "));
    }
    for (name, values) in &manifest.build.options {
        row(&format!("build option {name}"), values.join(", "));
    }
    for line in manifest.notes.trim().lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Values as they are written in files.
fn words<T: Serialize>(values: &[T]) -> String {
    values.iter().map(quiclab_experiment::run::word).collect::<Vec<_>>().join(", ")
}
