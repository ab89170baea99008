//! How far the anti-amplification limit held the server up: RFC 9000 section 8.1.

use quiclab_units::{Duration, Time};
use quiclab_wire::QuicForm;

use super::log::Frame;
use super::view::View;
use crate::ranges::RangeSet;

/// RFC 9000 section 8.1: "three times the amount of data received from that address".
const FACTOR: u64 = 3;
/// RFC 9000 section 14.1: the smallest datagram with an ack-eliciting Initial packet. A server with less left may send nothing
/// of full size.
const SMALLEST_DATAGRAM: u64 = 1_200;

/// The server's account until it knows that the client's address is genuine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Amplification {
    /// Bytes of UDP payload received by then. The datagram that shows that the address is genuine does not count.
    pub(super) received: u64,
    /// Bytes of UDP payload sent by then.
    pub(super) sent: u64,
    /// The most by which the bytes sent were more than the limit.
    pub(super) excess: u64,
    /// How long the server had CRYPTO data left and not enough of its limit for a datagram.
    pub(super) blocked: Duration,
    /// Each of these waits: from when, and until when.
    pub(super) waits: Vec<(Time, Time)>,
    /// Waits that may have been such: the packets that would tell could not be read.
    pub(super) hidden: u64,
}

/// The limit ends with the client's first Handshake packet, or with an Initial packet that brings a token back.
pub(super) fn amplification(server: &View) -> Amplification {
    let mut account = Amplification::default();
    let mut crypto = SentCrypto::default();
    // Since when too little is left.
    let mut short_since: Option<Time> = None;
    let mut is_validated = false;
    // Until the first datagram sent behind what grew the budget.
    let mut waits: Option<Time> = None;
    for event in &server.events {
        if event.is_sent {
            let is_new = crypto.on_packets(event.packets);
            if let Some(since) = waits.take() {
                match is_new {
                    Some(true) => {
                        account.waits.push((since, event.time));
                        let wait = event.time.checked_since(since).unwrap_or_default();
                        account.blocked = Duration::from_nanos(account.blocked.as_nanos() + wait.as_nanos());
                    }
                    Some(false) => {}
                    None => account.hidden += 1,
                }
            }
            if is_validated {
                break;
            }
            account.sent += u64::from(event.bytes);
            let budget = account.received * FACTOR;
            account.excess = account.excess.max(account.sent.saturating_sub(budget));
            let is_short = budget.saturating_sub(account.sent) < SMALLEST_DATAGRAM;
            short_since = is_short.then_some(event.time);
            continue;
        }
        if is_validated {
            continue;
        }
        is_validated = event.packets.iter().any(|packet| packet.form == QuicForm::Handshake || packet.has_token);
        if !is_validated {
            account.received += u64::from(event.bytes);
        }
        let budget = account.received * FACTOR;
        let has_enough = is_validated || budget.saturating_sub(account.sent) >= SMALLEST_DATAGRAM;
        if let Some(since) = short_since.filter(|_| has_enough) {
            waits = Some(since);
            short_since = None;
        }
    }
    account
}

/// CRYPTO data of the server's first flight.
#[derive(Default)]
struct SentCrypto([RangeSet; 2]);

impl SentCrypto {
    /// Whether a datagram has bytes of it that were not sent before. `None` where that could not be read.
    fn on_packets(&mut self, packets: &[super::log::Packet]) -> Option<bool> {
        let mut is_new = false;
        let mut is_hidden = false;
        for packet in packets {
            let Some(sent) = packet.space().and_then(|space| self.0.get_mut(usize::from(space))) else { continue };
            is_hidden |= packet.is_hidden();
            for frame in &packet.frames {
                if let Frame::Crypto { offset, end } = frame {
                    is_new |= sent.insert(*offset, *end) > 0;
                }
            }
        }
        (is_new || !is_hidden).then_some(is_new)
    }
}
