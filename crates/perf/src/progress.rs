//! The lines that an endpoint appends to its progress file: docs/reference/endpoint-contract.md.

use serde::{Deserialize, Serialize};

/// Longest line, in bytes. A line of the contract has less than 300.
const LONGEST_LINE: usize = 4096;

/// Counters of an endpoint since it started, over all its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// When, on a clock of the endpoint that never goes back, in nanoseconds.
    pub monotonic_ns: u64,
    /// Bytes of streams handed to the stack.
    pub sent: u64,
    /// Bytes of streams taken from it.
    pub received: u64,
    /// Streams that are over in both directions.
    pub exchanges: u64,
    /// Handshakes completed.
    pub connections: u64,
    /// Smoothed round-trip time of the newest connection, in nanoseconds; `None`: the stack does not say.
    pub rtt_ns: Option<u64>,
    /// Congestion window of the newest connection, in bytes; `None`: the stack does not say.
    pub window: Option<u64>,
    /// Packets that it declared lost so far.
    pub lost: Option<u64>,
}

impl Progress {
    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.sent.saturating_add(self.received)
    }
}

/// What an endpoint wrote is not progress.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProgress {
    /// The line is not one of the contract.
    #[error(
        "line {number} of the progress file: found {found:?}, expected an object with the fields of the contract: {why}"
    )]
    Line {
        /// Counted from 1.
        number: u64,
        /// The beginning of it.
        found: String,
        /// What the parser says.
        why: String,
    },
    /// Nobody knows when what the first line counts began.
    #[error("line 1 of the progress file: found {found} bytes, expected 0; the first line comes before the first byte")]
    Late {
        /// Bytes that the first line counts in both directions.
        found: u64,
    },
    /// A counter or the clock went back.
    #[error(
        "line {number} of the progress file: found {field} {found} after {before}; counters and clocks never go back"
    )]
    Back {
        /// Counted from 1.
        number: u64,
        /// Which one.
        field: &'static str,
        /// Value of the counter or clock in this line.
        found: u64,
        /// Value of the counter or clock in the line before.
        before: u64,
    },
}

/// An end at one moment, with the limits of what it has carried in this test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The newest line.
    pub newest: Progress,
    /// The last line before the test carried anything.
    pub first: Progress,
    /// The newest line by which something more was carried.
    pub last: Progress,
    /// Lines with more than the line before.
    pub moving_lines: u64,
    /// CPU time in user mode of the endpoint and all that it started, in nanoseconds.
    pub cpu_user_ns: Option<u64>,
    /// The same in the kernel.
    pub cpu_system_ns: Option<u64>,
    /// Datagrams that its socket dropped because its buffer was full.
    pub socket_drops: Option<u64>,
    /// Most memory of the endpoint and all that it started that was seen in this test, in bytes.
    #[serde(default)]
    pub peak_memory_bytes: Option<u64>,
}

/// Follows the progress file of an endpoint.
#[derive(Debug, Default)]
pub struct Tracker {
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
    lines: u64,
    newest: Progress,
    first: Progress,
    last: Progress,
    moving_lines: u64,
}

impl Tracker {
    /// Takes what was appended.
    ///
    /// # Errors
    /// Where it is not what the contract says. What came before is kept.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), BadProgress> {
        for byte in bytes {
            if *byte != b'\n' {
                self.partial.push(*byte);
                if self.partial.len() > LONGEST_LINE {
                    let line = std::mem::take(&mut self.partial);
                    return Err(self.bad(&line, "the line is too long"));
                }
                continue;
            }
            let line = std::mem::take(&mut self.partial);
            self.lines += 1;
            let next: Progress = serde_json::from_slice(&line).map_err(|error| self.bad(&line, &error.to_string()))?;
            self.advance(next)?;
        }
        Ok(())
    }

    fn advance(&mut self, next: Progress) -> Result<(), BadProgress> {
        if self.lines == 1 && next.bytes() > 0 {
            return Err(BadProgress::Late { found: next.bytes() });
        }
        let before = self.newest;
        let pairs = [
            ("monotonic_ns", next.monotonic_ns, before.monotonic_ns),
            ("sent", next.sent, before.sent),
            ("received", next.received, before.received),
            ("exchanges", next.exchanges, before.exchanges),
            ("connections", next.connections, before.connections),
        ];
        if let Some((field, found, before)) = pairs.into_iter().find(|(_, found, before)| found < before) {
            return Err(BadProgress::Back { number: self.lines, field, found, before });
        }
        if next.bytes() > before.bytes() {
            self.last = next;
            self.moving_lines += 1;
        } else if self.moving_lines == 0 {
            self.first = next;
            self.last = next;
        }
        self.newest = next;
        Ok(())
    }

    fn bad(&self, line: &[u8], why: &str) -> BadProgress {
        let found = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        BadProgress::Line { number: self.lines.max(1), found, why: why.to_owned() }
    }

    /// A new test begins: what was carried so far does not belong to it.
    pub fn restart(&mut self) {
        self.first = self.newest;
        self.last = self.newest;
        self.moving_lines = 0;
    }

    /// How far it has come, without what only the machine knows.
    pub fn sample(&self) -> Sample {
        let Self { newest, first, last, moving_lines, .. } = *self;
        Sample { newest, first, last, moving_lines, ..Sample::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(monotonic_ns: u64, received: u64) -> String {
        let progress = Progress { monotonic_ns, received, ..Progress::default() };
        serde_json::to_string(&progress).unwrap() + "\n"
    }

    #[test]
    fn a_test_lasts_from_the_last_line_without_bytes_to_the_last_line_with_more() {
        let text: String = [(1, 0), (2, 0), (3, 70), (4, 100), (5, 100)].map(|(at, got)| line(at, got)).concat();
        for piece in [1, 7, text.len()] {
            let mut tracker = Tracker::default();
            for bytes in text.as_bytes().chunks(piece) {
                tracker.take(bytes).unwrap();
            }
            let sample = tracker.sample();
            let times = [sample.first, sample.last, sample.newest].map(|line| line.monotonic_ns);
            assert_eq!((times, sample.moving_lines), ([2, 4, 5], 2));
            tracker.restart();
            tracker.take(line(9, 100).as_bytes()).unwrap();
            tracker.take(line(10, 130).as_bytes()).unwrap();
            let sample = tracker.sample();
            assert_eq!((sample.first.monotonic_ns, sample.last.received - sample.first.received), (9, 30));
        }
    }

    #[test]
    fn what_is_no_progress_is_an_error_with_its_line() {
        let bad = |text: &str| Tracker::default().take(text.as_bytes()).unwrap_err().to_string();
        assert!(
            bad("hello\n").contains("line 1 of the progress file: found \"hello\", expected"),
            "{}",
            bad("hello\n")
        );
        assert!(bad(&(line(1, 0) + "{}\n")).contains("line 2"));
        assert!(bad(&line(1, 5)).contains("line 1 of the progress file: found 5 bytes, expected 0"));
        assert!(bad(&"x".repeat(5000)).contains("the line is too long"));
        let back = bad(&(line(1, 0) + &line(2, 5) + &line(3, 4)));
        assert!(back.contains("line 3 of the progress file: found received 4 after 5"), "{back}");
        assert!(bad(&(line(2, 0) + &line(1, 5))).contains("monotonic_ns 1 after 2"));
        assert_eq!(Tracker::default().take(b"half a line"), Ok(()));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes: Vec<u8>, piece in 1_usize..50) {
            let mut tracker = Tracker::default();
            for bytes in bytes.chunks(piece) {
                let _ = tracker.take(bytes);
            }
            prop_assert!(tracker.partial.len() <= LONGEST_LINE);
        }
    }
}
