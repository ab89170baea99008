//! Queueing disciplines as netlink messages.
//!
//! The crates at hand know the envelope but not these disciplines' options, so the options are laid out here, each as
//! the kernel's `include/uapi/linux/pkt_sched.h` has it.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use quiclab_agent_protocol::network::{BurstLoss, Clock, Discipline, Fq, Netem};

const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const NETEM_LOSS_GE: u16 = 2;
const NLA_F_NESTED: u16 = 1 << 15;
const TCA_NETEM_SLOT: u16 = 12;
const TCA_FQ_PLIMIT: u16 = 1;
const TCA_FQ_FLOW_PLIMIT: u16 = 2;
const TCA_FQ_QUANTUM: u16 = 3;
const TCA_FQ_INITIAL_QUANTUM: u16 = 4;
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_FQ_TIMER_SLACK: u16 = 13;
const TCA_FQ_HORIZON: u16 = 14;
const TCA_ETF_PARMS: u16 = 1;
/// kernel/module/sch_gso_pace.h.
const TCA_GSO_PACE_CLOCK: u16 = 2;
const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_TAI: i32 = 11;
const TC_ETF_DEADLINE_MODE_ON: u32 = 1;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// The messages that install `disciplines` at `interface`: the first one at the root, each other one as the child of the one
/// before. Their handles are `1:`, `2:` and so on.
pub fn nested(interface: u32, disciplines: &[Discipline]) -> Vec<TcMessage> {
    let handles = 1_u16..;
    let messages = handles.zip(disciplines).map(|(major, one)| {
        let parent = match major {
            1 => TcHandle::ROOT,
            // Every discipline that can have a child has it in its class 1.
            _ => TcHandle { major: major - 1, minor: 1 },
        };
        discipline(interface, parent, major, one.name(), options(one))
    });
    messages.collect()
}

/// The options of a discipline as the kernel reads them.
fn options(discipline: &Discipline) -> Vec<u8> {
    match discipline {
        Discipline::Tbf { rate_bytes_per_second, burst_bytes, limit_bytes } => {
            token_bucket(*rate_bytes_per_second, *burst_bytes, *limit_bytes)
        }
        Discipline::Netem(netem) => delay_line(netem),
        Discipline::Pfifo { limit_packets } => limit_packets.to_ne_bytes().to_vec(),
        Discipline::PfifoFast | Discipline::FqCodel => Vec::new(),
        Discipline::Fq(parameters) => fair_queueing(parameters),
        Discipline::Etf { delta_ns, deadline } => earliest_txtime_first(*delta_ns, *deadline),
        Discipline::GsoPace { clock } => {
            let clock = match clock {
                Clock::Monotonic => CLOCK_MONOTONIC,
                Clock::Tai => CLOCK_TAI,
            };
            attribute(TCA_GSO_PACE_CLOCK, &clock.to_ne_bytes())
        }
    }
}

fn discipline(interface: u32, parent: TcHandle, major: u16, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::with_index(interface as i32);
    message.header.parent = parent;
    message.header.handle = TcHandle { major, minor: 0 };
    message.attributes.push(TcAttribute::Kind(kind.to_owned()));
    if !options.is_empty() {
        message.attributes.push(TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)));
    }
    message
}

/// `struct tc_tbf_qopt` and the two attributes that replace its 32-bit rate and its burst in ticks.
fn token_bucket(bytes_per_second: u64, burst_bytes: u32, limit_bytes: u32) -> Vec<u8> {
    let mut parameters = Vec::new();
    parameters.extend(rate_specification(bytes_per_second));
    parameters.extend(rate_specification(0));
    parameters.extend(limit_bytes.to_ne_bytes());
    parameters.extend(0_u32.to_ne_bytes());
    parameters.extend(0_u32.to_ne_bytes());
    let mut options = attribute(TCA_TBF_PARMS, &parameters);
    options.extend(attribute(TCA_TBF_RATE64, &bytes_per_second.to_ne_bytes()));
    options.extend(attribute(TCA_TBF_BURST, &burst_bytes.to_ne_bytes()));
    options
}

/// `struct tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, rate.
fn rate_specification(bytes_per_second: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[1] = TC_LINKLAYER_ETHERNET;
    bytes[8..].copy_from_slice(&u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    bytes
}

/// `struct tc_netem_qopt` (latency, limit, loss, gap, duplicate, jitter), then what it has no room for, times in nanoseconds.
fn delay_line(netem: &Netem) -> Vec<u8> {
    let mut options = Vec::new();
    // With a gap of 1 every packet may be one that is not delayed.
    let gap = u32::from(netem.at_once.is_some());
    for value in [0, netem.limit_packets, netem.loss.unwrap_or(0), gap, netem.duplicate.unwrap_or(0), 0] {
        options.extend(value.to_ne_bytes());
    }
    options.extend(attribute(TCA_NETEM_LATENCY64, &(netem.delay_ns as i64).to_ne_bytes()));
    if let Some(jitter) = netem.jitter_ns {
        options.extend(attribute(TCA_NETEM_JITTER64, &(jitter as i64).to_ne_bytes()));
    }
    if let Some(probability) = netem.at_once {
        // `struct tc_netem_reorder`: probability, correlation.
        options.extend(attribute(TCA_NETEM_REORDER, &words_of(&[probability, 0])));
    }
    if let Some(BurstLoss { to_bad, to_good, pass_in_bad, loss_in_good }) = netem.burst_loss {
        // `struct tc_netem_gemodel`: p, r, h, k1.
        let model = attribute(NETEM_LOSS_GE, &words_of(&[to_bad, to_good, pass_in_bad, loss_in_good]));
        options.extend(attribute(TCA_NETEM_LOSS | NLA_F_NESTED, &model));
    }
    if let Some(rate) = netem.rate_bytes_per_second {
        // `struct tc_netem_rate`: rate, packet_overhead, cell_size, cell_overhead.
        let short = u32::try_from(rate).unwrap_or(u32::MAX);
        options.extend(attribute(TCA_NETEM_RATE, &words_of(&[short, 0, 0, 0])));
        options.extend(attribute(TCA_NETEM_RATE64, &rate.to_ne_bytes()));
    }
    if let Some(distance_ns) = netem.slot_ns {
        options.extend(attribute(TCA_NETEM_SLOT, &slots(distance_ns)));
    }
    options
}

fn words_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `struct tc_netem_slot`: packets wait for the next slot, and slots are at least `distance_ns` apart. All that is due leaves in one.
fn slots(distance_ns: u64) -> Vec<u8> {
    let distance = (distance_ns as i64).to_ne_bytes();
    // Shortest and longest distance, no limit of packets and bytes, no distribution.
    [&distance[..], &distance, &[0; 4], &[0; 4], &[0; 8], &[0; 8]].concat()
}

fn fair_queueing(parameters: &Fq) -> Vec<u8> {
    let given = [
        (TCA_FQ_FLOW_PLIMIT, parameters.flow_limit_packets),
        (TCA_FQ_PLIMIT, parameters.limit_packets),
        (TCA_FQ_QUANTUM, parameters.quantum_bytes),
        (TCA_FQ_INITIAL_QUANTUM, parameters.initial_quantum_bytes),
        (TCA_FQ_FLOW_MAX_RATE, parameters.maximum_bytes_per_second),
        (TCA_FQ_TIMER_SLACK, parameters.timer_slack_ns),
        (TCA_FQ_HORIZON, parameters.horizon_us),
    ];
    let given = given.into_iter().filter_map(|(kind, value)| Some(attribute(kind, &value?.to_ne_bytes())));
    given.collect::<Vec<_>>().concat()
}

/// `struct tc_etf_qopt`: delta in ns, clock, flags.
fn earliest_txtime_first(delta_ns: i32, deadline: bool) -> Vec<u8> {
    let flags = if deadline { TC_ETF_DEADLINE_MODE_ON } else { 0 };
    let mut parameters = Vec::new();
    parameters.extend(delta_ns.to_ne_bytes());
    parameters.extend(CLOCK_TAI.to_ne_bytes());
    parameters.extend(flags.to_ne_bytes());
    attribute(TCA_ETF_PARMS, &parameters)
}

/// A netlink attribute, padded to 4 bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(((value.len() + 4) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind and value of each attribute; all values here are of whole words.
    fn words(mut bytes: &[u8]) -> Vec<(u16, Vec<u32>)> {
        let mut all = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
            let [length, kind] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_ne_bytes);
            let (value, rest) = rest.split_at(usize::from(length) - 4);
            all.push((kind, value.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()));
            bytes = rest;
        }
        all
    }

    /// The numbers are of `enum TCA_FQ_*` in pkt_sched.h: bytes, bytes per second, microseconds for the horizon, nanoseconds for the slack.
    #[test]
    fn every_parameter_of_fq_has_its_number_and_its_unit() {
        let parameters = Fq {
            flow_limit_packets: Some(1),
            limit_packets: Some(2),
            quantum_bytes: Some(3),
            initial_quantum_bytes: Some(4),
            maximum_bytes_per_second: Some(5),
            timer_slack_ns: Some(6),
            horizon_us: Some(7),
        };
        let expected = [(2, 1), (1, 2), (3, 3), (4, 4), (7, 5), (13, 6), (14, 7)];
        assert_eq!(words(&fair_queueing(&parameters)), expected.map(|(kind, value)| (kind, vec![value])));
    }

    #[test]
    fn parameters_of_fq_that_are_not_given_are_left_to_the_kernel() {
        let limit_only = Fq { flow_limit_packets: Some(100), ..Fq::default() };
        assert_eq!(words(&fair_queueing(&limit_only)), [(2, vec![100])]);
    }

    #[test]
    fn netem_takes_every_impairment_at_its_place() {
        let burst_loss = BurstLoss { to_bad: 5, to_good: 6, pass_in_bad: 7, loss_in_good: 8 };
        let netem = Netem {
            delay_ns: 9,
            limit_packets: 10,
            jitter_ns: Some(11),
            rate_bytes_per_second: Some(12),
            loss: Some(1),
            burst_loss: Some(burst_loss),
            duplicate: Some(2),
            at_once: Some(3),
            slot_ns: None,
        };
        let options = delay_line(&netem);
        let (fixed, rest) = options.split_at(24);
        let fixed: Vec<_> = fixed.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        assert_eq!(fixed, [0, 10, 1, 1, 2, 0]);
        let expected = [
            (10, vec![9, 0]),
            (11, vec![11, 0]),
            (3, vec![3, 0]),
            // The nested attribute's own head: 20 bytes of kind 2.
            (5 | 0x8000, vec![20 | 2 << 16, 5, 6, 7, 8]),
            (6, vec![12, 0, 0, 0]),
            (8, vec![12, 0]),
        ];
        assert_eq!(words(rest), expected);
        let plain = delay_line(&Netem { delay_ns: 20, limit_packets: 143, ..Netem::default() });
        assert_eq!(words(&plain[24..]), [(10, vec![20, 0])]);
    }

    #[test]
    fn etf_takes_delta_clock_and_flag() {
        assert_eq!(words(&earliest_txtime_first(200_000, false)), [(1, vec![200_000, 11, 0])]);
        assert_eq!(words(&earliest_txtime_first(200_000, true)), [(1, vec![200_000, 11, 1])]);
    }

    /// `struct tc_netem_slot`: the shortest and the longest distance in 64 bits, then what would limit or draw them.
    #[test]
    fn slots_are_as_far_apart_as_asked_for_and_of_any_size() {
        let bytes = slots(1_000_000);
        assert_eq!(bytes.len(), 40);
        let distances: Vec<_> = bytes[..16].as_chunks().0.iter().map(|word| i64::from_ne_bytes(*word)).collect();
        assert_eq!(distances, [1_000_000, 1_000_000]);
        assert_eq!(bytes[16..], [0; 24]);
    }
}
