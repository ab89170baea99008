//! What root may do: capabilities(7).

use std::io;

/// A set of capabilities: bit `n` stands for capability `n` of the kernel's `include/uapi/linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;
const KILL: u32 = 5;
const SETGID: u32 = 6;
const SETUID: u32 = 7;
const SETPCAP: u32 = 8;
const NET_BIND_SERVICE: u32 = 10;
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;

/// `_LINUX_CAPABILITY_VERSION_3`: two words of 32 bits for each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    process: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

impl Capabilities {
    /// What an endpoint may have, in its own user namespace. With these it opens ports and raw sockets, changes the interfaces of its
    /// own network, becomes another user, and owns the files it is given. It cannot load modules, restart, set clocks, make devices,
    /// mount, trace, or leave its root.
    ///
    /// `NET_ADMIN` is among them because the QUIC Interop Runner gives it to its endpoints, and for `SO_TXTIME` with `CLOCK_TAI`.
    pub const OF_ENDPOINTS: Self = Self::of(&[
        CHOWN,
        DAC_OVERRIDE,
        FOWNER,
        FSETID,
        KILL,
        SETGID,
        SETUID,
        SETPCAP,
        NET_BIND_SERVICE,
        NET_ADMIN,
        NET_RAW,
    ]);

    const fn of(numbers: &[u32]) -> Self {
        let (mut bits, mut next) = (0, 0);
        while next < numbers.len() {
            bits |= 1 << numbers[next];
            next += 1;
        }
        Self(bits)
    }

    /// Takes all other capabilities away from the calling thread and from every program it will execute. Makes system calls
    /// only, so it may be called between fork and exec.
    ///
    /// # Errors
    /// What the kernel answers: without `CAP_SETPCAP` nothing can be taken from the bounding set.
    pub fn keep_only(self) -> io::Result<()> {
        for number in 0..u64::BITS {
            // SAFETY: plain system call.
            let is_bound = unsafe { libc::prctl(libc::PR_CAPBSET_READ, libc::c_ulong::from(number)) };
            if is_bound < 0 {
                // Behind the kernel's last one.
                break;
            }
            if is_bound == 0 || self.has(number) {
                continue;
            }
            // SAFETY: plain system call.
            if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number)) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let header = Header { version: VERSION, process: 0 };
        let mut sets = [Sets::default(); 2];
        // SAFETY: the header and both sets are laid out as this version has them, and outlive the call.
        if unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        for (set, kept) in sets.iter_mut().zip([self.0 as u32, (self.0 >> 32) as u32]) {
            set.effective &= kept;
            set.permitted &= kept;
            // Root regains what is in the bounding set. What was inheritable would come on top, and ambient ones are a part of that.
            set.inheritable = 0;
        }
        // SAFETY: as above.
        if unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn has(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }
}
