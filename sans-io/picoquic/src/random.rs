//! OpenSSL's random numbers, which are the seed's. By itself OpenSSL mixes in the counter of the processor, process numbers and the time.

use std::{ffi::c_int, slice};

use anyhow::{Result, ensure};
use quiclab_sans_io::random::fill_ambient;

/// As openssl/rand.h declares it.
#[repr(C)]
struct RandomMethod {
    seed: Option<unsafe extern "C" fn(*const u8, c_int) -> c_int>,
    bytes: Option<unsafe extern "C" fn(*mut u8, c_int) -> c_int>,
    cleanup: Option<unsafe extern "C" fn()>,
    add: Option<unsafe extern "C" fn(*const u8, c_int, f64) -> c_int>,
    pseudorand: Option<unsafe extern "C" fn(*mut u8, c_int) -> c_int>,
    status: Option<unsafe extern "C" fn() -> c_int>,
}

// Of OpenSSL.
unsafe extern "C" {
    fn RAND_set_rand_method(method: *const RandomMethod) -> c_int;
}

static OF_THE_SEED: RandomMethod = RandomMethod {
    seed: None,
    bytes: Some(bytes),
    cleanup: None,
    add: None,
    pseudorand: Some(bytes),
    status: Some(status),
};

/// Has OpenSSL draw from the seed. To be called before anything of it is used.
///
/// # Errors
/// Where OpenSSL refuses.
pub fn keep_to_the_seed() -> Result<()> {
    // SAFETY: the functions live as long as the process.
    ensure!(unsafe { RAND_set_rand_method(&OF_THE_SEED) } == 1, "OpenSSL takes no other random numbers");
    Ok(())
}

unsafe extern "C" fn bytes(buffer: *mut u8, length: c_int) -> c_int {
    let Ok(length) = usize::try_from(length) else { return 0 };
    if length == 0 {
        return 1;
    }
    // SAFETY: OpenSSL gives room for so many bytes; they need not be initialised yet.
    let buffer = unsafe {
        buffer.write_bytes(0, length);
        slice::from_raw_parts_mut(buffer, length)
    };
    c_int::from(fill_ambient(buffer).is_ok())
}

unsafe extern "C" fn status() -> c_int {
    1
}
