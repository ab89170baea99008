//! Flows that are counted and not measured: a scan has a flow for each of its packets, and numbers about each would fill memory and say nothing.

use std::cmp::Reverse;

/// Up to so many flows, all are measured, however short they are.
const ALWAYS_MEASURED: usize = 1_000;
/// Number of flows that are measured at most: those with the most packets.
const MOST_MEASURED: usize = 20_000;

/// Flows that are not measured one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummedUp {
    /// Flows of a single packet, where the capture has many flows.
    pub flows_of_one_packet: u64,
    /// Other flows, which have fewer packets than those that are measured.
    pub small_flows: u64,
    /// Packets in all of them.
    pub packets: u64,
}

impl SummedUp {
    /// All of them.
    pub fn flows(&self) -> u64 {
        self.flows_of_one_packet + self.small_flows
    }
}

/// Which flows are measured, by their numbers of packets, and what is said of the others.
pub(crate) fn choose(packets: &[u64]) -> (Vec<bool>, SummedUp) {
    let mut summed_up = SummedUp::default();
    let mut is_measured = vec![true; packets.len()];
    if packets.len() <= ALWAYS_MEASURED {
        return (is_measured, summed_up);
    }
    for (is_measured, packets) in is_measured.iter_mut().zip(packets) {
        if *packets < 2 {
            *is_measured = false;
            summed_up.flows_of_one_packet += 1;
            summed_up.packets += packets;
        }
    }
    let mut left: Vec<usize> = (0..packets.len()).filter(|flow| is_measured[*flow]).collect();
    // Of those with as many packets, the earlier ones.
    left.sort_by_key(|flow| Reverse(packets[*flow]));
    for flow in left.into_iter().skip(MOST_MEASURED) {
        is_measured[flow] = false;
        summed_up.small_flows += 1;
        summed_up.packets += packets[flow];
    }
    (is_measured, summed_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_flows_are_all_measured_even_those_of_one_packet() {
        let (measured, summed_up) = choose(&[1; ALWAYS_MEASURED]);
        assert!(measured.iter().all(|it| *it) && summed_up == SummedUp::default());
    }

    #[test]
    fn of_many_flows_those_of_one_packet_are_summed_up() {
        let mut packets = vec![1; ALWAYS_MEASURED];
        packets.insert(7, 2);
        let (measured, summed_up) = choose(&packets);
        assert_eq!(measured.iter().position(|it| *it), Some(7));
        assert_eq!(summed_up, SummedUp { flows_of_one_packet: 1_000, small_flows: 0, packets: 1_000 });
        assert_eq!(summed_up.flows(), 1_000);
    }

    #[test]
    fn of_very_many_flows_the_largest_and_of_these_the_first_are_measured() {
        let mut packets = vec![3; MOST_MEASURED + 2];
        packets[0] = 2;
        let (measured, summed_up) = choose(&packets);
        assert!(!measured[0] && !measured[MOST_MEASURED + 1]);
        assert_eq!(measured.iter().filter(|it| **it).count(), MOST_MEASURED);
        assert_eq!(summed_up, SummedUp { flows_of_one_packet: 0, small_flows: 2, packets: 5 });
    }
}
