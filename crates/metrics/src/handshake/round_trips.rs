//! The samples of the round-trip time that an end takes in a handshake, its probe timeouts by RFC 9002, and the timeout
//! that it has before the first sample.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::QuicForm;

use super::log::{Frame, Packet};
use super::probes::{Sent, SentBytes};
use super::view::View;
use crate::rtt_estimate::RttEstimate;

/// One sample: RFC 9002 section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// When the acknowledgment came.
    pub(super) time: Time,
    /// Packet number space of the acknowledgment.
    pub(super) space: u8,
    /// `latest_rtt`.
    pub(super) rtt: Duration,
    /// `ack_delay` as the peer reports it; 0 for Initial packets, RFC 9002 section 5.3.
    pub(super) delay: Duration,
}

/// The samples of one end, and whether packets that could not be read may have given earlier ones.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) list: Vec<Sample>,
    /// Packets received before the first sample whose frames are not known.
    pub(super) hidden_before: u64,
}

/// Every acknowledgment that newly acknowledges its largest packet and something ack-eliciting.
pub(super) fn samples(view: &View) -> Samples {
    struct Outstanding {
        time: Time,
        is_ack_eliciting: bool,
    }
    let mut outstanding: BTreeMap<(u8, u64), Outstanding> = BTreeMap::new();
    let mut samples = Samples::default();
    for event in &view.events {
        for packet in event.packets {
            let Some(space) = packet.space() else { continue };
            if event.is_sent {
                let Some(number) = packet.number else { continue };
                // What a packet holds that cannot be read is most often ack-eliciting.
                let is_ack_eliciting = packet.is_ack_eliciting() || !packet.is_read;
                outstanding.entry((space, number)).or_insert(Outstanding { time: event.time, is_ack_eliciting });
                continue;
            }
            if samples.list.is_empty() {
                samples.hidden_before += u64::from(packet.is_hidden());
            }
            for frame in &packet.frames {
                let Frame::Ack { ranges, delay_ns } = frame else { continue };
                let largest = ranges.first().map_or(0, |(_, end)| *end);
                let time_of_largest = outstanding.get(&(space, largest)).map(|packet| packet.time);
                let mut is_ack_eliciting = false;
                for (begin, end) in ranges {
                    let new: Vec<(u8, u64)> =
                        outstanding.range((space, *begin)..=(space, *end)).map(|(number, _)| *number).collect();
                    for number in new {
                        is_ack_eliciting |= outstanding.remove(&number).is_some_and(|packet| packet.is_ack_eliciting);
                    }
                }
                let rtt = time_of_largest.and_then(|sent| event.time.checked_since(sent));
                if let Some(rtt) = rtt.filter(|_| is_ack_eliciting) {
                    let delay = Duration::from_nanos(if space == 0 { 0 } else { delay_ns.unwrap_or(0) });
                    samples.list.push(Sample { time: event.time, space, rtt, delay });
                }
            }
        }
    }
    samples
}

/// The estimate after each sample. `missing`: what the tap does not see of each, because it is not at this end.
pub(super) fn estimates(samples: &[Sample], missing: Duration) -> Vec<(Sample, RttEstimate)> {
    let mut estimate = RttEstimate::default();
    let after = |sample: &Sample| {
        let rtt = Duration::from_nanos(sample.rtt.as_nanos().saturating_add(missing.as_nanos()));
        estimate.on_sample(rtt, sample.delay);
        (Sample { rtt, ..*sample }, estimate)
    };
    samples.iter().map(after).collect()
}

/// Time from the last ack-eliciting Initial or Handshake packet of the first flight to the first that repeats it or only asks for an
/// answer, where nothing of the peer came in between.
///
/// Early data has no part in it: no timer is armed for it before the handshake is confirmed (RFC 9002, section 6.2.1).
///
/// # Errors
/// Why it is not known.
pub(super) fn default_timeout(view: &View) -> Result<Duration, &'static str> {
    let mut sent = SentBytes::default();
    let mut last: Option<Time> = None;
    for event in &view.events {
        if !event.is_sent {
            if last.is_some() {
                return Err("the peer answered before the first probe");
            }
            continue;
        }
        let of_handshake = |packet: &&Packet| matches!(packet.form, QuicForm::Initial | QuicForm::Handshake);
        let packets = || event.packets.iter().filter(of_handshake);
        if packets().any(Packet::is_hidden) {
            return Err("packets before the first probe could not be read");
        }
        let what = sent.on_packets(packets());
        match (last, what) {
            (Some(last), Sent::Again | Sent::Ping) => {
                return event.time.checked_since(last).ok_or("times run backwards");
            }
            (_, Sent::Nothing) => {}
            (_, Sent::New | Sent::Again | Sent::Ping) => last = Some(event.time),
        }
    }
    Err("no probe was sent before the first answer")
}
