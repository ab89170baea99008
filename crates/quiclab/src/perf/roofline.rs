//! What this machine could do, beside what a stack did.

use std::{fmt::Write as _, time::Duration};

use anyhow::Result;
use quiclab_perf::{Direction, End, Summary};
use quiclab_roofline::{Cost, Part, Roofline, Split, split};
use serde_json::{Value, json};

use super::show::rate;
use crate::cli::PerfArguments;

/// How long each part is measured.
const TIME: Duration = Duration::from_millis(300);
/// IPv4 and UDP headers, in bytes.
const HEADERS: u16 = 28;
/// Bytes of the UDP payload where the MTU is not given: that of most stacks at an MTU of 1500 without a search for more.
const USUAL_PAYLOAD: u16 = 1452;

/// Measures this machine.
pub fn measure(arguments: &PerfArguments) -> Roofline {
    let payload = arguments.mtu.map_or(USUAL_PAYLOAD, |mtu| mtu - HEADERS);
    Roofline::measure(usize::from(payload), TIME)
}

/// The share of the best possible that a test reached. Only where both ends are on this machine does it say something about this machine.
fn share(roofline: &Roofline, summary: &Summary) -> Option<f64> {
    Some(summary.goodput()? / roofline.best_quic()?)
}

/// What the CPU time of both ends went to, of those that are on this machine.
fn splits(roofline: &Roofline, summary: &Summary) -> [Option<Split>; 2] {
    let cipher = roofline.cheapest_cipher();
    let of = |end: &Option<End>, cost: fn(&Cost) -> f64| {
        let end = end.as_ref()?;
        split(end.cpu_user_ns?, end.cpu_system_ns?, end.bytes, cost(&cipher?))
    };
    [of(&summary.sender, |cost| cost.send_ns_per_byte), of(&summary.receiver, |cost| cost.receive_ns_per_byte)]
}

/// The test in the middle of all by what arrived.
fn middle(summaries: &[Summary]) -> Option<&Summary> {
    let mut with_rate: Vec<_> = summaries.iter().filter(|one| one.goodput().is_some()).collect();
    with_rate.sort_by(|one, other| one.goodput().unwrap_or(0.0).total_cmp(&other.goodput().unwrap_or(0.0)));
    with_rate.get(with_rate.len() / 2).copied()
}

/// For people.
pub fn text(roofline: &Roofline, summaries: &[Summary]) -> String {
    let mut text = format!(
        "this machine at best, a core for each end, packets of {} bytes; CPU ns per byte\n{:>26} {:>8} {:>8} {:>14}\n",
        roofline.packet_bytes, "", "send", "receive", ""
    );
    let parts = [
        ("AES-128-GCM", &roofline.aes_128_gcm),
        ("AES-256-GCM", &roofline.aes_256_gcm),
        ("ChaCha20-Poly1305", &roofline.chacha20_poly1305),
        ("UDP, a packet per call", &roofline.udp),
        ("UDP with offload", &roofline.udp_offload),
        ("kernel TCP", &roofline.tcp),
    ];
    for (name, part) in parts {
        let _ = match part {
            Part::Known(cost) => writeln!(
                text,
                "{name:>26} {:>8.3} {:>8.3} {:>14}",
                cost.send_ns_per_byte,
                cost.receive_ns_per_byte,
                rate(cost.bits_per_second())
            ),
            Part::Unknown { why } => writeln!(text, "{name:>26} - {why}"),
        };
    }
    let Some(best) = roofline.best_quic() else { return text };
    let _ = writeln!(text, "{:>26} {:>32}", "best QUIC", rate(best));
    let Some(summary) = middle(summaries) else { return text };
    if let Some(share) = share(roofline, summary) {
        let _ = writeln!(text, "{:>26} {:>30.0} % of it", "reached", 100.0 * share);
    }
    for (name, split) in ["sender", "receiver"].into_iter().zip(splits(roofline, summary)) {
        if let Some(split) = split {
            let whole = split.cryptography_ns_per_byte + split.kernel_ns_per_byte + split.stack_ns_per_byte;
            let percent = |part: f64| 100.0 * part / whole;
            let _ = writeln!(
                text,
                "{name:>26} {whole:.2} ns per byte: cryptography at least {:.0} %, kernel {:.0} %, the stack {:.0} %",
                percent(split.cryptography_ns_per_byte),
                percent(split.kernel_ns_per_byte),
                percent(split.stack_ns_per_byte)
            );
        }
    }
    text
}

/// Adds it to the JSON of each test.
///
/// # Errors
/// None that is known: numbers become JSON.
pub fn add(roofline: &Roofline, summaries: &[Summary], results: &mut [Value]) -> Result<()> {
    for (summary, result) in summaries.iter().zip(results) {
        let [sender, receiver] = splits(roofline, summary);
        let ends = match summary.direction {
            Direction::ClientSends => json!({ "client": sender, "server": receiver }),
            Direction::ServerSends => json!({ "client": receiver, "server": sender }),
        };
        result["end"]["quiclab_roofline"] = json!({
            "parts": serde_json::to_value(roofline)?,
            "best_quic_bits_per_second": roofline.best_quic(),
            "share": share(roofline, summary),
            "cpu_split": ends,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(bits_per_second: f64) -> Summary {
        let end = End {
            bytes: 1_000_000_000,
            seconds: 1.0,
            bits_per_second: Some(bits_per_second),
            cpu_user_ns: Some(600_000_000),
            cpu_system_ns: Some(400_000_000),
            cpu_ns_per_byte: Some(1.0),
        };
        Summary {
            direction: Direction::ServerSends,
            sender: Some(end),
            receiver: None,
            exchanges: 0,
            rtt_ns: None,
            lost_packets: None,
            socket_drops: None,
            fairness: None,
            notes: vec![],
        }
    }

    fn roofline() -> Roofline {
        let cost = |send_ns_per_byte, receive_ns_per_byte| Part::Known(Cost { send_ns_per_byte, receive_ns_per_byte });
        Roofline {
            packet_bytes: 1452,
            aes_128_gcm: cost(0.2, 0.2),
            aes_256_gcm: cost(0.3, 0.3),
            chacha20_poly1305: cost(0.5, 0.5),
            udp: cost(1.0, 1.0),
            udp_offload: cost(0.2, 0.6),
            tcp: Part::Unknown { why: "no TCP".to_owned() },
        }
    }

    #[test]
    fn people_see_the_share_and_where_the_time_went() {
        // 8e9 / (0.2 + 0.6) is 10 Gbit/s.
        let text = text(&roofline(), &[summary(2e9), summary(6.1e9), summary(9e9)]);
        let best = text.lines().find(|line| line.contains("best QUIC")).unwrap();
        assert!(best.ends_with(" 10.00 Gbit/s"), "{text}");
        assert!(text.contains("61 % of it") && text.contains("- no TCP"), "{text}");
        assert!(text.contains("1.00 ns per byte: cryptography at least 20 %, kernel 40 %, the stack 40 %"), "{text}");
    }

    #[test]
    fn json_has_the_parts_and_null_for_an_end_that_is_not_known() {
        let mut results = vec![json!({ "end": {} })];
        add(&roofline(), &[summary(5e9)], &mut results).unwrap();
        let found = &results[0]["end"]["quiclab_roofline"];
        assert_eq!((&found["share"], &found["parts"]["tcp"]["why"]), (&json!(0.5), &json!("no TCP")));
        assert_eq!(found["cpu_split"]["server"]["kernel_ns_per_byte"], 0.4);
        assert_eq!(found["cpu_split"]["client"], Value::Null);
    }
}
