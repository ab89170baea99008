//! Every setting: its key, what it takes, its default, and where that comes from. A new setting is a line in [`SETTINGS`].

use std::{fmt::Display, str::FromStr};

use quiclab_units::{ByteCount, Duration, Rate};
use serde::Deserialize;
use toml::Value;

use crate::run::{
    Analysis, Certificate, Gso, Hosts, Http, IpVersion, Pacing, Path, Qdisc, Settings, StackSettings, Tap, Workload,
    word as lowercase,
};
use crate::stack::{CertificateDelay, StackManifest, common_http};
use crate::value::inline;

/// The largest frame without jumbo frames: a bucket below it could never let one through.
const LARGEST_FRAME: ByteCount = ByteCount::from_bytes(1514);
/// The test case that is nothing but a transfer.
const TRANSFER: &str = "transfer";
/// More files than this do not fit into the variables of an endpoint.
const MOST_FILES: u32 = 2000;
/// Kernels of the vm testbed.
const KERNELS: &[&str] = &["6.1", "6.1-rt", "6.12", "6.1-paced"];

/// Settings that are not resolved yet: those of the stack may be left to its manifest.
///
/// The defaults are the published bottleneck of QUIC Steps (CoNEXT 2025, section 3): 40 Mbit/s, 2 x 20 ms, a token
/// bucket of 1535 bytes, 143 packets in delay line and queue together, UDP receive buffers of 50 MiB.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    kernel: String,
    pub(crate) repetitions: u32,
    workload: Workload,
    path: Path,
    pub(crate) stack_name: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) client: Option<String>,
    congestion_control: Option<String>,
    gso: Option<Gso>,
    gso_segments: Option<u32>,
    pacing: Option<Pacing>,
    http: Option<Http>,
    qdisc: String,
    fq_flow_limit_packets: u32,
    etf_delta: Duration,
    udp_receive_buffer: ByteCount,
    udp_send_buffer: ByteCount,
    tap: Tap,
    analysis: Analysis,
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
            stack_name: None,
            server: None,
            client: None,
            congestion_control: None,
            gso: None,
            gso_segments: None,
            pacing: None,
            http: None,
            qdisc: "none".to_owned(),
            fq_flow_limit_packets: 10_000,
            etf_delta: Duration::from_micros(200),
            udp_receive_buffer: ByteCount::from_bytes(50 << 20),
            udp_send_buffer: ByteCount::from_bytes(212_992),
            tap: Tap {
                enabled: true,
                send_sizes: false,
                qlog: false,
                snaplen: None,
                bottleneck_snaplen: Some(ByteCount::from_bytes(128)),
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
        key: "stack.pacing",
        set: |draft, value| put(&mut draft.pacing, Some(word(value, "\"off\", \"user\" or \"txtime\"")?)),
    },
    Setting {
        key: "stack.http",
        set: |draft, value| put(&mut draft.http, Some(word(value, "\"h3\", \"hq\" or \"h2\"")?)),
    },
    Setting { key: "path.ip", set: |draft, value| put(&mut draft.path.ip, word(value, "\"4\" or \"6\"")?) },
    Setting { key: "path.rate", set: |draft, value| put(&mut draft.path.rate, positive(value)?) },
    Setting { key: "path.burst", set: |draft, value| put(&mut draft.path.burst, bucket(value)?) },
    Setting { key: "path.delay_to_client", set: |draft, value| put(&mut draft.path.delay_to_client, delay(value)?) },
    Setting { key: "path.delay_to_server", set: |draft, value| put(&mut draft.path.delay_to_server, delay(value)?) },
    Setting {
        key: "path.queue_limit_packets",
        set: |draft, value| put(&mut draft.path.queue_limit_packets, count(value)?),
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
        set: |draft, value| put(&mut draft.fq_flow_limit_packets, count(value)?),
    },
    Setting { key: "hosts.etf_delta", set: |draft, value| put(&mut draft.etf_delta, positive(value)?) },
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

    /// Closes what was left open with the server's own defaults, and checks that both stacks can do it.
    ///
    /// # Errors
    /// Key, and what is wrong with it.
    pub(crate) fn resolve(
        self,
        name: &str,
        server: &StackManifest,
        client: &StackManifest,
    ) -> Result<Settings, (&'static str, String)> {
        let defaults = &server.default;
        let common = common_http(server, client, &self.workload.test_case);
        let http = self.http.or(common.first().copied()).unwrap_or(defaults.http);
        let stack = StackSettings {
            name: name.to_owned(),
            server: server.name.clone(),
            client: client.name.clone(),
            congestion_control: self.congestion_control.unwrap_or_else(|| defaults.congestion_control.clone()),
            gso: self.gso.unwrap_or(defaults.gso),
            gso_segments: self.gso_segments,
            pacing: self.pacing.unwrap_or(defaults.pacing),
            http,
        };
        claimed("stack.congestion_control", &stack.congestion_control, &server.congestion_control, server)?;
        claimed("stack.gso", &stack.gso, &server.gso, server)?;
        claimed("stack.pacing", &stack.pacing, &server.pacing, server)?;
        if stack.gso_segments.is_some() && !server.gso_segments {
            let message = format!("found a number, which {} cannot be told; expected \"all\"", server.name);
            return Err(("stack.gso_segments", message));
        }
        let workload = self.workload;
        for (manifest, cases, asked) in [
            (server, &server.test_cases.server, server_test_case(&workload.test_case)),
            (client, &client.test_cases.client, workload.test_case.as_str()),
        ] {
            claimed("stack.http", &stack.http, &manifest.http, manifest)?;
            claimed("path.ip", &self.path.ip, &manifest.ip, manifest)?;
            let cases: Vec<_> = cases.iter().map(String::as_str).collect();
            claimed("workload.test_case", &asked, &cases, manifest)?;
        }
        if !common.contains(&http) {
            let message = format!(
                "found {:?} for the test case {:?} with an image of the QUIC Interop Runner, expected {}",
                lowercase(&http),
                workload.test_case,
                if workload.test_case == "http3" { "\"h3\"" } else { "\"hq\"" },
            );
            return Err(("stack.http", message));
        }
        if workload.certificate_delay != Duration::default() && server.certificate_delay == CertificateDelay::None {
            let message =
                format!("found {}, which {} cannot wait for; expected none", workload.certificate_delay, server.name);
            return Err(("workload.certificate_delay", message));
        }
        let server_qdisc = match self.qdisc.as_str() {
            "pfifo_fast" => Qdisc::PfifoFast,
            "fq" => Qdisc::Fq { flow_limit_packets: self.fq_flow_limit_packets },
            "fq_codel" => Qdisc::FqCodel,
            "etf" => Qdisc::Etf { delta: self.etf_delta },
            _ => Qdisc::None,
        };
        if matches!(server_qdisc, Qdisc::Etf { .. }) && stack.pacing != Pacing::Txtime {
            let message = format!(
                "found \"etf\" with stack.pacing = {:?} of {}; expected \"txtime\", because ETF drops every packet without a \
                 send time",
                lowercase(&stack.pacing),
                stack.name
            );
            return Err(("hosts.server_qdisc", message));
        }
        if stack.gso == Gso::Paced && matches!(server_qdisc, Qdisc::PfifoFast | Qdisc::FqCodel) {
            let message = format!(
                "found {:?} with stack.gso = \"paced\"; expected \"none\", \"fq\" or \"etf\", which look at send times",
                self.qdisc
            );
            return Err(("hosts.server_qdisc", message));
        }
        if stack.gso == Gso::Paced && stack.pacing != Pacing::Txtime {
            let message = format!(
                "found {:?} with stack.gso = \"paced\"; expected \"txtime\", the time from which the kernel counts on",
                lowercase(&stack.pacing)
            );
            return Err(("stack.pacing", message));
        }
        let segment_pacing = stack.gso == Gso::Paced;
        Ok(Settings {
            kernel: self.kernel,
            stack,
            workload,
            path: self.path,
            hosts: Hosts {
                server_qdisc,
                segment_pacing,
                udp_receive_buffer: self.udp_receive_buffer,
                udp_send_buffer: self.udp_send_buffer,
            },
            tap: self.tap,
            analysis: self.analysis,
        })
    }
}

fn claimed<T: PartialEq + serde::Serialize>(
    key: &'static str,
    value: &T,
    claims: &[T],
    manifest: &StackManifest,
) -> Result<(), (&'static str, String)> {
    if claims.contains(value) {
        return Ok(());
    }
    let allowed: Vec<_> = claims.iter().map(|claim| format!("{:?}", lowercase(claim))).collect();
    let message = format!(
        "found {:?}, which {} does not do; expected one of {}",
        lowercase(value),
        manifest.name,
        allowed.join(", ")
    );
    Err((key, message))
}

/// What a server is told where its client is told `test_case`: a server only follows a key update.
pub fn server_test_case(test_case: &str) -> &str {
    if test_case == "keyupdate" { TRANSFER } else { test_case }
}

fn put<T>(place: &mut T, value: T) -> Result<(), String> {
    *place = value;
    Ok(())
}

fn expected(found: &Value, what: &str) -> String {
    format!("found {}, expected {what}", inline(found))
}

fn text(value: &Value, what: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| expected(value, what))
}

fn quantity<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    let Some(text) = value.as_str() else {
        let example: String = T::from_str("").err().map(|error| error.to_string()).unwrap_or_default();
        let what = example.split_once("expected ").map_or("a text with a unit", |(_, what)| what).to_owned();
        return Err(expected(value, &what));
    };
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn positive<T: FromStr<Err: Display> + Default + PartialEq>(value: &Value) -> Result<T, String> {
    let parsed: T = quantity(value)?;
    if parsed == T::default() { Err(expected(value, "more than zero")) } else { Ok(parsed) }
}

fn delay(value: &Value) -> Result<Duration, String> {
    quantity(value)
}

fn bucket(value: &Value) -> Result<ByteCount, String> {
    let bytes: ByteCount = quantity(value)?;
    let largest = ByteCount::from_bytes(u64::from(u32::MAX));
    if bytes < LARGEST_FRAME || bytes > largest {
        return Err(expected(
            value,
            &format!("at least {LARGEST_FRAME}, or no full frame ever passes, and at most {largest}"),
        ));
    }
    Ok(bytes)
}

/// The kernel keeps these in a signed 32-bit number and doubles them.
fn buffer(value: &Value) -> Result<ByteCount, String> {
    let bytes: ByteCount = positive(value)?;
    let largest = ByteCount::from_bytes(1 << 30);
    if bytes > largest { Err(expected(value, &format!("at most {largest}"))) } else { Ok(bytes) }
}

fn snap_length(value: &Value) -> Result<Option<ByteCount>, String> {
    /// Ethernet, IPv6 and TCP headers with options: below this a packet cannot be told from another.
    const SMALLEST: ByteCount = ByteCount::from_bytes(96);
    if value.as_str() == Some("full") {
        return Ok(None);
    }
    let bytes: ByteCount = quantity(value).map_err(|message| format!("{message}, or \"full\""))?;
    let largest = ByteCount::from_bytes(65_535);
    if bytes < SMALLEST || bytes > largest {
        return Err(expected(value, &format!("\"full\", or {SMALLEST} to {largest}")));
    }
    Ok(Some(bytes))
}

fn files(value: &Value) -> Result<u32, String> {
    let number = count(value)?;
    if number > MOST_FILES { Err(expected(value, &format!("at most {MOST_FILES}"))) } else { Ok(number) }
}

/// File systems take no longer names.
fn name_length(value: &Value) -> Result<u32, String> {
    let number = count(value)?;
    if number > 255 { Err(expected(value, "at most 255")) } else { Ok(number) }
}

/// Packets of a list of drops, which the kernel looks up by their number.
fn packet_numbers(value: &Value) -> Result<Vec<u32>, String> {
    let what = "a list of packet numbers from 1 to 4096, each greater than the one before";
    let list = value.as_array().ok_or_else(|| expected(value, what))?;
    let numbers = list.iter().map(count).collect::<Result<Vec<_>, _>>()?;
    let rising = numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers.last().is_none_or(|last| *last <= 4096);
    if rising { Ok(numbers) } else { Err(expected(value, what)) }
}

fn count_or_all(value: &Value) -> Result<Option<u32>, String> {
    if value.as_str() == Some("all") {
        return Ok(None);
    }
    count(value).map(Some).map_err(|message| format!("{message}, or \"all\""))
}

/// The contract counts certificate delays in milliseconds.
fn milliseconds(value: &Value) -> Result<Duration, String> {
    let time = delay(value)?;
    if time.as_nanos() % 1_000_000 == 0 { Ok(time) } else { Err(expected(value, "a whole number of milliseconds")) }
}

fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| expected(value, "true or false"))
}

fn count(value: &Value) -> Result<u32, String> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| expected(value, "a whole number from 1 to 4294967295"))
}

fn one_of(value: &Value, allowed: &[&str]) -> Result<String, String> {
    let found = value.as_str().filter(|text| allowed.contains(text));
    found.map(str::to_owned).ok_or_else(|| {
        let quoted: Vec<_> = allowed.iter().map(|name| format!("{name:?}")).collect();
        expected(value, &format!("one of {}", quoted.join(", ")))
    })
}

fn word<'de, T: Deserialize<'de>>(value: &Value, what: &str) -> Result<T, String> {
    value.clone().try_into().map_err(|_| expected(value, what))
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
    fn every_setting_stands_in_the_reference_with_its_default() {
        for Setting { key, .. } in SETTINGS {
            let default = documented_default(key);
            if default == "required" || default == "the stack's" || default.starts_with("`stack.name`") {
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
        for name in crate::file::TOP {
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
        for section in crate::sections::SECTIONS {
            assert!(documented.iter().any(|key| key.starts_with(&format!("{section}."))), "{section} holds nothing");
        }
    }
}
