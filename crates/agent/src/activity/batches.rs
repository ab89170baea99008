//! How many packets the hosts' kernels hand to their interface in one buffer, and get from it: segmentation offload on the way out, merging on the
//! way in.
//!
//! A classifier at both ends of each host's interface counts. On the way out it comes before segmentation, so it sees what a program sent
//! in one call also where the interface sends single packets.

use std::{
    collections::BTreeMap,
    os::fd::{AsRawFd, OwnedFd},
};

use anyhow::{Context, Result};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcBpfFlags, TcFilterBpf, TcFilterBpfOption, TcHandle, TcOption},
};
use quiclab_agent_protocol::{activity::Batches, addresses::HOST_INTERFACE};

use super::Watched;
use crate::{
    bpf::{
        ADD, ADD_IMMEDIATE, ATOMIC, ATOMIC_ADD, CALL, CounterMap, EXIT, HELPER_MAP_LOOKUP_ELEM, JUMP_IF_AT_MOST,
        JUMP_IF_EQUAL, JUMP_UNLESS_GREATER_REGISTER, LOAD, LOAD_WORD, MOVE, MOVE_IMMEDIATE, PROG_TYPE_SCHED_CLS, R0,
        R1, R2, R6, R7, R10, SHIFT_LEFT_IMMEDIATE, STORE, STORE_IMMEDIATE, instruction, load, map_address,
    },
    netlink::Netlink,
    topology::{entrance, filter_at, index},
};

/// What is missing where they cannot be counted.
pub const NAME: &str = "batches";
/// Numbers of packets that are told apart: Linux sends at most 128 in one UDP buffer. More count as the last one.
const SIZES: usize = 256;
/// Numbers of an entry: one for each size, and behind them the longest buffer.
const NUMBERS: usize = SIZES + 1;
const LONGEST: i16 = (SIZES * 8) as i16;
const PRIORITY: u32 = 1;
/// `TC_ACT_UNSPEC`: go on.
const UNSPEC: i32 = -1;
// Places in `struct __sk_buff`.
const LENGTH: i16 = 0;
const PACKETS: i16 = 164;

/// The counters of both ways of both hosts.
pub struct BatchCounters {
    counters: CounterMap<NUMBERS>,
    places: Vec<(&'static str, bool)>,
    _programs: Vec<OwnedFd>,
}

impl BatchCounters {
    /// Counts from now on, until the namespaces end.
    ///
    /// # Errors
    /// Without `CAP_BPF` on the machine itself, which ordinary users lack.
    pub fn install(watched: &[Watched]) -> Result<Self> {
        let counters = CounterMap::create(2 * watched.len())
            .context("the kernel loads eBPF programs for root only; run quiclab as root to count batches")?;
        let (mut places, mut programs) = (Vec::new(), Vec::new());
        for Watched { role, network, .. } in watched {
            network.inside(|| {
                let mut netlink = Netlink::open()?;
                let interface = index(HOST_INTERFACE)?;
                netlink.create(RouteNetlinkMessage::NewQueueDiscipline(entrance(interface))).context("clsact")?;
                for (sent, end) in [(true, TcHandle::MIN_EGRESS), (false, TcHandle::MIN_INGRESS)] {
                    let classifier = classifier(counters.descriptor(), places.len() as i32);
                    let program = load(PROG_TYPE_SCHED_CLS, &classifier).context("the classifier that counts")?;
                    let options = vec![
                        TcOption::Bpf(TcFilterBpfOption::ProgFd(program.as_raw_fd() as u32)),
                        TcOption::Bpf(TcFilterBpfOption::ProgName("batches".to_owned())),
                        TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
                    ];
                    let filter = filter_at(end, interface, PRIORITY, TcFilterBpf::KIND, options);
                    netlink.create(RouteNetlinkMessage::NewTrafficFilter(filter)).context("filter bpf")?;
                    programs.push(program);
                    places.push((*role, sent));
                }
                Ok(())
            })?;
        }
        Ok(Self { counters, places, _programs: programs })
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn counted(&self) -> Result<Vec<Batches>> {
        let all = (0..).zip(&self.places).map(|(entry, (role, sent))| {
            let values = self.counters.values(entry).context("reading the counters of batches")?;
            let mut packets = BTreeMap::new();
            for (size, count) in (0..).zip(&values[..SIZES]).filter(|(_, count)| **count > 0) {
                // A buffer that is not to be segmented says 0.
                *packets.entry(u32::max(size, 1)).or_insert(0) += count;
            }
            Ok(Batches { of: (*role).to_owned(), sent: *sent, packets, largest_bytes: values[SIZES] })
        });
        all.collect()
    }
}

/// Counts a buffer in this entry of the map by its number of packets, and keeps the largest length.
fn classifier(counters: std::os::fd::RawFd, entry: i32) -> Vec<u64> {
    /// Room for a key on the stack.
    const KEY: i16 = -8;
    let [first, second] = map_address(R1, counters);
    vec![
        instruction(LOAD_WORD, R6, R1, PACKETS, 0),
        instruction(LOAD_WORD, R7, R1, LENGTH, 0),
        instruction(STORE_IMMEDIATE, R10, R0, KEY, entry),
        instruction(MOVE, R2, R10, 0, 0),
        instruction(ADD_IMMEDIATE, R2, R0, 0, i32::from(KEY)),
        first,
        second,
        instruction(CALL, R0, R0, 0, HELPER_MAP_LOOKUP_ELEM),
        instruction(JUMP_IF_EQUAL, R0, R0, 9, 0),
        // Processors that send at once may each miss the other's length; both are long then.
        instruction(LOAD, R1, R0, LONGEST, 0),
        instruction(JUMP_UNLESS_GREATER_REGISTER, R7, R1, 1, 0),
        instruction(STORE, R0, R7, LONGEST, 0),
        instruction(JUMP_IF_AT_MOST, R6, R0, 1, SIZES as i32 - 1),
        instruction(MOVE_IMMEDIATE, R6, R0, 0, SIZES as i32 - 1),
        instruction(SHIFT_LEFT_IMMEDIATE, R6, R0, 0, 3),
        instruction(ADD, R0, R6, 0, 0),
        instruction(MOVE_IMMEDIATE, R1, R0, 0, 1),
        instruction(ATOMIC, R0, R1, 0, ATOMIC_ADD),
        instruction(MOVE_IMMEDIATE, R0, R0, 0, UNSPEC),
        instruction(EXIT, R0, R0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_goes_on_whatever_is_found() {
        let all = classifier(3, 1);
        let jump = all.iter().position(|one| *one as u8 == JUMP_IF_EQUAL).unwrap();
        let target = jump + 1 + usize::from((all[jump] >> 16) as u16);
        assert_eq!(all[target], instruction(MOVE_IMMEDIATE, R0, R0, 0, UNSPEC));
        assert_eq!(target, all.len() - 2);
    }
}
