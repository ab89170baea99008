//! What a stack without sockets is told, and what it answers.

use quiclab_units::Time;

/// A stack without sockets, timers and clock, in one role.
pub trait Stack {
    /// Why it cannot go on.
    type Error;

    /// Tells it what has arrived by `now`, which never decreases, and asks what it sends. It is called first when its role begins: a client's
    /// first call has nothing that arrived.
    ///
    /// # Errors
    /// Where the stack gives up, or cannot be reached.
    fn handle(&mut self, now: Time, arrived: &[Datagram]) -> Result<Answer, Self::Error>;
}

/// The payload of a UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The two bits of Explicit Congestion Notification, as in the header of IP.
    pub ecn: u8,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// What is handed to the host's kernel by one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The two bits of Explicit Congestion Notification of all its datagrams.
    pub ecn: u8,
    /// Length of each datagram in it; the last one may be shorter. From 1.
    pub segment: usize,
    /// When it is to be sent; `None` for as soon as possible.
    pub planned: Option<Time>,
    /// One datagram behind the other; not empty.
    pub payload: Vec<u8>,
}

impl Buffer {
    /// The lengths of its datagrams.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.payload.chunks(self.segment).map(<[u8]>::len)
    }

    /// Its datagrams.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = Datagram> + '_ {
        self.payload.chunks(self.segment).map(|payload| Datagram { ecn: self.ecn, payload: payload.to_vec() })
    }
}

/// What a stack answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// True with a client's last answer: it has all it wanted.
    pub is_done: bool,
    /// When it is to be called even if nothing arrives.
    pub next: Option<Time>,
    /// What it sends, in this order.
    pub buffers: Vec<Buffer>,
}
