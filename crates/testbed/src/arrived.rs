//! Whether what arrived was on the wire.
//!
//! A client that has a file without packets that could have carried it got it some other way, and nothing that the taps saw says anything
//! about its transfer. Bodies are bytes that nothing compresses, so the sender's packets carry at least as many. Of an upload the server
//! keeps nothing, but the client's packets must carry as many bytes as its requests have.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
};

use quiclab_agent_protocol::cross_traffic::PORT as CROSS_PORT;
use quiclab_experiment::run::Run;
use quiclab_path::spec::{StageSettings, StageSpec};

use crate::{collect::RunFailure, contract::SERVER_PORT};

const ETHERNET_HEADER: usize = 14;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Offset and "more fragments" in the word of the IPv4 header that holds both.
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// What the measured sender's packets carried past a tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Whether packets of other ports count as well, apart from those of cross traffic.
    pub any_port: bool,
    /// Whether the client sends: packets towards the server's port count, not those from it.
    pub of_client: bool,
    /// Packets that count.
    pub packets: u64,
    /// Bytes of UDP or TCP payload in them.
    pub payload_bytes: u64,
}

impl Carried {
    /// Takes in a frame of `length` bytes on its way from the sender, of which the first bytes are enough: up to the header of TCP. Returns
    /// the packet if it counts.
    pub fn add<'a>(&mut self, frame: &'a [u8], length: usize) -> Option<Transported<'a>> {
        let counts = |port| port == SERVER_PORT || self.any_port && port != CROSS_PORT;
        let port = |packet: &Transported| if self.of_client { packet.destination_port } else { packet.port };
        let packet = Transported::read(frame, length).filter(|packet| counts(port(packet)))?;
        self.packets += 1;
        self.payload_bytes += packet.payload_bytes;
        Some(packet)
    }

    /// What is wrong with a run whose transfer is complete, where this is what passed `tap`; `None` where this can have carried them.
    pub fn too_little(self, run: &Run, tap: &str) -> Option<RunFailure> {
        let arrived = run.settings.workload.sent_bytes().as_bytes();
        (self.payload_bytes < arrived || self.packets == 0).then(|| RunFailure::ArrivedOtherwise {
            tap: tap.to_owned(),
            packets: self.packets,
            payload_bytes: self.payload_bytes,
            arrived,
        })
    }
}

/// A packet of UDP or TCP.
pub(crate) struct Transported<'a> {
    /// Its source port.
    port: u16,
    /// Port that the packet goes to.
    destination_port: u16,
    /// The header of UDP or TCP and what was captured behind it.
    captured: &'a [u8],
    /// Length of that header.
    header: usize,
    /// Place of the payload in the stream; `None` unless it is TCP.
    sequence: Option<u32>,
    /// Length of the payload, and at most what the frame has behind its headers: whoever writes packets by hand can claim more.
    payload_bytes: u64,
}

impl<'a> Transported<'a> {
    /// Reads a frame of `length` bytes, of which these are captured; `None` for other packets and for fragments.
    pub fn read(captured: &'a [u8], length: usize) -> Option<Self> {
        let in_frame = length.checked_sub(ETHERNET_HEADER)?;
        let ip = captured.get(ETHERNET_HEADER..)?;
        let (protocol, header, claimed) = match word(captured, ETHERNET_HEADER - 2)? {
            ETHERTYPE_IPV4 => {
                let header = usize::from(*ip.first()? & 0xf) * 4;
                if word(ip, 6)? & FRAGMENT_OFFSET != 0 {
                    return None;
                }
                (*ip.get(9)?, header, usize::from(word(ip, 2)?))
            }
            ETHERTYPE_IPV6 => (*ip.get(6)?, IPV6_HEADER, IPV6_HEADER + usize::from(word(ip, 4)?)),
            _ => return None,
        };
        let transport = ip.get(header..)?;
        let (own, sequence) = match protocol {
            UDP => (UDP_HEADER, None),
            TCP => {
                let sequence = u32::from_be_bytes(transport.get(4..8)?.try_into().ok()?);
                (usize::from(transport.get(12)? >> 4) * 4, Some(sequence))
            }
            _ => return None,
        };
        let payload_bytes = claimed.min(in_frame).checked_sub(header + own)? as u64;
        let [port, destination_port] = [word(transport, 0)?, word(transport, 2)?];
        Some(Self { port, destination_port, captured: transport, header: own, sequence, payload_bytes })
    }

    /// Returns what of it stays the same on the way to the other tap: not addresses and the destination port, which a NAT changes, marks of ECN,
    /// and checksums, which a network card fills in.
    fn unchanged(&self) -> impl Hash + use<'a> {
        let payload = self.captured.get(self.header..).unwrap_or_default();
        let length = usize::try_from(self.payload_bytes).unwrap_or(usize::MAX).min(payload.len());
        (self.port, self.sequence, self.payload_bytes, &payload[..length])
    }
}

/// What the path may do to packets between two taps, besides dropping and reordering them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathEffects {
    /// Whether some packets arrive more than once.
    pub duplicates: bool,
    /// Whether some packets get other bits in their payload, so that they cannot be found again.
    pub corrupts: bool,
}

impl PathEffects {
    /// Collects what the stages that the measured sender's packets pass may do.
    pub fn of(run: &Run) -> Self {
        Self::of_stages(&run.settings.stages_from_sender())
    }

    fn of_stages(stages: &[StageSpec]) -> Self {
        let has = |is: fn(&StageSettings) -> bool| stages.iter().any(|stage| is(&stage.settings));
        Self {
            duplicates: has(|stage| matches!(stage, StageSettings::Duplicate(_))),
            corrupts: has(|stage| matches!(stage, StageSettings::Corrupt(_) | StageSettings::BitErrors(_))),
        }
    }
}

/// The sender's packets with a payload at the tap where it sends, to find those that pass a tap on the way and had not passed this one.
///
/// Counts do not show it: a sender that hides packets can send others that the bottleneck drops.
#[derive(Default)]
pub(crate) struct SentPackets {
    /// Number of packets by the hash of what stays the same.
    counts: HashMap<u64, u64>,
    hasher: RandomState,
}

impl SentPackets {
    /// Takes in a packet at the sender. As many bytes of its frame must have been captured as at the other tap.
    pub fn add(&mut self, packet: &Transported<'_>) {
        if packet.payload_bytes > 0 {
            *self.counts.entry(self.hasher.hash_one(packet.unchanged())).or_default() += 1;
        }
    }

    /// Whether a packet at the other tap had passed this one. Each packet that passed stands for one at the other tap, or for any number where
    /// the path duplicates packets.
    pub fn has_sent(&mut self, packet: &Transported<'_>, effects: PathEffects) -> bool {
        if packet.payload_bytes == 0 || effects.corrupts {
            return true;
        }
        match self.counts.get_mut(&self.hasher.hash_one(packet.unchanged())) {
            None | Some(0) => false,
            Some(left) => {
                *left -= u64::from(!effects.duplicates);
                true
            }
        }
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    fn carried(frames: &[Vec<u8>]) -> (u64, u64) {
        let mut carried = Carried::default();
        for frame in frames {
            let _ = carried.add(frame, frame.len());
        }
        (carried.packets, carried.payload_bytes)
    }

    fn udp(from: u16, payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(from, 50_000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    fn tcp(payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([1; 16], [2; 16], 64).tcp(443, 50_000, 1, 1000);
        let builder = builder.options_raw(&[1; 12]).unwrap();
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    #[test]
    fn payload_of_udp_and_tcp_from_the_servers_port_counts() {
        assert_eq!(carried(&[udp(443, 1200), udp(443, 1), udp(444, 500)]), (2, 1201));
        assert_eq!(carried(&[tcp(1000), tcp(0)]), (2, 1000));
    }

    #[test]
    fn where_a_server_can_move_other_ports_count_but_not_that_of_cross_traffic() {
        let mut carried = Carried { any_port: true, ..Carried::default() };
        for frame in [udp(443, 1), udp(444, 10), udp(9, 100)] {
            let _ = carried.add(&frame, frame.len());
        }
        assert_eq!((carried.packets, carried.payload_bytes), (2, 11));
    }

    #[test]
    fn what_is_cut_behind_the_headers_counts_whole_and_what_is_cut_before_does_not() {
        let whole = udp(443, 1200);
        let kept = |bytes: usize| {
            let mut carried = Carried::default();
            let _ = carried.add(&whole[..bytes], whole.len());
            (carried.packets, carried.payload_bytes)
        };
        assert_eq!(kept(96), (1, 1200));
        for bytes in 0..34 {
            assert_eq!(kept(bytes), (0, 0), "{bytes}");
        }
    }

    #[test]
    fn a_packet_that_claims_more_than_its_frame_has_counts_with_what_the_frame_has() {
        for mut frame in [udp(443, 18), tcp(6)] {
            let payload = if word(&frame, 12) == Some(ETHERTYPE_IPV4) { 18 } else { 6 };
            // The total length of IPv4, or the payload length of IPv6.
            let place = if payload == 18 { 16 } else { 18 };
            frame[place..place + 2].copy_from_slice(&65_520_u16.to_be_bytes());
            assert_eq!(carried(&[frame]), (1, payload));
        }
    }

    const SAME: PathEffects = PathEffects { duplicates: false, corrupts: false };

    /// Which of the frames at the second tap were not sent before the first one.
    fn hidden(sent: &[Vec<u8>], behind: &[Vec<u8>], effects: PathEffects) -> Vec<usize> {
        let mut packets = SentPackets::default();
        let read = |frame| Transported::read(frame, frame.len()).unwrap();
        sent.iter().for_each(|frame| packets.add(&read(frame)));
        let numbered = behind.iter().enumerate();
        numbered.filter(|(_, frame)| !packets.has_sent(&read(frame), effects)).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_packet_that_the_sender_s_tap_did_not_see_is_found_among_as_many_as_it_saw() {
        let with = |byte: u8, mut frame: Vec<u8>| {
            *frame.last_mut().unwrap() = byte;
            frame
        };
        let sent = [with(1, udp(443, 100)), with(2, udp(443, 100)), with(3, udp(443, 100)), with(1, tcp(100))];
        assert_eq!(hidden(&sent, &[sent[3].clone(), sent[2].clone(), sent[0].clone()], SAME), [0; 0]);
        let other = [sent[0].clone(), with(4, udp(443, 100)), with(2, tcp(100)), with(2, udp(444, 100))];
        assert_eq!(hidden(&sent, &other, SAME), [1, 2, 3]);
        let twice = [sent[0].clone(), sent[0].clone()];
        assert_eq!(hidden(&sent, &twice, SAME), [1]);
        assert_eq!(hidden(&sent, &twice, PathEffects { duplicates: true, ..SAME }), [0; 0]);
        assert_eq!(hidden(&sent, &other, PathEffects { corrupts: true, ..SAME }), [0; 0]);
    }

    #[test]
    fn a_path_that_flips_bits_or_changes_bytes_makes_packets_that_were_not_sent() {
        let effects = |table: &str| {
            let stage = StageSpec::read(&toml::from_str(table).unwrap()).unwrap();
            let PathEffects { duplicates, corrupts } = PathEffects::of_stages(&[stage]);
            (duplicates, corrupts)
        };
        assert_eq!(effects("stage = \"bit_errors\"\nper_bit = 1e-6"), (false, true));
        assert_eq!(effects("stage = \"corrupt\"\nprobability = 0.1"), (false, true));
        assert_eq!(effects("stage = \"duplicate\"\nprobability = 0.1"), (true, false));
        assert_eq!(effects("stage = \"delay\"\ndelay = \"1 ms\""), (false, false));
    }

    #[test]
    fn a_packet_is_found_again_whose_address_port_mark_and_checksums_the_path_changed() {
        for (sent, transport, checksum) in [(udp(443, 30), 34, 40), (tcp(30), 54, 70)] {
            let mut behind = sent.clone();
            // The marks of ECN, the last byte of the client's address, and its port.
            for place in [15, transport - 1, transport + 2, transport + 3, checksum, checksum + 1] {
                behind[place] ^= 1;
            }
            assert_eq!(hidden(&[sent], &[behind], SAME), [0; 0]);
        }
    }

    #[test]
    fn any_bytes_are_no_packet_and_no_panic() {
        for value in [0, 0x08, 0x45, 0x86, 0xff] {
            for length in 0..100 {
                assert_eq!(carried(&[vec![value; length]]), (0, 0));
            }
        }
    }
}
