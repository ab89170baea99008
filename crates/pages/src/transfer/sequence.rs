//! What the sender's tap saw, packet by packet.

use std::{
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher as _},
    path::Path,
};

use anyhow::{Context, Result, bail};
use quiclab_inputs::open_unlinked;
use quiclab_record::{Record, layout::SENDER_TAP};
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_units::ShowPath;
use quiclab_wire::{
    CaptureReader, Decryption, Dissector, DissectorSettings, Observed, QuicForm, QuicFrame, QuicPacket, Segment,
    Transport,
};
use serde::Serialize;

/// One datagram or segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenPacket {
    /// Time since the first packet of the record.
    pub time_ns: u64,
    /// `server` or `client`.
    pub sender: &'static str,
    /// Length of the frame on the wire.
    pub length: u32,
    /// What it holds, in words.
    pub content: String,
    /// Type and number of its QUIC packets, where they have one.
    #[serde(skip)]
    pub numbers: Vec<(QuicForm, u64)>,
    /// Hash of all bytes that were kept, payload only.
    #[serde(skip)]
    fingerprint: u64,
}

/// What two packets differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Who sent it, how long it is, what its frames are; or there is no other one.
    Content,
    /// When.
    Time,
    /// Bytes that say the same under other keys, or identifiers.
    Bytes,
}

impl Difference {
    /// The difference in a word, for people.
    pub fn word(self) -> &'static str {
        match self {
            Difference::Content => "content",
            Difference::Time => "time",
            Difference::Bytes => "bytes",
        }
    }
}

/// The packets of a record.
///
/// # Errors
/// Where its capture cannot be read.
pub fn read(record: &Record) -> Result<Vec<SeenPacket>> {
    let path = record.capture();
    let place = || path.shown();
    let mut reader = CaptureReader::new(open_unlinked(&path).with_context(place)?).with_context(place)?;
    let settings = DissectorSettings { server_port: Some(SERVER_PORT), ..DissectorSettings::default() };
    let mut dissector = Dissector::new(settings);
    let (mut seen, mut first) = (Vec::new(), None);
    let mut on_segment = |_, segment: &Segment, observed: Option<&Observed>| {
        let start = *first.get_or_insert(segment.time);
        let Some(observed) = observed else { return };
        let mut hasher = DefaultHasher::new();
        hasher.write(segment.payload);
        seen.push(SeenPacket {
            time_ns: segment.time.checked_since(start).map_or(0, |time| time.as_nanos()),
            sender: observed.sender.name(),
            length: segment.frame_length,
            content: content(segment, observed),
            numbers: observed.packets.iter().filter_map(|packet| Some((packet.form, packet.packet_number?))).collect(),
            fingerprint: hasher.finish(),
        });
    };
    reader.dissect(&mut dissector, Some(SENDER_TAP), &mut on_segment).with_context(place)?;
    refuse_cut(&path, reader.summary().truncation)?;
    Ok(seen)
}

/// A record's capture is whole, or somebody has damaged it.
///
/// # Errors
/// Where it is cut.
pub fn refuse_cut(path: &Path, truncation: Option<quiclab_wire::Truncation>) -> Result<()> {
    if let Some(cut) = truncation {
        bail!(
            "{}: the capture is truncated in the middle of a record at byte {}, expected a complete one\nhint: \
             quiclab packets and quiclab analyze show the rest; remove the record's folder, and quiclab run repeats \
             the run",
            path.shown(),
            cut.byte_offset
        );
    }
    Ok(())
}

/// The index of the first packet that is not the same, and why.
pub fn first_difference(one: &[SeenPacket], other: &[SeenPacket]) -> Option<(usize, Difference)> {
    let pairs = one.iter().zip(other).enumerate();
    let found = pairs.filter_map(|(place, (one, other))| difference(one, other).map(|what| (place, what))).next();
    found.or_else(|| (one.len() != other.len()).then(|| (one.len().min(other.len()), Difference::Content)))
}

/// The index of the first packet whose content is not the same.
pub fn first_difference_in_content(one: &[SeenPacket], other: &[SeenPacket]) -> Option<usize> {
    let found = one.iter().zip(other).position(|(one, other)| !has_same_content(one, other));
    found.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

fn difference(one: &SeenPacket, other: &SeenPacket) -> Option<Difference> {
    if !has_same_content(one, other) {
        Some(Difference::Content)
    } else if one.time_ns != other.time_ns {
        Some(Difference::Time)
    } else {
        (one.fingerprint != other.fingerprint).then_some(Difference::Bytes)
    }
}

fn has_same_content(one: &SeenPacket, other: &SeenPacket) -> bool {
    (one.sender, one.length, &one.content) == (other.sender, other.length, &other.content)
}

impl fmt::Display for SeenPacket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = (self.time_ns / 1_000_000_000, self.time_ns % 1_000_000_000);
        write!(formatter, "+{seconds}.{nanoseconds:09} s  {:6} {:>5} B  {}", self.sender, self.length, self.content)
    }
}

/// What a packet holds, in words: the one formatter of `diff` and `packets`.
pub(crate) fn content(segment: &Segment, observed: &Observed) -> String {
    // Sequence numbers begin anywhere.
    if let Transport::Tcp { flags, .. } = segment.transport {
        return format!(
            "TCP {} bytes{}",
            segment.payload_length,
            if flags.syn {
                ", SYN"
            } else if flags.fin {
                ", FIN"
            } else {
                ""
            }
        );
    }
    packets_in_words(observed).join(" | ")
}

/// Each QUIC packet of a datagram, with its frames.
pub fn packets_in_words(observed: &Observed) -> Vec<String> {
    observed.packets.iter().map(|packet| described(packet, observed.frames)).collect()
}

fn described(packet: &QuicPacket, frames: &[QuicFrame]) -> String {
    let mut text = form_in_words(packet.form).to_owned();
    if let Some(number) = packet.packet_number {
        let _ = write!(text, " {number}");
    }
    let frames = &frames[packet.frames.clone()];
    for (place, frame) in frames.iter().enumerate() {
        text.push_str(if place == 0 { ": " } else { ", " });
        text.push_str(&frame_in_words(frame));
    }
    if let Some(error) = &packet.frame_error {
        text.push_str(if frames.is_empty() { ": " } else { ", " });
        let _ = write!(text, "{error}");
    }
    text.push_str(match packet.decryption {
        Decryption::NoKeys => ": no keys",
        Decryption::HeaderOnly => ": cut by the capture",
        Decryption::Failed => ": cannot be decrypted",
        Decryption::Verified | Decryption::NotProtected => "",
    });
    text
}

/// The names of RFC 9000 section 17.
fn form_in_words(form: QuicForm) -> &'static str {
    match form {
        QuicForm::Initial => "Initial",
        QuicForm::ZeroRtt => "0-RTT",
        QuicForm::Handshake => "Handshake",
        QuicForm::Retry => "Retry",
        QuicForm::VersionNegotiation => "Version Negotiation",
        QuicForm::OneRtt => "1-RTT",
        QuicForm::UnknownVersion => "unknown version",
    }
}

fn frame_in_words(frame: &QuicFrame) -> String {
    match frame {
        QuicFrame::Ack(ack) => {
            let ranges = ack.ranges.iter().map(|range| match range.start() == range.end() {
                true => range.start().to_string(),
                false => format!("{}-{}", range.start(), range.end()),
            });
            format!("ACK {}", ranges.collect::<Vec<_>>().join(" "))
        }
        QuicFrame::Crypto { offset, data } => format!("CRYPTO {offset}+{}", data.len()),
        QuicFrame::Stream { stream, offset, length, fin, .. } => {
            format!("STREAM {stream} {offset}+{length}{}", if *fin { " FIN" } else { "" })
        }
        QuicFrame::Padding { length } => format!("PADDING {length}"),
        QuicFrame::MaxData { maximum } => format!("MAX_DATA {maximum}"),
        QuicFrame::MaxStreamData { stream, maximum } => format!("MAX_STREAM_DATA {stream} {maximum}"),
        QuicFrame::ConnectionClose { error, .. } => format!("CONNECTION_CLOSE {error:#x}"),
        other => other.name().to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use quiclab_wire::FrameError;

    use super::*;

    fn packet(time_ns: u64, length: u32, content: &str, fingerprint: u64) -> SeenPacket {
        SeenPacket { time_ns, sender: "server", length, content: content.to_owned(), numbers: Vec::new(), fingerprint }
    }

    #[test]
    fn what_was_not_read_of_a_packet_is_said() {
        let packet = |decryption, frame_error| QuicPacket {
            form: QuicForm::OneRtt,
            version: None,
            destination_connection_id: None,
            source_connection_id: None,
            token: 0..0,
            length: 100,
            packet_number: Some(7),
            key_phase: None,
            decryption,
            frames: 0..1,
            frame_error,
            is_stateless_reset: false,
        };
        let frames = [QuicFrame::Ping];
        let unknown = |frame_type| Some(FrameError { offset: 1, frame_type, is_known_type: false });
        let verified = |error| described(&packet(Decryption::Verified, error), &frames);
        assert_eq!(verified(None), "1-RTT 7: PING");
        assert_eq!(verified(unknown(Some(757))), "1-RTT 7: PING, unread from offset 1, frame type 757");
        let nothing = QuicPacket { frames: 0..0, ..packet(Decryption::Verified, unknown(Some(757))) };
        assert_eq!(described(&nothing, &frames), "1-RTT 7: unread from offset 1, frame type 757");
        let closed = QuicPacket { frames: 0..0, packet_number: None, ..packet(Decryption::NoKeys, None) };
        assert_eq!(described(&closed, &frames), "1-RTT: no keys");
    }

    #[test]
    fn packets_part_in_time_bytes_or_content() {
        let base = [packet(0, 100, "a", 1), packet(5, 100, "b", 2), packet(9, 100, "c", 3)];
        let with = |place: usize, packet: SeenPacket| {
            let mut other = base.to_vec();
            other[place] = packet;
            other
        };
        assert_eq!(first_difference(&base, &base), None);
        assert_eq!(first_difference(&base, &with(1, packet(6, 100, "b", 2))), Some((1, Difference::Time)));
        assert_eq!(first_difference(&base, &with(2, packet(9, 100, "c", 4))), Some((2, Difference::Bytes)));
        assert_eq!(first_difference(&base, &with(0, packet(1, 99, "a", 1))), Some((0, Difference::Content)));
        assert_eq!(first_difference(&base, &base[..2]), Some((2, Difference::Content)));
        assert_eq!(first_difference_in_content(&base, &with(1, packet(6, 100, "b", 2))), None);
        assert_eq!(first_difference_in_content(&base, &with(1, packet(5, 100, "x", 2))), Some(1));
    }
}
