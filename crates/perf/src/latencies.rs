//! How long exchanges or handshakes took: the files that endpoints write (docs/reference/endpoint-contract.md), several of them together,
//! and what is said of them.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::{Histogram, serialization::Deserializer};
use serde::Serialize;

/// Longest file, in bytes. One of the contract has less than 100 kB, however much was counted.
const LONGEST_FILE: usize = 1 << 20;
/// Most bytes that the content of one is, not compressed.
const MOST_CONTENT: u64 = 4 << 20;
/// Bytes before what is compressed: what it is, and its length.
const COMPRESSED_HEAD: usize = 8;
const COMPRESSED: u32 = 0x1c84_9304;
/// Bytes before the counters: docs of HdrHistogram call them the encoding header.
const HEAD: usize = 40;
const PLAIN: u32 = 0x1c84_9303;
/// The bits of both that say how a counter is written; this is the only way there is.
const WORD_SIZE: u32 = 0xf0;
/// The longest of the words that counters are written as, with every bit set.
const LONGEST_WORD: [u8; 9] = [0xff; 9];
/// Nanoseconds in an hour.
const HOUR: u64 = 3_600_000_000_000;
/// What is above is no hour any more; values are known to a thousandth.
const MOST: u64 = HOUR + HOUR / 500;
/// Decimal digits that are kept.
const DIGITS: u8 = 3;

/// Values of any number of files, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// A file that is not what the contract says.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "found {found}, expected base64 of a compressed HdrHistogram, version 2, with nanoseconds up to an hour (QUICLAB_PERF_LATENCIES)"
)]
pub struct BadLatencies {
    /// What is wrong with it.
    pub found: String,
}

fn bad(found: impl Into<String>) -> BadLatencies {
    BadLatencies { found: found.into() }
}

impl Default for Latencies {
    fn default() -> Self {
        // The bounds are constants that it takes.
        Self(Histogram::new_with_bounds(1, MOST, DIGITS).unwrap_or_else(|error| unreachable!("{error}")))
    }
}

impl Latencies {
    /// Adds what a file says.
    ///
    /// # Errors
    /// Where it is no such file. Nothing is added then.
    pub fn take(&mut self, file: &[u8]) -> Result<(), BadLatencies> {
        if file.len() > LONGEST_FILE {
            return Err(bad(format!("{} bytes", file.len())));
        }
        let bytes = STANDARD.decode(file.trim_ascii()).map_err(|error| bad(format!("no base64: {error}")))?;
        let content = content(&bytes)?;
        check_head(&content)?;
        let found: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &content[..])
            .map_err(|error| bad(format!("no histogram: {error}")))?;
        if found.max() > MOST {
            return Err(bad(format!("a latency of {} ns", found.max())));
        }
        // The sum of all, which need not fit.
        let sum = found.iter_recorded().try_fold(self.0.len(), |sum, one| sum.checked_add(one.count_at_value()));
        if sum.is_none_or(|sum| sum > u64::MAX / 2) {
            return Err(bad("more than fits 63 bits"));
        }
        self.0.add(&found).map_err(|error| bad(format!("what cannot be added: {error}")))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// What is said of them.
    pub fn figures(&self) -> Figures {
        let all = &self.0;
        let some = !all.is_empty();
        // As many that one of them is expected beyond it.
        let percentile = |quantile: f64, fewest| (all.len() >= fewest).then(|| all.value_at_quantile(quantile));
        Figures {
            count: all.len(),
            mean_ns: some.then(|| all.mean()),
            p50_ns: percentile(0.5, 2),
            p90_ns: percentile(0.9, 10),
            p99_ns: percentile(0.99, 100),
            p99_9_ns: percentile(0.999, 1_000),
            p99_99_ns: percentile(0.9999, 10_000),
            max_ns: some.then(|| all.max()),
        }
    }
}

/// What is compressed in `bytes`, if it is not too much.
fn content(bytes: &[u8]) -> Result<Vec<u8>, BadLatencies> {
    let (head, compressed) = bytes.split_at_checked(COMPRESSED_HEAD).ok_or_else(|| bad("less than a head"))?;
    let (kind, length) = (number(head, 0), number(head, 4));
    if kind & !WORD_SIZE != COMPRESSED {
        return Err(bad(format!("the cookie {kind:#x}")));
    }
    if compressed.len() as u64 != u64::from(length) {
        return Err(bad(format!("{} bytes behind a head that says {length}", compressed.len())));
    }
    let mut content = Vec::new();
    let read = ZlibDecoder::new(compressed).take(MOST_CONTENT + 1).read_to_end(&mut content);
    read.map_err(|error| bad(format!("no zlib: {error}")))?;
    if content.len() as u64 > MOST_CONTENT { Err(bad("more than 4 MiB")) } else { Ok(content) }
}

/// Refuses a histogram that would take much memory, whatever it holds.
fn check_head(content: &[u8]) -> Result<(), BadLatencies> {
    if content.len() < HEAD {
        return Err(bad(format!("{} bytes of content", content.len())));
    }
    let (kind, length) = (number(content, 0), number(content, 4));
    if kind & !WORD_SIZE != PLAIN {
        return Err(bad(format!("the inner cookie {kind:#x}")));
    }
    if length as usize != content.len() - HEAD {
        return Err(bad(format!("{} bytes of counters behind a head that says {length}", content.len() - HEAD)));
    }
    let digits = number(content, 12);
    if !(1..=5).contains(&digits) {
        return Err(bad(format!("{digits} significant digits")));
    }
    // A word of these bytes is that many zeros, which the library negates. No number of a histogram has so many bits.
    if content[HEAD..].windows(LONGEST_WORD.len()).any(|bytes| bytes == LONGEST_WORD) {
        return Err(bad("2^63 zeros"));
    }
    Ok(())
}

/// Four bytes in network byte order; 0 where there are fewer.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_be_bytes)
}

/// Nanoseconds, to three digits. `None`: too few to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// How many there were.
    pub count: u64,
    /// Mean of all values.
    pub mean_ns: Option<f64>,
    /// Half of them took at most this.
    pub p50_ns: Option<u64>,
    /// 90 % of them. Needs 10.
    pub p90_ns: Option<u64>,
    /// 99 % of them. Needs 100.
    pub p99_ns: Option<u64>,
    /// 99.9 % of them. Needs 1000.
    #[serde(rename = "p99.9_ns")]
    pub p99_9_ns: Option<u64>,
    /// 99.99 % of them. Needs 10,000.
    #[serde(rename = "p99.99_ns")]
    pub p99_99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

impl Figures {
    /// Percentiles by their names.
    pub fn percentiles(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("p50", self.p50_ns),
            ("p90", self.p90_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p99_9_ns),
            ("p99.99", self.p99_99_ns),
        ]
    }

    /// Why some are missing. `None`: none is.
    pub fn why_missing(&self) -> Option<String> {
        let missing: Vec<_> =
            self.percentiles().iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "{}: not known from {} values; one of them would have to be above it",
                missing.join(", "),
                self.count
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;

    fn file(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
        (STANDARD.encode(bytes) + "\n").into_bytes()
    }

    fn of(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut histogram = Histogram::new_with_bounds(1_000, HOUR, DIGITS).unwrap();
        for value in values {
            histogram.record(value).unwrap();
        }
        file(&histogram)
    }

    fn is_near(found: Option<u64>, expected: u64) -> bool {
        found.is_some_and(|found| found.abs_diff(expected) <= (expected / 500).max(1_000))
    }

    #[test]
    fn percentiles_of_several_files_are_those_of_all_values() {
        let mut latencies = Latencies::default();
        latencies.take(&of((1..=5_000).map(|number| number * 1_000))).unwrap();
        latencies.take(&of((5_001..=10_000).map(|number| number * 1_000))).unwrap();
        let found = latencies.figures();
        let expected = [5_000_000, 9_000_000, 9_900_000, 9_990_000, 9_999_000];
        for ((name, found), expected) in found.percentiles().into_iter().zip(expected) {
            assert!(is_near(found, expected), "{name}: {found:?}, {expected}");
        }
        assert!(
            is_near(found.max_ns, 10_000_000) && is_near(found.mean_ns.map(|mean| mean as u64), 5_000_500),
            "{found:?}"
        );
        assert_eq!((found.count, found.why_missing()), (10_000, None));
    }

    #[test]
    fn too_few_values_have_no_percentile() {
        let of = |count: u64| {
            let mut latencies = Latencies::default();
            latencies.take(&of((0..count).map(|_| 70_000))).unwrap();
            latencies.figures()
        };
        let known = |figures: Figures| figures.percentiles().iter().filter(|(_, value)| value.is_some()).count();
        assert_eq!(
            [0, 1, 2, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000].map(|count| known(of(count))),
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
        );
        assert_eq!((of(0).max_ns, of(0).mean_ns), (None, None));
        let why = of(100).why_missing().unwrap();
        assert!(why.starts_with("p99.9, p99.99: not known from 100 values"), "{why}");
    }

    /// Written by hdrhistogram-go 1.4.0 and by the Python package hdrhistogram 0.10.8, with 30 µs, 7 ms and 2 s in each.
    const FOREIGN: [&str; 2] = [
        "HISTFAAAADB42pJpmSzMwMDAyQABzFDqBQMDs5vBjgUM9h8gIsVMDz2ZupsZmQABAAD//53YB/A=",
        "HISTFAAAACp4nJNpmSzMwMDAyQABzFDqBRC7GexYwGD/ASJSzPTQk6m7mZEJAJ3YB/A=",
    ];

    #[test]
    fn files_of_other_libraries_are_read() {
        let mut latencies = Latencies::default();
        for file in FOREIGN {
            latencies.take(file.as_bytes()).unwrap();
        }
        let found = latencies.figures();
        assert_eq!(found.count, 6);
        assert!(is_near(found.max_ns, 2_000_000_000) && is_near(found.p50_ns, 7_000_000), "{found:?}");
    }

    #[test]
    fn what_is_no_such_file_is_an_error_that_says_why() {
        let error = |file: &[u8]| Latencies::default().take(file).unwrap_err().to_string();
        assert!(error(b"hello!").contains("found no base64: "));
        assert!(error(STANDARD.encode("short").as_bytes()).contains("less than a head"));
        assert!(error(STANDARD.encode("eight characters").as_bytes()).contains("the cookie 0x65696768"));
        assert!(error(&vec![b'A'; LONGEST_FILE + 1]).contains("1048577 bytes"));
        let mut long = Histogram::new_with_bounds(1, 10 * HOUR, DIGITS).unwrap();
        long.record(9 * HOUR).unwrap();
        assert!(error(&file(&long)).contains("a latency of 32"), "{}", error(&file(&long)));
        let mut much = Histogram::new_with_bounds(1, HOUR, DIGITS).unwrap();
        much.record_n(5, 1 << 62).unwrap();
        let mut latencies = Latencies::default();
        latencies.take(&file(&much)).unwrap();
        assert!(latencies.take(&file(&much)).unwrap_err().to_string().contains("63 bits"));
        assert_eq!(latencies.count(), 1 << 62);
    }

    /// A file with this content, whatever that is.
    fn around(content: &[u8]) -> Vec<u8> {
        use std::io::Write;

        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(content).unwrap();
        let compressed = zlib.finish().unwrap();
        let mut bytes = (COMPRESSED | 0x10).to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(compressed.len()).unwrap().to_be_bytes());
        STANDARD.encode([bytes, compressed].concat()).into_bytes()
    }

    fn head(length: u32, digits: u32, low: u64, high: u64) -> Vec<u8> {
        let words = [PLAIN | 0x10, length, 0, digits].map(u32::to_be_bytes).concat();
        let bounds = [low, high, 1.0_f64.to_bits()].map(u64::to_be_bytes).concat();
        [words, bounds].concat()
    }

    #[test]
    fn little_does_not_become_much() {
        let bomb = around(&vec![0; 8 << 20]);
        assert!(bomb.len() < LONGEST_FILE);
        let error = |file: &[u8]| Latencies::default().take(file).unwrap_err().to_string();
        assert!(error(&bomb).contains("more than 4 MiB"));
        assert!(error(&around(&head(u32::MAX, 3, 1, HOUR))).contains("0 bytes of counters"));
        assert!(error(&around(&head(0, 9, 1, HOUR))).contains("9 significant digits"));
        assert!(error(&around(&[head(9, 3, 1, HOUR), vec![0xff; 9]].concat())).contains("found 2^63 zeros"));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Latencies::default().take(&bytes);
            let _ = Latencies::default().take(STANDARD.encode(&bytes).as_bytes());
            let _ = Latencies::default().take(&around(&bytes));
        }

        #[test]
        fn foreign_counters_never_panic(
            counters in prop::collection::vec(any::<u8>(), 0..200),
            digits in 0_u32..7,
            low in prop_oneof![any::<u64>(), 0_u64..5_000],
            high in prop_oneof![any::<u64>(), Just(HOUR)],
        ) {
            let length = u32::try_from(counters.len()).unwrap();
            let _ = Latencies::default().take(&around(&[head(length, digits, low, high), counters].concat()));
        }
    }
}
