//! Whether A and B are the same bytes.

use anyhow::Result;
use quiclab_experiment::{run::Settings, stack::StackManifest};
use quiclab_testbed::laboratory::Laboratory;

use super::{Bench, Pairing};

/// True where no run of A can differ from that of B: the same settings, and the same files in the stacks. Builds both sides, as far as the cache
/// does not have them, and starts nothing.
///
/// # Errors
/// A build that fails.
pub fn are_same(bench: &Bench, pairing: &Pairing) -> Result<bool> {
    let laboratories = bench.laboratories;
    // Both are built in any case, so that one that cannot be built is found before anything is run.
    let mut is_same = true;
    let mut seen: Vec<[String; 2]> = Vec::new();
    for (left, right) in pairing.pairs() {
        for (one, other) in roles(left).into_iter().zip(roles(right)) {
            let names = [one.to_owned(), other.to_owned()];
            if seen.contains(&names) {
                continue;
            }
            is_same &= have_same_files(laboratories, &names)?;
            seen.push(names);
        }
    }
    let has_same_settings = |(left, right): (&Settings, &Settings)| with_names_of(left, right) == *right;
    let is_whole = pairing.sides.iter().all(|side| side.len() == pairing.pairs.len());
    Ok(is_same && is_whole && pairing.pairs().all(has_same_settings))
}

fn roles(settings: &Settings) -> [&String; 2] {
    [&settings.stack.server, &settings.stack.client]
}

/// Settings with the names that the stacks of others have.
fn with_names_of(settings: &Settings, others: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.stack.name.clone_from(&others.stack.name);
    settings.stack.server.clone_from(&others.stack.server);
    settings.stack.client.clone_from(&others.stack.client);
    settings
}

fn have_same_files(laboratories: &[Laboratory; 2], names: &[String; 2]) -> Result<bool> {
    let [one, other] = [laboratories[0].build(&names[0])?, laboratories[1].build(&names[1])?];
    let manifests = [
        &laboratories[0].stack_store.source(&names[0])?.manifest,
        &laboratories[1].stack_store.source(&names[1])?.manifest,
    ];
    Ok(one.digest == other.digest && acts_like(manifests[0], manifests[1]))
}

/// True where two manifests differ in nothing that a run can feel: its names and how it was built do not matter beside the bytes.
fn acts_like(one: &StackManifest, other: &StackManifest) -> bool {
    let mut one = one.clone();
    // A single program is started by its name.
    let by_own_name = |manifest: &StackManifest| manifest.guest.command == [format!("/stack/{}", manifest.name)];
    if by_own_name(&one) && by_own_name(other) {
        one.guest.command.clone_from(&other.guest.command);
    }
    one.name.clone_from(&other.name);
    one.version.clone_from(&other.version);
    one.licence.clone_from(&other.licence);
    one.notes.clone_from(&other.notes);
    one.relative_of.clone_from(&other.relative_of);
    one.build.clone_from(&other.build);
    one == *other
}
