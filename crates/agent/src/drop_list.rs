//! Drops packets by their number: a classifier that counts what passes it and drops the numbers of a list.
//!
//! An eBPF program of a few instructions, written out here.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use netlink_packet_route::tc::{TcBpfFlags, TcFilterBpf, TcFilterBpfOption, TcOption};
use quiclab_agent_protocol::report::ListedDrops;

use crate::bpf::{
    ADD_IMMEDIATE, ATOMIC, ATOMIC_ADD, ATOMIC_FETCH, CALL, CounterMap, EXIT, HELPER_MAP_LOOKUP_ELEM, JUMP_IF_EQUAL,
    MOVE, MOVE_IMMEDIATE, NumberSet, PROG_TYPE_SCHED_CLS, R0, R1, R2, R6, R10, STORE, STORE_IMMEDIATE, instruction,
    load, map_address,
};

/// A loaded classifier and its counters. They live as long as this or a filter that has the classifier.
#[derive(Debug)]
pub struct DropList {
    program: OwnedFd,
    counters: CounterMap<COUNTERS>,
}

impl DropList {
    /// Kind of the filter that takes [`DropList::options`].
    pub const FILTER: &str = TcFilterBpf::KIND;

    /// Loads a classifier that drops the packets of these numbers, counted from 1, each once.
    ///
    /// # Errors
    /// Without `CAP_BPF` and `CAP_NET_ADMIN`, or where the kernel lacks bpf(2).
    pub fn load(numbers: &[u32]) -> Result<Self> {
        let counters = CounterMap::create(1).context("counters")?;
        let listed = NumberSet::create(numbers).context("list")?;
        let program =
            load(PROG_TYPE_SCHED_CLS, &classifier(counters.descriptor(), listed.descriptor())).context("classifier")?;
        Ok(Self { program, counters })
    }

    /// The filter that runs the classifier and does what it answers.
    pub fn options(&self) -> Vec<TcOption> {
        vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(self.program.as_raw_fd() as u32)),
            TcOption::Bpf(TcFilterBpfOption::ProgName("drop_list".to_owned())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]
    }

    /// Packets seen and dropped so far.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn counted(&self) -> Result<ListedDrops> {
        let [seen, dropped] = self.counters.values(0).context("counters of the dropped packets")?;
        Ok(ListedDrops { seen, dropped })
    }
}

/// Numbers of 64 bits in the only element of the map of counters: packets that came to the classifier, and packets that it dropped.
const COUNTERS: usize = 2;
const SEEN: i16 = 0;
const DROPPED: i16 = 8;

/// `TC_ACT_SHOT`: drop the packet.
const SHOT: i32 = 2;
/// `TC_ACT_UNSPEC`: go on to the next filter.
const UNSPEC: i32 = -1;

/// Counts a packet, looks up its number, and answers what is to become of it.
fn classifier(counters: RawFd, listed: RawFd) -> Vec<u64> {
    /// Room for a key on the stack.
    const KEY: i16 = -8;
    // How far the two lookups that find nothing jump, to the last two instructions; a map's address takes two.
    const FROM_COUNTERS: i16 = 15;
    const FROM_LISTED: i16 = 4;
    let [first, second] = map_address(R1, counters);
    let [third, fourth] = map_address(R1, listed);
    vec![
        instruction(STORE_IMMEDIATE, R10, R0, KEY, 0),
        instruction(MOVE, R2, R10, 0, 0),
        instruction(ADD_IMMEDIATE, R2, R0, 0, i32::from(KEY)),
        first,
        second,
        instruction(CALL, R0, R0, 0, HELPER_MAP_LOOKUP_ELEM),
        instruction(JUMP_IF_EQUAL, R0, R0, FROM_COUNTERS, 0),
        instruction(MOVE, R6, R0, 0, 0),
        instruction(MOVE_IMMEDIATE, R1, R0, 0, 1),
        instruction(ATOMIC, R6, R1, SEEN, ATOMIC_ADD | ATOMIC_FETCH),
        // What was fetched is the count before this packet.
        instruction(ADD_IMMEDIATE, R1, R0, 0, 1),
        instruction(STORE, R10, R1, KEY, 0),
        instruction(MOVE, R2, R10, 0, 0),
        instruction(ADD_IMMEDIATE, R2, R0, 0, i32::from(KEY)),
        third,
        fourth,
        instruction(CALL, R0, R0, 0, HELPER_MAP_LOOKUP_ELEM),
        instruction(JUMP_IF_EQUAL, R0, R0, FROM_LISTED, 0),
        instruction(MOVE_IMMEDIATE, R1, R0, 0, 1),
        instruction(ATOMIC, R6, R1, DROPPED, ATOMIC_ADD),
        instruction(MOVE_IMMEDIATE, R0, R0, 0, SHOT),
        instruction(EXIT, R0, R0, 0, 0),
        instruction(MOVE_IMMEDIATE, R0, R0, 0, UNSPEC),
        instruction(EXIT, R0, R0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instruction: u64) -> u8 {
        instruction as u8
    }

    #[test]
    fn what_is_not_listed_goes_on_to_the_next_filter() {
        let program = classifier(3, 4);
        let go_on = program.len() - 2;
        assert_eq!(program[go_on], instruction(MOVE_IMMEDIATE, R0, R0, 0, UNSPEC));
        let jumps: Vec<_> = (0..program.len()).filter(|at| code(program[*at]) == JUMP_IF_EQUAL).collect();
        assert_eq!(jumps.len(), 2);
        for at in jumps {
            // A jump counts from the instruction behind it.
            assert_eq!(at + 1 + usize::from((program[at] >> 16) as u16), go_on, "the jump at {at}");
            assert_eq!(code(program[at - 1]), CALL);
        }
    }
}
