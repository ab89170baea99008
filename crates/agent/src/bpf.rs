//! eBPF programs of a few instructions, written out, so that neither a compiler nor a loader is needed.
//!
//! Layouts and numbers are those of the kernel's `include/uapi/linux/bpf.h`, see bpf(2); instructions those of RFC 9669.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

/// Result of a call, and of the program.
pub const R0: u8 = 0;
/// First argument of a call.
pub const R1: u8 = 1;
/// Second argument of a call.
pub const R2: u8 = 2;
/// Kept over calls.
pub const R6: u8 = 6;
/// Kept over calls.
pub const R7: u8 = 7;
/// The stack's upper end.
pub const R10: u8 = 10;

// Operations on 64 bits: class, size or source, and code in one byte.
const LOAD_IMMEDIATE: u8 = 0x18;
pub const STORE_IMMEDIATE: u8 = 0x7a;
pub const STORE: u8 = 0x7b;
pub const ATOMIC: u8 = 0xdb;
pub const LOAD: u8 = 0x79;
/// Loads 32 bits.
pub const LOAD_WORD: u8 = 0x61;
pub const ADD_IMMEDIATE: u8 = 0x07;
/// Adds 32 bits; the upper half becomes 0.
pub const ADD_WORD_IMMEDIATE: u8 = 0x04;
pub const ADD: u8 = 0x0f;
pub const SHIFT_LEFT_IMMEDIATE: u8 = 0x67;
pub const SHIFT_RIGHT_IMMEDIATE: u8 = 0x77;
pub const MOVE_IMMEDIATE: u8 = 0xb7;
pub const MOVE: u8 = 0xbf;
pub const JUMP_IF_EQUAL: u8 = 0x15;
pub const JUMP_IF_AT_MOST: u8 = 0xb5;
/// Compares with a register.
pub const JUMP_UNLESS_GREATER_REGISTER: u8 = 0xbd;
pub const CALL: u8 = 0x85;
pub const EXIT: u8 = 0x95;

pub const ATOMIC_ADD: i32 = 0x00;
pub const ATOMIC_FETCH: i32 = 0x01;
pub const HELPER_MAP_LOOKUP_ELEM: i32 = 1;
pub const HELPER_GET_CURRENT_UID_GID: i32 = 15;
/// Stands in the place of a source register: the number loaded is a map's descriptor, for the kernel to replace by its address.
const PSEUDO_MAP_FD: u8 = 1;

/// `struct bpf_insn`: code, destination and source of 4 bits each, offset, immediate; the first in the lowest bits.
pub fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> u64 {
    let [offset, immediate] = [u64::from(offset as u16), u64::from(immediate as u32)];
    u64::from(code) | u64::from(destination | source << 4) << 8 | offset << 16 | immediate << 32
}

/// Loads a map's address: an immediate of 64 bits takes two instructions.
pub fn map_address(register: u8, map: RawFd) -> [u64; 2] {
    [instruction(LOAD_IMMEDIATE, register, PSEUDO_MAP_FD, 0, map), 0]
}

// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;

const MAP_TYPE_HASH: u32 = 1;
const MAP_TYPE_ARRAY: u32 = 2;
/// A classifier of packets.
pub const PROG_TYPE_SCHED_CLS: u32 = 3;
/// A program at a trace point.
pub const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

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

/// `union bpf_attr` of `RAW_TRACEPOINT_OPEN`.
#[repr(C)]
struct RawTracepoint {
    name: u64,
    program: u32,
}

/// An array of counters: each entry has `N` numbers of 64 bits. Keys are of 32 bits.
#[derive(Debug)]
pub struct CounterMap<const N: usize>(OwnedFd);

impl<const N: usize> CounterMap<N> {
    /// Makes one, all zeros.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn create(entries: usize) -> io::Result<Self> {
        create_map(MAP_TYPE_ARRAY, size_of::<u32>(), N * size_of::<u64>(), entries).map(Self)
    }

    /// The map's descriptor, for [`map_address`].
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// The numbers of an entry.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn values(&self, entry: u32) -> io::Result<[u64; N]> {
        let mut values = [0; N];
        let mut attributes = Element {
            map: self.0.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const entry) as u64,
            value: (&raw mut values) as u64,
            flags: 0,
        };
        // SAFETY: key and value are as long as the map has them, and outlive the call.
        unsafe { bpf(MAP_LOOKUP_ELEM, &mut attributes) }?;
        Ok(values)
    }
}

/// A set of numbers of 64 bits, each with a value of 32 bits that has no meaning.
#[derive(Debug)]
pub struct NumberSet(OwnedFd);

impl NumberSet {
    /// Makes one of these numbers.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn create(numbers: &[u32]) -> io::Result<Self> {
        let map = create_map(MAP_TYPE_HASH, size_of::<u64>(), size_of::<u32>(), numbers.len())?;
        for number in numbers {
            let (key, value) = (u64::from(*number), 0_u32);
            let mut attributes = Element {
                map: map.as_raw_fd() as u32,
                padding: 0,
                key: (&raw const key) as u64,
                value: (&raw const value) as u64,
                flags: 0,
            };
            // SAFETY: key and value are as long as the map has them, and outlive the call.
            unsafe { bpf(MAP_UPDATE_ELEM, &mut attributes) }?;
        }
        Ok(Self(map))
    }

    /// The map's descriptor, for [`map_address`].
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn create_map(kind: u32, key_bytes: usize, value_bytes: usize, most_entries: usize) -> io::Result<OwnedFd> {
    let [key_bytes, value_bytes, most_entries] = [key_bytes, value_bytes, most_entries].map(|number| number as u32);
    let mut attributes = Map { kind, key_bytes, value_bytes, most_entries };
    // SAFETY: the attributes hold no addresses; the descriptor is new and ours.
    unsafe { bpf(MAP_CREATE, &mut attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// Loads a program.
///
/// # Errors
/// What the kernel answers; ordinary users may load none.
pub fn load(kind: u32, instructions: &[u64]) -> io::Result<OwnedFd> {
    let mut attributes = Program {
        kind,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: c"MIT".as_ptr() as u64,
    };
    // SAFETY: instructions and licence outlive the call; the descriptor is new and ours.
    unsafe { bpf(PROG_LOAD, &mut attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// Runs a program at a trace point, as long as the answer is open.
///
/// # Errors
/// What the kernel answers.
pub fn attach_to_tracepoint(name: &CStr, program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = RawTracepoint { name: name.as_ptr() as u64, program: program.as_raw_fd() as u32 };
    // SAFETY: the name outlives the call; the descriptor is new and ours.
    unsafe { bpf(RAW_TRACEPOINT_OPEN, &mut attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
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
}
