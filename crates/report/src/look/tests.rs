use std::io::Read;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use quiclab_metrics::Verdicts;

use super::*;

fn transfer(packets: Vec<LookPacket>) -> LookTransfer {
    LookTransfer {
        name: "one </script> run".to_owned(),
        tap: "sender (0)".to_owned(),
        server_start_ns: 0,
        train_threshold_ns: 100_000,
        packets,
        log: None,
        verdicts: Verdicts::default(),
        notes: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Reads a column as the page does, written once more from the description in data.rs.
fn column(text: &str, wanted: &str) -> Vec<u64> {
    let (head, data) = text.split_once('\n').unwrap();
    let head: serde_json::Value = serde_json::from_str(head).unwrap();
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(&STANDARD.decode(data).unwrap()[..]).read_to_end(&mut bytes).unwrap();
    let mut at = 0;
    for column in head["columns"].as_array().unwrap() {
        let length = column["bytes"].as_u64().unwrap() as usize;
        if column["name"] == wanted {
            let (mut values, mut value, mut shift) = (Vec::new(), 0, 0);
            for byte in &bytes[at..at + length] {
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    values.push(value);
                    (value, shift) = (0, 0);
                }
            }
            return values;
        }
        at += length;
    }
    panic!("no column {wanted}");
}

#[test]
fn columns_hold_differences_of_times_and_one_more_than_what_may_be_unknown() {
    let packet = |time_ns, number| LookPacket { time_ns, number, frame: time_ns / 10, ..LookPacket::default() };
    let text = data::encoded(&transfer(vec![packet(10, None), packet(300, Some(0)), packet(70_000, Some(u64::MAX))]));
    assert_eq!(column(&text, "time"), [10, 290, 69_700]);
    assert_eq!(column(&text, "frame"), [1, 29, 6970]);
    assert_eq!(column(&text, "number"), [0, 1, u64::MAX]);
}

#[test]
fn a_name_cannot_end_the_script_that_holds_it() {
    let text = data::encoded(&transfer(vec![LookPacket { content: "</script>".to_owned(), ..LookPacket::default() }]));
    assert!(!text.contains('<'), "{text}");
}

#[test]
fn a_page_of_150_000_packets_is_smaller_than_10_mib() {
    // Times and sizes that compress badly: the lowest bits are those of a generator of numbers.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let packets = (0..150_000_u64).map(|number| LookPacket {
        frame: number + 1,
        time_ns: number * 100_000 + random() % 100_000,
        is_server: number % 3 > 0,
        bytes: 1294,
        number: Some(number),
        bytes_in_flight: Some(random() % 1_000_000),
        acknowledged_after_ns: Some(40_000_000 + random()),
        behind_bottleneck_after_ns: Some(20_000_000 + random()),
        largest_acknowledged: (number % 3 == 0).then(|| number.saturating_sub(100)),
        rtt_ns: (number % 3 == 0).then_some(40_000_000 + number % 20_000_000),
        is_dropped: number % 500 == 1,
        new_stream_bytes: 1200,
        content: format!("1-RTT {number}: STREAM 0 offset {} length 1200", number * 1200),
        ..LookPacket::default()
    });
    let page = render_look_html(&[transfer(packets.collect())]);
    // For `make bench-look`, which shows it to a browser.
    if let Some(path) = option_env!("LOOK_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    assert!(page.len() < 10 << 20, "{} bytes", page.len());
}

#[test]
fn the_page_fetches_nothing_and_escapes_names() {
    let page = render_look_html(&[transfer(vec![LookPacket::default()])]);
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(page.contains("one &lt;/script&gt; run"));
}
