//! A stack of the user's own in a file that names others.

use crate::common;
use std::collections::BTreeMap;

use crate::common::{stacks, with};
use quiclab_experiment::{Experiment, ExperimentError, Overrides, Plan, run::FirstAck, stack::StackManifest};

/// The stacks of the tests, and some more under these names: they do what `like` does.
fn with_own(names: &[&str], like: &str) -> BTreeMap<String, StackManifest> {
    let mut all = stacks();
    for name in names {
        let mut own = all[like].clone();
        own.name = (*name).to_owned();
        all.insert(own.name.clone(), own);
    }
    all
}

fn own(names: &[&str]) -> Overrides {
    Overrides { own_stacks: names.iter().map(|name| (*name).to_owned()).collect(), ..Overrides::default() }
}

fn plan(lines: &str, overrides: &Overrides, stacks: &BTreeMap<String, StackManifest>) -> Result<Plan, ExperimentError> {
    Experiment::parse("x.toml", &with(lines), None).unwrap().plan(stacks, overrides)
}

/// Name, server and client of each run.
fn sides(plan: &Plan) -> Vec<[&str; 3]> {
    let stacks = plan.runs.iter().map(|run| &run.settings.stack);
    stacks.map(|stack| [stack.name.as_str(), &stack.server, &stack.client]).collect()
}

const OTHERS: &str =
    "[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n";

#[test]
fn a_file_that_names_other_stacks_is_run_for_the_own_one() {
    let all = with_own(&["mine", "other"], "quic-go");
    for lines in [OTHERS, "[stack]\nname = \"quiche\"\n[matrix]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n"] {
        let found = plan(lines, &own(&["mine"]), &all).unwrap();
        assert_eq!(sides(&found), [["mine"; 3]; 2]);
        assert_eq!(found.substituted, ["mine"]);
        assert!(found.names_stacks, "{lines}");
        // Several are an axis.
        let found = plan(lines, &own(&["other", "mine"]), &all).unwrap();
        let names: Vec<_> = sides(&found).into_iter().map(|side| side[0]).collect();
        assert_eq!(names, ["other", "mine", "other", "mine"]);
    }
    let silent = plan("[workload]\nsize = \"1 MiB\"\n", &own(&["mine"]), &all).unwrap();
    assert_eq!(sides(&silent), [["mine"; 3]]);
    assert!(!silent.names_stacks);
    let filters = vec![("stack".to_owned(), "mine".to_owned())];
    let filtered = plan(OTHERS, &Overrides { filters, ..own(&["other", "mine"]) }, &all).unwrap();
    assert_eq!(sides(&filtered), [["mine"; 3]; 2]);
    assert_eq!(filtered.unused, ["other"]);
}

#[test]
fn a_file_that_names_the_own_stack_stays_as_it_is() {
    let all = with_own(&["mine"], "quic-go");
    for lines in [
        "[matrix]\n\"stack.name\" = [\"quiche\", \"mine\"]\n",
        "[stack]\nname = \"quiche\"\n[matrix]\n\"stack.client\" = [\"quiche\", \"mine\"]\n",
    ] {
        let found = plan(lines, &own(&["mine"]), &all).unwrap();
        assert_eq!(sides(&found).len(), 2);
        assert!(found.substituted.is_empty() && found.unused.is_empty(), "{lines}");
    }
    // So does one whose stack the command line says.
    let settings = vec![("stack.name".to_owned(), "quiche".to_owned())];
    let found = plan("[stack]\nname = \"ngtcp2\"\n", &Overrides { settings, ..own(&["mine"]) }, &all).unwrap();
    assert_eq!(sides(&found), [["quiche"; 3]]);
    assert_eq!(found.unused, ["mine"]);
}

#[test]
fn servers_of_the_file_become_the_own_stack_and_clients_stay() {
    let all = with_own(&["mine", "other"], "quic-go");
    let lines =
        "[stack]\nname = \"quiche\"\nclient = \"quiche\"\n[matrix]\n\"stack.server\" = [\"quiche\", \"ngtcp2\"]\n";
    assert_eq!(sides(&plan(lines, &own(&["mine"]), &all).unwrap()), [["mine", "mine", "quiche"]]);
    let two = plan(lines, &own(&["mine", "other"]), &all).unwrap_err().to_string();
    assert!(two.starts_with("x.toml: --stack: found 2 stacks for a file that sets stack.server"), "{two}");
    // One without a server takes the client's side.
    let mut clients = all;
    let manifest = clients.get_mut("mine").unwrap();
    manifest.roles = vec![quiclab_experiment::stack::Role::Client];
    manifest.peer = Some("ngtcp2".to_owned());
    let lines = "[stack]\nname = \"quiche\"\nclient = \"quiche\"\n";
    assert_eq!(sides(&plan(lines, &own(&["mine"]), &clients).unwrap()), [["mine", "ngtcp2", "mine"]]);
}

#[test]
fn claims_of_the_own_stack_decide_which_combinations_remain() {
    // "on" alone is claimed, and no send times, which "etf" needs.
    let all = with_own(&["mine"], "ngtcp2");
    let lines = "[matrix]\n\"stack.name\" = [\"quiche-0.24\"]\n\"stack.gso\" = [\"off\", \"on\", \"paced\"]\n";
    let found = plan(lines, &own(&["mine"]), &all).unwrap();
    assert_eq!((found.runs.len(), found.skipped), (1, 2));
    let reasons: Vec<_> = found.left_out_because.keys().collect();
    assert_eq!(
        reasons,
        [
            "stack.gso: found \"off\", which mine does not support; expected one of \"on\"",
            "stack.gso: found \"paced\", which mine does not support; expected one of \"on\""
        ]
    );
    let lines = "[matrix]\n\"stack.name\" = [\"quiche-0.24\"]\n\"hosts.server_qdisc\" = [\"none\", \"etf\"]\n[stack]\npacing = \"txtime\"\n";
    let error = plan(lines, &own(&["mine"]), &all).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.toml:7:10: stack.pacing: found \"txtime\", which mine does not support; expected one of \"user\""
    );
    let lines = "[matrix]\n\"stack.name\" = [\"quiche-0.24\"]\n\"hosts.server_qdisc\" = [\"none\", \"etf\"]\n";
    assert_eq!(plan(lines, &own(&["mine"]), &all).unwrap().skipped, 1);
}

#[test]
fn an_own_stack_that_cannot_serve_as_a_file_about_clients_asks_is_offered_as_the_client() {
    let all = with_own(&["mine"], "quic-go");
    let lines = "unclaimed = \"leave out\"\n[stack]\nname = \"quiche\"\n[matrix]\n\"stack.client\" = [\"quiche\", \"ngtcp2\"]\n\
                 \"stack.first_ack\" = [\"wait\", \"instant\"]\n";
    let error = plan(lines, &own(&["mine"]), &all).unwrap_err();
    assert!(error.message.starts_with("stack.first_ack: found a value that mine does not support"), "{error}");
    let hint =
        "mine took the server's place; --set stack.client=mine keeps the file's server and tries it as the client";
    assert_eq!(error.hint.as_deref(), Some(hint));
    // Nothing like that where the file leaves the client to the server, or the own stack has only a server.
    let without = lines.replace("\"stack.client\" = [\"quiche\", \"ngtcp2\"]\n", "");
    assert_eq!(plan(&without, &own(&["mine"]), &all).unwrap_err().hint, None);
    let mut servers = all;
    servers.get_mut("mine").unwrap().roles = vec![quiclab_experiment::stack::Role::Server];
    assert_eq!(plan(lines, &own(&["mine"]), &servers).unwrap_err().hint, None);
}

#[test]
fn the_hint_about_clients_leads_to_runs() {
    let mut all = with_own(&["mine"], "quic-go");
    all.get_mut("quiche").unwrap().first_ack = vec![FirstAck::Instant, FirstAck::Wait];
    let lines = "[stack]\nname = \"quiche\"\n[matrix]\n\"stack.client\" = [\"quiche\", \"ngtcp2\"]\n\
                 \"stack.first_ack\" = [\"wait\", \"instant\"]\n";
    let settings = vec![("stack.client".to_owned(), "mine".to_owned())];
    let found = plan(lines, &Overrides { settings, ..own(&["mine"]) }, &all).unwrap();
    assert_eq!(sides(&found), [["quiche", "quiche", "mine"]; 2]);
}

#[test]
fn what_the_command_line_asks_of_the_own_stack_is_not_skipped() {
    let all = with_own(&["mine"], "ngtcp2");
    let settings = vec![("stack.gso".to_owned(), "on,off".to_owned())];
    let error = plan(OTHERS, &Overrides { settings, ..own(&["mine"]) }, &all).unwrap_err().to_string();
    assert_eq!(error, "x.toml: --set stack.gso: found \"off\", which mine does not support; expected one of \"on\"");
}

#[test]
fn shipped_experiments_take_an_own_stack() {
    let mut all = common::real_stacks();
    let mut mine = all["ngtcp2"].clone();
    mine.name = "mine".to_owned();
    all.insert(mine.name.clone(), mine);
    for (name, text) in [
        ("baseline", include_str!("../../../../experiments/quic-steps/baseline.toml")),
        ("atlas", include_str!("../../../../experiments/pacing-atlas.toml")),
        ("fig4", include_str!("../../../../experiments/quic-steps/fig4.toml")),
    ] {
        let plan = Experiment::parse(name, text, None).unwrap().plan(&all, &own(&["mine"]));
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        assert!(sides(&plan).iter().all(|side| *side == ["mine"; 3]), "{name}");
    }
}
