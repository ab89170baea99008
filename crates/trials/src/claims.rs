//! What there is to prove about a stack, and the run that proves each.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quiclab_experiment::{
    Experiment, Overrides,
    run::{CertificateKey, Clock, FirstAck, Gso, KeyExchange, Pacing, Run, Switch, word},
    stack::{CertificateDelay, Role, StackManifest},
};
use quiclab_interop::{CASES, Case};
use quiclab_testbed::laboratory::Variables;
use quiclab_units::Duration;

use super::refusals::{KEY_EXCHANGE, OF_SERVERS, unclaimed};
use crate::case_run::run_of;

/// All runs have the same seed, so that what differs between two of them differs by their settings.
const SEED: u64 = 1;
/// Enough for a congestion control to meet losses at the published bottleneck.
const LONG: &str = "4 MiB";
/// Enough for everything else.
const SHORT: &str = "256 KiB";
/// Delay of a delayed certificate: no other delay of a handshake is near it.
pub const CERTIFICATE_DELAY: Duration = Duration::from_millis(200);
/// A path on which the datagrams of a ClientHello arrive one by one, with time to answer the first.
const SLOW: &str = r#""simple-p2p --delay=20ms --bandwidth=2Mbps --queue=25""#;
/// Size of a certificate chain: over three times what a client sends first, if that is one datagram.
const CHAIN: &str = "5113 B";
/// A probe timeout that is nobody's own, and a one-way delay at which it passes before an answer comes, and the usual one does not.
const DEFAULT_PTO: Duration = Duration::from_millis(300);
const LONG_DELAY: Duration = Duration::from_millis(400);
/// Most packets of a small batch.
pub const SEGMENTS: u32 = 2;
/// Number of several files, and how many of them the client may ask for at the same time.
const FILES: u32 = 12;
const STREAMS: u32 = 3;
/// Size of each of several files: it takes some round trips, in which a client that minds no limit asks for the others.
const FILE: &str = "32 KiB";
/// The case of interoperation that proves a test case of another name, `multiconnect`.
const MANY_CONNECTIONS: &str = "handshakeloss";
/// Name of the claim that is tried before all others: without a transfer none of them can be shown.
pub const TRANSFER: &str = "transfer";

/// Largest IP packet of a path that is no Ethernet, in bytes.
const MTU: u32 = 4000;
/// Holds one of its frames.
const BUCKET: &str = "4100 B";

/// A claim, and the run that proves it.
pub struct Proof {
    /// A short name: of letters, digits, `.`, `-` and `_`, and of no other claim of the stack.
    pub name: String,
    /// The claim, as a sentence.
    pub claim: String,
    /// The run.
    pub run: Run,
    /// What else the endpoints are told.
    pub variables: Variables,
    /// What the run must show.
    pub expected: Expected,
}

/// What a run must show.
pub enum Expected {
    /// The file arrives, and the key log opens the packets.
    Transfer,
    /// The file arrives under this congestion control, whose name or effect can be seen.
    CongestionControl(String),
    /// The file arrives, by other packets than with HyStart++ the other way.
    Hystart(Switch),
    /// The file arrives, and no buffer of more packets than these is given to the kernel.
    Segments(u32),
    /// The file arrives; buffers of several packets are given to the kernel, or none is.
    Gso(Gso),
    /// The file arrives under this way of pacing; a value that does not go with the other defaults may be refused.
    Pacing(Pacing),
    /// The packets and files pass the judge of the case.
    Case(&'static Case),
    /// The same, or the transport parameters of the server forbid it.
    CaseUnlessForbidden(&'static Case),
    /// The same, and these roles leave TLS secrets and qlog.
    Logs {
        /// Secrets.
        keys: Vec<Role>,
        /// qlog.
        qlog: Vec<Role>,
        /// Whether the server's qlog has congestion windows.
        windows: bool,
    },
    /// The certificate is late, and the server does meanwhile what is claimed.
    LateCertificate(CertificateDelay),
    /// The certificate is late, and the server sends this before its ServerHello.
    FirstAck(FirstAck),
    /// The server's certificate chain arrives, of the size that was asked for.
    Chain,
    /// This role's first probe leaves after this time.
    Probe(Role, Duration),
    /// The client offers this key exchange alone.
    KeyExchange(KeyExchange),
    /// The server uses a path that takes IP packets of so many bytes.
    Mtu(u32),
    /// The client has so many requests open at the same time and no more, or refuses the limit.
    Streams(u32),
    /// This role answers 127.
    Refusal(Role),
}

/// Everything to prove about the stack `name`.
///
/// # Errors
/// An unknown stack, or one that no run can be planned with.
pub fn of(name: &str, stacks: &BTreeMap<String, StackManifest>) -> Result<Vec<Proof>> {
    let manifest = stacks.get(name).with_context(|| format!("stack: found no {name:?}"))?;
    let mut proofs = Proofs { name, stacks, all: Vec::new() };
    let qlog = if manifest.qlog { manifest.roles.clone() } else { Vec::new() };
    proofs.add(
        TRANSFER,
        "a file arrives complete, the key log decrypts its packets, and the endpoints write the logs they claim",
        SHORT,
        &[("tap.qlog", "true")],
        Expected::Logs { keys: manifest.key_log.clone(), qlog, windows: !manifest.qlog_without_windows },
    )?;
    for http in &manifest.http {
        let speaks = |other: &StackManifest| other.http.contains(http);
        let name = format!("http-{}", word(http));
        proofs.add_spoken(
            &name,
            &format!("it speaks {}", word(http)),
            manifest,
            ("stack.http", &word(http)),
            &speaks,
        )?;
    }
    for ip in &manifest.ip {
        let speaks = |other: &StackManifest| other.ip.contains(ip) && other.http.contains(&manifest.default.http);
        let name = format!("ip-{}", word(ip));
        proofs.add_spoken(&name, &format!("it speaks IPv{}", word(ip)), manifest, ("path.ip", &word(ip)), &speaks)?;
    }
    proofs.add_streams(manifest)?;
    if manifest.has(Role::Server) {
        proofs.add_sender_claims(manifest)?;
    }
    if manifest.is_quic() {
        proofs.add_cases(manifest)?;
    }
    proofs.add_refusals(manifest)?;
    Ok(proofs.all)
}

struct Proofs<'a> {
    name: &'a str,
    stacks: &'a BTreeMap<String, StackManifest>,
    all: Vec<Proof>,
}

impl Proofs<'_> {
    fn add(
        &mut self,
        name: &str,
        claim: &str,
        size: &str,
        settings: &[(&str, &str)],
        expected: Expected,
    ) -> Result<()> {
        let run = self.plan(size, settings).with_context(|| claim.to_owned())?;
        self.push(name, claim.to_owned(), run, Variables::default(), expected);
        Ok(())
    }

    fn push(&mut self, name: &str, claim: String, run: Run, variables: Variables, expected: Expected) {
        self.all.push(Proof { name: file_name(name), claim, run, variables, expected });
    }

    /// What it speaks, with itself; a stack with a single role with its peer, or the first stack that speaks it too.
    fn add_spoken(
        &mut self,
        name: &str,
        claim: &str,
        manifest: &StackManifest,
        (key, value): (&str, &str),
        speaks: &dyn Fn(&StackManifest) -> bool,
    ) -> Result<()> {
        let value = quoted(value);
        let other = self.other_side(manifest, speaks);
        let other = other.as_ref().map(|(key, other)| (*key, other.as_str()));
        let settings: Vec<_> = [(key, value.as_str())].into_iter().chain(other).collect();
        self.add(name, claim, SHORT, &settings, Expected::Transfer)
    }

    /// The setting that names the other side of a stack with a single role.
    fn other_side(
        &self,
        manifest: &StackManifest,
        speaks: &dyn Fn(&StackManifest) -> bool,
    ) -> Option<(&'static str, String)> {
        let missing = [(Role::Server, "stack.server"), (Role::Client, "stack.client")];
        let (role, key) = missing.into_iter().find(|(role, _)| !manifest.has(*role))?;
        let peer = manifest.peer.iter().filter_map(|name| self.stacks.get(name));
        let mut others = peer.chain(self.stacks.values());
        let other = others.find(|other| other.has(role) && other.transport == manifest.transport && speaks(other))?;
        Some((key, quoted(&other.name)))
    }

    /// The limit of requests at the same time, of a client.
    fn add_streams(&mut self, manifest: &StackManifest) -> Result<()> {
        if !manifest.has(Role::Client) || !manifest.is_quic() || manifest.is_of_interop_runner() {
            return Ok(());
        }
        let other = self.other_side(manifest, &|other| other.http.contains(&manifest.default.http));
        let (files, streams) = (FILES.to_string(), STREAMS.to_string());
        let mut settings = vec![("workload.files", files.as_str()), ("workload.streams", streams.as_str())];
        settings.extend(other.as_ref().map(|(key, other)| (*key, other.as_str())));
        let claim = format!("of {FILES} files the client asks for {STREAMS} at the same time");
        self.add("streams", &claim, FILE, &settings, Expected::Streams(STREAMS))
    }

    fn plan(&self, size: &str, settings: &[(&str, &str)]) -> Result<Run> {
        let mut text = format!(
            "name = \"check\"\ntitle = \"check\"\nseed = {SEED}\nworkload.size = {size:?}\nworkload.timeout = \"120 s\"\n"
        );
        for (key, value) in [("stack.name", quoted(self.name).as_str())].iter().chain(settings) {
            text.push_str(&format!("{key} = {value}\n"));
        }
        let plan = Experiment::parse("check", &text, None)?.plan(self.stacks, &Overrides::default())?;
        plan.runs.into_iter().next().context("a plan without a run")
    }

    fn add_sender_claims(&mut self, manifest: &StackManifest) -> Result<()> {
        for name in &manifest.congestion_control {
            let settings = [("stack.congestion_control", quoted(name)), ("tap.qlog", "true".to_owned())];
            let settings = settings.each_ref().map(|(key, value)| (*key, value.as_str()));
            let expected = Expected::CongestionControl(name.clone());
            let claim = format!("congestion control {name} is used");
            self.add(&format!("congestion-control-{name}"), &claim, LONG, &settings, expected)?;
        }
        // A pacer of another algorithm may let packets go one by one, and then no batch shows the offload.
        let batching = manifest.congestion_control.iter().find(|name| *name == "cubic");
        for gso in &manifest.gso {
            let mut settings = vec![("stack.gso", quoted(&word(gso))), ("tap.send_sizes", "true".to_owned())];
            settings.extend(batching.map(|name| ("stack.congestion_control", quoted(name))));
            let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let claim = format!("segmentation offload is {}", word(gso));
            self.add(&format!("gso-{}", word(gso)), &claim, LONG, &settings, Expected::Gso(*gso))?;
        }
        for pacing in &manifest.pacing {
            let value = quoted(&word(pacing));
            let expected = Expected::Pacing(*pacing);
            let (name, claim) = (format!("pacing-{}", word(pacing)), format!("pacing {} works", word(pacing)));
            self.add(&name, &claim, SHORT, &[("stack.pacing", &value)], expected)?;
        }
        if manifest.pacing.contains(&Pacing::Txtime) && manifest.txtime_clocks.contains(&Clock::Tai) {
            // It drops what has no send time on that clock, or one that is over.
            let settings = [("stack.pacing", "\"txtime\""), ("hosts.server_qdisc", "\"etf\"")];
            let claim = "send times on CLOCK_TAI pass ETF";
            self.add("txtime-tai", claim, SHORT, &settings, Expected::Pacing(Pacing::Txtime))?;
        }
        if manifest.gso_segments {
            let number = SEGMENTS.to_string();
            let settings =
                [("stack.gso", "\"on\""), ("stack.gso_segments", number.as_str()), ("tap.send_sizes", "true")];
            let claim = format!("batches have at most {SEGMENTS} packets");
            self.add("gso-segments", &claim, LONG, &settings, Expected::Segments(SEGMENTS))?;
        }
        for hystart in [Switch::On, Switch::Off].into_iter().filter(|_| manifest.hystart) {
            // Packets that leave one by one, where the stack can, have the round-trip times that HyStart++ looks for, and a deep queue leaves it
            // the round trips that it needs before the first loss.
            let gso = if manifest.gso.contains(&Gso::Off) { Gso::Off } else { manifest.default.gso };
            let (gso, value) = (quoted(&word(&gso)), quoted(&word(&hystart)));
            let settings =
                [("stack.gso", gso.as_str()), ("path.queue_limit_packets", "2000"), ("stack.hystart", value.as_str())];
            let claim = format!("HyStart++ {}", word(&hystart));
            self.add(&format!("hystart-{}", word(&hystart)), &claim, LONG, &settings, Expected::Hystart(hystart))?;
        }
        if manifest.mtu {
            let claim = format!("packets are as long as a path of {MTU} bytes takes");
            let settings = [("path.mtu", MTU.to_string()), ("path.burst", quoted(BUCKET))];
            let settings = settings.each_ref().map(|(key, value)| (*key, value.as_str()));
            self.add("mtu", &claim, SHORT, &settings, Expected::Mtu(MTU))?;
        }
        if manifest.certificate_delay != CertificateDelay::None {
            let value = quoted(&CERTIFICATE_DELAY.to_string());
            let expected = Expected::LateCertificate(manifest.certificate_delay);
            let claim = format!("a late certificate: {}", word(&manifest.certificate_delay));
            let client = self.client_of_late_certificate(manifest).map(|other| quoted(&other.name));
            let mut settings = vec![("workload.certificate_delay", value.as_str()), ("path.scenario", SLOW)];
            settings.extend(client.as_deref().map(|client| ("stack.client", client)));
            self.add("late-certificate", &claim, SHORT, &settings, expected)?;
        }
        self.add_handshakes(manifest)
    }

    /// The client that shows what a late certificate does; `None`: the stack's own. It must send its ClientHello whole, which that of a
    /// relative may do better (tokio-quiche's does not), and in parts, as with ML-KEM, where a part is acknowledged and the whole is not.
    fn client_of_late_certificate(&self, manifest: &StackManifest) -> Option<&StackManifest> {
        let speaks = |other: &StackManifest| other.has(Role::Client) && other.http.contains(&manifest.default.http);
        let in_parts = |other: &StackManifest| other.key_exchanges.contains(&KeyExchange::X25519MlKem768);
        let needs_parts = manifest.certificate_delay == CertificateDelay::WaitAfterHello && !in_parts(manifest);
        let relative = manifest.relative_of.as_ref().and_then(|name| self.stacks.get(name));
        let others = self.stacks.values().filter(|other| needs_parts && speaks(other) && in_parts(other));
        // The fewer packages a build needs, the sooner it is there.
        relative.filter(|other| speaks(other)).or_else(|| others.min_by_key(|other| other.build.host_packages.len()))
    }

    fn add_handshakes(&mut self, manifest: &StackManifest) -> Result<()> {
        if !manifest.is_quic() || manifest.is_of_interop_runner() {
            return Ok(());
        }
        let (chain, claim) = (quoted(CHAIN), format!("a certificate chain of {CHAIN} arrives"));
        self.add("certificate-chain", &claim, SHORT, &[("workload.certificate", &chain)], Expected::Chain)?;
        for kind in [CertificateKey::EcdsaP384, CertificateKey::Rsa2048, CertificateKey::Rsa4096] {
            let (value, claim) = (quoted(&word(&kind)), format!("a certificate with a key {} arrives", word(&kind)));
            let name = format!("certificate-key-{}", word(&kind));
            self.add(&name, &claim, SHORT, &[("workload.certificate_key", &value)], Expected::Chain)?;
        }
        for first_ack in &manifest.first_ack {
            let (delay, value) = (quoted(&CERTIFICATE_DELAY.to_string()), quoted(&word(first_ack)));
            let settings = [("workload.certificate_delay", delay.as_str()), ("stack.first_ack", value.as_str())];
            let claim = format!("before the ServerHello: {}", word(first_ack));
            self.add(
                &format!("first-ack-{}", word(first_ack)),
                &claim,
                SHORT,
                &settings,
                Expected::FirstAck(*first_ack),
            )?;
        }
        let [pto, delay] = [DEFAULT_PTO, LONG_DELAY].map(|time| quoted(&time.to_string()));
        for role in manifest.roles.iter().filter(|_| manifest.default_pto) {
            let key = if *role == Role::Server { "stack.default_pto" } else { "stack.client_default_pto" };
            let settings = [(key, &pto), ("path.delay_to_client", &delay), ("path.delay_to_server", &delay)];
            let settings = settings.map(|(key, value)| (key, value.as_str()));
            let claim =
                format!("the {}'s probe timeout before it knows a round-trip time is {DEFAULT_PTO}", word(role));
            let name = format!("default-pto-{}", word(role));
            self.add(&name, &claim, SHORT, &settings, Expected::Probe(*role, DEFAULT_PTO))?;
        }
        for exchange in &manifest.key_exchanges {
            let (name, value) = (format!("key-exchange-{}", word(exchange)), quoted(&word(exchange)));
            let claim = format!("the client offers no other key exchange than {}", word(exchange));
            let settings = [("stack.client_key_exchange", value.as_str())];
            self.add(&name, &claim, SHORT, &settings, Expected::KeyExchange(*exchange))?;
        }
        Ok(())
    }

    /// Each claimed test case, by its case of interoperation, against itself where both roles claim it, otherwise against another stack
    /// that claims the other role.
    fn add_cases(&mut self, manifest: &StackManifest) -> Result<()> {
        // The others take no more than a transfer, and are no claim: they show how well a stack does, in `quiclab interop`.
        for case in CASES.iter().filter(|case| case.name == case.client_test_case || case.name == MANY_CONNECTIONS) {
            let serves = |stack: &StackManifest| {
                stack.has(Role::Server) && stack.test_cases.server.contains(case.server_test_case())
            };
            let fetches = |stack: &StackManifest| {
                stack.has(Role::Client) && stack.test_cases.client.contains(case.client_test_case)
            };
            let other = |does: &dyn Fn(&StackManifest) -> bool| {
                let speaks = |stack: &StackManifest| {
                    stack.is_quic() && stack.http.iter().any(|http| manifest.http.contains(http))
                };
                let peer = manifest.peer.iter().filter_map(|name| self.stacks.get(name));
                let found = peer
                    .chain(self.stacks.values())
                    .find(|stack| stack.name != self.name && does(stack) && speaks(stack));
                found.map(|stack| stack.name.clone())
            };
            let own = self.name.to_owned();
            let pairs: Vec<(Option<String>, Option<String>, &str)> = match (serves(manifest), fetches(manifest)) {
                (true, true) => vec![(Some(own.clone()), Some(own), "both roles")],
                (true, false) => vec![(Some(own), other(&fetches), "as server")],
                (false, true) => vec![(other(&serves), Some(own), "as client")],
                (false, false) => vec![],
            };
            for (server, client, role) in pairs {
                // Nobody here can be the other side: it cannot be proved, and is not counted.
                let (Some(server), Some(client)) = (server, client) else { continue };
                let run = run_of(case, &server, &client, SEED, self.stacks)?;
                let mut claim = format!("test case {}, {role} (server {server}, client {client})", case.name);
                let name = format!("case-{}", case.name);
                // A server that does not claim the case by its name claims a transfer only, and may forbid what the client tries.
                let may_forbid = client != self.name && !manifest.test_cases.server.contains(case.name);
                let expected = if may_forbid && case.server_can_move {
                    claim.push_str(", unless its transport parameters forbid it");
                    Expected::CaseUnlessForbidden(case)
                } else {
                    Expected::Case(case)
                };
                self.push(&name, claim, run, Variables::default(), expected);
            }
        }
        Ok(())
    }

    fn add_refusals(&mut self, manifest: &StackManifest) -> Result<()> {
        self.add_refusals_of(manifest, unclaimed(manifest))
    }

    fn add_refusals_of(&mut self, manifest: &StackManifest, asked: Vec<(String, String)>) -> Result<()> {
        for (variable, value) in asked {
            for role in &manifest.roles {
                // A client has nothing to do with what only a server is asked for, and the other way round.
                let of_other = match role {
                    Role::Client => OF_SERVERS.contains(&variable.as_str()),
                    Role::Server => variable == KEY_EXCHANGE,
                };
                if of_other {
                    continue;
                }
                let only = BTreeMap::from([(variable.clone(), value.clone())]);
                let variables = match role {
                    Role::Server => Variables { server: only, ..Variables::default() },
                    Role::Client => Variables { client: only, ..Variables::default() },
                };
                let run = self.plan(SHORT, &[])?;
                let claim = format!("the {} refuses {variable}={value}", word(role));
                let name = format!("refuses-{}-{variable}-{value}", word(role));
                self.push(&name, claim, run, variables, Expected::Refusal(*role));
            }
        }
        Ok(())
    }
}

/// A name that can be a folder's: other letters than those of names become one `-`.
pub fn file_name(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
    let parts = text.split(|letter| !is_plain(letter)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").trim_start_matches('.').to_owned()
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests;
