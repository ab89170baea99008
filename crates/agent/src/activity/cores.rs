//! What each core of the machine spent its time on: `/proc/stat`.

use std::{fs::File, os::unix::fs::FileExt};

use anyhow::{Context, Result};
use quiclab_agent_protocol::activity::Subject;

use super::recorder::{Recorder, TrackId};
use crate::cpu::TICK_NS;

const PATH: &str = "/proc/stat";
/// Counters of a core, in the order of proc_stat(5). Time of guests is part of `user` and `nice`.
const COUNTERS: &[&str] =
    &["user_ns", "nice_ns", "system_ns", "idle_ns", "io_wait_ns", "interrupt_ns", "softirq_ns", "steal_ns"];
/// Bytes of the table that are read: more than the lines of cores take, which come first.
const ROOM: usize = 1 << 17;

/// The table, open.
pub struct Cores {
    file: File,
    tracks: Vec<(u32, TrackId)>,
    buffer: Vec<u8>,
}

impl Cores {
    /// Opens it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn open() -> Result<Self> {
        Ok(Self { file: File::open(PATH).context(PATH)?, tracks: Vec::new(), buffer: vec![0; ROOM] })
    }

    /// Adds what is counted now.
    ///
    /// # Errors
    /// Where it cannot be read or understood.
    pub fn sample(&mut self, recorder: &mut Recorder) -> Result<()> {
        let length = self.file.read_at(&mut self.buffer, 0).context(PATH)?;
        let text = String::from_utf8_lossy(&self.buffer[..length]);
        for line in text.lines().skip(1).take_while(|line| line.starts_with("cpu")) {
            let (core, counted) = of_line(line).with_context(|| format!("{PATH}: found {line:?}"))?;
            let known = self.tracks.iter().find(|(known, _)| *known == core).map(|(_, track)| *track);
            let track = known.unwrap_or_else(|| {
                let track = recorder.begin("machine", Subject::Core { core }, COUNTERS);
                self.tracks.push((core, track));
                track
            });
            recorder.push(track, &counted);
        }
        Ok(())
    }
}

/// A line such as `cpu0 10 20 30 400 5 0 7 0 0 0`: the core, and nanoseconds.
fn of_line(line: &str) -> Option<(u32, Vec<u64>)> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let core = words.next()?.parse().ok()?;
    let counted: Vec<u64> =
        words.take(COUNTERS.len()).map(|word| Some(word.parse::<u64>().ok()? * TICK_NS)).collect::<Option<_>>()?;
    (counted.len() == COUNTERS.len()).then_some((core, counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_eight_times_in_hundredths_of_a_second() {
        let (core, counted) = of_line("cpu12 1 2 3 4 5 6 7 8 9 10").unwrap();
        assert_eq!((core, counted[0], counted[6], counted[7]), (12, 10_000_000, 70_000_000, 80_000_000));
        assert_eq!(of_line("cpu0 1 2 3"), None);
        assert_eq!(of_line("cpu  1 2 3 4 5 6 7 8"), None, "the line of all cores");
    }

    #[test]
    fn this_machine_has_cores_and_their_time_passes() {
        let mut cores = Cores::open().unwrap();
        let mut recorder = Recorder::default();
        let mut times = Vec::new();
        for sample in 0..2 {
            std::thread::sleep(std::time::Duration::from_millis(if sample == 0 { 0 } else { 300 }));
            times.push(std::time::Instant::now());
            recorder.begin_sample(sample);
            cores.sample(&mut recorder).unwrap();
            times.push(std::time::Instant::now());
        }
        // A busy machine may stop this thread within a sample.
        let between = (times[2] - times[1]).as_nanos() as u64..=(times[3] - times[0]).as_nanos() as u64;
        let (_, series) = recorder.finish();
        assert_eq!(series.len(), std::thread::available_parallelism().unwrap().get());
        for series in series {
            let all: u64 = series.counters.values().flatten().sum();
            let (least, most) = (between.start().saturating_sub(150_000_000), between.end() + 150_000_000);
            assert!((least..most).contains(&all), "{all} ns of {between:?} ns: {series:?}");
        }
    }
}
