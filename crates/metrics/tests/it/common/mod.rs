//! Captures made to order: written as pcapng, read back, measured.
#![allow(dead_code)]

use quiclab_metrics::{AnalysisSettings, CaptureAnalysis, Observation, RunMetrics, analyze, measure};
use quiclab_testing::frames::{self, from_client, from_server};
use quiclab_units::{ByteCount, Time};
use quiclab_wire::{CaptureReader, CaptureWriter, Dissector, DissectorSettings, PacketToWrite, TapDescription};

pub const SERVER_PORT: u16 = frames::SERVER.port();
pub const CLIENT_PORT: u16 = frames::CLIENT.port();

/// The forms of payload that matter to metrics.
pub const ONE_RTT: &[u8] = &[0x40; 1200];
/// Handshake packet, version 1, no connection IDs, Length 1191 of the 1200 bytes.
pub fn handshake() -> Vec<u8> {
    let mut payload = vec![0xe0, 0, 0, 0, 1, 0, 0, 0x44, 0xa7];
    payload.resize(1200, 0xcc);
    payload
}

/// A packet of a made-up capture.
#[derive(Clone)]
pub struct Made {
    time_ns: u64,
    interface: u32,
    frame: Vec<u8>,
    kept_bytes: Option<usize>,
    frame_length: Option<u32>,
}

impl Made {
    pub fn udp_from_server(time_ns: u64, payload: &[u8]) -> Made {
        Made::udp(time_ns, CLIENT_PORT, payload)
    }

    /// The time is put into the payload: no two protected packets are alike.
    pub fn udp(time_ns: u64, client_port: u16, payload: &[u8]) -> Made {
        let mut payload = payload.to_vec();
        if let Some(place) = payload.get_mut(20..28) {
            place.copy_from_slice(&time_ns.to_be_bytes());
        }
        Made::frame(time_ns, frames::udp(from_server().udp(SERVER_PORT, client_port), &payload))
    }

    /// The same from the client, whose packets are measured.
    pub fn udp_from_client(time_ns: u64, payload: &[u8]) -> Made {
        let mut payload = payload.to_vec();
        if let Some(place) = payload.get_mut(20..28) {
            place.copy_from_slice(&time_ns.to_be_bytes());
        }
        Made::frame(time_ns, frames::udp(from_client().udp(CLIENT_PORT, SERVER_PORT), &payload))
    }

    pub fn tcp_from_server(time_ns: u64, payload: &[u8]) -> Made {
        let headers = from_server().tcp(SERVER_PORT, CLIENT_PORT, time_ns as u32, 65_535).ack(1);
        Made::frame(time_ns, frames::tcp(headers, payload))
    }

    /// The beginning of a connection.
    pub fn tcp_syn_from_client(time_ns: u64) -> Made {
        let headers = from_client().tcp(CLIENT_PORT, SERVER_PORT, 1, 65_535).syn();
        Made::frame(time_ns, frames::tcp(headers, &[]))
    }

    /// A segment with data that begin at this sequence number.
    pub fn tcp_data_from_server(time_ns: u64, sequence_number: u32, payload: &[u8]) -> Made {
        let headers = from_server().tcp(SERVER_PORT, CLIENT_PORT, sequence_number, 65_535).ack(1);
        Made::frame(time_ns, frames::tcp(headers, payload))
    }

    /// An acknowledgment without data.
    pub fn tcp_ack_from_client(time_ns: u64, acknowledgment_number: u32) -> Made {
        let headers = from_client().tcp(CLIENT_PORT, SERVER_PORT, 2, 65_535).ack(acknowledgment_number);
        Made::frame(time_ns, frames::tcp(headers, &[]))
    }

    pub fn tcp_from_client(time_ns: u64, payload: &[u8]) -> Made {
        let headers = from_client().tcp(CLIENT_PORT, SERVER_PORT, time_ns as u32, 65_535).ack(1);
        Made::frame(time_ns, frames::tcp(headers, payload))
    }

    fn frame(time_ns: u64, frame: Vec<u8>) -> Made {
        Made { time_ns, interface: 0, frame, kept_bytes: None, frame_length: None }
    }

    /// Puts the packet behind the bottleneck instead of at the sender.
    pub fn at_second_tap(mut self) -> Made {
        self.interface = 1;
        self
    }

    /// The capture keeps this many bytes of the frame.
    pub fn cut_to(mut self, bytes: usize) -> Made {
        self.kept_bytes = Some(bytes);
        self
    }

    /// The frame had this many bytes on the wire.
    pub fn with_frame_length(mut self, bytes: u32) -> Made {
        self.frame_length = Some(bytes);
        self
    }
}

/// The packets in the order of time, as a capture has them.
pub fn sorted(mut packets: Vec<Made>) -> Vec<Made> {
    packets.sort_by_key(|packet| packet.time_ns);
    packets
}

pub fn pcapng(packets: &[Made]) -> Vec<u8> {
    let taps = ["sender", "bottleneck"].map(|name| TapDescription { name, snap_length: None });
    let mut writer = CaptureWriter::new(Vec::new(), &taps, None).unwrap();
    for packet in packets {
        let kept = packet.kept_bytes.unwrap_or(packet.frame.len());
        writer
            .write_packet(&PacketToWrite {
                time: Time::from_nanos(packet.time_ns),
                interface: packet.interface,
                frame_length: packet.frame_length.unwrap_or(packet.frame.len() as u32),
                captured: &packet.frame[..kept],
                direction: None,
            })
            .unwrap();
    }
    writer.finish().unwrap()
}

/// A classic pcap, by hand: our writer refuses times that run backwards.
pub fn pcap_in_any_order(packets: &[Made]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.extend(field.to_le_bytes());
    }
    for packet in packets {
        let length = packet.frame.len() as u32;
        for field in [(packet.time_ns / 1_000_000_000) as u32, (packet.time_ns % 1_000_000_000) as u32, length, length]
        {
            file.extend(field.to_le_bytes());
        }
        file.extend(&packet.frame);
    }
    file
}

pub fn analyzed(file: &[u8], settings: AnalysisSettings) -> CaptureAnalysis {
    let dissector = Dissector::new(DissectorSettings { server_port: Some(SERVER_PORT), interfaces_are_one_tap: false });
    analyze(CaptureReader::new(file).unwrap(), dissector, settings, &mut |_, _, _| {}).unwrap()
}

pub fn capture(packets: &[Made]) -> CaptureAnalysis {
    analyzed(&pcapng(packets), AnalysisSettings::default())
}

/// The same, with the length of the response.
pub fn capture_of_response(packets: &[Made], bytes: u64) -> CaptureAnalysis {
    let settings =
        AnalysisSettings { transferred_bytes: Some(ByteCount::from_bytes(bytes)), ..AnalysisSettings::default() };
    analyzed(&pcapng(packets), settings)
}

/// Server packets with 1-RTT protection at these times, no two of them alike.
pub fn packets_at(times_ns: &[u64]) -> Vec<Made> {
    let packet = |(place, time): (usize, &u64)| {
        let mut payload = ONE_RTT.to_vec();
        payload[8..16].copy_from_slice(&(place as u64).to_be_bytes());
        Made::udp_from_server(*time, &payload)
    };
    times_ns.iter().enumerate().map(packet).collect()
}

/// The same behind a packet of the server's handshake at the first time, as in a capture of a whole connection.
pub fn connection_at(times_ns: &[u64]) -> Vec<Made> {
    let handshake = Made::udp_from_server(times_ns[0], &handshake());
    [vec![handshake], packets_at(times_ns)].concat()
}

pub fn server_packets(times_ns: &[u64]) -> CaptureAnalysis {
    capture(&packets_at(times_ns))
}

pub fn measure_capture(capture: &CaptureAnalysis) -> RunMetrics {
    measure(capture, &Observation::of_port(SERVER_PORT))
}

/// Codes of the warnings without those that every capture made here has: nobody has keys for it, and only one end sends.
pub fn codes(run: &RunMetrics) -> Vec<&str> {
    const OF_MADE_CAPTURES: [&str; 8] = [
        "not_quic",
        "keys_missing",
        "roles_guessed",
        "no_payload_captured",
        "decryption_failed",
        "acknowledgments_missing",
        "handshake_unread",
        "capture_began_late",
    ];
    let codes = run.warnings.iter().map(|warning| warning.code.as_str());
    codes.filter(|code| !OF_MADE_CAPTURES.contains(code)).collect()
}
