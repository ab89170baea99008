//! Ctrl-C and a polite kill: everything is ended in order. The second one ends this process at once; the kernel then
//! ends its virtual machines. Where nothing is under way yet but reading what a user named, the first one does.

use std::{
    io::Read,
    os::unix::net::UnixStream,
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use quiclab_testbed::perform::Interrupted;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    low_level::pipe,
};

/// Exit status after an interruption, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;
/// How long a reader may take to end by itself: a read of a file comes back, one of a silent pipe does not.
const GRACE: Duration = Duration::from_millis(100);
/// How often it is looked whether a reader is left, once a signal has come.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How many readers there are.
static READING: AtomicUsize = AtomicUsize::new(0);
/// Where the first signal can be waited for, until somebody does.
static WOKEN: Mutex<Option<UnixStream>> = Mutex::new(None);

/// A guard: as long as it lives, a signal ends this process even if a read does not return.
pub struct Reading;

/// Begins to read what a user named, where nothing has to be ended in order.
///
/// The thread that waits for signals is started here and not earlier: only a process with a single thread can change its user namespace.
pub fn reading() -> Reading {
    READING.fetch_add(1, Ordering::SeqCst);
    let unwatched = WOKEN.lock().map_or(None, |mut woken| woken.take());
    if let Some(mut woken) = unwatched {
        // Without it a read ends when it ends.
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if woken.read(&mut [0]).is_ok() {
                end_readers();
            }
        });
    }
    Reading
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A flag that is set by the first signal.
///
/// # Errors
/// What the kernel answers.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (woken, wakes) = UnixStream::pair().context("signal handler")?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone()).context("signal handler")?;
        flag::register(signal, stop.clone()).context("signal handler")?;
        pipe::register(signal, wakes.try_clone().context("signal handler")?).context("signal handler")?;
    }
    if let Ok(mut unwatched) = WOKEN.lock() {
        *unwatched = Some(woken);
    }
    Ok(stop)
}

/// Ends this process as soon as somebody reads and does not end by itself.
fn end_readers() -> ! {
    loop {
        if READING.load(Ordering::SeqCst) > 0 {
            thread::sleep(GRACE);
            if READING.load(Ordering::SeqCst) > 0 {
                status!("quiclab: interrupted");
                process::exit(i32::from(INTERRUPTED));
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// True for an error that comes from a signal.
pub fn is_interruption(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<Interrupted>() == Some(&Interrupted::ByRequest))
}
