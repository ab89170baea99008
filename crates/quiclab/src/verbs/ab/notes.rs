//! What is to be known of a comparison besides its numbers.

use quiclab_experiment::{
    Plan,
    run::{Sender, StackSettings},
};

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
        let (key, sender, receiver) = match left.workload.sender {
            Sender::Server => ("stack.client", "server", "client"),
            Sender::Client => ("stack.server", "client", "server"),
        };
        let has_own_receiver =
            |side: usize, stack: &StackSettings| is_own(side, &stack.client) && is_own(side, &stack.server);
        if has_own_receiver(0, &left.stack) && has_own_receiver(1, &right.stack) {
            add(format!(
                "each side is its own {receiver}; --set {key}=NAME measures both {sender}s with one {receiver}"
            ));
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
