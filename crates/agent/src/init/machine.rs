//! The kinds of virtual machines, and their buttons: stop at this instruction, and power off.

use std::io;

use nix::sys::reboot::{RebootMode, reboot};
use quiclab_agent_protocol::slot::POWER_OFF_VALUE;

/// Port of the `pvpanic` device: the byte 1 makes QEMU stop the machine with the next instruction outstanding.
const STOP_PORT: u16 = 0x505;
/// Port of the `isa-debug-exit` device: any byte ends QEMU at once.
const EXIT_PORT: u16 = 0xf4;

/// A kind of virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// QEMU that counts instructions. It boots once, is saved, and every run begins with the saved state.
    Qemu,
    /// User-Mode Linux in virtual time. It boots for every run.
    Uml,
}

impl Machine {
    /// Stops the machine at this very instruction, to be saved. It returns when the machine is continued, perhaps in another QEMU; at once where
    /// machines of this kind are not saved.
    ///
    /// # Errors
    /// Where the process may not use I/O ports.
    pub fn stop_here(self) -> io::Result<()> {
        match self {
            Self::Qemu => write_port(STOP_PORT, 1),
            Self::Uml => Ok(()),
        }
    }

    /// Ends the machine at once. Nothing is flushed, because nothing in it outlives it.
    ///
    /// # Errors
    /// Where the process may not use I/O ports, or may not reboot; otherwise it does not return.
    pub fn power_off(self) -> io::Result<()> {
        match self {
            Self::Qemu => write_port(EXIT_PORT, POWER_OFF_VALUE),
            Self::Uml => Ok(reboot(RebootMode::RB_POWER_OFF).map(|never| match never {})?),
        }
    }
}

fn write_port(port: u16, value: u8) -> io::Result<()> {
    // SAFETY: ioperm takes no pointers.
    if unsafe { libc::ioperm(u64::from(port), 1, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the port was opened for this process just now, and its device only stops or ends the machine.
    unsafe { std::arch::asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) };
    Ok(())
}
