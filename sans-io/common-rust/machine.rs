//! The machine as libraries see it: clocks that stand still within an order, and random bytes of the seed. Programs take this file in by
//! its path.
//!
//! These functions have the names of those of the C library. The program is linked statically, and the linker takes from
//! an archive only what is not defined yet: so the calls of the standard library, of ring, of BoringSSL and of OpenSSL end here, those
//! of the C library within itself do not. Nothing of what those are for reaches the wire.

use std::sync::atomic::{AtomicU64, Ordering};

use libc::{c_int, c_long, c_void, clockid_t, size_t, ssize_t, time_t, timespec, timeval};
use quiclab_sans_io::{random, tls};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", target_feature = "crt-static")))]
compile_error!(
    "expected x86_64-unknown-linux-gnu and -Ctarget-feature=+crt-static, as in .cargo/config.toml: what is defined here \
     counts in a static link only, and `syscall` is for that processor"
);

/// What the monotonic clock shows at the start of the run, in nanoseconds: libraries may subtract from it.
const UPTIME_NS: u64 = 86_400 * NANOSECONDS;

/// In a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// Since the start of the run.
static NOW_NS: AtomicU64 = AtomicU64::new(0);

/// Sets all clocks to a time since the start of the run.
pub fn set_now(now_ns: u64) {
    NOW_NS.store(now_ns, Ordering::Relaxed);
}

/// Nanoseconds since the start of the run.
pub fn now_ns() -> u64 {
    NOW_NS.load(Ordering::Relaxed)
}

/// Seconds and nanoseconds of a clock.
fn read(clock: clockid_t) -> (u64, u64) {
    let wall = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI);
    let zero = if wall { tls::NOW.as_secs() * NANOSECONDS } else { UPTIME_NS };
    let time = zero.saturating_add(now_ns());
    (time / NANOSECONDS, time % NANOSECONDS)
}

/// Shows every clock at the time of the order.
///
/// # Safety
/// `time` is valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let (seconds, nanoseconds) = read(clock);
    // SAFETY: by contract.
    unsafe { time.write(timespec { tv_sec: seconds as time_t, tv_nsec: nanoseconds as c_long }) };
    0
}

/// The date, by which BoringSSL judges sessions, and picotls tickets.
///
/// # Safety
/// `time` is valid for a write or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut c_void) -> c_int {
    let (seconds, nanoseconds) = read(libc::CLOCK_REALTIME);
    if !time.is_null() {
        // SAFETY: by contract.
        unsafe {
            time.write(timeval { tv_sec: seconds as time_t, tv_usec: (nanoseconds / 1000) as libc::suseconds_t })
        };
    }
    0
}

/// The date, by which BoringSSL and OpenSSL judge certificates.
///
/// # Safety
/// `place` is valid for a write or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn time(place: *mut time_t) -> time_t {
    let seconds = read(libc::CLOCK_REALTIME).0 as time_t;
    if !place.is_null() {
        // SAFETY: by contract.
        unsafe { place.write(seconds) };
    }
    seconds
}

/// Random bytes of the seed.
///
/// # Safety
/// `bytes` is valid for writes of `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(bytes: *mut c_void, length: size_t, _flags: libc::c_uint) -> ssize_t {
    if length == 0 {
        return 0;
    }
    // SAFETY: by contract; they need not be initialised yet.
    let bytes = unsafe {
        bytes.write_bytes(0, length);
        std::slice::from_raw_parts_mut(bytes.cast::<u8>(), length)
    };
    // The harness of unit tests has no seed, and wants to be run.
    if random::fill_ambient(bytes).is_err() && !cfg!(test) {
        // An error that nobody takes for "ask /dev/urandom instead".
        return fail(libc::EIO);
    }
    length as ssize_t
}

/// As [`getrandom`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(bytes: *mut c_void, length: size_t) -> c_int {
    // SAFETY: by contract.
    if unsafe { getrandom(bytes, length, 0) } < 0 { -1 } else { 0 }
}

/// System calls by number: BoringSSL asks for random bytes this way. The C function has a variable number of arguments, of
/// which this one takes the most there can be; those that the caller has not given are not looked at by the kernel.
///
/// # Safety
/// That of the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: c_long,
    second: c_long,
    third: c_long,
    fourth: c_long,
    fifth: c_long,
    sixth: c_long,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: by contract a buffer and its length.
        return unsafe { getrandom(first as *mut c_void, second as size_t, third as libc::c_uint) as c_long };
    }
    let result: c_long;
    // SAFETY: the registers are those of the kernel's calling convention, and it changes no others; all else by contract.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // Errors are the last page of numbers.
    if (-4095..0).contains(&result) { fail(-result as c_int) as c_long } else { result }
}

fn fail(error: c_int) -> ssize_t {
    // SAFETY: it is the thread's own, and always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        time::{Duration, Instant, SystemTime},
    };

    use super::*;

    #[test]
    fn time_goes_on_with_orders_only() {
        let (begin, date) = (Instant::now(), SystemTime::now());
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((Instant::now(), SystemTime::now()), (begin, date));
        assert_eq!(date, SystemTime::UNIX_EPOCH + tls::NOW);
        set_now(1_500_000_001);
        assert_eq!(begin.elapsed(), Duration::from_nanos(1_500_000_001));
        let seconds = 1 + tls::NOW.as_secs() as time_t;
        // SAFETY: both may be null, or point to what is written.
        unsafe {
            assert_eq!(libc::time(std::ptr::null_mut()), seconds);
            let mut time = timeval { tv_sec: 0, tv_usec: 0 };
            assert_eq!(libc::gettimeofday(&mut time, std::ptr::null_mut()), 0);
            assert_eq!((time.tv_sec, time.tv_usec), (seconds, 500_000));
        }
    }

    #[test]
    fn system_calls_of_other_numbers_are_done() {
        // SAFETY: calls without memory.
        unsafe {
            assert_eq!(libc::syscall(libc::SYS_getpid), c_long::from(std::process::id()));
            assert_eq!(libc::syscall(libc::SYS_close, -1), -1);
        }
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn random_bytes_are_no_ones_but_the_seeds() {
        let mut bytes = [1; 8];
        // SAFETY: a buffer and its length. Without a seed the unit tests have zeros.
        let ways: [unsafe fn(*mut u8) -> c_long; 3] = unsafe {
            [
                |bytes| libc::getrandom(bytes.cast(), 8, 0) as c_long,
                |bytes| libc::syscall(libc::SYS_getrandom, bytes, 8, 0),
                |bytes| c_long::from(libc::getentropy(bytes.cast(), 8)) + 8,
            ]
        };
        for way in ways {
            bytes.fill(1);
            // SAFETY: as above.
            assert_eq!(unsafe { way(bytes.as_mut_ptr()) }, 8);
            assert_eq!(bytes, [0; 8]);
        }
    }
}
