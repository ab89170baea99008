//! The metrics of a handshake, from what each end saw.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicForm, Role};

use super::amplification::amplification;
use super::answers::{AckDelay, first_ack_delay, first_answers, processing};
use super::detail::HandshakeDetail;
use super::flights::{first_of_client, first_of_server, second_of_client};
use super::probes::repeats;
use super::round_trips::{default_timeout, estimates, samples};
use super::times::Steps;
use super::view::{HandshakeTaps, View, Views};
use crate::output::{RunMetrics, Withheld};
use crate::warnings::WarningCode;

/// Which metrics are not what packets of their end show.
#[derive(Default)]
struct Doubts {
    /// Why metrics are null, with their names.
    unread: Vec<(String, &'static str)>,
    /// Null, because the tap is elsewhere.
    elsewhere: Vec<&'static str>,
    /// Estimated, because the tap is elsewhere.
    estimated: Vec<&'static str>,
}

/// Fills in the metrics, and says why others are null.
pub(super) fn measure(views: &Views, is_cut: bool, run: &mut RunMetrics) {
    let mut doubts = Doubts::default();
    times(views, run, &mut doubts);
    answers(views, run, &mut doubts);
    round_trips(views, run, &mut doubts);
    ack_delays(views, run, &mut doubts);
    sent_again(views, run, &mut doubts);
    limits(views, run, &mut doubts);
    let metrics = &mut run.metrics;
    let flights = [first_of_client(&views.client), first_of_server(&views.server), second_of_client(&views.client)];
    [
        metrics.handshake_client_flight_1_datagrams,
        metrics.handshake_server_flight_1_datagrams,
        metrics.handshake_client_flight_2_datagrams,
    ] = flights.map(|flight| flight.map(|flight| flight.datagrams));
    [
        metrics.handshake_client_flight_1_packets,
        metrics.handshake_server_flight_1_packets,
        metrics.handshake_client_flight_2_packets,
    ] = flights.map(|flight| flight.map(|flight| flight.packets));
    let names = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
    run.handshake = Some(HandshakeDetail::of(views, names(doubts.estimated), names(doubts.elsewhere)));
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (reason, name) in doubts.unread {
        let reason = if is_cut { format!("{reason}; only its first datagrams were looked at") } else { reason };
        by_reason.entry(reason).or_default().push(name);
    }
    // Without warnings: those of the packets that could not be read are there already.
    for (reason, names) in by_reason {
        let metrics = names.into_iter().map(str::to_owned).collect();
        run.withheld.push(Withheld { reason, metrics });
    }
}

fn times(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    let client = Steps::of(&views.client, true);
    let server = Steps::of(&views.server, false);
    let missing = views.client.way_and_back;
    let arrival = |step| Some(added(client.since_begin(step)?, missing?));
    let metrics = &mut run.metrics;
    metrics.handshake_client_complete_ns = client.since_begin(client.client_finished).map(Duration::as_nanos);
    metrics.handshake_client_confirmed_ns = arrival(client.confirmed);
    metrics.handshake_client_first_byte_ns = arrival(client.first_byte);
    metrics.handshake_server_complete_ns = server.since_begin(server.client_finished).map(Duration::as_nanos);
    let steps = [
        ("handshake_client_complete_ns", client.client_finished, "Handshake packets of the client", false),
        ("handshake_client_confirmed_ns", client.confirmed, "1-RTT packets of the server", true),
        ("handshake_client_first_byte_ns", client.first_byte, "1-RTT packets of the server", true),
        ("handshake_server_complete_ns", server.client_finished, "Handshake packets of the client", false),
    ];
    for (name, step, packets, is_arrival) in steps {
        if step.hidden_before > 0 {
            doubts.unread.push((format!("{packets} in the handshake could not be read"), name));
        } else if is_arrival && missing.is_none() && step.time.is_some() {
            doubts.elsewhere.push(name);
        } else if is_arrival && !views.client.is_exact && step.time.is_some() {
            doubts.estimated.push(name);
        }
    }
}

fn answers(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    let server = &views.server;
    let answers = first_answers(server.sent());
    let begin = Steps::of(server, false).begin;
    let since = |time: Option<Time>| Some(time?.checked_since(begin?)?.as_nanos());
    let [before_ack, before_hello] = answers.hidden_before;
    let metrics = &mut run.metrics;
    let mut withhold = |name| doubts.unread.push(("Initial packets of the server could not be read".to_owned(), name));
    if before_ack == 0 {
        metrics.handshake_first_ack_ns = since(answers.first_ack.map(|(time, _)| time));
        metrics.handshake_first_ack_bytes = answers.first_ack.map(|(_, bytes)| u64::from(bytes));
    } else {
        ["handshake_first_ack_ns", "handshake_first_ack_bytes"].into_iter().for_each(&mut withhold);
    }
    if before_hello == 0 {
        metrics.handshake_instant_acks = answers.hello.map(|_| answers.instant_acks);
        // An ACK behind the ServerHello is no answer to wait after.
        let wait = answers.first_ack.zip(answers.hello).map(|((ack, _), hello)| hello.checked_since(ack));
        metrics.handshake_ack_to_hello_ns = wait.flatten().map(Duration::as_nanos);
    } else {
        ["handshake_instant_acks", "handshake_ack_to_hello_ns"].into_iter().for_each(&mut withhold);
    }
    if !server.is_exact {
        if answers.hello.is_some() {
            doubts.elsewhere.push("handshake_server_processing_ns");
        }
    } else if before_hello == 0 {
        metrics.handshake_server_processing_ns = processing(server).map(Duration::as_nanos);
    } else {
        withhold("handshake_server_processing_ns");
    }
}

fn round_trips(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    let sides = [
        (
            Role::Client,
            "handshake_client_first_rtt_ns",
            "handshake_client_first_pto_ns",
            "handshake_client_rtt_samples",
        ),
        (
            Role::Server,
            "handshake_server_first_rtt_ns",
            "handshake_server_first_pto_ns",
            "handshake_server_rtt_samples",
        ),
    ];
    for (side, rtt, pto, count) in sides {
        let view = views.of(side);
        let samples = samples(view);
        let first = view.way_and_back.and_then(|missing| estimates(samples.list.get(..1)?, missing).pop());
        let mut values = [None; 3];
        if samples.hidden_before > 0 {
            let reason = format!("packets of the {} in the handshake could not be read", side.peer().name());
            doubts.unread.extend([rtt, pto, count].map(|name| (reason.clone(), name)));
        } else if let Some((sample, estimate)) = first {
            values[0] = Some(sample.rtt.as_nanos());
            values[1] = Some(estimate.pto(Duration::ZERO).as_nanos());
            values[2] = Some(samples.list.len() as u64);
            if !view.is_exact {
                doubts.estimated.extend([rtt, pto]);
            }
        } else if !samples.list.is_empty() {
            doubts.elsewhere.extend([rtt, pto]);
        }
        let default = default_timeout(view).ok().map(Duration::as_nanos);
        let metrics = &mut run.metrics;
        match side {
            Role::Client => {
                [
                    metrics.handshake_client_first_rtt_ns,
                    metrics.handshake_client_first_pto_ns,
                    metrics.handshake_client_rtt_samples,
                ] = values;
                metrics.handshake_client_default_pto_ns = default;
            }
            Role::Server => {
                [
                    metrics.handshake_server_first_rtt_ns,
                    metrics.handshake_server_first_pto_ns,
                    metrics.handshake_server_rtt_samples,
                ] = values;
                metrics.handshake_server_default_pto_ns = default;
            }
        }
    }
}

fn ack_delays(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    let mut of = |side: Role, form, names: [&'static str; 2]| -> [Option<u64>; 2] {
        let view: &View = views.of(side);
        let delay: AckDelay = first_ack_delay(view, form);
        if delay.hidden_before > 0 {
            let space = if form == QuicForm::Initial { "Initial" } else { "Handshake" };
            let reason = format!("{space} packets of the {} could not be read", side.name());
            doubts.unread.extend(names.map(|name| (reason.clone(), name)));
            return [None; 2];
        }
        if !view.is_exact && delay.actual.is_some() {
            doubts.elsewhere.push(names[1]);
        }
        let actual = delay.actual.filter(|_| view.is_exact);
        [delay.reported, actual].map(|delay| delay.map(Duration::as_nanos))
    };
    let names = ["handshake_server_initial_ack_delay_reported_ns", "handshake_server_initial_ack_delay_ns"];
    let server_initial = of(Role::Server, QuicForm::Initial, names);
    let names = ["handshake_server_handshake_ack_delay_reported_ns", "handshake_server_handshake_ack_delay_ns"];
    let server_handshake = of(Role::Server, QuicForm::Handshake, names);
    let names = ["handshake_client_initial_ack_delay_reported_ns", "handshake_client_initial_ack_delay_ns"];
    let client_initial = of(Role::Client, QuicForm::Initial, names);
    let names = ["handshake_client_handshake_ack_delay_reported_ns", "handshake_client_handshake_ack_delay_ns"];
    let client_handshake = of(Role::Client, QuicForm::Handshake, names);
    let metrics = &mut run.metrics;
    [metrics.handshake_server_initial_ack_delay_reported_ns, metrics.handshake_server_initial_ack_delay_ns] =
        server_initial;
    [metrics.handshake_server_handshake_ack_delay_reported_ns, metrics.handshake_server_handshake_ack_delay_ns] =
        server_handshake;
    [metrics.handshake_client_initial_ack_delay_reported_ns, metrics.handshake_client_initial_ack_delay_ns] =
        client_initial;
    [metrics.handshake_client_handshake_ack_delay_reported_ns, metrics.handshake_client_handshake_ack_delay_ns] =
        client_handshake;
}

fn sent_again(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    let names = [
        ["handshake_client_probes", "handshake_client_spurious_retransmissions"],
        ["handshake_server_probes", "handshake_server_spurious_retransmissions"],
    ];
    let [client, server] = Role::BOTH.map(|side| {
        let view = views.of(side);
        let peer = (views.taps == HandshakeTaps::Both).then(|| views.of(side.peer()));
        let found = repeats(view, peer);
        if found.hidden > 0 {
            let reason =
                format!("{} Initial and Handshake packets of the {} could not be read", found.hidden, side.name());
            doubts.unread.extend(names[side as usize].map(|name| (reason.clone(), name)));
        }
        let sends = view.sent().any(|event| event.has_form(QuicForm::Initial));
        (sends && found.hidden == 0).then_some(found)
    });
    let metrics = &mut run.metrics;
    metrics.handshake_client_probes = client.map(|found| found.probes);
    metrics.handshake_server_probes = server.map(|found| found.probes);
    metrics.handshake_client_spurious_retransmissions = client.map(|found| found.spurious);
    metrics.handshake_server_spurious_retransmissions = server.map(|found| found.spurious);
}

fn limits(views: &Views, run: &mut RunMetrics, doubts: &mut Doubts) {
    const NAMES: [&str; 4] = [
        "handshake_amplification_received_bytes",
        "handshake_amplification_sent_bytes",
        "handshake_amplification_excess_bytes",
        "handshake_amplification_blocked_ns",
    ];
    let server = &views.server;
    if !server.is_exact {
        doubts.elsewhere.extend(NAMES);
        return;
    }
    let account = match amplification(server) {
        Ok(account) => account,
        Err(reason) => {
            doubts.unread.extend(NAMES.map(|name| (reason.clone(), name)));
            return;
        }
    };
    let metrics = &mut run.metrics;
    metrics.handshake_amplification_received_bytes = Some(account.received);
    metrics.handshake_amplification_sent_bytes = Some(account.sent);
    metrics.handshake_amplification_excess_bytes = Some(account.excess);
    if account.hidden > 0 {
        doubts.unread.push(("Handshake packets of the server could not be read".to_owned(), NAMES[3]));
    } else {
        metrics.handshake_amplification_blocked_ns = Some(account.blocked.as_nanos());
    }
    if account.excess > 0 {
        run.warn(
            WarningCode::AmplificationLimitExceeded,
            format!(
                "the server sent {} bytes more than three times the bytes that it had received before the client's \
                 address was validated (RFC 9000 section 8.1)",
                account.excess
            ),
        );
    }
}

fn added(time: Duration, missing: Duration) -> u64 {
    time.as_nanos().saturating_add(missing.as_nanos())
}
