use std::{fs, io::Cursor};

use quiclab_agent_protocol::{
    orders::Orders,
    slot::{BLOCK, MANIFEST_ROOM},
};

use super::{Failure, receive};

fn orders() -> Orders {
    let program = serde_json::json!({ "command": [], "environment": {}, "folder": "/", "awaits_simulator": false });
    let orders = serde_json::json!({
        "start_shift_ns": 0, "timer_slack_ns": 1, "tap": null, "files": [], "log_limit_bytes": 100,
        "network": { "to_client": [], "to_server": [], "server": [], "drops_to_server": [], "longest_delay_ns": 0 },
        "transfer": { "names": ["file"], "size_bytes": 10, "seed": 1, "timeout_ns": 1 },
        "server": program, "client": program, "listen": { "transport": "udp", "port": 4433, "timeout_ns": 1 }
    });
    serde_json::from_value(orders).unwrap()
}

fn answer(blobs: &[(&str, u64, &str)]) -> Vec<u8> {
    let report = serde_json::json!({
        "outcome": { "kind": "done" }, "server": null, "client": null, "client_lifetime_ns": null, "cpu_use": null,
        "qdiscs": [], "offloads": {}, "taps": [], "kernel_release": "6.1", "drained": true
    });
    let list: Vec<_> = blobs
        .iter()
        .map(|(name, offset, text)| serde_json::json!({ "name": name, "offset": offset, "length": text.len() }))
        .collect();
    let mut bytes = serde_json::to_vec(&serde_json::json!({ "report": report, "blobs": list })).unwrap();
    bytes.push(b'\n');
    blobs.iter().for_each(|(_, _, text)| bytes.extend(text.as_bytes()));
    bytes
}

fn received(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let slot = folder.path().join("slot");
    match receive(&mut Cursor::new(bytes), &orders(), &slot) {
        Ok(()) => Ok(fs::read(slot).unwrap()),
        Err(Failure::There(why)) => Err(why),
        Err(Failure::Here(error)) => panic!("{error:#}"),
    }
}

#[test]
fn an_answer_becomes_a_slot_with_blobs_on_blocks() {
    let slot = received(answer(&[("download/file", 0, "0123456789"), ("client/stdout", 10, "hello")])).unwrap();
    let at = |block: usize| &slot[MANIFEST_ROOM as usize + block * BLOCK..];
    assert!(at(0).starts_with(b"0123456789") && at(1).starts_with(b"hello"));
}

#[test]
fn an_answer_that_is_cut_or_of_another_run_is_the_agents_fault() {
    let whole = answer(&[("client/stdout", 0, "hello")]);
    let cut = received(whole[..whole.len() - 2].to_vec()).unwrap_err();
    assert!(cut.contains("found 3 bytes, expected 5"), "{cut}");
    assert!(received(Vec::new()).unwrap_err().contains("without an answer"));
    let other = received(answer(&[("download/other", 0, "hello")])).unwrap_err();
    assert!(other.contains("not that of this run"), "{other}");
    let long = received(answer(&[("download/file", 0, "01234567890")])).unwrap_err();
    assert!(long.contains("expected at most 10"), "{long}");
    let shifted = received(answer(&[("client/stdout", 7, "hello")])).unwrap_err();
    assert!(shifted.contains("found offset 7, expected 0"), "{shifted}");
}
