//! Resolves settings with gaps to settings without, and refuses what does not go together.

mod path;
mod upload;

use quiclab_path::spec::StageSettings;
use quiclab_units::{ByteCount, Duration};

use crate::error::nearest_word;
use crate::run::word as lowercase;
use crate::settings::{
    Certificate, Clock, FirstAck, Gso, GsoRate, PATCHED_KERNEL, Pacing, QdiscKind, Sender, Settings, StackSettings,
    Thefts, Word as _, Workload, draft::Draft, setting_words, workload::TRANSFER,
};
use crate::stack::{CONGESTION_CONTROL, CertificateDelay, StackManifest, common_http};

/// The frame by which QUIC Steps counts what a queue holds: `limit = rate x 2 x delay / 1392` is half a bandwidth-delay product beside the
/// delay line.
const QUEUED_PACKET_BYTES: u32 = 1392;

/// Why settings cannot be resolved.
pub(crate) struct Refusal {
    /// The key to blame.
    pub(crate) key: &'static str,
    /// What was found and expected.
    pub(crate) message: String,
    /// A way for the user to avoid the refusal.
    pub(crate) hint: Option<String>,
    /// True where a stack does not claim what it was asked for; otherwise the settings do not go together.
    pub(crate) is_unclaimed: bool,
}

impl From<(&'static str, String)> for Refusal {
    fn from((key, message): (&'static str, String)) -> Self {
        Self { key, message, hint: None, is_unclaimed: false }
    }
}

impl Draft {
    /// Closes what was left open with the measured sender's own defaults, and checks that both stacks can do it.
    ///
    /// # Errors
    /// Key, and what is wrong with it.
    pub(crate) fn resolve(
        mut self,
        name: &str,
        server: &StackManifest,
        client: &StackManifest,
    ) -> Result<Settings, Refusal> {
        self.settings.stack = self.stack(name, server, client)?;
        self.check_workload(server, client)?;
        self.check_send_times(self.settings.workload.sender.of(server, client))?;
        self.check_upload()?;
        self.check_hosts()?;
        self.settle_path()?;
        self.settings.path.queue_limit_packets = self.queue_limit_packets()?;
        self.check_buckets()?;
        let settings = self.into_settings();
        if settings.needs_modules() && settings.vm.kernel == PATCHED_KERNEL {
            let message = format!(
                "found {:?} with settings that need the modules of kernel/module; expected another kernel, because \
                 this one loads no modules",
                settings.vm.kernel
            );
            let hint = Some("stack.gso_rate = \"message\" paces segments without a module".to_owned());
            return Err(Refusal { hint, ..("vm.kernel", message).into() });
        }
        Ok(settings)
    }

    /// A bucket that is smaller than a frame never lets it through.
    fn check_buckets(&self) -> Result<(), Refusal> {
        let path = &self.settings.path;
        let settings = &self.settings;
        let frame = ByteCount::from_bytes(path.largest_frame_bytes().into());
        for stage in settings.stages_to_client().into_iter().chain(settings.stages_to_server()) {
            let StageSettings::Rate(rate) = &stage.settings else { continue };
            if let Some(burst) = rate.burst.filter(|burst| *burst < frame) {
                let message = format!(
                    "found {} with a bucket of {burst} in the stage {:?}; expected an MTU whose frames, with an Ethernet header of \
                     14 bytes, fit into the bucket",
                    path.mtu, stage.name
                );
                let hint = Some(format!("path.burst = \"{frame}\" or more"));
                return Err(Refusal { hint, ..("path.mtu", message).into() });
            }
        }
        Ok(())
    }

    /// What the delay line holds, and the queue behind it.
    fn queue_limit_packets(&self) -> Result<u32, Refusal> {
        let Some(thousandths) = self.queue_thousandths else { return Ok(self.settings.path.queue_limit_packets) };
        if self.settings.path.queue_limit_packets != Self::default().settings.path.queue_limit_packets {
            let message = "found a value in addition to path.queue_limit_packets; expected one of the two".to_owned();
            return Err(("path.queue_bdp", message).into());
        }
        let path = &self.settings.path;
        let to_receiver = match self.settings.workload.sender {
            Sender::Server => path.delay_to_client,
            Sender::Client => path.delay_to_server,
        };
        let [to_receiver, both] = [to_receiver, path.round_trip()].map(|delay| u128::from(delay.as_nanos()));
        let queued = to_receiver * 1000 + both * u128::from(thousandths);
        let bits = u128::from(self.settings.path.rate.as_bits_per_second()) * queued;
        let packets = bits / (8 * u128::from(QUEUED_PACKET_BYTES) * 1000 * 1_000_000_000);
        u32::try_from(packets).ok().filter(|packets| *packets > 0).ok_or_else(|| {
            let message = format!("found a queue of {packets} packets, expected one from 1 to {}", u32::MAX);
            ("path.queue_bdp", message).into()
        })
    }

    fn stack(&self, name: &str, server: &StackManifest, client: &StackManifest) -> Result<StackSettings, Refusal> {
        let asked = &self.settings.stack;
        let sender = self.settings.workload.sender.of(server, client);
        let defaults = &sender.default;
        let common = common_http(server, client, &self.settings.workload.test_case);
        // What a file does not say is the stack's own.
        let given = |key: &str| self.is_given(key);
        let http = if given("stack.http") { asked.http } else { common.first().copied().unwrap_or(defaults.http) };
        let gso = if given("stack.gso") { asked.gso } else { defaults.gso };
        let pacing = if given("stack.pacing") { asked.pacing } else { defaults.pacing };
        let congestion_control =
            if given("stack.congestion_control") { &asked.congestion_control } else { &defaults.congestion_control };
        let needed_clock =
            if self.settings.hosts.server_qdisc == QdiscKind::Etf { Clock::Tai } else { Clock::Monotonic };
        let usual_rate = if self.settings.vm.kernel == PATCHED_KERNEL { GsoRate::Message } else { GsoRate::Mark };
        let stack = StackSettings {
            name: name.to_owned(),
            server: server.name.clone(),
            client: client.name.clone(),
            congestion_control: congestion_control.clone(),
            gso,
            gso_segments: asked.gso_segments,
            pacing,
            txtime_clock: (pacing == Pacing::Txtime).then(|| asked.txtime_clock.unwrap_or(needed_clock)),
            gso_rate: (gso == Gso::Paced).then(|| asked.gso_rate.unwrap_or(usual_rate)),
            hystart: asked.hystart,
            first_ack: asked.first_ack,
            default_pto: asked.default_pto,
            client_default_pto: asked.client_default_pto,
            client_key_exchange: asked.client_key_exchange,
            http,
        };
        claimed("stack.congestion_control", &stack.congestion_control, &sender.congestion_control, sender)?;
        claimed("stack.gso", &stack.gso, &sender.gso, sender)?;
        claimed("stack.pacing", &stack.pacing, &sender.pacing, sender)?;
        if let Some(clock) = stack.txtime_clock {
            claimed("stack.txtime_clock", &clock, &sender.txtime_clocks, sender)?;
        }
        if let Some(rate) = stack.gso_rate {
            claimed("stack.gso_rate", &rate, &sender.gso_rates, sender)?;
        }
        let first_acks = first_acks(server);
        for (key, is_asked, manifest, can, expected) in [
            ("stack.gso_segments", stack.gso_segments.is_some(), sender, sender.gso_segments, "\"all\""),
            ("stack.first_ack", stack.first_ack.is_some(), server, !first_acks.is_empty(), "\"default\""),
            ("stack.hystart", stack.hystart.is_some(), sender, sender.hystart, "\"default\""),
            ("stack.default_pto", stack.default_pto.is_some(), server, server.default_pto, "\"default\""),
            ("stack.client_default_pto", stack.client_default_pto.is_some(), client, client.default_pto, "\"default\""),
            (
                "stack.client_key_exchange",
                stack.client_key_exchange.is_some(),
                client,
                !client.key_exchanges.is_empty(),
                "\"default\"",
            ),
        ] {
            if is_asked && !can {
                let message = format!("found a value that {} does not support; expected {expected}", manifest.name);
                return Err(Refusal { is_unclaimed: true, ..(key, message).into() });
            }
        }
        if let Some(first_ack) = stack.first_ack {
            claimed("stack.first_ack", &first_ack, &first_acks, server)?;
        }
        if let Some(exchange) = stack.client_key_exchange {
            claimed("stack.client_key_exchange", &exchange, &client.key_exchanges, client)?;
        }
        if !common.contains(&http) {
            for manifest in [server, client] {
                claimed("stack.http", &http, &manifest.http, manifest)?;
            }
            let message = format!(
                "found {:?} for the test case {:?} with an image of the QUIC Interop Runner, expected {}",
                lowercase(&http),
                self.settings.workload.test_case,
                if self.settings.workload.test_case == "http3" { "\"h3\"" } else { "\"hq\"" },
            );
            return Err(("stack.http", message).into());
        }
        Ok(stack)
    }

    fn check_workload(&self, server: &StackManifest, client: &StackManifest) -> Result<(), Refusal> {
        let Settings { workload, stack, .. } = &self.settings;
        for (manifest, cases, asked) in [
            (server, &server.test_cases.server, server_test_case(&workload.test_case)),
            (client, &client.test_cases.client, workload.test_case.as_str()),
        ] {
            claimed("stack.http", &stack.http, &manifest.http, manifest)?;
            claimed("path.ip", &self.settings.path.ip, &manifest.ip, manifest)?;
            let cases: Vec<_> = cases.iter().map(String::as_str).collect();
            claimed("workload.test_case", &asked, &cases, manifest)?;
        }
        if !workload.can_be_shared() {
            let message = format!(
                "found {} for {} files together; expected a multiple of {} B, so that all are equally long",
                workload.size, workload.files, workload.files
            );
            return Err(("workload.size", message).into());
        }
        self.check_period()?;
        if workload.certificate_delay != Duration::default() && server.certificate_delay == CertificateDelay::None {
            let message =
                format!("found {}, which {} cannot wait for; expected none", workload.certificate_delay, server.name);
            return Err(Refusal { is_unclaimed: true, ..("workload.certificate_delay", message).into() });
        }
        let smallest = workload.certificate_key.smallest_chain();
        if let Certificate::Size(size) = workload.certificate
            && size < smallest
        {
            let message = format!(
                "found \"{size}\" with workload.certificate_key = {:?}; expected at least {smallest}, because the leaf \
                 alone takes about that",
                lowercase(&workload.certificate_key)
            );
            let hint = Some(format!("set workload.certificate to {smallest} or more, or choose a smaller key"));
            return Err(Refusal { hint, ..("workload.certificate", message).into() });
        }
        Ok(())
    }

    /// Requests by a schedule: who opens streams by it, and whether the time is enough.
    fn check_period(&self) -> Result<(), Refusal> {
        let Workload { period: Some(period), ref test_case, streams, timeout, files, .. } = self.settings.workload
        else {
            return Ok(());
        };
        if !self.settings.workload.has_no_files() {
            let message = format!(
                "found \"{period}\" with workload.test_case = {test_case:?}; expected \"none\", because only the client of \
                 \"perf\" opens streams by a schedule"
            );
            let hint = Some("set workload.test_case to \"perf\"".to_owned());
            return Err(Refusal { hint, ..("workload.period", message).into() });
        }
        if let Some(streams) = streams {
            let message = format!(
                "found {streams} with workload.period = \"{period}\"; expected \"all\", because a request that waits for a \
                 response is not sent when it is due"
            );
            return Err(("workload.streams", message).into());
        }
        let last = self.settings.workload.last_request();
        if last >= timeout {
            let message = format!(
                "found \"{timeout}\", expected more than {last}: that is when the last of workload.files = {files} requests \
                 begins with workload.period = \"{period}\""
            );
            return Err(("workload.timeout", message).into());
        }
        Ok(())
    }

    fn check_hosts(&self) -> Result<(), Refusal> {
        if let Some(Thefts { interval, length, .. }) = self.settings.vm.thefts()
            && length > interval
        {
            let message = format!(
                "found {length} with vm.theft_interval = \"{interval}\"; expected at most that, so that at least half \
                 of the time remains"
            );
            return Err(("vm.theft_length", message).into());
        }
        Ok(())
    }

    /// A discipline that looks at send times must be given them, on its own clock.
    fn check_send_times(&self, sender: &StackManifest) -> Result<(), Refusal> {
        let stack = &self.settings.stack;
        let qdisc = self.settings.hosts.server_qdisc;
        if qdisc == QdiscKind::Etf && stack.pacing != Pacing::Txtime {
            let message = format!(
                "found \"etf\" with stack.pacing = {:?} of {}; expected \"txtime\", because ETF drops every packet without a \
                 send time",
                lowercase(&stack.pacing),
                stack.name
            );
            let is_unclaimed = !sender.pacing.contains(&Pacing::Txtime);
            return Err(Refusal { is_unclaimed, ..("hosts.server_qdisc", message).into() });
        }
        let clock = match qdisc {
            QdiscKind::Etf => Some((Clock::Tai, "ETF drops every packet whose send time is on another clock")),
            QdiscKind::Fq => Some((
                Clock::Monotonic,
                "FQ interprets every send time on that clock and drops packets that are too \
                                         far in the future",
            )),
            QdiscKind::None | QdiscKind::PfifoFast | QdiscKind::FqCodel => None,
        };
        if let (Some(found), Some((expected, reason))) = (stack.txtime_clock, clock)
            && found != expected
        {
            let message = format!(
                "found {:?} with hosts.server_qdisc = {:?}; expected {:?}, because {reason}",
                lowercase(&found),
                qdisc.word(),
                lowercase(&expected)
            );
            return Err(("stack.txtime_clock", message).into());
        }
        if stack.gso != Gso::Paced {
            return Ok(());
        }
        let in_patch = stack.gso_rate == Some(GsoRate::Message);
        let looks = match qdisc {
            QdiscKind::Fq | QdiscKind::Etf => true,
            QdiscKind::None => !in_patch,
            QdiscKind::PfifoFast | QdiscKind::FqCodel => false,
        };
        if !looks {
            let expected = if in_patch { "\"fq\" or \"etf\"" } else { "\"none\", \"fq\" or \"etf\"" };
            let message = format!(
                "found {:?} with stack.gso = \"paced\"; expected {expected}, which look at send times",
                qdisc.word()
            );
            return Err(("hosts.server_qdisc", message).into());
        }
        if stack.pacing != Pacing::Txtime {
            let message = format!(
                "found {:?} with stack.gso = \"paced\"; expected \"txtime\", the time of the first packet",
                lowercase(&stack.pacing)
            );
            return Err(("stack.pacing", message).into());
        }
        Ok(())
    }
}

/// What a server is told where its client is told `test_case`: a server only follows a key update or a migration, and does not care how
/// many connections there are. One that claims `connectionmigration` is told it, and offers a preferred address.
pub fn server_test_case(test_case: &str) -> &str {
    if ["keyupdate", "multiconnect", "connectionmigration"].contains(&test_case) { TRANSFER } else { test_case }
}

/// What a server can be asked to send before its ServerHello: what it has a switch for, and what it does by itself.
pub fn first_acks(server: &StackManifest) -> Vec<FirstAck> {
    let by_itself = server.certificate_delay.first_ack();
    let by_itself = by_itself.filter(|own| !server.first_ack.contains(own));
    server.first_ack.iter().copied().chain(by_itself).collect()
}

fn claimed<T: PartialEq + serde::Serialize>(
    key: &'static str,
    value: &T,
    claims: &[T],
    manifest: &StackManifest,
) -> Result<(), Refusal> {
    if claims.contains(value) {
        return Ok(());
    }
    let allowed: Vec<_> = claims.iter().map(|claim| format!("{:?}", lowercase(claim))).collect();
    let message = format!(
        "found {:?}, which {} does not support; expected one of {}",
        lowercase(value),
        manifest.name,
        allowed.join(", ")
    );
    let found = lowercase(value);
    let words: Vec<_> = claims.iter().map(lowercase).collect();
    // What another stack can do is not misspelled.
    let is_known = setting_words(key).contains(&found.as_str()) || CONGESTION_CONTROL.contains(&found.as_str());
    let near = nearest_word(&found, words.iter().map(String::as_str)).filter(|_| !is_known);
    let hint = near.map(|near| format!("did you mean {near:?}?"));
    Err(Refusal { hint, is_unclaimed: true, ..(key, message).into() })
}
