//! Contents in words.

use super::{Content, ContentFrame, ContentPacket, Flight, PacketForm, Probe};

impl Content {
    /// In words, such as `server datagram 2 (flight 1, datagram 2): Initial 1 [ACK 0, CRYPTO 0..90], Handshake 0 [CRYPTO 0..1021]`.
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
            packets.push("bytes that could not be read".to_owned());
        }
        format!("{connection}{} datagram {}{place}: {}", self.direction.sender(), self.datagram, packets.join(", "))
    }
}

impl ContentPacket {
    fn describe(&self) -> String {
        let form = match self.form {
            PacketForm::Initial => "Initial",
            PacketForm::ZeroRtt => "0-RTT",
            PacketForm::Handshake => "Handshake",
            PacketForm::OneRtt => "1-RTT",
            PacketForm::Retry => "Retry",
            PacketForm::VersionNegotiation => "Version Negotiation",
            PacketForm::Unknown => "packet of an unknown version",
        };
        let number = self.number.map(|number| format!(" {number}")).unwrap_or_default();
        if !self.is_read {
            return format!("{form}{number} (not readable)");
        }
        let frames: Vec<String> = self.frames.iter().map(ContentFrame::describe).collect();
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

#[cfg(test)]
mod tests {
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
}
