//! BoringSSL's random numbers, which are to be those of the seed.

use libc::c_int;

/// RDRAND in the second of BoringSSL's words: `ecx` of the processor's leaf 1.
const RDRAND: u32 = 1 << 30;

// Of BoringSSL.
unsafe extern "C" {
    fn CRYPTO_library_init();
    fn RAND_enable_fork_unsafe_buffering(descriptor: c_int);
    static mut OPENSSL_ia32cap_P: [u32; 4];
}

/// Leaves BoringSSL nothing but the seed: it would mix in what RDRAND gives on an Intel processor, and more of the seed where
/// the kernel cannot tell it of forks. To be called before anything of BoringSSL is used.
pub fn keep_to_the_seed() {
    // SAFETY: there is one thread yet; the first call fills the words, unless that is done, and nothing changes them later.
    // The last one takes -1 only, and wants a program that does not fork.
    unsafe {
        CRYPTO_library_init();
        OPENSSL_ia32cap_P[1] &= !RDRAND;
        RAND_enable_fork_unsafe_buffering(-1);
    }
}
