//! A host at a mirror port: it captures what the server's interface sends and receives, and reads its own clock off the packets by which the
//! hosts of server and client compare theirs.
//!
//! Such a packet passes the mirror port on its way to the server and the answer on its way back, so that the mirror port's times stand
//! between those of the server like a client's. The answer has the server's times in it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    hosts::{CLOCK_PORT, Exchange},
    ring,
};

use super::cards;
use crate::tap::{BLOCK_BYTES, Tap};

/// Room for the packets of a comparison.
const ROOM_BYTES: u64 = 4 << 20;
/// Bytes of an Ethernet header; below, the first bytes that are needed of a packet (its number) and of an answer.
const ETHERNET: usize = 14;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
const NUMBER_BYTES: usize = 8;
const ANSWER_BYTES: usize = 24;

/// How a mirror port stamps packets.
pub(super) struct Mirror<'a> {
    /// Its interface.
    pub interface: &'a str,
    /// Link-layer address of the server.
    pub server: [u8; 6],
    /// Whether the card stamps what it receives.
    pub by_hardware: bool,
}

impl<'a> Mirror<'a> {
    /// Describes the mirror port by what the card does at present.
    pub fn at(interface: &'a str, server: [u8; 6]) -> Self {
        Self { interface, server, by_hardware: cards::of(interface).stamps_now == Some(true) }
    }

    /// Why the kernel stamps packets; empty where the card does.
    pub fn why_software(&self) -> String {
        if self.by_hardware {
            return String::new();
        }
        let card = cards::of(self.interface);
        let driver = card.driver.map_or_else(String::new, |driver| format!(" (driver {driver})"));
        let why = if card.has_hardware_stamps {
            "refused to stamp packets (SIOCSHWTSTAMP)"
        } else {
            "does not stamp packets (ETHTOOL_GET_TS_INFO)"
        };
        format!("interface {}{driver} {why}", self.interface)
    }

    /// A tap there.
    ///
    /// # Errors
    /// As [`Tap::open`].
    pub fn tap(&self, name: &str, kept: Option<u32>, ring_bytes: u64) -> Result<Tap> {
        Tap::open_at_mirror(name, self.interface, kept, ring_bytes, self.server, self.by_hardware)
    }

    /// A tap for the packets of a comparison.
    ///
    /// # Errors
    /// As [`Tap::open`].
    pub fn overhear(&self) -> Result<Tap> {
        self.tap("clocks", Some(128), ROOM_BYTES)
    }

    /// Packets of a tap that the card did not stamp, although it stamps.
    ///
    /// # Errors
    /// Where the ring makes no sense.
    pub fn not_stamped(&self, tap: &Tap) -> Result<u64> {
        if !self.by_hardware {
            return Ok(0);
        }
        ring::without_hardware_stamps(filled(tap), BLOCK_BYTES).context("the capture at the mirror port")
    }
}

/// The part of a ring that has packets.
fn filled(tap: &Tap) -> &[u8] {
    let blocks = tap.pages().chunks(BLOCK_BYTES).take_while(|block| ring::holds_packets(block)).count();
    &tap.pages()[..blocks * BLOCK_BYTES]
}

/// The packets of a comparison that passed a tap, which is stopped.
///
/// # Errors
/// Where the ring makes no sense.
pub(super) fn overheard(tap: &Tap) -> Result<Vec<Exchange>> {
    let mut heard = Heard::default();
    ring::for_each_packet(filled(tap), BLOCK_BYTES, |packet| heard.on_frame(packet.time_ns, packet.bytes))
        .context("the capture at the mirror port")?;
    Ok(heard.exchanges)
}

#[derive(Default)]
struct Heard {
    /// When requests passed, by number.
    requests: BTreeMap<u64, u64>,
    exchanges: Vec<Exchange>,
}

impl Heard {
    fn on_frame(&mut self, time_ns: u64, frame: &[u8]) {
        let Some((from_server, payload)) = of_comparison(frame) else { return };
        let word = |at: usize| payload.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
        let Some(number) = word(0) else { return };
        if !from_server {
            self.requests.insert(number, time_ns);
            return;
        }
        let sent_ns = self.requests.remove(&number);
        if let (Some(sent_ns), Some(arrived_ns), Some(answered_ns)) = (sent_ns, word(8), word(16)) {
            self.exchanges.push(Exchange { sent_ns, arrived_ns, answered_ns, received_ns: time_ns });
        }
    }
}

/// Whether the server sent it, and the payload, of a packet by which clocks are compared.
fn of_comparison(frame: &[u8]) -> Option<(bool, &[u8])> {
    let packet = frame.get(ETHERNET..).filter(|_| frame[12..ETHERNET] == [8, 0])?;
    if *packet.get(9)? != UDP {
        return None;
    }
    let datagram = packet.get(usize::from(packet[0] & 0xf) * 4..)?;
    let port = |at: usize| Some(u16::from_be_bytes([*datagram.get(at)?, *datagram.get(at + 1)?]));
    let payload = datagram.get(UDP_HEADER..)?;
    match (port(0)?, port(2)?) {
        (CLOCK_PORT, _) if payload.len() >= ANSWER_BYTES => Some((true, payload)),
        (_, CLOCK_PORT) if payload.len() >= NUMBER_BYTES => Some((false, payload)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ports: [u16; 2], payload: &[u64]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 20];
        (frame[12], frame[14], frame[23]) = (8, 0x45, UDP);
        for port in ports {
            frame.extend(port.to_be_bytes());
        }
        frame.extend([0; 4]);
        frame.extend(payload.iter().flat_map(|word| word.to_be_bytes()));
        frame
    }

    #[test]
    fn a_request_and_its_answer_are_an_exchange_with_the_mirrors_times() {
        let mut heard = Heard::default();
        heard.on_frame(100, &frame([50_000, CLOCK_PORT], &[7, 0, 0]));
        heard.on_frame(110, &frame([50_000, CLOCK_PORT], &[8, 0, 0]));
        heard.on_frame(120, &frame([CLOCK_PORT, 50_000], &[7, 1_000, 1_005]));
        // An answer to a request that did not pass, one to no comparison, and a frame that is cut off.
        heard.on_frame(130, &frame([CLOCK_PORT, 50_000], &[9, 1, 2]));
        heard.on_frame(140, &frame([443, 50_000], &[8, 1, 2]));
        heard.on_frame(150, &frame([CLOCK_PORT, 50_000], &[8, 1]));
        heard.on_frame(160, &[0; 14]);
        let expected = Exchange { sent_ns: 100, arrived_ns: 1_000, answered_ns: 1_005, received_ns: 120 };
        assert_eq!(heard.exchanges, [expected]);
    }
}
