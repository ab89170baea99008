//! `[[figure]]` tables of experiments with stacks, and the settings that these figures see.

use std::collections::BTreeMap;

use crate::common::{plan, with};
use quiclab_experiment::{Compared, figure_settings, run::Settings, scenario::FigureKind};

const FILE: &str = "[[path.to_client]]\nstage = \"loss\"\nmodel = \"independent\"\nprobability = 0.1\n\
                    [[path.to_client]]\nstage = \"delay\"\ndelay = \"9 ms\"\n";
const AXES: [&str; 2] = ["stack.name", "path.to_client.delay.delay"];

fn settings(matrix: &str) -> Vec<BTreeMap<String, String>> {
    let plan = plan(&with(&format!("{FILE}[matrix]\n{matrix}"))).unwrap();
    let all: Vec<&Settings> = plan.runs.iter().map(|run| &run.settings).collect();
    figure_settings(&all, &AXES)
}

fn error(figure: &str) -> String {
    let lines = format!("{FILE}[stack]\nname = \"quiche\"\n[[figure]]\ntitle = \"T\"\n{figure}");
    plan(&with(&lines)).unwrap_err().to_string()
}

#[test]
fn a_grid_of_two_settings_and_the_difference_of_a_third_is_read() {
    let figure = "[[figure]]\ntitle = \"T\"\nkind = \"grid\"\nx = \"path.to_client.delay.delay\"\nby = \"stack.client\"\n\
                  y = \"handshake_client_first_byte_ns\"\n\
                  compare = { setting = \"stack.first_ack\", of = \"instant\", with = \"wait\", as = \"difference\" }\n";
    let plan = plan(&with(&format!("{FILE}[stack]\nname = \"quiche\"\n{figure}"))).unwrap();
    let [figure] = &plan.experiment.common.figures[..] else { panic!("one figure") };
    assert_eq!((figure.kind, figure.by.as_deref()), (FigureKind::Grid, Some("stack.client")));
    assert_eq!(figure.compare.as_ref().map(|compare| compare.how), Some(Compared::Difference));
}

#[test]
fn transfers_have_no_series_and_no_groups_of_flows() {
    assert!(error("y = \"drops_packets\"\n").contains("figure.x: missing; expected the key of a setting"));
    assert!(error("x = \"time\"\ny = \"drops_packets\"\n").contains("transfers have no series over time"));
    let compare = "compare = { setting = \"groups\", of = \"a\", with = \"b\", as = \"ratio\" }\n";
    let message = error(&format!("x = \"stack.client\"\ny = \"drops_packets\"\n{compare}"));
    assert!(message.contains("groups: found a key that does not exist"), "{message}");
    assert!(error("x = \"stack.clien\"\ny = \"drops_packets\"\n").contains("expected the key of a setting"));
}

#[test]
fn what_follows_from_the_axes_is_left_out() {
    // The two stacks have other congestion controls by themselves.
    let found = settings("\"stack.name\" = [\"quiche\", \"quic-go\"]\n");
    assert_eq!(found.len(), 2);
    for settings in found {
        assert_eq!(
            settings.keys().map(String::as_str).collect::<Vec<_>>(),
            ["path.to_client.delay.delay", "stack.name"]
        );
    }
}

#[test]
fn a_list_of_stages_is_compared_without_the_stage_setting_of_an_axis() {
    let found = settings(
        "\"path.to_client.loss.probability\" = [0.1, 0.2]\n\"path.to_client.delay.delay\" = [\"9 ms\", \"20 ms\"]\n\
         \"stack.name\" = [\"quiche\"]\n",
    );
    let rest: Vec<_> = found.iter().map(|settings| settings["path.to_client"].clone()).collect();
    assert_eq!((&rest[0], &rest[1]), (&rest[2], &rest[3]), "the delay is an axis");
    assert_ne!(rest[0], rest[1], "the loss is none");
    let delays: Vec<_> = found.iter().map(|settings| settings[AXES[1]].as_str()).collect();
    assert_eq!(delays, ["9 ms", "9 ms", "20 ms", "20 ms"]);
}
