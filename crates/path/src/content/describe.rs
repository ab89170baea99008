//! Contents in words, and the data of such words: records keep what was lost in words.

use super::{Content, ContentFrame, ContentPacket, Data, DataKind, Flight, PacketForm, Probe};

/// What stands for a packet whose frames could not be read.
const NOT_READABLE: &str = "(not readable)";
/// What stands for bytes that belong to no packet.
const FOREIGN_BYTES: &str = "bytes that could not be read";

impl Content {
    /// Describes the datagram in words, such as
    /// `server datagram 2 (flight 1, datagram 2): Initial 1 [ACK 0, CRYPTO 0..90], Handshake 0 [CRYPTO 0..1021]`.
    pub fn describe(&self) -> String {
        let place = match (self.probe, self.flight) {
            (Probe::Number(number), _) => format!(" (probe {number})"),
            (_, Flight::Part { number, datagram }) => format!(" (flight {number}, datagram {datagram})"),
            (_, Flight::Repeat) => " (repeat)".to_owned(),
            (_, Flight::Outside) => String::new(),
            (_, Flight::Unknown) => " (flight unknown)".to_owned(),
        };
        let connection = if self.connection == 1 { String::new() } else { format!("connection {} ", self.connection) };
        let mut packets: Vec<String> = self.packets.iter().map(ContentPacket::describe).collect();
        if !self.is_whole {
            packets.push(FOREIGN_BYTES.to_owned());
        }
        format!("{connection}{} datagram {}{place}: {}", self.direction.sender(), self.datagram, packets.join(", "))
    }
}

impl ContentPacket {
    fn describe(&self) -> String {
        let form = word(self.form);
        let number = self.number.map(|number| format!(" {number}")).unwrap_or_default();
        if !self.is_read {
            return format!("{form}{number} {NOT_READABLE}");
        }
        let alike = self.frames.chunk_by(|one, other| one == other);
        let frames: Vec<String> = alike
            .map(|frames| match frames.len() {
                1 => frames[0].describe(),
                count => format!("{} x{count}", frames[0].describe()),
            })
            .collect();
        match self.form {
            PacketForm::Retry | PacketForm::VersionNegotiation | PacketForm::Unknown => form.to_owned(),
            _ => format!("{form}{number} [{}]", frames.join(", ")),
        }
    }
}

impl ContentFrame {
    fn describe(&self) -> String {
        match self {
            Self::Ack { largest } => format!("ACK {largest}"),
            Self::Crypto { offset, length } => format!("CRYPTO {offset}..{}", offset.saturating_add(*length)),
            Self::Stream { id, offset, length, fin } => {
                let fin = if *fin { " FIN" } else { "" };
                format!("STREAM {id} {offset}..{}{fin}", offset.saturating_add(*length))
            }
            other => other.name().to_ascii_uppercase(),
        }
    }
}

fn word(form: PacketForm) -> &'static str {
    match form {
        PacketForm::Initial => "Initial",
        PacketForm::ZeroRtt => "0-RTT",
        PacketForm::Handshake => "Handshake",
        PacketForm::OneRtt => "1-RTT",
        PacketForm::Retry => "Retry",
        PacketForm::VersionNegotiation => "Version Negotiation",
        PacketForm::Unknown => "packet of an unknown version",
    }
}

/// The data that a datagram held which [`Content::describe`] has put into these words, and whether the words say all: they were not cut, and
/// everything could be read.
pub fn data_of_words(words: &str) -> (Vec<Data>, bool) {
    let mut data = Vec::new();
    let Some((_, mut rest)) = words.split_once(": ") else { return (data, false) };
    let mut is_read = true;
    while !rest.is_empty() {
        rest = rest.strip_prefix(", ").unwrap_or(rest);
        let is_form = |form: &PacketForm| rest.strip_prefix(word(*form)).is_some_and(|rest| !rest.starts_with('-'));
        let Some(form) = FORMS.into_iter().find(is_form) else { return (data, false) };
        rest = &rest[word(form).len()..];
        if matches!(form, PacketForm::Retry | PacketForm::VersionNegotiation) && !rest.starts_with(' ') {
            continue;
        }
        let number = rest.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit());
        if let Some(behind) = number.strip_prefix(NOT_READABLE) {
            (is_read, rest) = (false, behind);
            continue;
        }
        let Some((frames, behind)) = number.strip_prefix('[').and_then(|frames| frames.split_once(']')) else {
            return (data, false);
        };
        for frame in frames.split(", ").filter(|frame| !frame.is_empty()) {
            match data_of_frame(form, frame) {
                Ok(Some(range)) => data.push(range),
                Ok(None) => {}
                Err(()) => is_read = false,
            }
        }
        rest = behind;
    }
    (data, is_read)
}

const FORMS: [PacketForm; 6] = [
    PacketForm::Initial,
    PacketForm::ZeroRtt,
    PacketForm::Handshake,
    PacketForm::OneRtt,
    PacketForm::Retry,
    PacketForm::VersionNegotiation,
];

/// `Ok(None)` of a frame without data.
fn data_of_frame(form: PacketForm, frame: &str) -> Result<Option<Data>, ()> {
    let mut words = frame.split(' ');
    let kind = match words.next() {
        Some("CRYPTO") => DataKind::Crypto(form),
        Some("STREAM") => DataKind::Stream(words.next().and_then(|id| id.parse().ok()).ok_or(())?),
        _ => return Ok(None),
    };
    let (from, to) = words.next().and_then(|range| range.split_once("..")).ok_or(())?;
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if from <= to => Ok(Some(Data { kind, from, to })),
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content::Direction;

    #[test]
    fn a_datagram_is_described_packet_by_packet() {
        let read = |form, number, frames| ContentPacket { form, number: Some(number), is_read: true, frames };
        let mut content = Content {
            direction: Direction::ToClient,
            connection: 1,
            datagram: 2,
            flight: Flight::Part { number: 1, datagram: 2 },
            data_flight: Some(1),
            probe: Probe::No,
            packets: vec![
                read(
                    PacketForm::Initial,
                    1,
                    vec![ContentFrame::Ack { largest: 0 }, ContentFrame::Crypto { offset: 0, length: 90 }],
                ),
                ContentPacket { form: PacketForm::Handshake, number: None, is_read: false, frames: Vec::new() },
            ],
            is_whole: true,
        };
        assert_eq!(
            content.describe(),
            "server datagram 2 (flight 1, datagram 2): Initial 1 [ACK 0, CRYPTO 0..90], Handshake (not readable)"
        );
        content.connection = 3;
        content.probe = Probe::Number(1);
        content.packets.truncate(1);
        content.packets[0].frames =
            vec![ContentFrame::Ping, ContentFrame::Other { name: "max_data", is_ack_eliciting: true }];
        assert_eq!(content.describe(), "connection 3 server datagram 2 (probe 1): Initial 1 [PING, MAX_DATA]");
    }

    fn frame() -> impl Strategy<Value = ContentFrame> {
        let range = || (0u64..1 << 62, 0u64..2000);
        prop_oneof![
            Just(ContentFrame::Padding),
            Just(ContentFrame::NewConnectionId),
            Just(ContentFrame::Other { name: "stream_data_blocked", is_ack_eliciting: true }),
            (0u64..9).prop_map(|largest| ContentFrame::Ack { largest }),
            range().prop_map(|(offset, length)| ContentFrame::Crypto { offset, length }),
            (range(), 0u64..9, any::<bool>()).prop_map(|((offset, length), id, fin)| ContentFrame::Stream {
                id,
                offset,
                length,
                fin
            }),
        ]
    }

    fn packet() -> impl Strategy<Value = ContentPacket> {
        let form = prop::sample::select(FORMS.to_vec());
        (form, prop::option::of(0u64..9), prop::bool::weighted(0.9), prop::collection::vec(frame(), 0..4)).prop_map(
            |(form, number, is_read, frames)| match form {
                PacketForm::Retry | PacketForm::VersionNegotiation => {
                    ContentPacket { form, number: None, is_read, frames: Vec::new() }
                }
                _ if is_read => ContentPacket { form, number, is_read, frames },
                _ => ContentPacket { form, number, is_read, frames: Vec::new() },
            },
        )
    }

    proptest! {
        #[test]
        fn the_data_of_a_datagram_can_be_read_from_its_words(
            packets in prop::collection::vec(packet(), 1..4),
            is_whole in prop::bool::weighted(0.9),
            cut in any::<prop::sample::Index>(),
        ) {
            let content = Content {
                direction: Direction::ToServer,
                connection: 2,
                datagram: 1,
                flight: Flight::Repeat,
                data_flight: None,
                probe: Probe::No,
                packets,
                is_whole,
            };
            let words = content.describe();
            let (data, is_read) = data_of_words(&words);
            // Frames in a row that are alike are one in words: the same bytes.
            let mut expected: Vec<Data> = content.data().collect();
            expected.dedup();
            let mut found = data;
            found.dedup();
            prop_assert_eq!((found, is_read), (expected, content.is_read()), "{}", words);
            // Words that were cut give no other data, and never panic.
            let _ = data_of_words(&words[..cut.index(words.len())]);
        }

        #[test]
        fn words_of_somebody_else_say_nothing_wrong(words in ".{0,80}") {
            let _ = data_of_words(&words);
        }
    }
}
