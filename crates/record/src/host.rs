//! `host.json`: what the processes of a run and the machine did over time. Where time is virtual, there is none.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use quiclab_experiment::TestbedName;
use quiclab_metrics::{BatchSizes, EndpointUse, HOST_METRICS, HostUse, RunMetrics};
use quiclab_units::{ByteCount, Duration};
use serde::{Deserialize, Serialize};

use crate::{
    Observed, RecordError, bounded, json,
    layout::{HOST_FILE, HOST_SCHEMA},
};

/// What the hosts did from just before the client started until it had ended. Counters are named in docs/reference/record.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostActivity {
    /// Version of this layout: [`HOST_SCHEMA`].
    pub schema: u32,
    /// When each sample was taken, by the clock of the capture. Step `n` is from time `n` to time `n + 1`.
    pub times_ns: Vec<u64>,
    /// What was counted.
    pub series: Vec<HostSeries>,
    /// System calls of each endpoint by name, of all steps together. A role is absent where they could not be counted.
    pub system_calls: BTreeMap<String, BTreeMap<String, u64>>,
    /// What the interfaces of the hosts were given and handed up; empty where it could not be counted.
    pub batches: Vec<HostBatches>,
    /// What could not be counted.
    pub missing: Vec<HostMissing>,
    /// Threads that have no series, because there were too many.
    pub threads_not_listed: u64,
}

/// What was counted of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSeries {
    /// `server`, `client`, `agent` (quiclab itself), or `machine`.
    pub of: String,
    /// `endpoint`, `thread`, `core`, `udp`, `system_calls`, or `events`.
    pub kind: String,
    /// Number of the thread's process, as the endpoint sees it, where the subject is a thread.
    pub process: Option<u32>,
    /// Number of the thread or of the core.
    pub number: Option<u32>,
    /// Name of the thread.
    pub name: Option<String>,
    /// The step of the first values.
    pub first_step: u32,
    /// How much was counted in each step, by name of the counter. All have the same length.
    pub counters: BTreeMap<String, Vec<u64>>,
}

/// Packets that crossed the interface of a host together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostBatches {
    /// `server` or `client`.
    pub of: String,
    /// True for what the host sent, before segmentation; false for what it received.
    pub sent: bool,
    /// How many buffers had so many packets.
    pub packets: BTreeMap<u64, u64>,
    /// Bytes of the longest buffer, with its Ethernet header.
    pub largest_bytes: u64,
}

/// What could not be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostMissing {
    /// The name of a counter, `system_calls`, `batches`, or `activity` for all of it.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// Metrics that are null where a counter is missing.
const NEEDED: [(&str, &[&str]); 3] = [
    ("cycles", &["server_cycles_per_byte", "client_cycles_per_byte"]),
    ("system_calls", &["server_system_calls_per_mb", "client_system_calls_per_mb"]),
    (
        "batches",
        &[
            "server_send_batch_max_packets",
            "server_send_batch_mean_packets",
            "client_receive_batch_max_packets",
            "client_receive_batch_mean_packets",
        ],
    ),
];

/// Why CPU time has no share in the kernel although it was counted: the kernel accounts for the split by its ticks only.
const TOO_SHORT_TO_SPLIT: &str =
    "it ran for less than one tick of the clock by which the kernel splits CPU time into user and system";

/// Why nothing is known of CPU time where only system calls take time, and a fixed one.
const WITHOUT_COMPUTING: &str =
    "virtual time of User-Mode Linux: computing takes no time, and system calls take what the model says";

impl HostActivity {
    /// Reads the file of the record in `folder`; `None` where there is none.
    ///
    /// # Errors
    /// Where it is there and cannot be read, is damaged, or newer than this version.
    pub fn read(folder: &Path) -> Result<Option<Self>, RecordError> {
        let path = folder.join(HOST_FILE);
        let text = match bounded::read_text(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| RecordError::reading(&path, folder, error))?,
        };
        let activity: Self = json::read(&text, &path, folder, HOST_SCHEMA, None)?;
        match activity.problem() {
            None => Ok(Some(activity)),
            Some(message) => Err(RecordError::Malformed { path, message, folder: folder.to_path_buf() }),
        }
    }

    /// What makes no sense in it; `None` where all of it does.
    pub fn problem(&self) -> Option<String> {
        if self.times_ns.windows(2).any(|pair| pair[0] > pair[1]) {
            return Some("times_ns: found a time before the one in front of it, expected them in order".to_owned());
        }
        let steps = self.times_ns.len().saturating_sub(1);
        self.series.iter().enumerate().find_map(|(place, series)| {
            let lengths: BTreeSet<usize> = series.counters.values().map(Vec::len).collect();
            let end = lengths.last().map_or(0, |length| length.saturating_add(series.first_step as usize));
            (lengths.len() > 1 || end > steps).then(|| {
                format!("series[{place}]: found values up to step {end}, expected as many of each, up to step {steps}")
            })
        })
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("string keys, and values that JSON has") + "\n"
    }

    /// Time from the first sample to the last, in ns.
    pub fn duration_ns(&self) -> u64 {
        match self.times_ns[..] {
            [first, .., last] => last - first,
            _ => 0,
        }
    }

    /// The series of this kind.
    pub fn of<'a>(&'a self, of: &'a str, kind: &'a str) -> impl Iterator<Item = &'a HostSeries> {
        self.series.iter().filter(move |series| series.of == of && series.kind == kind)
    }

    /// The cores of every host.
    pub fn cores(&self) -> impl Iterator<Item = &HostSeries> {
        self.series.iter().filter(|series| series.kind == "core" && series.is_of("machine"))
    }

    /// All that was counted of one counter; `None` where it was not.
    fn sum(&self, of: &str, kind: &str, counters: &[&str]) -> Option<u64> {
        let found: Vec<u64> =
            self.of(of, kind).flat_map(|series| counters.iter().filter_map(|name| series.sum(name))).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    fn batch_sizes(&self, of: &str, sent: bool) -> Option<BatchSizes> {
        let batches = self.batches.iter().find(|batches| batches.of == of && batches.sent == sent)?;
        BatchSizes::of(batches.packets.iter().map(|(packets, count)| (*packets, *count)))
    }

    fn endpoint(&self, role: &str) -> EndpointUse {
        let switches = ["voluntary_switches", "involuntary_switches"];
        EndpointUse {
            cpu: self.sum(role, "endpoint", &["cpu_ns"]).map(Duration::from_nanos),
            kernel_share: self.kernel_share(role),
            cycles: self.sum(role, "events", &["cycles"]),
            system_calls: self.sum(role, "system_calls", &["calls"]),
            context_switches: self.sum(role, "endpoint", &switches),
            receive_buffer_drops: self.sum(role, "udp", &["receive_buffer_drops"]),
            send_batches: self.batch_sizes(role, true),
            receive_batches: self.batch_sizes(role, false),
        }
    }

    /// Share of an endpoint's CPU time that was spent in the kernel; `None` where none was counted.
    fn kernel_share(&self, role: &str) -> Option<f64> {
        let [user, kernel] = ["user_ns", "system_ns"].map(|counter| self.sum(role, "endpoint", &[counter]));
        let (user, kernel) = (user?, kernel?);
        (user + kernel > 0).then(|| kernel as f64 / (user + kernel) as f64)
    }

    fn host_use(&self) -> HostUse {
        let duration_ns = self.duration_ns();
        let samplers = self.series.iter().filter(|series| series.kind == "thread" && series.is_of("agent"));
        let samplers = samplers.filter(|series| series.name.as_deref() == Some("sampler"));
        // On several hosts there are as many; the one that cost most counts.
        let sampler_ns = samplers.filter_map(|series| series.sum("cpu_ns")).max().unwrap_or(0);
        let cores = self.cores().filter_map(HostSeries::busy_share);
        HostUse {
            server: self.endpoint("server"),
            client: self.endpoint("client"),
            busiest_core_share: cores.max_by(f64::total_cmp),
            sampler_cpu_share: (duration_ns > 0).then(|| sampler_ns as f64 / duration_ns as f64),
        }
    }
}

impl HostSeries {
    /// Whether it is of the machine or of the agent: on the only host, or on the host of a role (`server_machine`).
    fn is_of(&self, name: &str) -> bool {
        self.of == name || self.of.strip_suffix(name).is_some_and(|role| role.ends_with('_'))
    }

    /// All that was counted of this counter; `None` where it was not.
    pub fn sum(&self, counter: &str) -> Option<u64> {
        Some(self.counters.get(counter)?.iter().sum())
    }

    /// Share of time in which a core was not idle. `None` where none passed.
    fn busy_share(&self) -> Option<f64> {
        let all: u64 = self.counters.values().flatten().sum();
        let idle = self.sum("idle_ns")? + self.sum("io_wait_ns")?;
        (all > 0).then(|| 1.0 - idle as f64 / all as f64)
    }
}

/// Fills in the metrics of what a transfer of so many bytes cost the hosts of the record in `folder`.
pub(crate) fn measure(
    folder: &Path,
    observed: &Observed,
    response_bytes: ByteCount,
    metrics: &mut RunMetrics,
) -> Result<(), RecordError> {
    let Some(activity) = HostActivity::read(folder)? else {
        let reason = match (observed.testbed.as_str(), &observed.kernel_release) {
            (testbed, _) if testbed == TestbedName::Vm.as_str() => {
                "virtual time: the hosts' CPU time is the number of their instructions, and is not sampled".to_owned()
            }
            (testbed, _) if testbed == TestbedName::Uml.as_str() => {
                metrics.not_counted(WITHOUT_COMPUTING, &["cpu_busy_share"]);
                WITHOUT_COMPUTING.to_owned()
            }
            (_, None) => "virtual time: the hosts are simulated".to_owned(),
            _ => format!("the record has no {HOST_FILE}: the version that made it did not sample the hosts"),
        };
        metrics.not_counted(&reason, HOST_METRICS);
        return Ok(());
    };
    let mut host = activity.host_use();
    // Of the client, the kernel's account when it ended is exact, and its life is the time that counts.
    if let Some(end) = &observed.client.end
        && host.client.cpu.is_some()
    {
        host.client.cpu = Some(Duration::from_nanos(end.user_time.as_nanos() + end.system_time.as_nanos()));
    }
    host.finish(response_bytes, metrics);
    for missing in &activity.missing {
        match NEEDED.iter().find(|(what, _)| *what == missing.what) {
            Some((_, names)) => metrics.not_counted(&missing.reason, names),
            None if missing.what == "activity" => metrics.not_counted(&missing.reason, HOST_METRICS),
            None => {}
        }
    }
    for (role, used) in [("server", &host.server), ("client", &host.client)] {
        if used.cpu.is_some() && used.kernel_share.is_none() {
            metrics.not_counted(TOO_SHORT_TO_SPLIT, &[&format!("{role}_kernel_cpu_share")]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(of: &str, kind: &str, counters: &[(&str, &[u64])]) -> HostSeries {
        HostSeries {
            of: of.to_owned(),
            kind: kind.to_owned(),
            process: None,
            number: None,
            name: None,
            first_step: 0,
            counters: counters.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect(),
        }
    }

    fn activity() -> HostActivity {
        HostActivity {
            schema: HOST_SCHEMA,
            times_ns: vec![0, 100, 200],
            series: vec![
                series(
                    "server",
                    "endpoint",
                    &[
                        ("cpu_ns", &[30, 40]),
                        ("user_ns", &[0, 10]),
                        ("system_ns", &[20, 10]),
                        ("voluntary_switches", &[1, 2]),
                        ("involuntary_switches", &[0, 4]),
                    ],
                ),
                series("machine", "core", &[("user_ns", &[50, 50]), ("idle_ns", &[50, 40]), ("io_wait_ns", &[0, 10])]),
                series("machine", "core", &[("user_ns", &[90, 60]), ("idle_ns", &[10, 40]), ("io_wait_ns", &[0, 0])]),
                HostSeries { name: Some("sampler".to_owned()), ..series("agent", "thread", &[("cpu_ns", &[1, 1])]) },
            ],
            system_calls: BTreeMap::new(),
            batches: vec![HostBatches {
                of: "server".to_owned(),
                sent: true,
                packets: [(1, 10), (10, 1)].into(),
                largest_bytes: 14_000,
            }],
            missing: vec![HostMissing { what: "cycles".to_owned(), reason: "no such counter".to_owned() }],
            threads_not_listed: 0,
        }
    }

    #[test]
    fn sums_shares_and_batches_follow_from_the_samples() {
        let host = activity().host_use();
        assert_eq!(host.server.cpu, Some(Duration::from_nanos(70)));
        assert_eq!((host.server.kernel_share, host.client.kernel_share), (Some(0.75), None));
        assert_eq!((host.server.context_switches, host.client.context_switches), (Some(7), None));
        assert!((host.busiest_core_share.unwrap() - 0.75).abs() < 1e-12, "{host:?}");
        assert!((host.sampler_cpu_share.unwrap() - 0.01).abs() < 1e-12, "{host:?}");
        assert_eq!(host.server.send_batches, Some(BatchSizes { most: 10, mean: 5.5 }));
    }

    #[test]
    fn a_counter_that_is_missing_takes_its_metrics_with_its_reason_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(HOST_FILE), activity().to_json()).unwrap();
        let mut metrics = RunMetrics::empty();
        let observed = Observed { kernel_release: Some("6".to_owned()), ..Observed::nothing("netns", 443) };
        measure(folder.path(), &observed, ByteCount::from_bytes(7), &mut metrics).unwrap();
        assert_eq!(metrics.metrics.server_cpu_s_per_gb, Some(10.0));
        assert_eq!(metrics.withheld.len(), 1);
        assert_eq!(metrics.withheld[0].metrics, ["server_cycles_per_byte", "client_cycles_per_byte"]);
        assert_eq!(metrics.withheld[0].reason, "no such counter");
    }

    #[test]
    fn cpu_time_without_a_tick_has_no_share_in_the_kernel_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let mut activity = activity();
        for name in ["user_ns", "system_ns"] {
            activity.series[0].counters.insert(name.to_owned(), vec![0, 0]);
        }
        std::fs::write(folder.path().join(HOST_FILE), activity.to_json()).unwrap();
        let mut metrics = RunMetrics::empty();
        let observed = Observed { kernel_release: Some("6".to_owned()), ..Observed::nothing("netns", 443) };
        measure(folder.path(), &observed, ByteCount::from_bytes(7), &mut metrics).unwrap();
        assert!(metrics.metrics.server_cpu_s_per_gb.is_some());
        assert_eq!(metrics.metrics.server_kernel_cpu_share, None);
        let reasons: Vec<_> = metrics.withheld.iter().filter(|it| it.reason == TOO_SHORT_TO_SPLIT).collect();
        assert_eq!(reasons.len(), 1, "{:?}", metrics.withheld);
        assert_eq!(reasons[0].metrics, ["server_kernel_cpu_share"], "of the client nothing at all was counted");
    }

    #[test]
    fn without_samples_every_metric_of_hosts_is_null_and_the_reason_is_that_of_the_testbed() {
        for (testbed, kernel, reason) in [
            ("vm", Some("6"), "virtual time"),
            ("sim", None, "simulated"),
            ("uml", Some("7"), "computing takes no time"),
            ("netns", Some("6"), "the version that made it"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut metrics = RunMetrics::empty();
            let observed = Observed { kernel_release: kernel.map(str::to_owned), ..Observed::nothing(testbed, 443) };
            measure(folder.path(), &observed, ByteCount::from_bytes(7), &mut metrics).unwrap();
            assert_eq!(metrics.withheld.last().unwrap().metrics, HOST_METRICS);
            assert!(metrics.withheld[0].reason.contains(reason), "{:?}", metrics.withheld);
            assert!(metrics.warnings.is_empty());
        }
    }

    #[test]
    fn values_beyond_the_last_step_and_times_that_go_back_are_errors() {
        let mut late = activity();
        late.series[1].first_step = 1;
        assert!(late.problem().unwrap().contains("series[1]"), "{:?}", late.problem());
        let mut back = activity();
        back.times_ns.reverse();
        assert!(back.problem().unwrap().contains("times_ns"));
        let mut uneven = activity();
        uneven.series[0].counters.insert("cpu_ns".to_owned(), vec![1]);
        assert!(uneven.problem().is_some());
        assert_eq!(activity().problem(), None);
    }
}
