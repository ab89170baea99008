//! Every setting: its key, what it takes, its default, and where that comes from. A new setting is a line in [`SETTINGS`].

use quiclab_units::{ByteCount, Duration, Rate};
use toml::Value;

use crate::hosts::{Clock, FairQueueing, HostModel, Hosts, TheftDistribution};
use crate::reading::{
    bucket, bucket_rate, buffer, count, count_or_all, delay, files, flow_rate, instruction_time, microseconds,
    milliseconds, name_length, one_of, or_default, or_none, packet_numbers, positive, put, room, short_delay,
    snap_length, text, thousandths_or_none, truth, word,
};
use crate::run::{Analysis, Certificate, Gso, GsoRate, Http, IpVersion, Pacing, Path, Switch, Tap, Workload};

/// The test case that is nothing but a transfer.
pub(crate) const TRANSFER: &str = "transfer";
/// The kernel with the patch of kernel/patch, which quiclab builds itself.
pub const PATCHED_KERNEL: &str = "6.1-paced";
/// Kernels of the vm testbed.
const KERNELS: &[&str] = &["6.1", "6.1-rt", "6.12", PATCHED_KERNEL];

/// Settings that are not resolved yet: those of the stack may be left to its manifest.
///
/// The defaults are the published bottleneck of QUIC Steps (CoNEXT 2025, section 3): 40 Mbit/s, 2 x 20 ms, a token
/// bucket of 1535 bytes, 143 packets in delay line and queue together, UDP receive buffers of 50 MiB.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) kernel: String,
    pub(crate) repetitions: u32,
    pub(crate) workload: Workload,
    pub(crate) path: Path,
    /// What the queue holds beside the delay line, in thousandths of a bandwidth-delay product.
    pub(crate) queue_thousandths: Option<u32>,
    pub(crate) stack_name: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) client: Option<String>,
    pub(crate) congestion_control: Option<String>,
    pub(crate) gso: Option<Gso>,
    pub(crate) gso_segments: Option<u32>,
    pub(crate) gso_rate: Option<GsoRate>,
    pub(crate) pacing: Option<Pacing>,
    pub(crate) txtime_clock: Option<Clock>,
    pub(crate) hystart: Option<Switch>,
    pub(crate) http: Option<Http>,
    pub(crate) qdisc: String,
    pub(crate) fq: FairQueueing,
    pub(crate) etf_delta: Duration,
    pub(crate) etf_deadline: bool,
    pub(crate) etf_launch_time: bool,
    pub(crate) nanoseconds_per_instruction: u32,
    pub(crate) timer_slack: Duration,
    pub(crate) receive_coalescing: Duration,
    pub(crate) theft_length: Duration,
    pub(crate) theft_interval: Duration,
    pub(crate) theft_distribution: TheftDistribution,
    pub(crate) model: HostModel,
    pub(crate) udp_receive_buffer: ByteCount,
    pub(crate) udp_send_buffer: ByteCount,
    pub(crate) tap: Tap,
    pub(crate) analysis: Analysis,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            kernel: "6.1".to_owned(),
            repetitions: 1,
            workload: Workload {
                test_case: TRANSFER.to_owned(),
                size: ByteCount::from_bytes(10 << 20),
                files: 1,
                name_bytes: 1,
                streams: None,
                certificate: Certificate::Small,
                certificate_delay: Duration::default(),
                timeout: Duration::from_secs(300),
            },
            path: Path {
                ip: IpVersion::V4,
                rate: Rate::from_bits_per_second(40_000_000),
                burst: ByteCount::from_bytes(1535),
                delay_to_client: Duration::from_millis(20),
                delay_to_server: Duration::from_millis(20),
                queue_limit_packets: 143,
                return_limit_packets: 1000,
                drops_to_server: Vec::new(),
            },
            queue_thousandths: None,
            stack_name: None,
            server: None,
            client: None,
            congestion_control: None,
            gso: None,
            gso_segments: None,
            gso_rate: None,
            pacing: None,
            txtime_clock: None,
            hystart: None,
            http: None,
            qdisc: "none".to_owned(),
            fq: FairQueueing { flow_limit_packets: FairQueueing::USUAL_FLOW_LIMIT_PACKETS, ..FairQueueing::default() },
            etf_delta: Duration::from_micros(200),
            etf_deadline: false,
            etf_launch_time: false,
            nanoseconds_per_instruction: 1,
            timer_slack: Hosts::USUAL_TIMER_SLACK,
            receive_coalescing: Duration::default(),
            theft_length: Duration::default(),
            theft_interval: Duration::from_millis(1),
            theft_distribution: TheftDistribution::Exponential,
            model: HostModel::default(),
            udp_receive_buffer: ByteCount::from_bytes(50 << 20),
            udp_send_buffer: ByteCount::from_bytes(212_992),
            tap: Tap {
                enabled: true,
                send_sizes: false,
                qlog: false,
                snaplen: None,
                bottleneck_snaplen: Some(ByteCount::from_bytes(128)),
                room: None,
            },
            analysis: Analysis { train_threshold: Duration::from_micros(100) },
        }
    }
}

/// One setting.
pub(crate) struct Setting {
    /// Dotted key.
    pub(crate) key: &'static str,
    /// Puts a value in; the error says what is expected instead.
    set: fn(&mut Draft, &Value) -> Result<(), String>,
}

/// All settings, in the order of the reference.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting { key: "kernel", set: |draft, value| one_of(value, KERNELS).map(|name| draft.kernel = name) },
    Setting {
        key: "workload.test_case",
        set: |draft, value| put(&mut draft.workload.test_case, text(value, "a test case such as \"transfer\"")?),
    },
    Setting { key: "workload.size", set: |draft, value| put(&mut draft.workload.size, positive(value)?) },
    Setting { key: "workload.files", set: |draft, value| put(&mut draft.workload.files, files(value)?) },
    Setting {
        key: "workload.name_bytes",
        set: |draft, value| put(&mut draft.workload.name_bytes, name_length(value)?),
    },
    Setting { key: "workload.streams", set: |draft, value| put(&mut draft.workload.streams, count_or_all(value)?) },
    Setting {
        key: "workload.certificate",
        set: |draft, value| put(&mut draft.workload.certificate, word(value, "\"small\" or \"large\"")?),
    },
    Setting {
        key: "workload.certificate_delay",
        set: |draft, value| put(&mut draft.workload.certificate_delay, milliseconds(value)?),
    },
    Setting { key: "workload.repetitions", set: |draft, value| put(&mut draft.repetitions, count(value)?) },
    Setting { key: "workload.timeout", set: |draft, value| put(&mut draft.workload.timeout, positive(value)?) },
    Setting {
        key: "stack.name",
        set: |draft, value| put(&mut draft.stack_name, Some(text(value, "the name of a stack")?)),
    },
    Setting {
        key: "stack.server",
        set: |draft, value| put(&mut draft.server, Some(text(value, "the name of a stack")?)),
    },
    Setting {
        key: "stack.client",
        set: |draft, value| put(&mut draft.client, Some(text(value, "the name of a stack")?)),
    },
    Setting {
        key: "stack.congestion_control",
        set: |draft, value| put(&mut draft.congestion_control, Some(text(value, "an algorithm such as \"cubic\"")?)),
    },
    Setting {
        key: "stack.gso",
        set: |draft, value| put(&mut draft.gso, Some(word(value, "\"off\", \"on\" or \"paced\"")?)),
    },
    Setting { key: "stack.gso_segments", set: |draft, value| put(&mut draft.gso_segments, count_or_all(value)?) },
    Setting {
        key: "stack.gso_rate",
        set: |draft, value| put(&mut draft.gso_rate, Some(word(value, "\"mark\" or \"message\"")?)),
    },
    Setting {
        key: "stack.pacing",
        set: |draft, value| put(&mut draft.pacing, Some(word(value, "\"off\", \"user\" or \"txtime\"")?)),
    },
    Setting {
        key: "stack.txtime_clock",
        set: |draft, value| put(&mut draft.txtime_clock, Some(word(value, "\"monotonic\" or \"tai\"")?)),
    },
    Setting {
        key: "stack.hystart",
        set: |draft, value| {
            put(&mut draft.hystart, or_default(value, |value| word::<Switch>(value, "\"on\", \"off\""))?)
        },
    },
    Setting {
        key: "stack.http",
        set: |draft, value| put(&mut draft.http, Some(word(value, "\"h3\", \"hq\" or \"h2\"")?)),
    },
    Setting { key: "path.ip", set: |draft, value| put(&mut draft.path.ip, word(value, "\"4\" or \"6\"")?) },
    Setting { key: "path.rate", set: |draft, value| put(&mut draft.path.rate, bucket_rate(value)?) },
    Setting { key: "path.burst", set: |draft, value| put(&mut draft.path.burst, bucket(value)?) },
    Setting { key: "path.delay_to_client", set: |draft, value| put(&mut draft.path.delay_to_client, delay(value)?) },
    Setting { key: "path.delay_to_server", set: |draft, value| put(&mut draft.path.delay_to_server, delay(value)?) },
    Setting {
        key: "path.queue_limit_packets",
        set: |draft, value| put(&mut draft.path.queue_limit_packets, count(value)?),
    },
    Setting {
        key: "path.queue_bdp",
        set: |draft, value| put(&mut draft.queue_thousandths, thousandths_or_none(value)?),
    },
    Setting {
        key: "path.return_limit_packets",
        set: |draft, value| put(&mut draft.path.return_limit_packets, count(value)?),
    },
    Setting {
        key: "path.drops_to_server",
        set: |draft, value| put(&mut draft.path.drops_to_server, packet_numbers(value)?),
    },
    Setting {
        key: "hosts.server_qdisc",
        set: |draft, value| {
            one_of(value, &["none", "pfifo_fast", "fq", "fq_codel", "etf"]).map(|name| draft.qdisc = name)
        },
    },
    Setting {
        key: "hosts.fq_flow_limit_packets",
        set: |draft, value| put(&mut draft.fq.flow_limit_packets, count(value)?),
    },
    Setting {
        key: "hosts.fq_limit_packets",
        set: |draft, value| put(&mut draft.fq.limit_packets, or_default(value, count)?),
    },
    Setting { key: "hosts.fq_quantum", set: |draft, value| put(&mut draft.fq.quantum, or_default(value, buffer)?) },
    Setting {
        key: "hosts.fq_initial_quantum",
        set: |draft, value| put(&mut draft.fq.initial_quantum, or_default(value, buffer)?),
    },
    Setting {
        key: "hosts.fq_maximum_rate",
        set: |draft, value| put(&mut draft.fq.maximum_rate, or_default(value, flow_rate)?),
    },
    Setting {
        key: "hosts.fq_horizon",
        set: |draft, value| put(&mut draft.fq.horizon, or_default(value, microseconds)?),
    },
    Setting {
        key: "hosts.fq_timer_slack",
        set: |draft, value| put(&mut draft.fq.timer_slack, or_default(value, short_delay)?),
    },
    Setting { key: "hosts.etf_delta", set: |draft, value| put(&mut draft.etf_delta, positive(value)?) },
    Setting { key: "hosts.etf_deadline", set: |draft, value| put(&mut draft.etf_deadline, truth(value)?) },
    Setting { key: "hosts.etf_launch_time", set: |draft, value| put(&mut draft.etf_launch_time, truth(value)?) },
    Setting {
        key: "hosts.nanoseconds_per_instruction",
        set: |draft, value| put(&mut draft.nanoseconds_per_instruction, instruction_time(value)?),
    },
    Setting { key: "hosts.timer_slack", set: |draft, value| put(&mut draft.timer_slack, positive(value)?) },
    Setting { key: "hosts.receive_coalescing", set: |draft, value| put(&mut draft.receive_coalescing, delay(value)?) },
    Setting { key: "hosts.theft_length", set: |draft, value| put(&mut draft.theft_length, delay(value)?) },
    Setting { key: "hosts.theft_interval", set: |draft, value| put(&mut draft.theft_interval, positive(value)?) },
    Setting {
        key: "hosts.theft_distribution",
        set: |draft, value| {
            put(&mut draft.theft_distribution, word(value, "\"constant\", \"exponential\" or \"pareto\"")?)
        },
    },
    Setting { key: "hosts.timer_step", set: |draft, value| put(&mut draft.model.timer_step, delay(value)?) },
    Setting { key: "hosts.timer_lateness", set: |draft, value| put(&mut draft.model.timer_lateness, delay(value)?) },
    Setting { key: "hosts.call_cost", set: |draft, value| put(&mut draft.model.call_cost, delay(value)?) },
    Setting { key: "hosts.packet_cost", set: |draft, value| put(&mut draft.model.packet_cost, delay(value)?) },
    Setting { key: "hosts.card_rate", set: |draft, value| put(&mut draft.model.card_rate, or_none(value, positive)?) },
    Setting { key: "hosts.udp_receive_buffer", set: |draft, value| put(&mut draft.udp_receive_buffer, buffer(value)?) },
    Setting { key: "hosts.udp_send_buffer", set: |draft, value| put(&mut draft.udp_send_buffer, buffer(value)?) },
    Setting { key: "tap.enabled", set: |draft, value| put(&mut draft.tap.enabled, truth(value)?) },
    Setting { key: "tap.send_sizes", set: |draft, value| put(&mut draft.tap.send_sizes, truth(value)?) },
    Setting { key: "tap.qlog", set: |draft, value| put(&mut draft.tap.qlog, truth(value)?) },
    Setting { key: "tap.snaplen", set: |draft, value| put(&mut draft.tap.snaplen, snap_length(value)?) },
    Setting {
        key: "tap.bottleneck_snaplen",
        set: |draft, value| put(&mut draft.tap.bottleneck_snaplen, snap_length(value)?),
    },
    Setting { key: "tap.room", set: |draft, value| put(&mut draft.tap.room, room(value)?) },
    Setting {
        key: "analysis.train_threshold",
        set: |draft, value| put(&mut draft.analysis.train_threshold, positive(value)?),
    },
];

impl Draft {
    /// Puts `value` in at `key`. `None` where there is no such key; an error says what was found and expected.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Option<Result<(), String>> {
        SETTINGS.iter().find(|setting| setting.key == key).map(|setting| (setting.set)(self, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../../docs/reference/experiment-file.md");

    /// The default in the reference's row of a setting.
    fn documented_default(key: &str) -> &'static str {
        let start = format!("| `{key}` |");
        let row = REFERENCE.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{key} has no row"));
        row.trim_end_matches(" |").rsplit("| ").next().unwrap()
    }

    #[test]
    fn keys_are_unlike_each_other_without_their_sections() {
        let mut names: Vec<_> = SETTINGS.iter().filter_map(|setting| setting.key.rsplit('.').next()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "labels of runs tell settings by these names");
    }

    #[test]
    fn every_setting_stands_in_the_reference_with_its_default() {
        for Setting { key, .. } in SETTINGS {
            let default = documented_default(key);
            let depends = ["required", "the stack's", "what `hosts.server_qdisc` needs"];
            if depends.contains(&default) || default.starts_with("`stack.name`") || *key == "stack.gso_rate" {
                assert!(key.starts_with("stack."), "{key}");
                continue;
            }
            let default = default.trim_matches('`');
            let value: Value = toml::from_str::<toml::Table>(&format!("x = {default}")).unwrap().remove("x").unwrap();
            let mut draft = Draft::default();
            draft.set(key, &value).unwrap().unwrap();
            assert_eq!(draft, Draft::default(), "{key}: the reference says {default}, the code something else");
        }
    }

    #[test]
    fn every_key_and_table_at_the_top_stands_in_the_reference() {
        for name in crate::kind::TRANSFERS.top {
            let forms = [
                format!("\n| `{name}` | "),
                format!("\n## `[{name}]`"),
                format!("\n## `[{name}.NAME]`"),
                format!("\n## `[[{name}]]`"),
            ];
            assert!(forms.iter().any(|form| REFERENCE.contains(form)), "{name}");
        }
    }

    #[test]
    fn every_section_and_key_of_the_reference_is_one_that_there_is() {
        let table = REFERENCE.split("\n## Settings").nth(1).unwrap().split("\n## ").next().unwrap();
        let documented: Vec<_> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        // In the same order, too.
        assert_eq!(documented, SETTINGS.iter().map(|setting| setting.key).collect::<Vec<_>>());
        for section in crate::kind::TRANSFERS.sections {
            assert!(documented.iter().any(|key| key.starts_with(&format!("{section}."))), "{section} holds nothing");
        }
    }
}
