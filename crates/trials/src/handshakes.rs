//! What a capture shows of how a handshake begins.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use quiclab_experiment::run::{FirstAck, KeyExchange, Run, Workload};
use quiclab_experiment::stack::{CertificateDelay, Role};
use quiclab_inputs::open_unlinked;
use quiclab_record::layout::{CAPTURE_FILE, SENDER_TAP};
use quiclab_testbed::{certificates, contract::SERVER_PORT};
use quiclab_units::Duration;
use quiclab_wire::{
    Ack, CaptureReader, ClientOffer, Dissector, DissectorSettings, Observed, QuicForm, QuicFrame, Role as Sender,
    Segment,
};

/// Bytes of the shortest datagram that counts as padded (RFC 9000, section 14.1).
const FULL: u32 = 1200;
/// Datagrams so near to each other belong to one flight.
const FLIGHT: Duration = Duration::from_millis(50);
/// How much earlier than planned a probe may come, as its timer may begin before TLS has made the first packet, and how much later: the
/// granularity of timers and the sender's work.
const EARLY: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_millis(30);

/// A datagram with an Initial packet, or, of a server, a Handshake packet; times count from the client's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    sender: Sender,
    time: Duration,
    payload_bytes: u32,
    /// Largest number of its Initial packets.
    number: Option<u64>,
    /// Largest Initial packet that an ACK frame in an Initial packet of it acknowledges.
    acknowledged: Option<u64>,
    /// An Initial packet in it has a CRYPTO frame.
    has_hello: bool,
    /// Whether it is the client's and with it the whole ClientHello has passed the tap.
    completes_hello: bool,
    /// Something in it must be acknowledged.
    is_ack_eliciting: bool,
}

/// What the client offered in its first ClientHello.
pub fn key_exchange(expected: KeyExchange, offer: Option<&ClientOffer>) -> Result<String> {
    let offer = offer.context("no ClientHello could be read")?;
    let number = match expected {
        KeyExchange::X25519 => 0x001d,
        KeyExchange::X25519MlKem768 => 0x11ec,
    };
    // RFC 8701 reserves those of two equal bytes that end with 0xa, which mean nothing.
    let named = offer.groups.iter().filter(|group| *group & 0x0f0f != 0x0a0a || *group >> 8 != *group & 0xff);
    let named: Vec<_> = named.map(|group| format!("0x{group:04x}")).collect();
    let found = format!("the ClientHello has the groups {}", named.join(", "));
    ensure!(named == [format!("0x{number:04x}")], "{found}; expected 0x{number:04x} alone");
    Ok(found)
}

/// What the server sent before its ServerHello, while its certificate took `late`.
pub fn first_ack(expected: FirstAck, late: Duration, folder: &Path) -> Result<String> {
    judge_first_ack(expected, late, &beginning(folder)?)
}

fn judge_first_ack(expected: FirstAck, late: Duration, datagrams: &[Datagram]) -> Result<String> {
    let of_server: Vec<_> = datagrams.iter().filter(|datagram| datagram.sender == Sender::Server).collect();
    let hello = of_server.iter().position(|datagram| datagram.has_hello).context("found no ServerHello")?;
    let at = |datagram: &Datagram| format!("{:.1} ms", datagram.time.as_nanos() as f64 / 1e6);
    let mut found = format!("ServerHello after {}", at(of_server[hello]));
    ensure!(of_server[hello].time >= late, "{found}; expected it after {late}");
    match (expected, of_server[..hello].first()) {
        (FirstAck::Wait, None) => Ok(format!("{found}, nothing before it")),
        (FirstAck::Wait, Some(first)) => {
            anyhow::bail!("{found}; expected nothing before it, found a datagram after {}", at(first))
        }
        (_, None) => anyhow::bail!("{found}; expected an acknowledgment before it"),
        (_, Some(first)) => {
            found.push_str(&format!(", an acknowledgment of {} bytes after {}", first.payload_bytes, at(first)));
            ensure!(first.acknowledged.is_some(), "{found}; expected an ACK frame in it");
            ensure!(first.time < FLIGHT, "{found}; expected it within {FLIGHT}");
            let is_full = first.payload_bytes >= FULL;
            ensure!(
                is_full == (expected == FirstAck::Padded),
                "{found}; expected {} {FULL} bytes",
                match is_full {
                    true => "less than",
                    false => "at least",
                }
            );
            Ok(found)
        }
    }
}

/// What the server acknowledged while its certificate took `late`.
pub fn late_certificate(expected: CertificateDelay, late: Duration, folder: &Path) -> Result<String> {
    judge_late_certificate(expected, late, &beginning(folder)?)
}

fn judge_late_certificate(expected: CertificateDelay, late: Duration, datagrams: &[Datagram]) -> Result<String> {
    let hello = datagrams.iter().position(|datagram| datagram.sender == Sender::Server && datagram.has_hello);
    let (before, rest) = datagrams.split_at(hello.context("found no ServerHello")?);
    let milliseconds = |datagram: &Datagram| format!("{:.1} ms", datagram.time.as_nanos() as f64 / 1e6);
    let found = format!("ServerHello after {}", milliseconds(&rest[0]));
    ensure!(rest[0].time >= late, "{found}; expected it after {late}");

    let of_client = before.iter().filter(|datagram| datagram.sender == Sender::Client && datagram.has_hello);
    let flight: Vec<_> = of_client.filter(|datagram| datagram.time < FLIGHT).collect();
    ensure!(
        flight.iter().any(|datagram| datagram.completes_hello),
        "{found}; the client's first flight lacks a part of its ClientHello, so that what the server does with a whole one \
         is not seen"
    );
    let whole = flight.iter().filter_map(|datagram| datagram.number).max();
    let is_of_whole = |datagram: &Datagram| datagram.acknowledged.is_some_and(|number| Some(number) >= whole);
    let replies = || before.iter().filter(|datagram| datagram.sender == Sender::Server);
    let (behaviour, reply) = match (replies().find(|reply| is_of_whole(reply)), replies().next()) {
        (Some(reply), _) => (CertificateDelay::InstantAck, Some(reply)),
        (None, Some(reply)) => (CertificateDelay::WaitAfterHello, Some(reply)),
        (None, None) => (CertificateDelay::Wait, None),
    };
    let describe = |behaviour| match behaviour {
        CertificateDelay::None => "no certificate",
        CertificateDelay::Wait => "nothing before it",
        CertificateDelay::WaitAfterHello => "before it an acknowledgment of a part of the ClientHello only",
        CertificateDelay::InstantAck => "before it an acknowledgment of the whole ClientHello",
    };
    let at = reply.map(|reply| format!(" after {}", milliseconds(reply))).unwrap_or_default();
    let found = format!("{found}, {}{at}", describe(behaviour));
    ensure!(behaviour == expected, "{found}; expected {}", describe(expected));
    Ok(found)
}

/// The time until the first probe of this role, where its peer's answer takes longer than `pto`.
pub fn first_probe(role: Role, pto: Duration, folder: &Path) -> Result<String> {
    judge_first_probe(role, pto, &beginning(folder)?)
}

fn judge_first_probe(role: Role, pto: Duration, datagrams: &[Datagram]) -> Result<String> {
    let sender = if role == Role::Server { Sender::Server } else { Sender::Client };
    let mut of_client = None;
    let mut last = None;
    let mut probe = None;
    for datagram in datagrams {
        if datagram.sender != sender {
            // The tap stands at the server: what the client sends is there, and what the server sends is not yet at the client.
            of_client = (role == Role::Server).then_some(datagram.time);
        } else if datagram.is_ack_eliciting {
            let is_near = |time: Option<Duration>| time.is_some_and(|time| since(time, datagram.time) < FLIGHT);
            // The timer begins with the last packet of the flight. What follows a datagram of the peer answers it, such as its own probe.
            if last.is_none() || is_near(last) || is_near(of_client) {
                last = Some(datagram.time);
            } else {
                probe = Some(datagram.time);
                break;
            }
        }
    }
    let last = last.context("found no packet that has to be acknowledged")?;
    let probe = since(last, probe.context("found no probe")?);
    let found = format!("the first probe came {:.1} ms after the flight before it", probe.as_nanos() as f64 / 1e6);
    ensure!(
        since(probe, pto) <= EARLY && since(pto, probe) <= LATE,
        "{found}; expected {pto}, {EARLY} less to {LATE} more"
    );
    Ok(found)
}

fn since(earlier: Duration, later: Duration) -> Duration {
    Duration::from_nanos(later.as_nanos().saturating_sub(earlier.as_nanos()))
}

/// The server's chain arrives with all of its certificates, and nothing else.
pub fn chain(run: &Run, certificate_bytes: Option<u32>) -> Result<String> {
    // A certificate has the length of itself and of its extensions beside it, the list its own, and a context that is empty (RFC 8446,
    // section 4.4.2).
    const BESIDE_EACH: usize = 3 + 2;
    const BESIDE_ALL: usize = 1 + 3;
    let Workload { certificate, certificate_key, .. } = run.settings.workload;
    let chain = certificates::make(run.seed, certificate, certificate_key)?.der_sizes();
    let expected = chain.iter().map(|bytes| bytes + BESIDE_EACH).sum::<usize>() + BESIDE_ALL;
    let found = certificate_bytes.context("found no Certificate message")? as usize;
    ensure!(found == expected, "the Certificate message has {found} bytes, expected {expected}");
    let plural = if chain.len() == 1 { "" } else { "s" };
    Ok(format!("{} certificate{plural} of {} bytes in all", chain.len(), chain.iter().sum::<usize>()))
}

fn beginning(folder: &Path) -> Result<Vec<Datagram>> {
    let mut reader = CaptureReader::new(open_unlinked(&folder.join(CAPTURE_FILE))?)?;
    let mut dissector =
        Dissector::new(DissectorSettings { server_port: Some(SERVER_PORT), interfaces_are_one_tap: true });
    let mut datagrams = Vec::new();
    let mut begin = None;
    reader.dissect(&mut dissector, Some(SENDER_TAP), &mut |_, segment, observed| {
        let Some(observed) = observed else { return };
        let begin = *begin.get_or_insert(segment.time);
        datagrams.extend(datagram(segment, observed, segment.time.checked_since(begin).unwrap_or_default()));
    })?;
    Ok(datagrams)
}

/// `None` for what is behind the handshake.
fn datagram(segment: &Segment, observed: &Observed, time: Duration) -> Option<Datagram> {
    let counts = |form| match observed.sender {
        Sender::Client => form == QuicForm::Initial,
        Sender::Server => matches!(form, QuicForm::Initial | QuicForm::Handshake),
    };
    let packets = || observed.packets.iter().filter(|packet| counts(packet.form));
    packets().next()?;
    let has = |is_it: fn(&QuicFrame) -> bool, of: fn(QuicForm) -> bool| {
        packets()
            .filter(|packet| of(packet.form))
            .any(|packet| observed.frames[packet.frames.clone()].iter().any(is_it))
    };
    let initial = |form| form == QuicForm::Initial;
    Some(Datagram {
        sender: observed.sender,
        time,
        payload_bytes: segment.payload_length,
        number: packets().filter(|packet| initial(packet.form)).filter_map(|packet| packet.packet_number).max(),
        acknowledged: packets()
            .filter(|packet| initial(packet.form))
            .flat_map(|packet| &observed.frames[packet.frames.clone()])
            .filter_map(|frame| frame.acknowledgment().map(Ack::largest))
            .max(),
        has_hello: has(|frame| matches!(frame, QuicFrame::Crypto { .. }), initial),
        completes_hello: observed.sender == Sender::Client
            && observed.connection.tls_handshake().is_some_and(|tls| tls.offer.is_some()),
        is_ack_eliciting: has(QuicFrame::is_ack_eliciting, |_| true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Datagram = Datagram {
        sender: Sender::Client,
        time: Duration::ZERO,
        payload_bytes: 1200,
        number: Some(0),
        acknowledged: None,
        has_hello: true,
        completes_hello: true,
        is_ack_eliciting: true,
    };

    fn at(milliseconds: u64, other: Datagram) -> Datagram {
        Datagram { time: Duration::from_millis(milliseconds), ..other }
    }

    #[test]
    fn an_acknowledgment_is_instant_padded_or_not_there() {
        let late = Duration::from_millis(200);
        let ack =
            Datagram { sender: Sender::Server, payload_bytes: 50, acknowledged: Some(0), has_hello: false, ..SILENT };
        let full = Datagram { payload_bytes: FULL, ..ack };
        let hello = Datagram { sender: Sender::Server, acknowledged: Some(0), ..SILENT };
        let sequences = [
            (FirstAck::Instant, vec![SILENT, at(1, ack), at(201, hello)]),
            (FirstAck::Padded, vec![SILENT, at(1, full), at(201, hello)]),
            (FirstAck::Wait, vec![SILENT, at(201, hello)]),
        ];
        for (own, datagrams) in &sequences {
            for (expected, _) in &sequences {
                let judged = judge_first_ack(*expected, late, datagrams);
                assert_eq!(judged.is_ok(), own == expected, "{own:?}, expected {expected:?}: {judged:?}");
            }
        }
        assert!(judge_first_ack(FirstAck::Instant, late, &[SILENT, at(60, ack), at(201, hello)]).is_err());
        assert!(judge_first_ack(FirstAck::Instant, late, &[SILENT, at(1, ack), at(199, hello)]).is_err());
        assert!(judge_first_ack(FirstAck::Instant, late, &[SILENT, at(1, ack)]).is_err());
    }

    #[test]
    fn an_acknowledgment_of_half_a_client_hello_is_no_instant_ack() {
        let late = Duration::from_millis(200);
        let second = Datagram { number: Some(1), ..SILENT };
        let half = Datagram { sender: Sender::Server, acknowledged: Some(0), has_hello: false, ..SILENT };
        let whole = Datagram { acknowledged: Some(1), ..half };
        // A probe, and the late answer to it.
        let probe = Datagram { number: Some(2), ..SILENT };
        let hello = Datagram { sender: Sender::Server, acknowledged: Some(2), ..SILENT };
        let sequences = [
            (CertificateDelay::Wait, vec![SILENT, at(1, second), at(140, probe), at(201, hello)]),
            (
                CertificateDelay::WaitAfterHello,
                vec![SILENT, at(1, second), at(2, half), at(140, probe), at(201, hello)],
            ),
            (CertificateDelay::InstantAck, vec![SILENT, at(1, second), at(2, half), at(3, whole), at(201, hello)]),
            (CertificateDelay::InstantAck, vec![SILENT, at(1, half), at(201, hello)]),
        ];
        for (own, datagrams) in &sequences {
            for expected in [CertificateDelay::Wait, CertificateDelay::WaitAfterHello, CertificateDelay::InstantAck] {
                let judged = judge_late_certificate(expected, late, datagrams);
                assert_eq!(judged.is_ok(), *own == expected, "{own:?}, expected {expected:?}: {judged:?}");
            }
        }
        // tokio-quiche's client loses its first datagram: there is no whole ClientHello to be acknowledged.
        let part = Datagram { completes_hello: false, ..second };
        let datagrams = [part, at(2, whole), at(160, SILENT), at(201, hello)];
        let error = judge_late_certificate(CertificateDelay::InstantAck, late, &datagrams).unwrap_err();
        assert!(error.to_string().contains("lacks a part of its ClientHello"), "{error}");
        assert!(judge_late_certificate(CertificateDelay::Wait, late, &[SILENT, at(199, hello)]).is_err());
        assert!(judge_late_certificate(CertificateDelay::Wait, late, &[SILENT]).is_err());
    }

    #[test]
    fn a_probe_counts_from_the_last_packet_of_the_flight() {
        let pto = Duration::from_millis(300);
        let probe = |times: &[u64]| {
            let datagrams: Vec<_> = times.iter().map(|time| at(*time, SILENT)).collect();
            judge_first_probe(Role::Client, pto, &datagrams)
        };
        assert!(probe(&[0, 2, 302, 902]).is_ok());
        assert!(probe(&[0, 2, 332]).is_ok());
        assert!(probe(&[0, 2, 297]).is_ok());
        for wrong in [&[0, 2, 296][..], &[0, 2, 333], &[0, 999], &[0, 2], &[]] {
            assert!(probe(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_answers_a_probe_of_the_client_is_no_probe_of_the_server() {
        let server = Datagram { sender: Sender::Server, ..SILENT };
        let probe = |pto, own: &[(u64, Datagram)]| {
            let datagrams: Vec<_> = own.iter().map(|(time, datagram)| at(*time, *datagram)).collect();
            judge_first_probe(Role::Server, Duration::from_millis(pto), &datagrams)
        };
        let answered = [(0, SILENT), (3, server), (250, SILENT), (251, server), (551, server)];
        assert!(probe(300, &answered).is_ok());
        assert!(probe(248, &answered).is_err());
        assert!(probe(300, &answered[..4]).is_err(), "an answer alone shows nothing");
        assert!(probe(300, &[(0, SILENT), (3, server), (303, server)]).is_ok());
    }
}
