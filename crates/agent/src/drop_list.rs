//! Drops packets by their number: a classifier that counts what passes it and drops the numbers of a list.
//!
//! An eBPF program of a few instructions, written out here, so that neither a compiler nor a loader is needed. Layouts and
//! numbers are those of the kernel's `include/uapi/linux/bpf.h`, see bpf(2); instructions those of RFC 9669.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use anyhow::{Context, Result};
use netlink_packet_route::tc::{TcBpfFlags, TcFilterBpf, TcFilterBpfOption, TcOption};
use quiclab_orders::report::ListedDrops;

/// A loaded classifier and its counters. They live as long as this or a filter that has the classifier.
#[derive(Debug)]
pub struct DropList {
    program: OwnedFd,
    counters: OwnedFd,
}

impl DropList {
    /// Kind of the filter that takes [`DropList::options`].
    pub const FILTER: &str = TcFilterBpf::KIND;

    /// Loads a classifier that drops the packets of these numbers, counted from 1, each once.
    ///
    /// # Errors
    /// Without `CAP_BPF` and `CAP_NET_ADMIN`, or where the kernel lacks bpf(2).
    pub fn load(numbers: &[u32]) -> Result<Self> {
        let counters = create_map(MAP_TYPE_ARRAY, size_of::<u32>(), size_of::<Counters>(), 1).context("counters")?;
        let listed = create_map(MAP_TYPE_HASH, size_of::<u64>(), size_of::<u32>(), numbers.len()).context("list")?;
        for number in numbers {
            insert(&listed, u64::from(*number)).with_context(|| format!("packet {number} of the list"))?;
        }
        let program = load(&classifier(counters.as_raw_fd(), listed.as_raw_fd())).context("classifier")?;
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
        let (key, mut counters) = (0_u32, Counters::default());
        let mut attributes = Element {
            map: self.counters.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const key) as u64,
            value: (&raw mut counters) as u64,
            flags: 0,
        };
        // SAFETY: key and value are as long as the map has them, and outlive the call.
        unsafe { bpf(MAP_LOOKUP_ELEM, &mut attributes) }.context("counters of the dropped packets")?;
        Ok(ListedDrops { seen: counters.seen, dropped: counters.dropped })
    }
}

/// The only element of the map of counters.
#[repr(C)]
#[derive(Default)]
struct Counters {
    /// Packets that came to the classifier.
    seen: u64,
    /// Packets it dropped.
    dropped: u64,
}

const SEEN: i16 = std::mem::offset_of!(Counters, seen) as i16;
const DROPPED: i16 = std::mem::offset_of!(Counters, dropped) as i16;

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

/// Result of a call, and of the program.
const R0: u8 = 0;
/// First argument of a call.
const R1: u8 = 1;
/// Second argument of a call.
const R2: u8 = 2;
/// Kept over calls.
const R6: u8 = 6;
/// The stack's upper end.
const R10: u8 = 10;

// Operations on 64 bits: class, size or source, and code in one byte.
const LOAD_IMMEDIATE: u8 = 0x18;
const STORE_IMMEDIATE: u8 = 0x7a;
const STORE: u8 = 0x7b;
const ATOMIC: u8 = 0xdb;
const ADD_IMMEDIATE: u8 = 0x07;
const MOVE_IMMEDIATE: u8 = 0xb7;
const MOVE: u8 = 0xbf;
const JUMP_IF_EQUAL: u8 = 0x15;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

const ATOMIC_ADD: i32 = 0x00;
const ATOMIC_FETCH: i32 = 0x01;
const HELPER_MAP_LOOKUP_ELEM: i32 = 1;
/// In the place of a source register: the number loaded is a map's descriptor, for the kernel to replace by its address.
const PSEUDO_MAP_FD: u8 = 1;

/// `struct bpf_insn`: code, destination and source of 4 bits each, offset, immediate; the first in the lowest bits.
fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> u64 {
    let [offset, immediate] = [u64::from(offset as u16), u64::from(immediate as u32)];
    u64::from(code) | u64::from(destination | source << 4) << 8 | offset << 16 | immediate << 32
}

/// Loads a map's address: an immediate of 64 bits takes two instructions.
fn map_address(register: u8, map: RawFd) -> [u64; 2] {
    [instruction(LOAD_IMMEDIATE, register, PSEUDO_MAP_FD, 0, map), 0]
}

// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;

const MAP_TYPE_HASH: u32 = 1;
const MAP_TYPE_ARRAY: u32 = 2;
const PROG_TYPE_SCHED_CLS: u32 = 3;

/// `union bpf_attr` of `MAP_CREATE`, as far as it is used.
#[repr(C)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    most_entries: u32,
}

/// `union bpf_attr` of `MAP_LOOKUP_ELEM` and `MAP_UPDATE_ELEM`.
#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `union bpf_attr` of `PROG_LOAD`, as far as it is used.
#[repr(C)]
struct Program {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
}

fn create_map(kind: u32, key_bytes: usize, value_bytes: usize, most_entries: usize) -> io::Result<OwnedFd> {
    let [key_bytes, value_bytes, most_entries] = [key_bytes, value_bytes, most_entries].map(|number| number as u32);
    let mut attributes = Map { kind, key_bytes, value_bytes, most_entries };
    // SAFETY: the attributes hold no addresses; the descriptor is new and ours.
    unsafe { bpf(MAP_CREATE, &mut attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// Puts a number into the map of listed ones; what stands beside it has no meaning.
fn insert(map: &OwnedFd, number: u64) -> io::Result<()> {
    let value = 0_u32;
    let mut attributes = Element {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const number) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: key and value are as long as the map has them, and outlive the call.
    unsafe { bpf(MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
}

fn load(instructions: &[u64]) -> io::Result<OwnedFd> {
    let mut attributes = Program {
        kind: PROG_TYPE_SCHED_CLS,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: c"MIT".as_ptr() as u64,
    };
    // SAFETY: instructions and licence outlive the call; the descriptor is new and ours.
    unsafe { bpf(PROG_LOAD, &mut attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// # Safety
/// The attributes are those of the command, and addresses in them are valid for what it does.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<RawFd> {
    // SAFETY: as the caller has it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as RawFd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instruction: u64) -> u8 {
        instruction as u8
    }

    #[test]
    fn instructions_are_laid_out_as_the_kernel_has_them() {
        // RFC 9669, section 3.1: opcode, registers, offset, immediate, little-endian.
        let of = |code, destination, source, offset, immediate| {
            instruction(code, destination, source, offset, immediate).to_le_bytes()
        };
        assert_eq!(of(MOVE_IMMEDIATE, R0, R0, 0, -1), [0xb7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(of(STORE, R10, R1, -8, 0), [0x7b, 0x1a, 0xf8, 0xff, 0, 0, 0, 0]);
        assert_eq!(of(ATOMIC, R6, R1, 8, ATOMIC_ADD | ATOMIC_FETCH), [0xdb, 0x16, 8, 0, 1, 0, 0, 0]);
        let address = map_address(R1, 0x0102).map(u64::to_le_bytes);
        assert_eq!(address, [[0x18, 0x11, 0, 0, 2, 1, 0, 0], [0; 8]]);
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
