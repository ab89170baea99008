//! What the path changes in a packet's bytes. Stages say what; whoever holds the bytes does it when the packet leaves the path.

/// Changes of one packet, in the order in which stages asked for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Bytes of the UDP payload that get other values. The checksums are made right again.
    pub bytes: Vec<ByteChange>,
    /// The sender's address and port are replaced by those of this binding of an address translator, counted from 0, which changes nothing.
    pub binding: Option<u32>,
}

/// A byte that gets another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteChange {
    /// Its place in the UDP payload, from 0.
    pub offset: u32,
    /// The bits that flip; not 0.
    pub mask: u8,
}

/// What an address translator has to do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// Nothing: it is no UDP datagram of the client or to it, or nobody looked.
    None,
    /// The client sent it: its source is replaced.
    Outward,
    /// It is on its way to the client, at the address of this binding.
    Inward(u32),
}
