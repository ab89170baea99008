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

#[test]
fn settings_that_differ_in_more_than_was_asked_for_are_pairs_whose_conditions_are_not_judged() {
    let [on, off] = ["on", "off"].map(|gso| settings("quiche", &format!("gso = \"{gso}\"\n")));
    let pairing = Pairing::of([on.clone(), off.clone()], &[]);
    assert_eq!(pairing.pairs, [(0, 0)]);
    let why = &pairing.not_judged()[&pairing.key(0, &on[0])];
    assert!(why.starts_with("A and B also differ in stack.gso (on and off)"), "{why}");
    assert!(Pairing::of([on, off], &["stack.gso"]).not_judged().is_empty());
}

#[test]
fn settings_are_pairs_by_what_they_are_before_their_order() {
    let one = settings("quiche", "[matrix]\n\"path.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n");
    let other = settings("quiche", "[matrix]\n\"path.rate\" = [\"20 Mbit/s\", \"30 Mbit/s\"]\n");
    let pairing = Pairing::of([one, other], &[]);
    assert_eq!(pairing.pairs, [(0, 1), (1, 0)]);
    assert_eq!(pairing.not_judged().keys().collect::<Vec<_>>(), ["0"]);
}

#[test]
fn a_setting_of_a_stage_that_was_asked_for_is_told_from_the_others() {
    let stages = |probability: &str| {
        let loss =
            format!("[[path.to_client]]\nstage = \"loss\"\nmodel = \"independent\"\nprobability = {probability}\n");
        let delay = "[[path.to_client]]\nstage = \"delay\"\ndelay = \"5 ms\"\n";
        let axis = "[matrix]\n\"path.to_client.delay.delay\" = [\"5 ms\", \"40 ms\"]\n";
        settings("quiche", &format!("{loss}{delay}{axis}"))
    };
    let [one, other] = [stages("0.0"), stages("0.5")];
    let differing = [("path.to_client.loss.probability".to_owned(), ["0.0".to_owned(), "0.5".to_owned()])];
    assert_eq!(unintended(&one[1], &other[1], &[]), differing);
    // Each delay has its counterpart, although the lists differ as a whole.
    let pairing = Pairing::of([one, other.into_iter().rev().collect()], &["path.to_client.loss.probability"]);
    assert_eq!(pairing.pairs, [(0, 1), (1, 0)]);
    assert!(pairing.not_judged().is_empty());
}
