//! Where the CPU time of processes goes: samples of the kernel (perf_event_open(2)), named by the symbols of the kernel and of the files
//! that the processes run.
//!
//! Call order: [`Profiler::open`] before this process gives up rights; for each test [`Profiler::start`], [`Profiler::take`] at least each
//! 100 ms, [`Profiler::stop`].

mod kernel;
mod maps;
mod names;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    time::Duration,
};

use perf_event_open::{
    config::{CallChain as ChainOptions, Cpu, Opts, Proc, SampleOn},
    count::Counter,
    event::sw::Software,
    sample::{
        Sampler,
        record::{Priv, Record, sample::CallChain},
    },
};
use serde::Serialize;

use crate::roofline::part::Unmeasured;
use kernel::Kernel;
use maps::Process;
use names::{Code, is_cryptography};

/// Pages of each CPU's buffer, as a power of two: room for a second of samples with their stacks.
const BUFFER: u8 = 7;
/// Frames of the kernel in a sample. From a system call down to the driver there are some 40.
const FRAMES: u16 = 64;
/// Fewest samples of an end that say anything.
const FEWEST: u64 = 100;
/// How many functions are named.
const FUNCTIONS: usize = 10;

/// A function, and how much of the time it was in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// Symbol of the function. Rust's are demangled; the kernel's have "[kernel] " before them.
    pub name: String,
    /// Share of all samples of the end, 0 to 1.
    pub share: f64,
}

/// What an end was doing, in samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// User mode, in a function of cryptography.
    pub cryptography: u64,
    /// User mode, in another function that has a name.
    pub stack: u64,
    /// User mode, in code without names.
    pub unnamed: u64,
    /// Kernel, below a system call that sends.
    pub kernel_send: u64,
    /// Kernel, below a system call that receives.
    pub kernel_receive: u64,
    /// Kernel, anywhere else.
    pub kernel_other: u64,
    /// Samples that the kernel had to drop, of all ends.
    pub lost: u64,
    /// The functions with most samples.
    pub functions: Vec<Function>,
}

impl Profile {
    /// All samples.
    pub fn samples(&self) -> u64 {
        self.user() + self.kernel()
    }

    /// Samples in user mode.
    pub fn user(&self) -> u64 {
        self.cryptography + self.stack + self.unnamed
    }

    /// Samples in the kernel.
    pub fn kernel(&self) -> u64 {
        self.kernel_send + self.kernel_receive + self.kernel_other
    }

    /// Whether there are enough samples.
    pub fn is_enough(&self) -> bool {
        self.samples() >= FEWEST
    }
}

/// Samples what all CPUs do.
pub struct Profiler {
    cpus: Vec<(Counter, Sampler)>,
    kernel: Kernel,
    ends: BTreeMap<usize, EndSamples>,
    /// Which end a process belongs to, by its number.
    owners: HashMap<u32, Option<usize>>,
    processes: HashMap<u32, Process>,
    code: Vec<Code>,
    lost: u64,
}

/// The counts of an end.
#[derive(Default)]
struct EndSamples {
    /// Samples in user mode, by process and address.
    user: HashMap<(u32, u64), u64>,
    /// Samples in the kernel, by the address of the function that was running.
    kernel: HashMap<u64, u64>,
    kernel_send: u64,
    kernel_receive: u64,
    kernel_other: u64,
}

impl Profiler {
    /// Opens a sampler for each CPU, with a sample each `period` of CPU time. Nothing is sampled yet.
    ///
    /// # Errors
    /// Where the kernel does not allow it (`kernel.perf_event_paranoid`), or does not say where its functions are
    /// (`kernel.kptr_restrict`).
    pub fn open(period: Duration) -> Result<Self, Unmeasured> {
        let mut options = Opts::default();
        options.exclude.idle = true;
        options.exclude.hv = true;
        options.sample_on = SampleOn::Count(period.as_nanos() as u64);
        options.sample_format.code_addr = true;
        options.sample_format.call_chain = Some(ChainOptions {
            exclude_user: true,
            exclude_kernel: false,
            defer_user: false,
            max_stack_frames: FRAMES,
        });
        options.record_id_format.task = true;
        let refused = |source: std::io::Error| match source.raw_os_error() {
            Some(number @ (libc::EPERM | libc::EACCES)) => Unmeasured::NotPermitted(number),
            _ => Unmeasured::Io(source),
        };
        let cpus = online()?.into_iter().map(|cpu| {
            let counter = Counter::new(Software::CpuClock, (Proc::ALL, Cpu(cpu)), &options).map_err(refused)?;
            let sampler = counter.sampler(BUFFER)?;
            Ok((counter, sampler))
        });
        let cpus = cpus.collect::<Result<_, Unmeasured>>()?;
        Ok(Self {
            cpus,
            kernel: Kernel::read()?,
            ends: BTreeMap::new(),
            owners: HashMap::new(),
            processes: HashMap::new(),
            code: Vec::new(),
            lost: 0,
        })
    }

    /// Forgets what was sampled, and begins.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn start(&mut self) -> Result<(), Unmeasured> {
        for (_, sampler) in &self.cpus {
            if let Some(records) = sampler.iter() {
                records.for_each(drop);
            }
        }
        (self.ends, self.lost) = (BTreeMap::new(), 0);
        (self.owners, self.processes) = (HashMap::new(), HashMap::new());
        self.code = Vec::new();
        for (counter, _) in &self.cpus {
            counter.enable()?;
        }
        Ok(())
    }

    /// Takes what was sampled. `roots`: for each end the processes that it and all below it belong to.
    pub fn take(&mut self, roots: &[(u32, usize)]) {
        let Self { cpus, kernel, ends, owners, processes, code, lost } = self;
        for (_, sampler) in cpus.iter() {
            let Some(records) = sampler.iter() else { continue };
            for (privilege, record) in records {
                let sample = match record {
                    Record::Sample(sample) => sample,
                    Record::LostRecords(records) => {
                        *lost += records.lost_records;
                        continue;
                    }
                    _ => continue,
                };
                let (Some(task), Some((address, _))) = (sample.record_id.task, sample.code_addr) else { continue };
                let owner = *owners.entry(task.pid).or_insert_with(|| owner_of(task.pid, roots));
                let Some(end) = owner else { continue };
                let end = ends.entry(end).or_default();
                if privilege == Priv::User {
                    *end.user.entry((task.pid, address)).or_default() += 1;
                    processes.entry(task.pid).or_insert_with(|| Process::new(task.pid));
                } else {
                    let is_kernel = |chain: &CallChain| match chain {
                        CallChain::Kernel(frames) => Some(frames.clone()),
                        _ => None,
                    };
                    let frames = sample.call_chain.iter().flatten().find_map(is_kernel).unwrap_or_default();
                    *match kernel.call(&frames) {
                        kernel::Call::Send => &mut end.kernel_send,
                        kernel::Call::Receive => &mut end.kernel_receive,
                        kernel::Call::Other => &mut end.kernel_other,
                    } += 1;
                    *end.kernel.entry(kernel.start_of(address)).or_default() += 1;
                }
            }
        }
        for process in processes.values_mut() {
            process.look(code);
        }
    }

    /// Ends it. Returns what each end was doing, by its number in the `roots` of [`take`](Self::take).
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn stop(&mut self, roots: &[(u32, usize)]) -> Result<BTreeMap<usize, Profile>, Unmeasured> {
        for (counter, _) in &self.cpus {
            counter.disable()?;
        }
        self.take(roots);
        let ends = std::mem::take(&mut self.ends);
        Ok(ends.into_iter().map(|(number, samples)| (number, self.profile(&samples))).collect())
    }

    fn profile(&mut self, samples: &EndSamples) -> Profile {
        let mut profile = Profile {
            kernel_send: samples.kernel_send,
            kernel_receive: samples.kernel_receive,
            kernel_other: samples.kernel_other,
            lost: self.lost,
            ..Profile::default()
        };
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for ((process, address), count) in &samples.user {
            let place = self.processes.get(process).and_then(|process| process.place(*address));
            let found = place.and_then(|(code, offset)| {
                let code = &mut self.code[code];
                Some((code.name_at(offset)?, code.is_all_cryptography()))
            });
            let Some((name, is_cryptography_anyway)) = found else {
                profile.unnamed += count;
                continue;
            };
            let is_cryptography = is_cryptography_anyway || is_cryptography(&name);
            *(if is_cryptography { &mut profile.cryptography } else { &mut profile.stack }) += count;
            *functions.entry(quiclab_symbols::shown(&name)).or_default() += count;
        }
        for (start, count) in &samples.kernel {
            *functions.entry(format!("[kernel] {}", self.kernel.name_at(*start))).or_default() += count;
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let all = profile.samples().max(1) as f64;
        let most = functions.into_iter().take(FUNCTIONS);
        profile.functions = most.map(|(name, count)| Function { name, share: count as f64 / all }).collect();
        profile
    }
}

/// The end of a process: that of the first root among its parents.
fn owner_of(process: u32, roots: &[(u32, usize)]) -> Option<usize> {
    let mut process = process;
    // As deep as no tree of processes is: a number can be given away while this reads.
    for _ in 0..64 {
        if let Some((_, end)) = roots.iter().find(|(root, _)| *root == process) {
            return Some(*end);
        }
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        process = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    }
    None
}

/// CPUs of this machine that run.
fn online() -> Result<Vec<u32>, Unmeasured> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let ranges: Option<Vec<_>> = text.trim().split(',').map(range).collect();
    let all = ranges.map(|ranges| ranges.into_iter().flatten().collect());
    all.ok_or_else(|| Unmeasured::Io(std::io::Error::other(format!("/sys/devices/system/cpu/online: found {text:?}"))))
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        process::{Child, Command},
        thread,
        time::Instant,
    };

    use super::*;
    use crate::roofline::udp;

    /// Spends two thirds of its time in a function whose name is that of a cipher. Each step waits for the product of the one before, which
    /// takes as many cycles in both functions; with a counter in memory the shares differ from processor to processor.
    const PROGRAM: &str = "
        static volatile unsigned long sum;
        #define STEPS(count) unsigned long value = sum; for (int i = 0; i < count; i++) { value *= 2862933555777941757; \
            value += 3037000493; __asm__ volatile(\"\" : \"+r\"(value)); } sum = value
        __attribute__((noinline)) void aes_gcm_encrypt(void) { STEPS(200000); }
        __attribute__((noinline)) void write_packet(void) { STEPS(100000); }
        int main(void) { for (;;) { aes_gcm_encrypt(); write_packet(); } }
    ";

    /// Ends with the test.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn program(folder: &Path, options: &[&str]) -> Running {
        let (source, built) = (folder.join("program.c"), folder.join("program"));
        fs::write(&source, PROGRAM).unwrap();
        let status = Command::new("cc").args(["-O1", "-o"]).arg(&built).arg(&source).args(options).status().unwrap();
        assert!(status.success());
        Running(Command::new(built).spawn().unwrap())
    }

    /// `None`: this machine does not allow it.
    fn profiler() -> Option<Profiler> {
        match Profiler::open(Duration::from_micros(500)) {
            Ok(profiler) => Some(profiler),
            Err(Unmeasured::NotPermitted(number)) => {
                quiclab_testing::skip(format_args!("perf_event_open is not permitted (error {number})"));
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Hundredths of a second of CPU time that a process has used.
    fn ticks(process: u32) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Profiles what runs until each process has used 400 ms of CPU time, which is what samples are of, however long a busy machine needs
    /// for it.
    fn profiles(profiler: &mut Profiler, roots: &[(u32, usize)], mut work: impl FnMut()) -> BTreeMap<usize, Profile> {
        profiler.start().unwrap();
        let (start, before) = (Instant::now(), roots.iter().map(|(process, _)| ticks(*process)).collect::<Vec<_>>());
        while roots.iter().zip(&before).any(|((process, _), before)| ticks(*process) < before + 40) {
            assert!(start.elapsed() < Duration::from_secs(300), "hung: no 400 ms of CPU time in five minutes");
            work();
            profiler.take(roots);
        }
        profiler.stop(roots).unwrap()
    }

    #[test]
    fn functions_of_a_program_have_their_names_and_those_of_a_stripped_one_have_none() {
        if !quiclab_testing::has_program("cc", "gcc") {
            return;
        }
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let Some(mut profiler) = profiler() else { return };
        let (named, stripped) = (program(folders[0].path(), &[]), program(folders[1].path(), &["-s"]));
        let roots = [(named.0.id(), 3), (stripped.0.id(), 8)];
        let found = profiles(&mut profiler, &roots, || thread::sleep(Duration::from_millis(20)));
        let [named, stripped] = [&found[&3], &found[&8]];
        assert!(named.is_enough() && named.lost == 0, "{named:?}");
        let share = named.cryptography as f64 / named.user() as f64;
        assert!((0.55..0.78).contains(&share), "{named:?}");
        let names: Vec<_> = named.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names[..2], ["aes_gcm_encrypt", "write_packet"], "{named:?}");
        assert!(stripped.unnamed > 50 && stripped.cryptography == 0, "{stripped:?}");
    }

    #[test]
    fn system_calls_that_send_are_told_from_those_that_receive() {
        let Some(mut profiler) = profiler() else { return };
        let roots = [(std::process::id(), 0)];
        let found = profiles(&mut profiler, &roots, || {
            udp::measure(1452, udp::Batch::One, Duration::from_millis(50)).unwrap();
        });
        let found = &found[&0];
        // Other tests of this process run at the same time.
        assert!(
            found.kernel_send > 50 && found.kernel_receive > 0 && found.kernel_send > found.kernel_receive,
            "{found:?}"
        );
        assert!(found.functions.iter().any(|function| function.name.starts_with("[kernel] ")), "{found:?}");
    }

    #[test]
    fn a_child_belongs_to_the_end_of_its_parent() {
        let running = Running(Command::new("sleep").arg("1000").spawn().unwrap());
        let (this, child) = (std::process::id(), running.0.id());
        assert_eq!(owner_of(child, &[(this, 3)]), Some(3));
        assert_eq!(owner_of(child, &[(this, 3), (child, 4)]), Some(4));
        assert_eq!(owner_of(this, &[(child, 4)]), None);
    }
}
