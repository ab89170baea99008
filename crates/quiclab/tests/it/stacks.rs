//! Every stack transfers a file, and says 127 to what it cannot do.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::common::{Bench, REAL_STACKS, output_of, records};
use quiclab_testing::has_program;

const EXPERIMENT: &str = r#"
name = "tests/stacks"
title = "One transfer of every stack"
[workload]
size = "1 MiB"
[matrix]
"stack.name" = ["ngtcp2", "quic-go", "quiche", "quiche-0.24", "tcp-tls"]
"#;

#[test]
fn every_stack_transfers_a_file() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let out = bench.out("out");
    let names = records(&out);
    assert_eq!(names.len(), 5);
    for name in names {
        let text = fs::read_to_string(out.join(&name).join("metrics.json")).unwrap();
        let metrics: serde_json::Value = serde_json::from_str(&text).unwrap();
        let value = |metric: &str| metrics["metrics"][metric].as_f64().unwrap_or_else(|| panic!("{name}: no {metric}"));
        // 1 MiB in packets of at most 1448 bytes; a stack may lose and send again as much. The link passes 40 Mbit/s.
        let packets = value("packets_sent");
        assert!((1_048_576.0 / 1448.0..3000.0).contains(&packets), "{name}: {packets} packets");
        let goodput = value("goodput_wire_bps");
        assert!((10e6..40e6).contains(&goodput), "{name}: {goodput} bit/s");
        // The keys are in the capture, so that others can decrypt it: requests and responses are seen.
        let [whole, one] = ["wire.pcapng", "one-tap.pcapng"].map(|file| out.join(&name).join(file));
        // One tap only: TCP would be put together from both.
        tshark(&whole, &["-Y", "frame.interface_id == 0", "-c", "400", "-w", &one.display().to_string()]);
        let headers = "http2.type == 1 || http3.frame_type == 1";
        let decrypted = tshark(&one, &["-d", "tcp.port==443,tls", "-Y", headers]);
        assert!(!decrypted.stdout.is_empty(), "{name}: tshark finds no HTTP header frame: {decrypted:?}");
    }
}

/// Reads a capture with another dissector.
fn tshark(capture: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(arguments);
    command.output().expect("this test needs tshark: apt-get install tshark")
}
