//! Keeps counters over time within bounds. A counter only grows, so leaving out every other sample loses nothing but detail in time.

use quiclab_agent_protocol::activity::{Series, Subject};

/// Numbers that are kept before samples are thinned out: some 2 MB.
const MOST_NUMBERS: usize = 400_000;

/// The samples so far.
#[derive(Default)]
pub struct Recorder {
    times_ns: Vec<u64>,
    tracks: Vec<Track>,
    numbers: usize,
    /// A step is so many times as long as at first.
    factor: u32,
}

/// Which series a number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackId(usize);

struct Track {
    of: &'static str,
    subject: Subject,
    names: &'static [&'static str],
    /// The sample of its first values.
    first: usize,
    /// What was counted up to each sample from the first one on: for each sample a number for each name.
    values: Vec<u64>,
}

impl Track {
    fn samples(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }

    fn row(&self, sample: usize) -> &[u64] {
        let at = sample * self.names.len();
        self.values.get(at..at + self.names.len()).unwrap_or_default()
    }
}

impl Recorder {
    /// Everything that is added from now on was counted at this time.
    pub fn begin_sample(&mut self, time_ns: u64) {
        self.times_ns.push(time_ns);
    }

    /// Begins a series in the present sample. Where that is the first sample, its first numbers are what it starts from; otherwise it starts
    /// from 0.
    pub fn begin(&mut self, of: &'static str, subject: Subject, names: &'static [&'static str]) -> TrackId {
        let first = self.times_ns.len().saturating_sub(1);
        self.tracks.push(Track { of, subject, names, first, values: Vec::new() });
        TrackId(self.tracks.len() - 1)
    }

    /// A thread has another name now.
    pub fn rename(&mut self, track: TrackId, new: &str) {
        if let Some(Track { subject: Subject::Thread { name, .. }, .. }) = self.tracks.get_mut(track.0) {
            new.clone_into(name);
        }
    }

    /// Adds what was counted up to the present sample. A counter that went back is taken to stand still.
    pub fn push(&mut self, track: TrackId, counted: &[u64]) {
        let Some(track) = self.tracks.get_mut(track.0) else { return };
        debug_assert_eq!(counted.len(), track.names.len());
        let last = track.samples().checked_sub(1).map_or_else(Vec::new, |last| track.row(last).to_vec());
        let grown =
            counted.iter().enumerate().map(|(place, value)| (*value).max(last.get(place).copied().unwrap_or(0)));
        track.values.extend(grown);
        self.numbers += counted.len();
    }

    /// Leaves out every other sample where there are too many. Answers how many of the first steps the next one is to last.
    pub fn thin_out(&mut self) -> u32 {
        self.factor = self.factor.max(1);
        // The last sample stays, so that nothing is lost that has ended since the one before.
        if self.numbers > MOST_NUMBERS && self.times_ns.len() % 2 == 1 && self.times_ns.len() > 2 {
            self.halve();
            self.factor = self.factor.saturating_mul(2);
        }
        self.factor
    }

    fn halve(&mut self) {
        self.times_ns = self.times_ns.iter().copied().step_by(2).collect();
        for track in &mut self.tracks {
            let samples = track.samples();
            let first = track.first.div_ceil(2);
            let mut values = Vec::new();
            // One that ended between two samples that stay has its last numbers in the later one.
            let last = (track.first + samples).saturating_sub(1).div_ceil(2);
            for sample in first..=last {
                let at = (sample * 2 - track.first).min(samples.saturating_sub(1));
                values.extend_from_slice(track.row(at));
            }
            (track.first, track.values) = (first, values);
        }
        self.numbers = self.tracks.iter().map(|track| track.values.len()).sum();
    }

    /// When samples were taken, and what was counted between them.
    pub fn finish(self) -> (Vec<u64>, Vec<Series>) {
        let all = self.tracks.into_iter().map(|track| {
            let starts_in_first = track.first == 0;
            let counters = track.names.iter().enumerate().map(|(place, name)| {
                let counted: Vec<u64> = (0..track.samples()).map(|sample| track.row(sample)[place]).collect();
                let before = if starts_in_first { None } else { Some(0) };
                let before = before.into_iter().chain(counted.iter().copied());
                let after = &counted[usize::from(starts_in_first).min(counted.len())..];
                let grown = before.zip(after).map(|(before, after)| after - before).collect();
                ((*name).to_owned(), grown)
            });
            Series {
                of: track.of.to_owned(),
                counters: counters.collect(),
                first_step: track.first.saturating_sub(1) as u32,
                subject: track.subject,
            }
        });
        let series = all.filter(|series| series.counters.values().any(|values| !values.is_empty())).collect();
        (self.times_ns, series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(series: &Series) -> &[u64] {
        &series.counters["count"]
    }

    #[test]
    fn what_was_there_before_the_first_sample_does_not_count_and_what_began_later_does() {
        let mut recorder = Recorder::default();
        recorder.begin_sample(0);
        let old = recorder.begin("server", Subject::Endpoint, &["count"]);
        recorder.push(old, &[100]);
        recorder.begin_sample(10);
        recorder.push(old, &[103]);
        recorder.begin_sample(20);
        let new = recorder.begin("client", Subject::Endpoint, &["count"]);
        recorder.push(old, &[102]);
        recorder.push(new, &[7]);
        let (times, series) = recorder.finish();
        assert_eq!(times, [0, 10, 20]);
        assert_eq!((series[0].first_step, values(&series[0])), (0, &[3, 0][..]), "a counter does not go back");
        assert_eq!((series[1].first_step, values(&series[1])), (1, &[7][..]));
    }

    #[test]
    fn thinning_out_keeps_every_sum_whenever_a_series_began_and_ended() {
        for samples in [3_usize, 5, 7, 9] {
            for first in 0..samples {
                for end in first + 1..=samples {
                    let mut recorder = Recorder::default();
                    let mut track = None;
                    for sample in 0..samples {
                        recorder.begin_sample(sample as u64);
                        if sample == first {
                            track = Some(recorder.begin("server", Subject::Endpoint, &["count", "other"]));
                        }
                        if (first..end).contains(&sample) {
                            recorder.push(track.unwrap(), &[1 << sample, 1000]);
                        }
                    }
                    let expected = (1_u64 << (end - 1)) - if first == 0 { 1 } else { 0 };
                    recorder.halve();
                    let (times, series) = recorder.finish();
                    assert_eq!(times.len(), samples / 2 + 1);
                    let sum: u64 = series.iter().map(|series| values(series).iter().sum::<u64>()).sum();
                    assert_eq!(sum, expected, "{first}..{end} of {samples}");
                    for series in &series {
                        assert!(series.first_step as usize + values(series).len() < times.len());
                    }
                }
            }
        }
    }

    #[test]
    fn a_long_run_has_longer_steps_and_stays_within_bounds() {
        let mut recorder = Recorder::default();
        let mut factor = 1;
        let mut time = 0;
        let mut track = None;
        for count in 0..600_000_u64 {
            recorder.begin_sample(time);
            let track = *track.get_or_insert_with(|| recorder.begin("server", Subject::Endpoint, &["count"]));
            recorder.push(track, &[count]);
            factor = recorder.thin_out();
            time += u64::from(factor);
        }
        assert!(factor >= 2 && recorder.numbers <= MOST_NUMBERS + 2, "{factor}, {}", recorder.numbers);
        let (times, series) = recorder.finish();
        assert_eq!(values(&series[0]).iter().sum::<u64>(), 599_999);
        let lengths: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(lengths.iter().all(|length| *length == u64::from(factor)), "{:?}", &lengths[lengths.len() - 3..]);
    }
}
