//! What is to be known of a comparison besides its numbers.

use quiclab_experiment::Plan;

use super::{Bench, Pairing, unintended};

/// Differences that nobody asked for, and clients that change along with the servers.
pub fn notes(bench: &Bench, pairing: &Pairing, plans: &[[Plan; 2]]) -> Vec<String> {
    let toggled: Vec<_> = bench.sides.iter().flat_map(|side| &side.settings).map(|(key, _)| key.as_str()).collect();
    let mut notes: Vec<String> = Vec::new();
    let mut add = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for (left, right) in pairing.pairs() {
        for (key, [one, other]) in unintended(left, right, &toggled) {
            add(format!("A and B also differ in {key}: {one} and {other}"));
        }
        let is_own = |side: usize, name: &String| bench.laboratories[side].stack_store.own.contains(name);
        if is_own(0, &left.stack.client) && is_own(0, &left.stack.server) && is_own(1, &right.stack.client) {
            add("each side is its own client; --set stack.client=NAME measures both servers with one client".to_owned());
        }
    }
    for side in [0, 1] {
        for plan in plans.iter().map(|plans| &plans[side]) {
            for (reason, count) in &plan.left_out_because {
                add(format!(
                    "{}, {}: {count} combinations of the matrix are skipped: {reason}",
                    ["A", "B"][side],
                    plan.experiment.common.name
                ));
            }
        }
    }
    notes
}
