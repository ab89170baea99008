//! How long exchanges or handshakes took, in memory that does not grow: an HdrHistogram.

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2DeflateSerializer},
};

/// Those of this process.
pub static LATENCIES: Latencies = Latencies::new();

/// Differences of less are not kept, in nanoseconds.
const LEAST: u64 = 1_000;
/// An hour, in nanoseconds. What is more counts as that.
const MOST: u64 = 3_600_000_000_000;
/// Decimal digits of a value that are kept.
const DIGITS: u8 = 3;

/// Values in nanoseconds.
#[derive(Debug)]
pub struct Latencies(Mutex<Option<Histogram<u64>>>);

impl Latencies {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// One took as long as from `since` until now.
    pub fn since(&self, since: Instant) {
        self.record(since.elapsed());
    }

    /// One took so long.
    pub fn record(&self, took: Duration) {
        let mut histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let took = u64::try_from(took.as_nanos()).unwrap_or(MOST).min(MOST);
        histogram.get_or_insert_with(empty).saturating_record(took);
    }

    /// Writes all to a file, as base64 of the compressed serialisation of HdrHistogram, version 2.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        let written = V2DeflateSerializer::new().serialize(histogram.get_or_insert_with(empty), &mut bytes);
        written.map_err(io::Error::other)?;
        let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::write(path, STANDARD.encode(bytes) + "\n").map_err(at)
    }
}

fn empty() -> Histogram<u64> {
    // The bounds are constants that it takes.
    Histogram::new_with_bounds(LEAST, MOST, DIGITS).unwrap_or_else(|error| unreachable!("{error}"))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::*;
    use crate::testing::Folder;

    #[test]
    fn what_is_written_is_read_by_others() {
        let folder = Folder::new("latencies");
        let path = folder.0.join("file");
        let latencies = Latencies::new();
        let read = || {
            let text = fs::read_to_string(&path).unwrap();
            let bytes = STANDARD.decode(text.trim_end()).unwrap();
            Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]).unwrap()
        };
        latencies.write(&path).unwrap();
        assert_eq!(read().len(), 0);
        for took in [Duration::from_micros(30), Duration::from_millis(7), Duration::MAX] {
            latencies.record(took);
        }
        latencies.write(&path).unwrap();
        let found = read();
        assert_eq!((found.len(), found.low(), found.sigfig()), (3, LEAST, DIGITS));
        assert!(found.max().abs_diff(MOST) <= MOST / 1000, "{}", found.max());
        assert!(found.value_at_quantile(0.5).abs_diff(7_000_000) <= 7_000, "{}", found.value_at_quantile(0.5));
        assert!(latencies.write(&folder.0.join("no/file")).unwrap_err().to_string().contains("no/file: "));
    }
}
