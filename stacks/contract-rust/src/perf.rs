//! draft-banks-quic-performance: a request begins with the number of bytes that the server is to send, as 8 bytes in network byte order.
//! What follows on the stream has no meaning, in either direction. No file and no memory grows with it.

mod latencies;
mod load;
pub mod progress;
mod schedule;
mod streams;

use std::fmt;

pub use latencies::{LATENCIES, Latencies};
pub use load::Load;
pub use progress::{COUNTERS, Path, Progress, Reporter};
pub use schedule::Schedule;
pub use streams::{Answers, Exchanges, NoHead, Outgoing, Piece};

/// Name in ALPN, section 2.1.
pub const ALPN: &[u8] = b"perf";

/// Bytes of a request that have a meaning, section 2.3.
pub const HEAD: u64 = 8;

/// Largest piece that is handed to a stack at once, in bytes.
pub const CHUNK: usize = 64 * 1024;

/// What is sent.
pub static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Bytes on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// From the client, at least [`HEAD`].
    pub request: u64,
    /// From the server.
    pub response: u64,
}

impl Sizes {
    /// What a request begins with.
    pub fn head(&self) -> [u8; HEAD as usize] {
        self.response.to_be_bytes()
    }

    /// The smallest there are: a head, and no answer.
    pub const SMALLEST: Self = Self { request: HEAD, response: 0 };

    /// The two streams of [`Load::Bidirectional`], which together carry what one of [`Load::Bulk`] does: one has all of the request, the other
    /// all of the response.
    pub fn apart(self) -> [Self; 2] {
        [Self { response: 0, ..self }, Self { request: HEAD, ..self }]
    }

    /// Bytes of a request behind its head.
    pub fn behind_head(&self) -> u64 {
        self.request.saturating_sub(HEAD)
    }
}

/// The pieces, all zeros, that make `bytes`. Asking for the next one counts the one before as sent.
pub fn pieces(bytes: u64) -> impl Iterator<Item = &'static [u8]> {
    let (mut left, mut length) = (bytes, 0);
    std::iter::from_fn(move || {
        COUNTERS.sent(length);
        length = left.min(CHUNK as u64);
        left -= length;
        (length > 0).then(|| &ZEROS[..length as usize])
    })
}

/// Takes what arrives on a stream of the server, until the request is complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    bytes: [u8; HEAD as usize],
    received: u64,
}

impl Head {
    /// Takes the next bytes of the stream.
    pub fn take(&mut self, data: &[u8]) {
        let missing = self.bytes.get_mut(self.received.min(HEAD) as usize..).unwrap_or_default();
        let taken = missing.len().min(data.len());
        missing[..taken].copy_from_slice(&data[..taken]);
        self.received += data.len() as u64;
        COUNTERS.received(data.len() as u64);
    }

    /// Bytes that the client asks for; `None`: the head is not complete.
    pub fn response(&self) -> Option<u64> {
        (self.received >= HEAD).then(|| u64::from_be_bytes(self.bytes))
    }
}

/// A stream that is not as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongLength {
    /// Bytes that arrived.
    pub found: u64,
    /// Bytes that were asked for.
    pub expected: u64,
}

impl fmt::Display for WrongLength {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "found a response of {} bytes, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for WrongLength {}

/// Whether a response has the length that was asked for.
///
/// # Errors
/// Where it has not.
pub fn check(found: u64, expected: u64) -> Result<(), WrongLength> {
    if found == expected { Ok(()) } else { Err(WrongLength { found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Role,
        testing::{exit_status, parse, support},
    };

    #[test]
    fn pieces_add_up_and_are_bounded() {
        for bytes in [0, 1, CHUNK as u64, CHUNK as u64 + 1, 10 * CHUNK as u64 - 1] {
            assert_eq!(pieces(bytes).map(|piece| piece.len() as u64).sum::<u64>(), bytes);
            assert!(pieces(bytes).all(|piece| !piece.is_empty()));
        }
    }

    #[test]
    fn a_head_is_read_in_any_pieces() {
        let sizes = Sizes { request: 100, response: 0x0102_0304_0506_0708 };
        let stream = [&sizes.head()[..], &[9; 92]].concat();
        for length in [1, 3, 8, 11, 100] {
            let mut head = Head::default();
            for piece in stream.chunks(length) {
                head.take(piece);
            }
            assert_eq!(head.response(), Some(sizes.response), "{length}");
        }
        let mut short = Head::default();
        short.take(&stream[..7]);
        assert_eq!(short.response(), None);
        assert_eq!((sizes.behind_head(), Sizes { request: 8, response: 1 }.behind_head()), (92, 0));
    }

    #[test]
    fn only_a_client_of_perf_is_told_sizes() {
        let asked = [("TESTCASE", "perf"), ("QUICLAB_PERF_REQUEST", "9"), ("QUICLAB_PERF_RESPONSE", "0")];
        assert_eq!(parse(&support(), &asked).unwrap().perf, Some(Sizes { request: 9, response: 0 }));
        assert_eq!(exit_status(&support(), &asked[1..]), 127);
        assert_eq!(exit_status(&support(), &asked[..2]), 1);
        assert_eq!(exit_status(&support(), &[asked[0], ("QUICLAB_PERF_REQUEST", "7"), asked[2]]), 1);
        let server = parse(&support(), &[("TESTCASE", "perf"), ("ROLE", "server")]).unwrap();
        assert_eq!((server.role, server.perf), (Role::Server, None));
        assert_eq!(check(1, 2).unwrap_err().to_string(), "found a response of 1 bytes, expected 2");
        assert_eq!(check(2, 2), Ok(()));
    }

    #[test]
    fn a_time_and_progress_belong_to_perf() {
        use std::time::Duration;

        let sizes = [("TESTCASE", "perf"), ("QUICLAB_PERF_REQUEST", "8"), ("QUICLAB_PERF_RESPONSE", "1")];
        let client = |more: &[(&str, &str)]| parse(&support(), &[&sizes, more].concat());
        let status = |more: &[(&str, &str)]| exit_status(&support(), &[&sizes, more].concat());
        let settings = client(&[]).unwrap();
        assert_eq!((settings.perf_duration, settings.perf_progress), (None, None));
        let (time, file, often) =
            (("QUICLAB_PERF_DURATION", "250"), ("QUICLAB_PERF_PROGRESS", "/p"), ("QUICLAB_PERF_INTERVAL", "50"));
        let settings = client(&[time, file, often]).unwrap();
        assert_eq!(settings.perf_duration, Some(Duration::from_millis(250)));
        let progress = |interval| Some(Progress { path: "/p".into(), interval: Duration::from_millis(interval) });
        assert_eq!(settings.perf_progress, progress(50));
        assert_eq!(client(&[file]).unwrap().perf_progress, progress(1000));
        assert_eq!((status(&[("QUICLAB_PERF_DURATION", "0")]), status(&[often])), (1, 1));
        assert_eq!(status(&[file, ("QUICLAB_PERF_INTERVAL", "9")]), 1);
        for one in [time, file, often] {
            assert_eq!(exit_status(&support(), &[one]), 127, "{one:?} without perf");
        }
        let server = [("TESTCASE", "perf"), ("ROLE", "server")];
        assert_eq!(parse(&support(), &[&server[..], &[file]].concat()).unwrap().perf_progress, progress(1000));
        assert_eq!(exit_status(&support(), &[&server[..], &[time]].concat()), 127);
    }
}
