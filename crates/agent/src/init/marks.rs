//! Whether this is process 1 of a virtual machine of quiclab, and of which kind. Reads only: nothing is mounted, opened for writing or sent to
//! a port.

use std::path::Path;

use anyhow::{Result, ensure};
use nix::sys::{
    statfs::{FsType, TMPFS_MAGIC, statfs},
    utsname::uname,
};

use super::machine::Machine;

/// What CPUID says of the hypervisor where QEMU translates instructions, as it does to count them.
const TRANSLATED: [u8; 12] = *b"TCGTCGTCGTCG";
/// `RAMFS_MAGIC` of linux/magic.h.
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);
/// End of the release of the kernel of User-Mode Linux: `CONFIG_LOCALVERSION` of `kernel/uml/config`.
const UML_RELEASE: &str = "-uml";

/// What tells a virtual machine of quiclab from any other place.
struct Marks {
    process: u32,
    hypervisor: Option<[u8; 12]>,
    is_uml: bool,
    root_is_memory: bool,
    has_modules: bool,
}

/// Makes sure that this is process 1 of a virtual machine of quiclab, and tells of which.
///
/// # Errors
/// Anywhere else.
pub fn check() -> Result<Machine> {
    Marks::found().judge()
}

impl Marks {
    fn found() -> Self {
        let root = statfs("/").map(|facts| facts.filesystem_type());
        Self {
            process: std::process::id(),
            hypervisor: hypervisor(),
            is_uml: uname().is_ok_and(|names| names.release().to_string_lossy().ends_with(UML_RELEASE)),
            root_is_memory: root.is_ok_and(|kind| kind == TMPFS_MAGIC || kind == RAMFS_MAGIC),
            has_modules: Path::new(super::MODULE_LIST).is_file(),
        }
    }

    fn judge(&self) -> Result<Machine> {
        let hint = "`quiclab-agent init` runs only as process 1 of a virtual machine that quiclab has started, where it changes \
                    the whole machine; nothing was changed here\nhint: `quiclab-agent serve` runs on a host";
        let process = self.process;
        ensure!(process == 1, "found process {process}, expected process 1: {hint}");
        ensure!(
            self.is_uml || self.hypervisor == Some(TRANSLATED),
            "found no kernel of User-Mode Linux from quiclab (uname), and no QEMU that translates instructions (CPUID leaf 0x40000000), \
             expected one of them: {hint}"
        );
        ensure!(self.root_is_memory, "/: found a root file system on a disk, expected one in memory: {hint}");
        ensure!(self.has_modules, "{}: missing: {hint}", super::MODULE_LIST);
        Ok(if self.is_uml { Machine::Uml } else { Machine::Qemu })
    }
}

/// The hypervisor's signature; `None` on a real machine.
fn hypervisor() -> Option<[u8; 12]> {
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    if std::arch::x86_64::__cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return None;
    }
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let mut signature = [0; 12];
    for (to, word) in signature.as_chunks_mut::<4>().0.iter_mut().zip([leaf.ebx, leaf.ecx, leaf.edx]) {
        *to = word.to_le_bytes();
    }
    Some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_needed() {
        let guest = || Marks {
            process: 1,
            hypervisor: Some(TRANSLATED),
            is_uml: false,
            root_is_memory: true,
            has_modules: true,
        };
        assert_eq!(guest().judge().unwrap(), Machine::Qemu);
        // The processor that it sees is that of the host.
        for hypervisor in [None, Some(*b"KVMKVMKVM\0\0\0"), Some(TRANSLATED)] {
            assert_eq!(Marks { is_uml: true, hypervisor, ..guest() }.judge().unwrap(), Machine::Uml);
        }
        assert!(Marks { is_uml: true, process: 7, ..guest() }.judge().is_err());
        for (other, word) in [
            (Marks { process: 7, ..guest() }, "process 7"),
            (Marks { hypervisor: Some(*b"KVMKVMKVM\0\0\0"), ..guest() }, "CPUID"),
            (Marks { hypervisor: None, ..guest() }, "CPUID"),
            (Marks { root_is_memory: false, ..guest() }, "disk"),
            (Marks { has_modules: false, ..guest() }, "/modules/list"),
        ] {
            let error = other.judge().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("serve"), "{error}");
        }
    }

    #[test]
    fn the_machine_that_runs_the_tests_is_no_guest() {
        assert!(check().is_err());
    }
}
