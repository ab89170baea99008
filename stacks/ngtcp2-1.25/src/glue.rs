//! What lies between Rust and C here: time, addresses, connection IDs, errors in words.

use std::{
    ffi::{CStr, c_int},
    mem, ptr,
};

use anyhow::{Context, Result, ensure};
use aws_lc_sys as ssl;
use ngtcp2_sys::*;
use nix::{
    sys::socket::{SockaddrLike, SockaddrStorage},
    time::{ClockId, clock_gettime},
};

use crate::udp::address_length;

/// Bytes of the connection IDs given to peers, as in ngtcp2's own programs.
pub const CID_LENGTH: usize = 18;

/// An error of ngtcp2 in words.
pub fn explain(code: c_int) -> String {
    // SAFETY: a static text.
    unsafe { CStr::from_ptr(ngtcp2_strerror(code)) }.to_string_lossy().into_owned()
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC is always there");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Fills with what nobody can guess.
///
/// # Errors
/// Where there is no randomness.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    // SAFETY: writes as many bytes as there are.
    let outcome = unsafe { ssl::RAND_bytes(bytes.as_mut_ptr(), bytes.len()) };
    ensure!(outcome == 1, "no randomness");
    Ok(())
}

/// A new connection ID.
///
/// # Errors
/// Where there is no randomness.
pub fn random_cid() -> Result<ngtcp2_cid> {
    let mut cid = ngtcp2_cid { datalen: CID_LENGTH, data: [0; 20] };
    fill_random(&mut cid.data[..CID_LENGTH])?;
    Ok(cid)
}

/// The path between two addresses, which must live as long as it.
pub fn path(local: &SockaddrStorage, peer: &SockaddrStorage) -> ngtcp2_path {
    let address =
        |of: &SockaddrStorage| ngtcp2_addr { addr: of.as_ptr().cast_mut().cast(), addrlen: address_length(of) };
    ngtcp2_path { local: address(local), remote: address(peer), user_data: ptr::null_mut() }
}

/// Room for a path that ngtcp2 writes.
pub fn path_storage() -> Box<ngtcp2_path_storage> {
    // SAFETY: a plain structure for which zeros are valid; it points into itself, so it must not move: hence the box.
    unsafe {
        let mut storage: Box<ngtcp2_path_storage> = Box::new(mem::zeroed());
        ngtcp2_path_storage_zero(&mut *storage);
        storage
    }
}

/// The peer's address of a path that ngtcp2 has written.
pub fn remote(storage: &ngtcp2_path_storage) -> Result<SockaddrStorage> {
    let remote = &storage.path.remote;
    // SAFETY: ngtcp2 has written an address of this length.
    unsafe { SockaddrStorage::from_raw(remote.addr.cast(), Some(remote.addrlen)) }.context("a path without an address")
}
