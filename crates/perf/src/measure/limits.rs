//! What this machine could do, beside what a stack did.

use std::{fmt::Write as _, time::Duration};

use anyhow::Result;
use quiclab_report::{Bars, render_bars_svg};
use serde_json::{Value, json};

use super::{
    settings::PerfSettings,
    show::rate,
    test::{CLIENT, Profiles, SERVER},
};
use crate::{
    Direction, End, Summary,
    roofline::{Cost, Part, Protocol, Roofline, Split, split, split_by_samples},
};

/// How long each part is measured.
const TIME: Duration = Duration::from_millis(300);
/// IPv4 and UDP headers, in bytes.
const HEADERS: u16 = 28;
/// Bytes of the UDP payload where the MTU is not given: that of most stacks at an MTU of 1500 without a search for more.
const PAYLOAD_WITHOUT_MTU: u16 = 1452;
/// How many functions people see of each end.
const FUNCTIONS: usize = 4;

/// Measures this machine.
pub fn measure(settings: &PerfSettings) -> Roofline {
    let payload = settings.mtu.map_or(PAYLOAD_WITHOUT_MTU, |mtu| mtu - HEADERS);
    Roofline::measure(usize::from(payload), TIME)
}

/// This machine's, and all tests.
pub struct Limits {
    pub roofline: Roofline,
    pub protocol: Protocol,
    pub tests: Vec<(Summary, Profiles)>,
    /// Why nothing was sampled; `None`: it was.
    pub unsampled: Option<String>,
}

impl Limits {
    /// The share of the best possible that a test reached. Only where both ends are on this machine does it say something about this machine.
    fn share(&self, summary: &Summary) -> Option<f64> {
        Some(summary.goodput()? / self.roofline.best(self.protocol)?)
    }

    /// What the CPU time of the sender and of the receiver went to, as far as they are on this machine.
    fn splits(&self, (summary, profiles): &(Summary, Profiles)) -> [Option<Split>; 2] {
        let cipher = match self.protocol {
            Protocol::Tcp => Some(Cost { send_ns_per_byte: 0.0, receive_ns_per_byte: 0.0 }),
            Protocol::Quic | Protocol::TcpTls => self.roofline.cheapest_cipher(),
        };
        let (sender, receiver) = match summary.direction {
            Direction::ClientSends => (CLIENT, SERVER),
            Direction::ServerSends => (SERVER, CLIENT),
        };
        let of = |end: &Option<End>, number: usize, cost: fn(&Cost) -> f64| {
            let end = end.as_ref()?;
            let (user, system) = (end.cpu_user_ns?, end.cpu_system_ns?);
            let sampled = profiles.get(&number).and_then(|profile| split_by_samples(user, system, end.bytes, profile));
            sampled.or_else(|| split(user, system, end.bytes, cost(&cipher?)))
        };
        [
            of(&summary.sender, sender, |cost| cost.send_ns_per_byte),
            of(&summary.receiver, receiver, |cost| cost.receive_ns_per_byte),
        ]
    }

    /// The test in the middle of all by what arrived.
    fn middle(&self) -> Option<&(Summary, Profiles)> {
        let mut with_rate: Vec<_> = self.tests.iter().filter(|(one, _)| one.goodput().is_some()).collect();
        let goodput = |test: &(Summary, Profiles)| test.0.goodput().unwrap_or(0.0);
        with_rate.sort_by(|one, other| goodput(one).total_cmp(&goodput(other)));
        with_rate.get(with_rate.len() / 2).copied()
    }

    fn best_name(&self) -> &'static str {
        match self.protocol {
            Protocol::Quic => "best QUIC",
            Protocol::Tcp => "best TCP",
            Protocol::TcpTls => "best TLS over TCP",
        }
    }

    /// Names and values of what was measured of the machine.
    fn parts(&self) -> [(&'static str, Part<Cost>); 8] {
        let roofline = &self.roofline;
        let iperf3 = match &roofline.iperf3 {
            Part::Known(iperf3) => Part::Known(iperf3.cost),
            Part::Unknown { why } => Part::Unknown { why: why.clone() },
        };
        [
            ("AES-128-GCM", roofline.aes_128_gcm.clone()),
            ("AES-256-GCM", roofline.aes_256_gcm.clone()),
            ("ChaCha20-Poly1305", roofline.chacha20_poly1305.clone()),
            ("UDP, a packet per call", roofline.udp.clone()),
            ("UDP with offload", roofline.udp_offload.clone()),
            ("kernel TCP", roofline.tcp.clone()),
            ("kernel TCP by iperf3", iperf3),
            ("TLS 1.3 over kernel TCP", roofline.tcp_tls.clone()),
        ]
    }

    /// The roofline for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "this machine at best, a core for each end, packets of {} bytes; CPU ns per byte\n{:>26} {:>8} {:>8} {:>14}\n",
            self.roofline.packet_bytes, "", "send", "receive", ""
        );
        for (name, part) in self.parts() {
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
        let Some(best) = self.roofline.best(self.protocol) else { return text };
        let _ = writeln!(text, "{:>26} {:>32}", self.best_name(), rate(best));
        let Some(test) = self.middle() else { return text };
        if let Some(share) = self.share(&test.0) {
            let _ = writeln!(text, "{:>26} {:>30.0} % of it", "reached", 100.0 * share);
        }
        for (name, split) in ["sender", "receiver"].into_iter().zip(self.splits(test)) {
            if let Some(split) = split {
                text += &end(name, &split);
            }
        }
        if let Some(why) = &self.unsampled {
            let _ = writeln!(text, "{:>26} CPU time could not be sampled: {why}", "note");
        }
        text
    }

    /// Adds it to the JSON of each test.
    ///
    /// # Errors
    /// None that is known: numbers become JSON.
    pub fn add(&self, results: &mut [Value]) -> Result<()> {
        for (test, result) in self.tests.iter().zip(results) {
            let [sender, receiver] = self.splits(test);
            let ends = match test.0.direction {
                Direction::ClientSends => json!({ "client": sender, "server": receiver }),
                Direction::ServerSends => json!({ "client": receiver, "server": sender }),
            };
            result["end"]["quiclab_roofline"] = json!({
                "parts": serde_json::to_value(&self.roofline)?,
                "best_quic_bits_per_second": self.roofline.best(Protocol::Quic),
                "best_bits_per_second": self.roofline.best(self.protocol),
                "share": self.share(&test.0),
                "cpu_split": ends,
                "not_sampled": self.unsampled,
            });
        }
        Ok(())
    }

    /// The bars of the test in the middle, beside what is possible. `ends`: names of the server and of the client.
    pub fn svg(&self, [server, client]: &[String; 2]) -> String {
        let own = |parts: Vec<(&'static str, f64)>| -> Vec<(String, f64)> {
            // Kernel and cryptography have their colours in every bar, whatever is known of them.
            parts.into_iter().map(|(name, size)| (name.to_owned(), size)).filter(|(_, size)| *size > 0.0).collect()
        };
        let mut bars = Vec::new();
        let mut title = "CPU time for each byte".to_owned();
        if let Some(test) = self.middle() {
            let (sender, receiver) = match test.0.direction {
                Direction::ClientSends => (client, server),
                Direction::ServerSends => (server, client),
            };
            for (name, split) in [("sends", sender), ("receives", receiver)].into_iter().zip(self.splits(test)) {
                if let Some(split) = split {
                    bars.push((format!("{} {}", name.1, name.0), own(split.parts())));
                }
            }
            if let (Some(share), Some(goodput)) = (self.share(&test.0), test.0.goodput()) {
                let _ = write!(title, ": {}, {:.0} % of the {}", rate(goodput), 100.0 * share, self.best_name());
            }
        }
        for (way, of) in [
            ("sends", (|cost| cost.send_ns_per_byte) as fn(&Cost) -> f64),
            ("receives", |cost| cost.receive_ns_per_byte),
        ] {
            let kernel = if way == "sends" { "kernel, sending" } else { "kernel, receiving" };
            if let (Some(cipher), Some(udp)) = (self.roofline.cheapest_cipher(), self.roofline.cheapest_udp()) {
                bars.push((format!("best QUIC {way}"), own(vec![("cryptography", of(&cipher)), (kernel, of(&udp))])));
            }
            if let (Some(tls), Some(tcp)) = (self.roofline.tcp_tls.known(), self.roofline.tcp.known()) {
                let program = (of(tls) - of(tcp)).max(0.0);
                let of_tls = "TLS: cryptography and copies";
                bars.push((
                    format!("TLS over TCP {way}"),
                    own(vec![(kernel, of(tcp).min(of(tls))), (of_tls, program)]),
                ));
            }
            if let Some(tcp) = self.roofline.tcp.known() {
                bars.push((format!("TCP {way}"), own(vec![(kernel, of(tcp))])));
            }
        }
        render_bars_svg(&Bars { title, x: "CPU time, ns per byte".to_owned(), bars })
    }
}

/// Lines for an end.
fn end(name: &str, split: &Split) -> String {
    let whole = split.whole();
    let parts: Vec<_> = split
        .parts()
        .into_iter()
        .filter(|(_, part)| *part > 0.0)
        .map(|(part, size)| format!("{part} {:.0} %", 100.0 * size / whole))
        .collect();
    let mut text = format!("{name:>26} {whole:.2} ns per byte: {}\n", parts.join(", "));
    if let Split::Samples { functions, samples, .. } = split {
        let shown = functions.iter().take(FUNCTIONS);
        let named: Vec<_> = shown.map(|one| format!("{} {:.0} %", one.name, 100.0 * one.share)).collect();
        let _ = writeln!(text, "{:>26} of {samples} samples: {}", "most often", named.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::roofline::profile::{Function, Profile};

    use super::*;

    fn summary(bits_per_second: f64) -> Summary {
        let end = End {
            bytes: 1_000_000_000,
            seconds: 1.0,
            bits_per_second: Some(bits_per_second),
            cpu_user_ns: Some(600_000_000),
            cpu_system_ns: Some(400_000_000),
            cpu_ns_per_byte: Some(1.0),
            peak_memory_bytes: None,
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

    fn limits(goodputs: &[f64], profiles: &Profiles) -> Limits {
        let cost = |send_ns_per_byte, receive_ns_per_byte| Part::Known(Cost { send_ns_per_byte, receive_ns_per_byte });
        let roofline = Roofline {
            packet_bytes: 1452,
            aes_128_gcm: cost(0.2, 0.2),
            aes_256_gcm: cost(0.3, 0.3),
            chacha20_poly1305: cost(0.5, 0.5),
            udp: cost(1.0, 1.0),
            udp_offload: cost(0.2, 0.6),
            tcp: Part::Unknown { why: "no TCP".to_owned() },
            tcp_tls: cost(0.5, 0.4),
            iperf3: Part::Unknown { why: "no iperf3".to_owned() },
        };
        let tests = goodputs.iter().map(|goodput| (summary(*goodput), profiles.clone())).collect();
        Limits { roofline, protocol: Protocol::Quic, tests, unsampled: None }
    }

    #[test]
    fn people_see_the_share_and_where_the_time_went() {
        // 8e9 / (0.2 + 0.6) is 10 Gbit/s.
        let limits = Limits { unsampled: Some("no".to_owned()), ..limits(&[2e9, 6.1e9, 9e9], &Profiles::new()) };
        let text = limits.text();
        let best = text.lines().find(|line| line.contains("best QUIC")).unwrap();
        assert!(best.ends_with(" 10.00 Gbit/s"), "{text}");
        assert!(text.contains("61 % of it") && text.contains("- no TCP") && text.contains("- no iperf3"), "{text}");
        assert!(text.contains("1.00 ns per byte: cryptography at least 20 %, kernel 40 %, the stack 40 %"), "{text}");
        assert!(text.contains("could not be sampled: no"), "{text}");
    }

    #[test]
    fn samples_say_more_than_times() {
        let functions = vec![Function { name: "aes".to_owned(), share: 0.3 }];
        let profile = Profile {
            cryptography: 300,
            stack: 300,
            kernel_send: 300,
            kernel_receive: 100,
            functions,
            ..Profile::default()
        };
        let limits = limits(&[5e9], &[(SERVER, profile)].into());
        let text = limits.text();
        let line = "1.00 ns per byte: cryptography 30 %, kernel, sending 30 %, kernel, receiving 10 %, the stack 30 %";
        assert!(text.contains(line) && text.contains("of 1000 samples: aes 30 %"), "{text}");
        let svg = limits.svg(&["quiche".to_owned(), "quinn".to_owned()]);
        assert!(
            svg.contains("quiche sends") && svg.contains("best QUIC receives") && svg.contains("50 % of the best QUIC"),
            "{svg}"
        );
        assert!(!svg.contains("quinn receives"), "nothing is known of it");
    }

    #[test]
    fn tcp_is_compared_with_tcp() {
        let limits = Limits { protocol: Protocol::TcpTls, ..limits(&[8e9], &Profiles::new()) };
        // 8e9 / 0.5
        assert!(
            limits.text().contains("best TLS over TCP") && limits.text().contains("50 % of it"),
            "{}",
            limits.text()
        );
        let plain = Limits { protocol: Protocol::Tcp, ..limits };
        assert!(!plain.text().contains("% of it"), "nobody knows the best");
    }

    #[test]
    fn json_has_the_parts_and_null_for_an_end_that_is_not_known() {
        let mut results = vec![json!({ "end": {} })];
        limits(&[5e9], &Profiles::new()).add(&mut results).unwrap();
        let found = &results[0]["end"]["quiclab_roofline"];
        assert_eq!((&found["share"], &found["parts"]["tcp"]["why"]), (&json!(0.5), &json!("no TCP")));
        assert_eq!(found["cpu_split"]["server"]["kernel_ns_per_byte"], 0.4);
        assert_eq!(found["cpu_split"]["server"]["by"], "times");
        assert_eq!(found["cpu_split"]["client"], Value::Null);
    }
}
