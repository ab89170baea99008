//! Seeds the kernel's random pool, so that everything drawn from it follows from the run's seed.

use std::{fs::File, os::fd::AsRawFd};

use anyhow::{Context, Result};
use quiclab_agent_protocol::orders::ENTROPY_BYTES;

nix::ioctl_write_ptr_bad!(
    /// Credits entropy to the pool, `RNDADDENTROPY`.
    add_entropy,
    nix::request_code_write!(b'R', 0x03, 2 * size_of::<libc::c_int>()),
    PoolInfo
);
nix::ioctl_none!(
    /// Makes the generator take new entropy at once, `RNDRESEEDCRNG`.
    reseed,
    b'R',
    0x07
);

/// `struct rand_pool_info` of `linux/random.h`, with room for what we add.
#[repr(C)]
pub struct PoolInfo {
    entropy_bits: libc::c_int,
    byte_count: libc::c_int,
    bytes: [u8; ENTROPY_BYTES],
}

/// Credits `entropy` to the pool and makes the generator take it at once.
///
/// # Errors
/// Where `entropy` is not [`ENTROPY_BYTES`] long, or the process lacks `CAP_SYS_ADMIN`.
pub fn seed_pool(entropy: &[u8]) -> Result<()> {
    let bytes: [u8; ENTROPY_BYTES] = entropy
        .try_into()
        .with_context(|| format!("entropy: found {} bytes, expected {ENTROPY_BYTES}", entropy.len()))?;
    let pool =
        PoolInfo { entropy_bits: ENTROPY_BYTES as libc::c_int * 8, byte_count: ENTROPY_BYTES as libc::c_int, bytes };
    let device = File::options().write(true).open("/dev/urandom").context("/dev/urandom")?;
    // SAFETY: `pool` is laid out as the kernel expects and outlives the call.
    unsafe { add_entropy(device.as_raw_fd(), &raw const pool) }.context("RNDADDENTROPY")?;
    // SAFETY: the request takes no argument.
    unsafe { reseed(device.as_raw_fd()) }.context("RNDRESEEDCRNG")?;
    Ok(())
}
