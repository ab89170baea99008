//! How far the anti-amplification limit held the server up: RFC 9000 section 8.1.

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicForm, Role};

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
///
/// # Errors
/// What is missing in the capture so that the account would be wrong: one sentence without its end.
pub(super) fn amplification(server: &View) -> Result<Amplification, String> {
    if let Some((sender, missed)) = missed_packets(server) {
        return Err(format!(
            "{missed} Initial and Handshake packets of the {} were acknowledged and are not in the capture",
            sender.name()
        ));
    }
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
        if !is_validated && !event.is_complete {
            let reason = "a datagram of the client was cut by the snap length, and may hold a Handshake packet, which lifts the limit";
            return Err(reason.to_owned());
        }
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
    Ok(account)
}

/// Initial and Handshake packets which the receiver acknowledged and the capture does not have, and who sent them. A packet whose number
/// is not known may be one of them.
fn missed_packets(server: &View) -> Option<(Role, u64)> {
    // By sender: its numbers, and those that its peer acknowledged.
    let mut seen: [[RangeSet; 2]; 2] = Default::default();
    let mut acknowledged: [[RangeSet; 2]; 2] = Default::default();
    let mut without_number = [[0; 2]; 2];
    for event in &server.events {
        let sender = if event.is_sent { Role::Server } else { Role::Client };
        // Cut off behind the packets that are known: others of unknown spaces.
        if !event.is_complete {
            without_number[sender as usize].iter_mut().for_each(|count| *count += 1);
        }
        for packet in event.packets {
            let Some(space) = packet.space().map(usize::from).filter(|space| *space < 2) else { continue };
            match packet.number {
                Some(number) => drop(seen[sender as usize][space].insert(number, number + 1)),
                None => without_number[sender as usize][space] += 1,
            }
            for frame in &packet.frames {
                let Frame::Ack { ranges, .. } = frame else { continue };
                for (first, last) in ranges {
                    acknowledged[sender.peer() as usize][space].insert(*first, last + 1);
                }
            }
        }
    }
    Role::BOTH.into_iter().find_map(|sender| {
        let spaces =
            acknowledged[sender as usize].iter().zip(&seen[sender as usize]).zip(without_number[sender as usize]);
        let missed = |((acknowledged, seen), unknown): ((&RangeSet, &RangeSet), u64)| {
            acknowledged.members_not_in(seen, 0).saturating_sub(unknown)
        };
        let missed = spaces.map(missed).fold(0, u64::saturating_add);
        (missed > 0).then_some((sender, missed))
    })
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

#[cfg(test)]
mod tests;
