//! Two real stacks against each other, judged by their packets.

use std::fs;

use crate::common::{CommandOutput, REAL_STACKS, output_of, quiclab};

#[test]
fn pairs_are_judged_by_their_packets_and_an_interrupted_matrix_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let interop = |cases: &str| -> CommandOutput {
        let mut command = quiclab();
        command.args(["interop", "--stacks", REAL_STACKS, "--server", "ngtcp2,quic-go", "--client", "ngtcp2,quic-go"]);
        output_of(command.args(["--case", cases, "--out"]).arg(folder.path()))
    };
    let first = interop("retry");
    assert_eq!(first.status, Some(0), "{}{}", first.output, first.errors);
    let all = interop("retry,ipv6,chacha20,v2");
    assert_eq!(all.status, Some(0), "{}{}", all.output, all.errors);
    assert!(all.errors.contains("; 4 already have a result"), "{}", all.errors);

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let matrix: serde_json::Value = serde_json::from_str(&read("matrix.json")).unwrap();
    let entries = matrix["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2 * 2 * 4);
    for entry in entries {
        // quic-go's server has no compatible version negotiation, and says so in its manifest.
        let unsupported = entry["case"] == "v2" && entry["server"] == "quic-go";
        let expected = if unsupported { "unsupported" } else { "succeeded" };
        assert_eq!(entry["verdict"]["result"], expected, "{entry}");
        assert_eq!(entry["record"].is_null(), unsupported, "{entry}");
    }
    // The interop runner's own form has a row for each pair.
    let runner: serde_json::Value = serde_json::from_str(&read("result.json")).unwrap();
    assert_eq!(runner["results"].as_array().unwrap().len(), 4);
    assert!(read("interop.html").contains("ngtcp2"));
}

#[test]
fn a_name_that_there_is_nothing_of_is_refused() {
    let mut command = quiclab();
    let result = output_of(command.args(["interop", "--stacks", REAL_STACKS, "--case", "retri"]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("--case retri: found no such case, expected one of handshake"), "{}", result.errors);
    let result = output_of(quiclab().args(["interop", "--stacks", REAL_STACKS, "--server", "curl"]));
    assert!(result.errors.contains("curl: has no QUIC server; expected a stack with one"), "{}", result.errors);
}
