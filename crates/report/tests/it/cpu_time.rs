//! The bars of CPU time, of runs whose costs are round numbers.

use crate::common::side;
use quiclab_report::{MachineLimits, ReportInput, render_figures, render_html};

fn input(machine: Option<MachineLimits>) -> ReportInput {
    let mut input = side(&[1e9, 3e9], &[]);
    for run in &mut input.runs {
        let metrics = &mut run.metrics.metrics;
        (metrics.server_cpu_s_per_gb, metrics.server_kernel_cpu_share) = (Some(4.0), Some(0.25));
        metrics.client_cpu_s_per_gb = Some(2.0);
    }
    ReportInput { machine, ..input }
}

fn picture(input: &ReportInput) -> Option<String> {
    let mut figures = render_figures(input).into_iter();
    figures.find_map(|(name, svg)| (name == "cpu-time").then_some(svg))
}

#[test]
fn a_machine_that_was_measured_stands_beside_the_stacks() {
    // The server's end is slower: 8e9 / (0.5 + 1.5) is 4 Gbit/s, and the mean of the goodputs half of that.
    let machine = MachineLimits { packet_bytes: 1452, cryptography: [0.5, 0.25], sockets: [1.5, 0.5] };
    let input = input(Some(machine));
    let svg = picture(&input).unwrap();
    for text in ["server, 50 % of the best", "cryptography at least", "the stack", "not split", "best QUIC, client"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let page = render_html(&input);
    assert!(page.contains("What CPU time goes to") && page.contains("could carry 4.00 Gbit/s at most"));
}

#[test]
fn without_it_only_what_is_known_is_shown() {
    let svg = picture(&input(None)).unwrap();
    assert!(svg.contains("the stack and cryptography") && svg.contains("not split"), "{svg}");
    assert!(!svg.contains("best"), "{svg}");
    assert_eq!(picture(&side(&[1e9, 3e9], &[])), None, "nothing was sampled");
}
