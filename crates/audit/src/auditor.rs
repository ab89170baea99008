//! From a capture to the reports about both directions.

use std::io::Read;

use quiclab_wire::{Capture, CaptureError, CaptureReader, Frame};

use crate::{
    buffer, content,
    evidence::Evidence,
    law::{AuditReport, DirectionReport, Law, LawReport, TapFacts},
    losses, order,
    pairing::Pairing,
    rate,
    rules::{AuditedPath, Rules, StageKind},
    tap_packet::{COMPARED_BYTES, TapReader},
    times,
};

/// Names of the directions, as in records.
const DIRECTIONS: [&str; 2] = ["to_client", "to_server"];

/// Bytes that tell encrypted packets apart: headers of Ethernet, IPv6 and UDP, the first byte of QUIC, and more bytes of IDs, numbers or
/// ciphertext than two packets share by chance.
const FEWEST_COMPARED_BYTES: usize = 80;

/// Compares the packets of a capture with what the path promises. `open` gives the capture from its beginning; it is read once, after its
/// beginning, and once more where packets have no partner.
///
/// # Errors
/// Where the capture cannot be opened or read.
pub fn audit<R: Read>(
    mut open: impl FnMut() -> Result<R, CaptureError>,
    path: &AuditedPath,
) -> Result<AuditReport, CaptureError> {
    let Some(hosts) = find_hosts(open()?, path.server_port)? else {
        return Ok(AuditReport::nothing(format!(
            "no packet at the taps has the port {} of the server",
            path.server_port
        )));
    };
    let mut taps = Taps::read(open()?, path, hosts)?;
    if taps.compared < FEWEST_COMPARED_BYTES {
        return Ok(AuditReport::nothing(format!(
            "a tap keeps {} bytes of each packet, and fewer than {FEWEST_COMPARED_BYTES} do not tell packets apart (tap.snaplen)",
            taps.compared
        )));
    }
    let mut directions = Vec::new();
    for (index, rules) in path.directions.iter().enumerate() {
        let mut reader = taps.reader_of(rules);
        let pairing = &mut taps.pairings[index];
        pairing.pair();
        pairing.pair_changed(open()?, &mut reader)?;
        let begins_at_sender = (index == 0) == path.sender_is_server;
        let [sender, behind] = &taps.facts;
        let (entrance, exit) = if begins_at_sender { (sender, behind) } else { (behind, sender) };
        let evidence = Evidence {
            rules,
            timing: &path.timing,
            pairing: &taps.pairings[index],
            entrance,
            exit,
            shortest_cut: taps.shortest_cut,
        };
        directions.push(DirectionReport {
            direction: DIRECTIONS[index].to_owned(),
            packets_entered: evidence.pairing.entered.len() as u64,
            packets_left: evidence.pairing.left.len() as u64,
            laws: Law::ALL.iter().map(|law| judge(*law, &evidence)).collect(),
        });
    }
    Ok(AuditReport { tolerance: path.timing.in_words.clone(), directions, not_audited: None })
}

fn judge(law: Law, evidence: &Evidence) -> LawReport {
    match law {
        Law::NoneCreated => content::none_created(evidence),
        Law::NoneDuplicated => content::none_duplicated(evidence),
        Law::ContentUnchanged => content::unchanged(evidence),
        Law::Delay => times::delay(evidence),
        Law::Rate => rate::rate(evidence),
        Law::Buffer => buffer::buffer(evidence),
        Law::LossesAccounted => losses::losses(evidence),
        Law::Order => order::order(evidence),
    }
}

/// The packets that both taps saw, in both directions.
struct Taps {
    pairings: [Pairing; 2],
    facts: [TapFacts; 2],
    shortest_cut: Option<usize>,
    compared: usize,
}

/// Addresses of the hosts' network cards.
#[derive(Clone, Copy)]
struct Hosts {
    server: [u8; 6],
    client: [u8; 6],
}

impl Taps {
    fn read(capture: impl Read, path: &AuditedPath, hosts: Hosts) -> Result<Self, CaptureError> {
        let facts = path.taps.each_ref().map(|(name, _)| TapFacts { name: name.clone(), first: None });
        let mut taps = Self { pairings: Default::default(), facts, shortest_cut: None, compared: COMPARED_BYTES };
        let mut capture = CaptureReader::new(capture)?;
        let mut readers: Option<[TapReader; 2]> = None;
        let mut number = 0;
        while capture.next_frame()?.is_some() {
            number += 1;
            taps.compared = taps.compared.min(shortest_snap_length(capture.summary()));
            let Some(frame) = capture.current_frame() else { break };
            let Some(tap) = path.taps.iter().position(|(_, interface)| *interface == frame.interface) else { continue };
            if taps.facts[tap].first.is_none() && frame.segment().is_ok() {
                taps.facts[tap].first = Some(frame.time);
            }
            if (frame.captured.len() as u64) < u64::from(frame.length) {
                let kept = frame.captured.len();
                taps.shortest_cut = Some(taps.shortest_cut.map_or(kept, |shortest| shortest.min(kept)));
            }
            let Some(to_client) = hosts.is_to_client(&frame) else { continue };
            let readers = readers.get_or_insert_with(|| path.directions.each_ref().map(|rules| taps.reader_of(rules)));
            let direction = usize::from(!to_client);
            let packet = readers[direction].read(number, &frame);
            let is_at_sender = tap == 0;
            let begins_here = (to_client == path.sender_is_server) == is_at_sender;
            let pairing = &mut taps.pairings[direction];
            if begins_here { &mut pairing.entered } else { &mut pairing.left }.push(packet);
        }
        Ok(taps)
    }

    fn reader_of(&self, rules: &Rules) -> TapReader {
        TapReader::new(self.compared, rules.any(|kind| *kind == StageKind::Translate))
    }
}

/// Bytes that every tap keeps of a frame.
fn shortest_snap_length(capture: &Capture) -> usize {
    let lengths = capture.interfaces.iter().filter_map(|interface| interface.snap_length);
    lengths.min().map_or(usize::MAX, |length| length as usize)
}

/// Who is who, by the first packet to or from the server's port.
fn find_hosts(capture: impl Read, server_port: u16) -> Result<Option<Hosts>, CaptureError> {
    let mut capture = CaptureReader::new(capture)?;
    while let Some(frame) = capture.next_frame()? {
        if let Some(hosts) = hosts_of(&frame, server_port) {
            return Ok(Some(hosts));
        }
    }
    Ok(None)
}

fn hosts_of(frame: &Frame, server_port: u16) -> Option<Hosts> {
    let segment = frame.segment().ok()?;
    let destination = frame.captured.get(..6)?.try_into().ok()?;
    let source = frame.captured.get(6..12)?.try_into().ok()?;
    match (segment.source.port() == server_port, segment.destination.port() == server_port) {
        (true, false) => Some(Hosts { server: source, client: destination }),
        (false, true) => Some(Hosts { server: destination, client: source }),
        _ => None,
    }
}

impl Hosts {
    /// Whether a frame goes to the client; `None` where it does not belong to the hosts. A flipped bit leaves one of its two addresses as it was.
    fn is_to_client(self, frame: &Frame) -> Option<bool> {
        let destination = frame.captured.get(..6)?;
        let source = frame.captured.get(6..12)?;
        if source == self.server || destination == self.client {
            Some(true)
        } else if source == self.client || destination == self.server {
            Some(false)
        } else {
            None
        }
    }
}
