//! The virtual machine's own buttons: stop at this instruction, and power off.

use std::io;

use quiclab_agent_protocol::slot::POWER_OFF_VALUE;

/// Port of the `pvpanic` device: the byte 1 makes QEMU stop the machine with the next instruction outstanding.
const STOP_PORT: u16 = 0x505;
/// Port of the `isa-debug-exit` device: any byte ends QEMU at once.
const EXIT_PORT: u16 = 0xf4;

/// Stops the machine at this very instruction. It returns when the machine is continued, perhaps in another QEMU.
///
/// # Errors
/// Where the process may not use I/O ports.
pub fn stop_here() -> io::Result<()> {
    write_port(STOP_PORT, 1)
}

/// Ends the machine at once. Nothing is flushed, because nothing in it outlives it.
///
/// # Errors
/// Where the process may not use I/O ports; otherwise it does not return.
pub fn power_off() -> io::Result<()> {
    write_port(EXIT_PORT, POWER_OFF_VALUE)
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
