//! What guests see of the processor, and what it takes for its work.
//!
//! Programs in a guest run natively. The kernel shows them a processor from a table where that of the host can let CPUID fault
//! (`kernel/uml/processor.patch`); elsewhere they see the host's.

use std::{fs, io, sync::OnceLock};

use anyhow::{Context, Result};
use quiclab_experiment::run::Cpu;

use crate::hash;

/// `ARCH_SET_CPUID` of asm/prctl.h: whether CPUID is allowed.
const ARCH_SET_CPUID: i32 = 0x1012;
/// Lines of `/proc/cpuinfo` that say what programs can see by CPUID.
const VISIBLE: [&str; 5] = ["vendor_id", "cpu family", "model", "stepping", "flags"];

/// Tells OpenSSL and its relatives, such as BoringSSL and AWS-LC, that there is neither RDRAND (bit 62 of the first word) nor RDSEED (bit 18 of
/// the second), whatever CPUID says; see OPENSSL_ia32cap(3).
pub(super) const WITHOUT_RANDOM_NUMBERS: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000000:~0x40000");

/// Time that a system call takes in nanoseconds, and that each byte takes which it moves in picoseconds; `None` where nothing takes any.
pub(super) fn charge(cpu: Cpu) -> Option<(u32, u32)> {
    match cpu {
        Cpu::Charged => Some((5000, 1000)),
        Cpu::Ideal => None,
    }
}

/// Which processor programs in a guest see, for the identity of a run: `table`, or the host's with what it can do.
///
/// # Errors
/// Where the host does not say what processor it has.
pub(super) fn seen() -> Result<String> {
    if is_hidden() {
        return Ok("table".to_owned());
    }
    let text = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let first = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = first.lines().filter(|line| VISIBLE.iter().any(|name| line.starts_with(name))).collect();
    let model = first.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']);
    Ok(format!("host {model} {}", hash::Hasher::default().part(lines.join("\n").as_bytes()).short()))
}

/// Whether CPUID can fault on this machine, so that guests see the processor of the table.
pub fn is_hidden() -> bool {
    static HIDDEN: OnceLock<bool> = OnceLock::new();
    // A thread of its own: it holds for the calling thread.
    *HIDDEN.get_or_init(|| {
        std::thread::spawn(|| set_cpuid(false).is_ok() && set_cpuid(true).is_ok()).join().unwrap_or(false)
    })
}

/// Allows CPUID to this thread, or lets it fault.
fn set_cpuid(is_allowed: bool) -> io::Result<()> {
    // SAFETY: it takes a number and no pointer; a thread for which CPUID faults executes none before it is allowed again.
    match unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, u64::from(is_allowed)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_of_an_identity_is_always_the_same() {
        let seen = [seen().unwrap(), seen().unwrap()];
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0] == "table", is_hidden());
        assert!(seen[0] == "table" || seen[0].starts_with("host "), "{}", seen[0]);
    }

    #[test]
    fn the_bits_are_those_of_rdrand_and_rdseed() {
        // CPUID leaf 1 ECX bit 30, behind the 32 bits of EDX; leaf 7 EBX bit 18, the first half of the second word.
        let (_, value) = WITHOUT_RANDOM_NUMBERS;
        assert_eq!(value, format!("~{:#x}:~{:#x}", 1u64 << (32 + 30), 1u64 << 18));
    }
}
