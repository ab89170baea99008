//! Servers with other keys in the virtual machine: what tshark shows of the handshakes.

use std::{fs, path::Path, process::Command};

use crate::common::{Bench, REAL_STACKS, output_of, records};
use quiclab_testing::has_program;
use serde_json::Value;

const EXPERIMENT: &str = r#"
name = "tests/certificate-keys"
title = "Keys of servers"
[workload]
size = "1 kB"
certificate = "1212 B"
[tap]
snaplen = "full"
[matrix]
"stack.name" = ["ngtcp2-1.25", "quiche", "quic-go"]
"workload.certificate_key" = ["ecdsa-p256", "rsa-2048"]
"#;

/// Numbers of signature schemes, RFC 8446 section 4.2.3: ecdsa_secp256r1_sha256 and rsa_pss_rsae_sha256.
const SCHEMES: [(&str, &str); 2] = [("ecdsa-p256", "0x0403"), ("rsa-2048", "0x0804")];
/// Bytes of the message's certificates. TLS has the length of its extensions behind each, and before it its own, RFC 8446 section 4.4.2.
const CERTIFICATES_BYTES: &str = "1217";

/// The values of a field in the packets that pass the filter.
fn tshark(capture: &Path, filter: &str, field: &str) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-d", "udp.port==443,quic", "-Y", filter, "-T", "fields", "-e", field]);
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let values = result.output.split([',', '\n', '\t']).map(str::trim);
    values.filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

#[test]
fn servers_sign_with_the_key_that_was_asked_for_and_rsa_takes_longer() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--reps", "1"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let folder = bench.out("out");
    let mut processing = Vec::new();
    for name in records(&folder) {
        let record = folder.join(name);
        let run: toml::Table = fs::read_to_string(record.join("run.toml")).unwrap().parse().unwrap();
        let settings = &run["run"]["settings"];
        let stack = settings["stack"]["name"].as_str().unwrap().to_owned();
        let key = settings["workload"].get("certificate_key").map_or("ecdsa-p256", |key| key.as_str().unwrap());
        let (_, scheme) = SCHEMES.into_iter().find(|(word, _)| *word == key).unwrap();
        let capture = record.join("wire.pcapng");
        // 15 is CertificateVerify, 11 Certificate.
        assert_eq!(
            tshark(&capture, "tls.handshake.type == 15", "tls.handshake.sig_hash_alg"),
            [scheme],
            "{stack}, {key}"
        );
        let lengths = tshark(&capture, "tls.handshake.type == 11", "tls.handshake.certificates_length");
        assert_eq!(lengths, [CERTIFICATES_BYTES], "{stack}, {key}");
        let metrics: Value = serde_json::from_slice(&fs::read(record.join("metrics.json")).unwrap()).unwrap();
        let time = metrics["metrics"]["handshake_server_processing_ns"].as_f64().unwrap();
        processing.push((stack, key.to_owned(), time));
    }
    processing.sort_by(|one, other| one.partial_cmp(other).unwrap());
    assert_eq!(processing.len(), 6);
    for pair in processing.chunks(2) {
        assert_eq!((pair[0].1.as_str(), pair[1].1.as_str()), ("ecdsa-p256", "rsa-2048"));
        // One instruction takes 1 ns, and a private operation of RSA hundreds of thousands.
        assert!(pair[1].2 > pair[0].2 + 0.3e6, "{pair:?}");
    }
}
