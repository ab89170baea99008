//! What `quiclab analyze` costs, beside tshark on the same files. `make bench`; docs/performance.md quotes it.
//!
//! CPU time of the whole command with one thread, so that it does not matter how many cores share it; then the time that
//! passes with every core, which needs an idle machine.

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Read, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use quiclab_metrics::Summary;
use quiclab_units::Time;
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};

const QUICLAB: &str = env!("CARGO_BIN_EXE_quiclab");
/// One repetition of a published run: headers alone, 75 716 packets.
const PUBLISHED: &[u8] = include_bytes!("../../metrics/tests/data/ngtcp2-cubic-rep1.pcap.gz");
const HEADER_COPIES: u64 = 40;
const FULL_COPIES: u32 = 40;
const RUNS: usize = 5;
/// What the issue of this command asks for.
const PACKETS_PER_SECOND: f64 = 3e6;
const TIMES_TSHARK: f64 = 50.0;
const PAYLOAD_BITS_PER_SECOND: f64 = 1e9;
/// The same on every core, for two or more.
const TIMES_TSHARK_ON_ALL_CORES: f64 = 100.0;
const PAYLOAD_BITS_PER_SECOND_ON_ALL_CORES: f64 = 10e9;
const RESIDENT_MIB: f64 = 200.0;
const LARGE_CAPTURE_BYTES: u64 = 10_000_000_000;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Cost {
    cpu_seconds: f64,
    elapsed_seconds: f64,
    resident_mib: f64,
}

/// CPU seconds with one thread, and seconds that pass with every core.
struct Ours {
    cpu: Summary,
    elapsed: Summary,
}

impl Ours {
    fn measure(file: &Path) -> Result<Self> {
        let analyze = |threads: &[&str]| run(Command::new(QUICLAB).args(["analyze", "--json"]).args(threads).arg(file));
        let cpu = repeat(RUNS, || analyze(&["--threads", "1"]).map(|cost| cost.cpu_seconds))?;
        let elapsed = repeat(RUNS, || analyze(&[]).map(|cost| cost.elapsed_seconds))?;
        report("quiclab analyze --threads 1, CPU s", &cpu);
        report("quiclab analyze on every core, s", &elapsed);
        Ok(Ours { cpu, elapsed })
    }
}

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("analyze");
    fs::create_dir_all(&folder)?;
    headers(&folder)?;
    decryption(&folder)?;
    Ok(())
}

fn headers(folder: &Path) -> Result<()> {
    let file = folder.join("headers.pcapng");
    let packets = write_headers(&file)?;
    println!("{} packets, headers alone, {} MB:", packets, fs::metadata(&file)?.len() / 1_000_000);
    let ours = Ours::measure(&file)?;
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "udp.srcport"];
    let theirs = run(Command::new("tshark").arg("-r").arg(&file).args(fields))?;
    println!("  tshark -T fields: {:.1} CPU s, {:.1} s", theirs.cpu_seconds, theirs.elapsed_seconds);
    let rate = packets as f64 / ours.cpu.median;
    verdict(
        "packets per second of one core, millions",
        rate / 1e6,
        PACKETS_PER_SECOND / 1e6,
        rate >= PACKETS_PER_SECOND,
    );
    let ratio = theirs.cpu_seconds / ours.cpu.median;
    verdict("times as fast as tshark, by CPU time", ratio, TIMES_TSHARK, ratio >= TIMES_TSHARK);
    let ratio = theirs.elapsed_seconds / ours.elapsed.median;
    verdict(
        "times as fast as tshark, on every core",
        ratio,
        TIMES_TSHARK_ON_ALL_CORES,
        ratio >= TIMES_TSHARK_ON_ALL_CORES,
    );
    Ok(())
}

fn decryption(folder: &Path) -> Result<()> {
    let record = record(folder)?;
    let file = folder.join("full.pcapng");
    let payload = write_full(&record, &file, FULL_COPIES)?;
    println!("{FULL_COPIES} connections of 10 MiB, whole packets with keys, {} MB of payload:", payload / 1_000_000);
    let ours = Ours::measure(&file)?;
    let rate = payload as f64 * 8.0 / ours.cpu.median;
    verdict(
        "payload per second of one core, Gbit",
        rate / 1e9,
        PAYLOAD_BITS_PER_SECOND / 1e9,
        rate >= PAYLOAD_BITS_PER_SECOND,
    );
    let rate = payload as f64 * 8.0 / ours.elapsed.median;
    verdict(
        "payload per second on every core, Gbit",
        rate / 1e9,
        PAYLOAD_BITS_PER_SECOND_ON_ALL_CORES / 1e9,
        rate >= PAYLOAD_BITS_PER_SECOND_ON_ALL_CORES,
    );
    let one = folder.join("one.pcapng");
    write_full(&record, &one, 1)?;
    let copies = LARGE_CAPTURE_BYTES / fs::metadata(&one)?.len() + 1;
    let start = Instant::now();
    let mut child =
        Command::new(QUICLAB).args(["analyze", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut pipe = child.stdin.take().ok_or("no pipe")?;
    let bytes = fs::read(&one)?;
    // Sections of pcapng may follow each other, each with interfaces of its own.
    for _ in 0..copies {
        pipe.write_all(&bytes)?;
    }
    drop(pipe);
    let cost = wait(child, start)?;
    println!(
        "the same connection {copies} times, {:.1} GB, from standard input:",
        (copies * bytes.len() as u64) as f64 / 1e9
    );
    verdict("most resident memory, MiB", cost.resident_mib, RESIDENT_MIB, cost.resident_mib <= RESIDENT_MIB);
    println!("  CPU s {:.1}", cost.cpu_seconds);
    Ok(())
}

/// The published capture again and again, each copy behind the one before.
fn write_headers(path: &Path) -> Result<u64> {
    let mut frames = Vec::new();
    let mut reader = CaptureReader::new(PUBLISHED)?;
    while let Some(frame) = reader.next_frame()? {
        frames.push((frame.time.as_nanos(), frame.length, frame.captured.to_vec()));
    }
    let (first, last) = (frames[0].0, frames[frames.len() - 1].0);
    let tap = [TapDescription { name: "tap", snap_length: None }];
    let mut writer = CaptureWriter::new(BufWriter::new(File::create(path)?), &tap, None)?;
    for copy in 0..HEADER_COPIES {
        for (time, length, captured) in &frames {
            let time = Time::from_nanos(time + copy * (last - first + 300_000));
            writer.write_packet(&PacketToWrite {
                time,
                interface: 0,
                frame_length: *length,
                captured,
                direction: None,
            })?;
        }
    }
    writer.finish()?.flush()?;
    Ok(HEADER_COPIES * frames.len() as u64)
}

/// The sender's tap of a record, on many interfaces: each copy is a connection of its own. Gives the bytes of UDP payload.
fn write_full(record: &Path, path: &Path, copies: u32) -> Result<u64> {
    let mut frames = Vec::new();
    let mut reader = CaptureReader::new(File::open(record)?)?;
    let mut payload = 0;
    while let Some(frame) = reader.next_frame()? {
        if frame.interface == 0
            && let Ok(segment) = frame.segment()
        {
            payload += u64::from(segment.payload_length);
            frames.push((frame.time, frame.length, frame.captured.to_vec()));
        }
    }
    let secrets = reader.into_summary().secrets;
    let taps = vec![TapDescription { name: "tap", snap_length: None }; copies as usize];
    let keys = secrets.first().map(|secrets| secrets.data.as_slice());
    let mut writer = CaptureWriter::new(BufWriter::new(File::create(path)?), &taps, keys)?;
    for (time, length, captured) in &frames {
        for interface in 0..copies {
            writer.write_packet(&PacketToWrite {
                time: *time,
                interface,
                frame_length: *length,
                captured,
                direction: None,
            })?;
        }
    }
    writer.finish()?.flush()?;
    Ok(payload * u64::from(copies))
}

/// A record of 10 MiB on the virtual testbed.
fn record(folder: &Path) -> Result<PathBuf> {
    let experiment = folder.join("analyze.toml");
    fs::write(
        &experiment,
        "name = \"bench/analyze\"\ntitle = \"A capture to read\"\n[stack]\nname = \"ngtcp2\"\n[workload]\nsize = \"10 MiB\"\n",
    )?;
    let results = folder.join("results");
    let stacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    let status = Command::new(QUICLAB)
        .arg("run")
        .arg(&experiment)
        .arg("--out")
        .arg(&results)
        .arg("--stacks")
        .arg(&stacks)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("quiclab run failed ({status}): try it by hand on {}", experiment.display()).into());
    }
    for entry in fs::read_dir(&results)? {
        let capture = entry?.path().join("wire.pcapng");
        if capture.is_file() {
            return Ok(capture);
        }
    }
    Err("the run left no capture".into())
}

fn repeat(times: usize, mut measure: impl FnMut() -> Result<f64>) -> Result<Summary> {
    let costs = (0..times).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    Summary::of(costs).ok_or_else(|| "no runs".into())
}

fn run(command: &mut Command) -> Result<Cost> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().ok_or("no pipe")?;
    // Read, not kept: writing to nowhere would be cheaper than what people do.
    let mut buffer = vec![0; 1 << 20];
    while output.read(&mut buffer)? > 0 {}
    wait(child, start)
}

fn wait(child: Child, start: Instant) -> Result<Cost> {
    let mut status = 0;
    // SAFETY: both pointers are to values that live through the call; zero is a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        usage
    };
    let status = std::process::ExitStatus::from_raw(status);
    if !status.success() {
        return Err(format!("the command ended with {status}").into());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost {
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        elapsed_seconds: start.elapsed().as_secs_f64(),
        resident_mib: usage.ru_maxrss as f64 / 1024.0,
    })
}

fn report(what: &str, costs: &Summary) {
    println!(
        "  {what}: median {:.3} ({:.3} to {:.3}, {} runs)",
        costs.median, costs.minimum, costs.maximum, costs.count
    );
}

fn verdict(what: &str, value: f64, limit: f64, holds: bool) {
    println!("  {what}: {value:.2} (asked for {limit:.2}) {}", if holds { "ok" } else { "MISSED" });
}
