//! What a stack may ask of the machine that simulates it. A stack is somebody else's program: it must not fill memory, nor keep the simulator busy
//! without end.

use quiclab_units::{ByteCount, Time};

/// Bytes that a datagram counts beside its payload: what the simulator and a capture keep of it.
const BYTES_OF_A_DATAGRAM: u64 = 128;
/// Calls of a stack at one point in time for which nothing arrived. A stack that is called again for each datagram that it sends needs as many as
/// its congestion window has datagrams.
pub(super) const MOST_CALLS_AT_ONCE: u32 = 50_000;
/// Calls in a row for which nothing arrived and in which nothing was sent: a stack that looks every millisecond needs as many in 100 s.
pub(super) const MOST_IDLE_CALLS: u32 = 100_000;

/// What is counted of a stack.
#[derive(Debug, Default)]
pub(super) struct Counted {
    last_call: Option<Time>,
    calls_at_once: u32,
    idle_calls: u32,
    sent_bytes: u64,
}

/// A limit that a stack passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It asked to be called again and again, and virtual time did not go on.
    CallsAtOnce,
    /// It asked to be called again and again, and neither sent anything nor had anything to receive.
    IdleCalls,
    /// It sent too much.
    SentBytes,
}

impl Counted {
    /// Counts a call at `now`, for which so many datagrams had arrived, and whose answer sends datagrams of these lengths. `Some` where it is one too many.
    pub(super) fn add(
        &mut self,
        now: Time,
        arrived: usize,
        sent: impl Iterator<Item = usize>,
        most_sent: ByteCount,
    ) -> Option<Excess> {
        let before = self.sent_bytes;
        for length in sent {
            self.sent_bytes = self.sent_bytes.saturating_add(length as u64 + BYTES_OF_A_DATAGRAM);
        }
        if self.last_call.replace(now) != Some(now) || arrived > 0 {
            self.calls_at_once = 0;
        }
        if arrived > 0 || self.sent_bytes > before {
            self.idle_calls = 0;
        }
        self.calls_at_once += 1;
        self.idle_calls += 1;
        if self.sent_bytes > most_sent.as_bytes() {
            Some(Excess::SentBytes)
        } else if self.calls_at_once > MOST_CALLS_AT_ONCE {
            Some(Excess::CallsAtOnce)
        } else {
            (self.idle_calls > MOST_IDLE_CALLS).then_some(Excess::IdleCalls)
        }
    }
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CallsAtOnce => write!(
                f,
                "found {MOST_CALLS_AT_ONCE} calls at one point in virtual time for which nothing had arrived: it asks to be called at once again \
                 and again, expected that it asks for a later time"
            ),
            Self::IdleCalls => write!(
                f,
                "found {MOST_IDLE_CALLS} calls in a row for which nothing had arrived and in which it sent nothing, expected fewer: it asks to be \
                 called too often"
            ),
            Self::SentBytes => {
                write!(f, "found far more bytes sent than the transfer has, expected retransmissions at most")
            }
        }
    }
}
