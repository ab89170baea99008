//! The forms of packets.

/// The form of a QUIC packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum QuicForm {
    /// Long header, Initial.
    Initial,
    /// Long header, 0-RTT.
    ZeroRtt,
    /// Long header, Handshake.
    Handshake,
    /// Long header, Retry.
    Retry,
    /// Long header with version 0.
    VersionNegotiation,
    /// Short header: 1-RTT protection (or a stateless reset, which looks the same on purpose).
    OneRtt,
    /// Long header of a version this reader does not know.
    UnknownVersion,
}

impl QuicForm {
    /// Index of its packet number space, RFC 9000 section 12.3: 0 Initial, 1 Handshake, 2 application data. `None` for
    /// packets without numbers.
    pub fn packet_number_space(self) -> Option<u8> {
        match self {
            QuicForm::Initial => Some(0),
            QuicForm::Handshake => Some(1),
            QuicForm::ZeroRtt | QuicForm::OneRtt => Some(2),
            QuicForm::Retry | QuicForm::VersionNegotiation | QuicForm::UnknownVersion => None,
        }
    }
}
