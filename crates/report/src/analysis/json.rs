//! The machine's view: docs/reference/analyze.md says what each field means.

use quiclab_metrics::{DirectionAnalysis, Evidence, FlowDescription, RunMetrics, capture_warnings, judge};
use quiclab_wire::Role;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::input::{AnalysisInput, AnalyzedCapture};

/// Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 2;

/// One JSON object, indented.
pub fn render_analysis_json(input: &AnalysisInput) -> String {
    let whole = Whole {
        captures: input.captures.iter().map(capture).collect(),
        flows: Flows(&input.captures),
        handshakes: Handshakes(&input.captures),
        notes: &input.notes,
        schema: SCHEMA,
        settings: json!({
            "train_threshold_ns": input.train_threshold.as_nanos(),
            "window_ns": input.window.map(|window| window.as_nanos()),
            "response_bytes": input.response_bytes.map(|bytes| bytes.as_bytes()),
        }),
    };
    // Strings, numbers and vectors of them alone.
    serde_json::to_string_pretty(&whole).expect("analyses hold only what JSON can say") + "\n"
}

/// Keys in the order of the alphabet, as everywhere.
#[derive(Serialize)]
struct Whole<'a> {
    captures: Vec<Value>,
    flows: Flows<'a>,
    handshakes: Handshakes<'a>,
    notes: &'a [String],
    schema: u32,
    settings: Value,
}

/// One after the other, since all of them at once would take far more memory than their text.
struct Flows<'a>(&'a [AnalyzedCapture]);

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.0.iter().flat_map(|capture| capture.analysis.directions.iter().map(move |it| flow(capture, it)));
        serializer.collect_seq(all)
    }
}

/// How servers answered: an entry for each flow that has a beginning, of servers that said nothing too.
struct Handshakes<'a>(&'a [AnalyzedCapture]);

impl Serialize for Handshakes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |capture: &AnalyzedCapture, (number, flow): (usize, &FlowDescription)| {
            let class = flow.handshake.as_ref()?;
            Some(json!({
                "file": capture.file,
                "number": number,
                "server": flow.server.to_string(),
                "client": flow.client.to_string(),
                "server_name": flow.server_name,
                "answer": class,
            }))
        };
        let all = self
            .0
            .iter()
            .flat_map(|capture| capture.analysis.flows.iter().enumerate().filter_map(move |flow| of(capture, flow)));
        serializer.collect_seq(all)
    }
}

fn capture(capture: &AnalyzedCapture) -> Value {
    let summary = &capture.analysis.capture;
    let skipped: Map<String, Value> =
        summary.skipped.iter().map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
    let mut run = RunMetrics::empty();
    capture_warnings(summary, &mut run);
    json!({
        "file": capture.file,
        "packets": capture.analysis.packets,
        "other_packets": capture.analysis.other_packets,
        "summed_up": {
            "flows": capture.analysis.summed_up.flows(),
            "packets": capture.analysis.summed_up.packets,
        },
        "skipped_frames": skipped,
        "truncated_at_byte": summary.truncation.map(|cut| cut.byte_offset),
        "interfaces": summary.interfaces.iter().map(|interface| json!({
            "name": interface.name,
            "link_type": interface.link_type,
            "snap_length_bytes": interface.snap_length,
        })).collect::<Vec<_>>(),
        "key_log_lines_not_understood": capture.analysis.key_log_lines_not_understood,
        "warnings": run.warnings,
    })
}

fn flow(capture: &AnalyzedCapture, direction: &DirectionAnalysis) -> Value {
    let flow = &capture.analysis.flows[direction.flow];
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let decryption = direction.decryption;
    let interface = capture.analysis.capture.interfaces.get(flow.interface as usize);
    json!({
        "flow": {
            "file": capture.file,
            "number": direction.flow,
            "interface": flow.interface,
            "interface_name": interface.and_then(|interface| interface.name.as_deref()),
            "sender": direction.sender.name(),
            "server": flow.server.to_string(),
            "client": flow.client.to_string(),
            "roles_are_known": flow.roles_are_known,
            "server_name": flow.server_name,
            "quic_version": flow.quic_version.map(|version| format!("{version:#010x}")),
            "original_destination_connection_id": flow.original_destination_connection_id.map(|id| id.to_string()),
            "client_random": flow.client_random.map(|random| hexadecimal(&random)),
            "cipher_suite": flow.cipher_suite.map(|suite| suite.name()),
            "key_updates": flow.key_updates[direction.sender as usize],
            "migrations": flow.migrations,
        },
        "protocol": direction.protocol.name(),
        "metrics": direction.run.metrics,
        "distributions": direction.run.distributions,
        "slow_start": direction.run.slow_start,
        "handshake": direction.run.handshake,
        "quic_packets": {
            "verified": decryption.verified,
            "header_only": decryption.header_only,
            "no_keys": decryption.no_keys,
            "failed": decryption.failed,
            "not_protected": decryption.not_protected,
        },
        "windows": direction.windows,
        "withheld": direction.run.withheld,
        "verdicts": (direction.sender == Role::Server).then(|| judge(&Evidence { run: &direction.run, packets: None })),
        "warnings": direction.run.warnings,
    })
}
