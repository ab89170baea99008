//! A case of a pair as a run, by the same way as an experiment file's.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quiclab_experiment::{
    Experiment, Overrides,
    run::{Run, word},
    stack::{PERF, StackManifest},
};
use quiclab_interop::Case;

/// Room of the taps where many packets more are to be expected than the transfer needs, in sizes of the transfer.
const ROOM: u64 = 3;

/// Name of the experiment that the records belong to.
const EXPERIMENT: &str = "interop";
/// Bits of a full packet, for how many of them the delay line holds.
const PACKET_BITS: u64 = 1200 * 8;

/// The run in which `client` fetches from `server` as `case` wants it.
///
/// # Errors
/// Where the stacks cannot be run together.
pub fn run_of(
    case: &Case,
    server: &str,
    client: &str,
    seed: u64,
    stacks: &BTreeMap<String, StackManifest>,
) -> Result<Run> {
    let experiment = Experiment::parse(EXPERIMENT, &text_of(case, server, client, seed), None)?;
    let plan = experiment.plan(stacks, &Overrides::default())?;
    plan.runs.into_iter().next().context("a case without a run")
}

fn text_of(case: &Case, server: &str, client: &str, seed: u64) -> String {
    let files = case.files;
    let request_size = match case.client_test_case {
        PERF => format!("request_size = \"{}\"\n", case.request_size),
        _ => String::new(),
    };
    // A sender that does not slow down while the path is gone sends the file twice, and quiche 0.30 fills what is left of its window with
    // packets of 100 bytes when it carries `perf` in both directions.
    let is_gone = case.scenario.is_some_and(|scenario| scenario.starts_with("blackhole"));
    let tap = if is_gone || case.client_test_case == PERF {
        let all = files.size.as_bytes() * u64::from(files.count);
        format!("[tap]\nroom = \"{} B\"\n", ROOM * all)
    } else {
        String::new()
    };
    let between = path_of(case);
    format!(
        "name = {EXPERIMENT:?}\ntitle = {title:?}\nseed = {seed}\n\
         [stack]\nname = {server:?}\nserver = {server:?}\nclient = {client:?}\n\
         [workload]\ntest_case = {test_case:?}\nsize = \"{size}\"\nfiles = {count}\nname_bytes = {name_bytes}\n\
         {request_size}certificate = {certificate:?}\ntimeout = \"{timeout}\"\n\
         {tap}[path]\nip = {ip:?}\n{between}\n",
        title = case.description,
        test_case = case.client_test_case,
        size = files.size,
        count = files.count,
        name_bytes = files.name_bytes,
        certificate = if case.large_certificate { "large" } else { "small" },
        timeout = case.time_limit,
        ip = word(&case.ip),
    )
}

fn path_of(case: &Case) -> String {
    if let Some(scenario) = case.scenario {
        return format!("scenario = {scenario:?}");
    }
    let path = &case.path;
    // The limit counts delay line and queue together.
    let in_flight = path.rate.as_bits_per_second() * path.delay.as_nanos() / 1_000_000_000 / PACKET_BITS;
    let drops: Vec<_> = path.drops_to_server.iter().map(u64::to_string).collect();
    format!(
        "rate = \"{rate}\"\ndelay_to_client = \"{delay}\"\ndelay_to_server = \"{delay}\"\n\
         queue_limit_packets = {limit}\ndrops_to_server = [{drops}]",
        rate = path.rate,
        delay = path.delay,
        limit = in_flight + u64::from(path.queue_packets),
        drops = drops.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use quiclab_interop::CASES;
    use quiclab_testbed::stack::sources;

    use super::*;

    #[test]
    fn every_case_is_a_run_that_can_be_planned() {
        let stacks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let manifests = sources(&stacks).unwrap().into_iter().map(|(name, source)| (name, source.manifest)).collect();
        for case in CASES {
            // Together their programs play every part.
            let stack = if case.client_test_case == PERF { "quinn" } else { "ngtcp2" };
            let run =
                run_of(case, stack, stack, 1, &manifests).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(run.settings.workload.test_case, case.client_test_case);
            assert_eq!(u64::from(run.settings.workload.files), case.file_count());
        }
    }
}
