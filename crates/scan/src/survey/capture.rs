//! Packets of handshakes that are kept, as a capture with their keys.

use std::{fs::File, io::BufWriter, net::SocketAddr, path::Path};

use anyhow::{Context, Result};
use etherparse::PacketBuilder;
use quiclab_units::{ShowPath, Time};
use quiclab_wire::{CaptureWriter, Direction, PacketToWrite, TapDescription};

use crate::Answer;

/// What a scanner's frames say of the hops that nobody sees.
const HOP_LIMIT: u8 = 64;

/// Handshakes whose packets are to be written.
#[derive(Default)]
pub struct KeptHandshakes {
    /// Time, whether it was sent, frame.
    frames: Vec<(u64, bool, Vec<u8>)>,
    key_log: String,
    bytes: usize,
}

impl KeptHandshakes {
    /// One more.
    pub fn add(&mut self, answer: &Answer) {
        let Some(local) = answer.local else { return };
        for packet in &answer.packets {
            let ends = if packet.is_sent { (local, answer.address) } else { (answer.address, local) };
            if let Some(frame) = frame(ends, &packet.bytes) {
                self.bytes += frame.len() + size_of::<(u64, bool, Vec<u8>)>();
                self.frames.push((packet.time_ns, packet.is_sent, frame));
            }
        }
        for line in &answer.key_log {
            self.key_log.push_str(line);
            self.key_log.push('\n');
        }
    }

    /// Returns the bytes of memory that the packets and keys take.
    pub fn bytes(&self) -> usize {
        self.bytes + self.key_log.len()
    }

    /// Writes a capture, if there is a packet.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        let KeptHandshakes { mut frames, key_log, .. } = std::mem::take(self);
        if frames.is_empty() {
            return Ok(());
        }
        frames.sort_by_key(|(time, ..)| *time);
        let name = || path.shown().to_string();
        let aside = path.with_extension("partial");
        let file = File::create(&aside).with_context(name)?;
        let tap = [TapDescription { name: "scanner", snap_length: None }];
        let keys = (!key_log.is_empty()).then_some(key_log.as_bytes());
        let mut writer = CaptureWriter::new(BufWriter::new(file), &tap, keys).with_context(name)?;
        for (time, is_sent, frame) in &frames {
            let packet = PacketToWrite {
                time: Time::from_nanos(*time),
                interface: 0,
                frame_length: u32::try_from(frame.len()).unwrap_or(u32::MAX),
                captured: frame,
                direction: Some(if *is_sent { Direction::Outbound } else { Direction::Inbound }),
            };
            writer.write_packet(&packet).with_context(name)?;
        }
        writer.finish().with_context(name)?;
        std::fs::rename(&aside, path).with_context(name)
    }
}

/// A frame with the headers that a tap would have seen; `None` where addresses are of different kinds.
fn frame((source, destination): (SocketAddr, SocketAddr), payload: &[u8]) -> Option<Vec<u8>> {
    let ethernet = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let ip = match (source, destination) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            ethernet.ipv4(source.ip().octets(), destination.ip().octets(), HOP_LIMIT)
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            ethernet.ipv6(source.ip().octets(), destination.ip().octets(), HOP_LIMIT)
        }
        _ => return None,
    };
    let builder = ip.udp(source.port(), destination.port());
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, payload).ok()?;
    Some(frame)
}
