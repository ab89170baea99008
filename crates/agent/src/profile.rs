//! Where an endpoint spends its CPU time: samples that the kernel takes while it runs, and the functions they lie in.
//!
//! The kernel interrupts an endpoint each time it has used a fixed CPU time. Where time is virtual that is always after the same
//! instruction. [`samples`] reads what the kernel wrote, [`quiclab_symbols`] finds the functions.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    num::NonZeroUsize,
    os::fd::{AsRawFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use quiclab_agent_protocol::{
    places::LOGS,
    profile::{FunctionSamples, KERNEL, PROFILE, Profile},
};
use quiclab_symbols::FunctionNames;

use crate::{
    perf_event::{self, Attributes, INHERIT, TASK_CLOCK, TYPE_SOFTWARE},
    root::Root,
};

mod samples;

/// Room for the records: at 24 bytes each that is 17 s of CPU time at 100 µs.
const RING_BYTES: usize = 4 << 20;
/// Where the page in front of the ring tells how far the kernel has written (`struct perf_event_mmap_page`, `data_head`).
const DATA_HEAD: usize = 1024;
/// Length of the page in front of the ring, in bytes.
const PAGE: usize = 4096;
/// Programs larger than this are not looked into.
const LARGEST_PROGRAM: u64 = 1 << 30;
/// Longest name of a function, in characters.
const LONGEST_NAME: usize = 300;

/// `PERF_SAMPLE_IP` and `PERF_SAMPLE_TID`, in this order in each sample.
const SAMPLE_ADDRESS_AND_PROCESS: u64 = 1 | 2;
/// Bits of [`Attributes::flags`].
const DISABLED: u64 = 1;
const MMAP: u64 = 1 << 8;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const MMAP2: u64 = 1 << 23;

/// Sampling of what the thread that began it starts next.
pub struct Profiler {
    event: OwnedFd,
    memory: NonNull<libc::c_void>,
    period_ns: u64,
}

// SAFETY: the mapping belongs to the process, and only this value reads it.
unsafe impl Send for Profiler {}

impl Profiler {
    /// Prepares the sampling of every process that the calling thread starts from now on: it begins with their first `exec`. A thread of
    /// its own keeps apart what others start.
    ///
    /// # Errors
    /// The kernel's, where it cannot sample or has no memory for the samples.
    pub fn of_this_thread(period_ns: u64) -> io::Result<Self> {
        let attributes = Attributes {
            kind: TYPE_SOFTWARE,
            config: TASK_CLOCK,
            sample_period: period_ns,
            sample_type: SAMPLE_ADDRESS_AND_PROCESS,
            flags: DISABLED | INHERIT | MMAP | ENABLE_ON_EXEC | TASK | MMAP2,
            ..Attributes::default()
        };
        // An inherited event has a ring only on one CPU: the first, and the guest has no other.
        let (this_thread, first_cpu) = (0, 0);
        let event = perf_event::open(attributes, this_thread, Some(first_cpu))?;
        let length = NonZeroUsize::MIN.saturating_add(PAGE + RING_BYTES - 1);
        // SAFETY: a new mapping, which nothing else knows.
        let memory = unsafe {
            mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &event, 0)
        }?;
        Ok(Self { event, memory, period_ns })
    }

    /// What was sampled, when all that was sampled has ended. `root` is where its programs are.
    ///
    /// # Errors
    /// Where the kernel's counter cannot be read.
    pub fn finish(self, root: &Root) -> Result<Profile> {
        let mut count = [0; 8];
        nix::unistd::read(&self.event, &mut count).context("reading the counter of CPU time")?;
        let sampled = samples::read(self.records());
        let mut profile =
            Profile { period_ns: self.period_ns, cpu_ns: u64::from_ne_bytes(count), ..Profile::default() };
        if sampled.lost > 0 || self.records().len() + PAGE > RING_BYTES {
            profile.notes.push(format!(
                "the room for samples was full: those at the end are missing (at least {}); hint: a shorter transfer",
                sampled.lost
            ));
        }
        profile.samples = sampled.kernel + sampled.places.values().flat_map(BTreeMap::values).sum::<u64>();
        if sampled.kernel > 0 {
            profile.functions.push(FunctionSamples { program: KERNEL.into(), function: None, samples: sampled.kernel });
        }
        for (program, places) in sampled.places {
            let named = match has_file(&program) {
                true => functions_of(root, &program, &places).unwrap_or_else(|error| {
                    profile.notes.push(format!("[no symbols] {program}: {error:#}"));
                    BTreeMap::from([(None, places.values().sum())])
                }),
                false => BTreeMap::from([(None, places.values().sum())]),
            };
            let of = |(function, samples)| FunctionSamples { program: program.clone(), function, samples };
            profile.functions.extend(named.into_iter().map(of));
        }
        // Stable: equal ones stay in the order of their names.
        profile.functions.sort_by_key(|one| std::cmp::Reverse(one.samples));
        Ok(profile)
    }

    /// What the kernel has written. Nothing writes any more, and nothing was taken out, so it begins where the ring does.
    fn records(&self) -> &[u8] {
        // SAFETY: the first page is mapped, and the number in it is aligned.
        let head = unsafe { self.memory.cast::<u8>().add(DATA_HEAD).cast::<AtomicU64>().as_ref() };
        let length = head.load(Ordering::Acquire).min(RING_BYTES as u64) as usize;
        // SAFETY: the ring behind the first page is mapped as long as this value lives.
        unsafe { std::slice::from_raw_parts(self.memory.cast::<u8>().add(PAGE).as_ptr(), length) }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory, PAGE + RING_BYTES) };
    }
}

/// Whether it is the path of a file, and not memory without one, such as `[vdso]` and `//anon`.
fn has_file(program: &str) -> bool {
    program.starts_with('/') && !program.starts_with("//")
}

/// Samples by function of a program: `places` are offsets in its file.
fn functions_of(root: &Root, program: &str, places: &BTreeMap<u64, u64>) -> Result<BTreeMap<Option<String>, u64>> {
    let path = root.place(program)?;
    let facts = fs::symlink_metadata(&path).context("cannot be opened")?;
    anyhow::ensure!(facts.is_file(), "is no file");
    anyhow::ensure!(facts.len() <= LARGEST_PROGRAM, "larger than {LARGEST_PROGRAM} bytes");
    let names = FunctionNames::read(&File::open(&path).context("cannot be opened")?).context("is no ELF file")?;
    anyhow::ensure!(!names.is_empty(), "was stripped; hint: build it with symbols (no strip, no -s)");
    let mut found = BTreeMap::new();
    for (place, samples) in places {
        let name = names.at(*place).map(|name| quiclab_symbols::shown(name).chars().take(LONGEST_NAME).collect());
        *found.entry(name).or_default() += samples;
    }
    Ok(found)
}

/// Writes a profile among the logs of its endpoint, which has ended.
///
/// # Errors
/// Where it cannot be written.
pub fn write(profile: &Profile, root: &Root) -> Result<()> {
    let path = root.outside(LOGS).join(PROFILE);
    // What the endpoint put there, a link perhaps, is not followed.
    if fs::symlink_metadata(&path).is_ok() {
        fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    let file = File::create_new(&path).with_context(|| path.display().to_string())?;
    serde_json::to_writer_pretty(io::BufWriter::new(file), profile).context("writing the profile")
}

impl std::fmt::Debug for Profiler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("Profiler").field("event", &self.event.as_raw_fd()).finish_non_exhaustive()
    }
}
