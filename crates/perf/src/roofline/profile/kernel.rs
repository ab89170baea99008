//! Functions of the kernel.

use std::fs;

use crate::roofline::part::Unmeasured;

/// What the kernel was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Send,
    Receive,
    Other,
}

/// Where its functions begin, in order.
pub struct Kernel {
    starts: Vec<u64>,
    names: Vec<Box<str>>,
    calls: Vec<Option<Call>>,
}

impl Kernel {
    /// Reads /proc/kallsyms.
    pub fn read() -> Result<Self, Unmeasured> {
        Self::parse(&fs::read_to_string("/proc/kallsyms")?)
    }

    fn parse(text: &str) -> Result<Self, Unmeasured> {
        let mut all: Vec<(u64, &str)> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split_whitespace();
                let address = u64::from_str_radix(fields.next()?, 16).ok()?;
                matches!(fields.next()?, "t" | "T" | "w" | "W").then_some((address, fields.next()?))
            })
            .filter(|(address, _)| *address != 0)
            .collect();
        if all.is_empty() {
            return Err(Unmeasured::KernelHidden);
        }
        all.sort_unstable();
        all.dedup_by_key(|(address, _)| *address);
        Ok(Self {
            starts: all.iter().map(|(address, _)| *address).collect(),
            names: all.iter().map(|(_, name)| (*name).into()).collect(),
            calls: all.iter().map(|(_, name)| call(name)).collect(),
        })
    }

    fn function(&self, address: u64) -> Option<usize> {
        self.starts.partition_point(|start| *start <= address).checked_sub(1)
    }

    /// Where the function at `address` begins.
    pub fn start_of(&self, address: u64) -> u64 {
        self.function(address).map_or(address, |function| self.starts[function])
    }

    /// Name of the function at `address`.
    pub fn name_at(&self, address: u64) -> &str {
        self.function(address).map_or("?", |function| &self.names[function])
    }

    /// What was asked for, from a stack. The innermost frame comes first, and the system call is the last of those that have a name. What
    /// is received while something is sent, as over a loopback, is part of sending; and what runs in an interrupt is neither.
    pub fn call(&self, frames: &[u64]) -> Call {
        let of = |frame: &u64| self.function(*frame).and_then(|function| self.calls[function]);
        frames.iter().rev().find_map(of).unwrap_or(Call::Other)
    }
}

/// What a function does that system calls are made of: `__x64_sys_sendmsg`, `__arm64_sys_recvmmsg`, `__sys_sendto`. Some end by a jump to
/// another function, whose name is then the first in the stack: that of writev to `do_writev`.
fn call(name: &str) -> Option<Call> {
    match name {
        "ksys_write" | "vfs_write" | "do_writev" | "vfs_writev" => return Some(Call::Send),
        "ksys_read" | "vfs_read" | "do_readv" | "vfs_readv" | "do_recvmmsg" => return Some(Call::Receive),
        _ => {}
    }
    let (_, call) = name.split_once("_sys_")?;
    match call {
        "sendmsg" | "sendmmsg" | "sendto" | "write" | "writev" | "sendfile" | "sendfile64" | "splice" => {
            Some(Call::Send)
        }
        "recvmsg" | "recvmmsg" | "recvfrom" | "read" | "readv" => Some(Call::Receive),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "ffffffff81000000 T _text\nffffffff81000100 t udp_rcv\nffffffff81000200 T __x64_sys_sendmsg\n\
                         ffffffff81000300 T do_syscall_64\nffffffff81000400 D data\nffffffff81000500 T __x64_sys_recvmmsg\n\
                         ffffffffc0000000 t deliver [veth]\nffffffff81000600 T __x64_sys_recvmmsg_x\n\
                         ffffffff81000700 t do_writev\n";

    #[test]
    fn the_outermost_system_call_counts() {
        let kernel = Kernel::parse(TABLE).unwrap();
        let inside = |start: u64| 0xffff_ffff_8100_0000 + start + 7;
        assert_eq!(kernel.call(&[inside(0x100), inside(0x200), inside(0x300)]), Call::Send);
        assert_eq!(kernel.call(&[inside(0x500), inside(0x300)]), Call::Receive);
        assert_eq!(kernel.call(&[inside(0x100), inside(0x300)]), Call::Other);
        assert_eq!(kernel.call(&[]), Call::Other);
        assert_eq!(kernel.call(&[inside(0x100), inside(0x700), inside(0x300)]), Call::Send);
        assert_eq!(kernel.name_at(0xffff_ffff_c000_0010), "deliver");
        assert_eq!(kernel.name_at(inside(0x400)), "do_syscall_64", "data is no function");
        assert_eq!(kernel.start_of(1), 1);
    }

    #[test]
    fn addresses_that_are_hidden_are_an_error() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t udp_rcv\n";
        assert!(matches!(Kernel::parse(hidden), Err(Unmeasured::KernelHidden)));
    }
}
