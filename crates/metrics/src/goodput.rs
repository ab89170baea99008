//! `goodput_wire_bps`, `goodput_process_bps`: application bytes per second, twice.
//!
//! On the wire the time runs from the first to the last server packet with 1-RTT protection. Over TCP and TLS the
//! counterpart of such a packet is a server segment with payload behind the client's Finished; keys apart, the first TLS
//! record of type application data from the client is (or follows) its Finished (RFC 8446 sections 4.4.4 and 5.2; in TLS
//! 1.2 it is the request, RFC 5246 section 7.3). What the server sends as application data before it is its handshake.

use quiclab_units::{ByteCount, Duration, Time};

use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Largest relative difference between goodput by process and on the wire that is not worth a warning.
pub const PROCESS_DIFFERENCE_LIMIT: f64 = 0.05;

/// Whether a packet has 1-RTT protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// It has, or carries a packet that has.
    OneRtt,
    /// It has not.
    Other,
    /// Too little of it was captured.
    Uncertain,
    /// That of all packets is not known until a later one shows it.
    NotYetKnown,
}

/// When a sender sent with 1-RTT protection.
#[derive(Clone, Default)]
pub(crate) struct ProtectedMeter {
    all: Option<(Time, Time)>,
    protected: Option<(Time, Time)>,
    /// Packets of which the capture does not tell, before the first protected one, and behind the last.
    uncertain_before: u64,
    uncertain_behind: u64,
    any_unknown: bool,
    not_yet_known: bool,
}

impl ProtectedMeter {
    pub(crate) fn on_packet(&mut self, time: Time, protection: Protection) {
        self.all.get_or_insert((time, time)).1 = time;
        self.not_yet_known = protection == Protection::NotYetKnown;
        match protection {
            Protection::OneRtt => {
                self.protected.get_or_insert((time, time)).1 = time;
                self.uncertain_behind = 0;
            }
            Protection::Uncertain => {
                self.any_unknown = true;
                if self.protected.is_some() {
                    self.uncertain_behind += 1;
                } else {
                    self.uncertain_before += 1;
                }
            }
            Protection::Other | Protection::NotYetKnown => {}
        }
    }

    /// From the first to the last server packet with 1-RTT protection, or what comes nearest to it.
    fn interval_ns(&self, run: &mut RunMetrics) -> Option<u64> {
        let all = self.all?;
        let (start, end) = match self.protected {
            Some(protected) => {
                let uncertain = self.uncertain_before + self.uncertain_behind;
                if uncertain > 0 {
                    run.warn(
                        WarningCode::GoodputEdgesUncertain,
                        format!(
                            "{uncertain} packets before the first or after the last one known to have 1-RTT \
                             protection were cut too short to tell whether they have it: capture with a larger snap \
                             length"
                        ),
                    );
                }
                protected
            }
            None if !self.any_unknown && !self.not_yet_known => {
                run.warn(
                    WarningCode::GoodputNoProtectedPackets,
                    "no packet from the server has 1-RTT protection: the handshake did not complete".to_owned(),
                );
                return None;
            }
            None => {
                run.warn(
                    WarningCode::GoodputFirstToLastPacket,
                    "the capture does not show where 1-RTT protection begins (payload bytes or the client's packets are \
                     missing), so goodput on the wire covers the time from the first to the last packet and includes \
                     the handshake"
                        .to_owned(),
                );
                all
            }
        };
        // Backwards time has its own warning.
        Some(end.checked_since(start)?.as_nanos())
    }

    /// `response_bytes`: as the client stored them.
    pub(crate) fn finish(&self, response_bytes: ByteCount, run: &mut RunMetrics) {
        let interval = self.interval_ns(run);
        run.metrics.goodput_wire_bps =
            interval.and_then(|interval_ns| rate(response_bytes, interval_ns, "response on the wire", run));
    }
}

/// Goodput by the client's lifetime, beside that on the wire.
pub(crate) fn measure_process(response_bytes: ByteCount, lifetime: Duration, run: &mut RunMetrics) {
    let process = rate(response_bytes, lifetime.as_nanos(), "client's lifetime", run);
    if let (Some(wire), Some(process)) = (run.metrics.goodput_wire_bps, process) {
        let difference = (process - wire).abs() / wire;
        if difference > PROCESS_DIFFERENCE_LIMIT {
            run.warn(
                WarningCode::GoodputProcessDiffers,
                format!(
                    "goodput is {:.2} Mbit/s on the wire and {:.2} Mbit/s by the client's lifetime ({:.1} % apart): does the \
                     client wait before or after the transfer, for example for an idle timeout?",
                    wire / 1e6,
                    process / 1e6,
                    difference * 100.0
                ),
            );
        }
    }
    run.metrics.goodput_process_bps = process;
}

fn rate(response_bytes: ByteCount, interval_ns: u64, what: &str, run: &mut RunMetrics) -> Option<f64> {
    if interval_ns == 0 {
        run.warn(WarningCode::GoodputIntervalEmpty, format!("the {what} took no time, so it has no goodput"));
        return None;
    }
    Some(response_bytes.as_bytes() as f64 * 8.0 / (interval_ns as f64 / 1e9))
}
