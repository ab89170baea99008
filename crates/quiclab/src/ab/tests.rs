use quiclab_experiment::{Experiment, Overrides};

use super::*;

fn settings(stack: &str, lines: &str) -> Vec<Settings> {
    let text = format!("name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"{stack}\"\n{lines}");
    let laboratory =
        quiclab_testbed::stack::sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../stacks"))).unwrap();
    let manifests = laboratory.into_iter().map(|(name, source)| (name, source.manifest)).collect();
    let plan = Experiment::parse("x.toml", &text, None).unwrap().plan(&manifests, &Overrides::default()).unwrap();
    plan.runs.into_iter().map(|run| run.settings).collect()
}

#[test]
fn settings_of_two_stacks_are_pairs_by_their_order() {
    let rates = "[matrix]\n\"path.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n";
    let pairing = Pairing::of([settings("quiche", rates), settings("ngtcp2", rates)], &[]);
    for place in 0..2 {
        assert_eq!(pairing.key(0, &pairing.sides[0][place]), pairing.key(1, &pairing.sides[1][place]));
    }
    assert_ne!(pairing.key(0, &pairing.sides[0][0]), pairing.key(1, &pairing.sides[1][1]));
}

#[test]
fn what_only_one_side_has_is_nobodys_pair() {
    let both = settings("quiche", "[matrix]\n\"path.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n");
    let one = settings("quiche", "[path]\nrate = \"20 Mbit/s\"\n");
    let pairing = Pairing::of([both, one], &[]);
    assert_eq!(pairing.pairs, [(1, 0)]);
    assert_ne!(pairing.key(0, &pairing.sides[0][0]), pairing.key(1, &pairing.sides[1][0]));
}

#[test]
fn what_was_asked_for_is_no_surprise() {
    let [on, off] = ["on", "off"].map(|gso| settings("quiche", &format!("gso = \"{gso}\"\n")).remove(0));
    assert_eq!(unintended(&on, &off, &["stack.gso"]), []);
    assert_eq!(unintended(&on, &off, &[]), [("stack.gso".to_owned(), ["on".to_owned(), "off".to_owned()])]);
}
