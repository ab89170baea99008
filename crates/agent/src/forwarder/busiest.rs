//! The highest rate that a forwarder has carried, so that one that cannot keep up can say what it can do.

use std::fmt;

/// Rates are averages over at least this long.
const WINDOW_NS: u64 = 100_000_000;

/// What was sent in windows of time, and in the busiest of them.
#[derive(Debug, Default)]
pub struct Busiest {
    window: Window,
    best: Option<BusyRate>,
}

#[derive(Debug, Default)]
struct Window {
    start_ns: Option<u64>,
    last_ns: u64,
    frames: u64,
    bytes: u64,
}

/// A rate. Shown as `1.2 Gbit/s, 100000 frames/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusyRate {
    /// Bits per second of frames with their Ethernet headers.
    pub bits_per_second: f64,
    /// A super-packet is one frame.
    pub frames_per_second: f64,
}

impl Busiest {
    /// Counts frames that are sent now, and their bytes.
    pub fn add(&mut self, now_ns: u64, frames: u64, bytes: u64) {
        let start = *self.window.start_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(start) >= WINDOW_NS {
            self.best = self.rate_until(now_ns);
            self.window = Window { start_ns: Some(now_ns), ..Window::default() };
        }
        self.window.last_ns = now_ns;
        self.window.frames += frames;
        self.window.bytes += bytes;
    }

    /// The highest rate so far; `None` before anything was sent at two instants.
    pub fn rate(&self) -> Option<BusyRate> {
        // A window that is still open is too short to be compared with others.
        self.best.or_else(|| self.rate_until(self.window.last_ns))
    }

    fn rate_until(&self, end_ns: u64) -> Option<BusyRate> {
        let elapsed = end_ns.checked_sub(self.window.start_ns?).filter(|elapsed| *elapsed > 0)?;
        let per_second = |count: u64| count as f64 * 1e9 / elapsed as f64;
        let rate = BusyRate {
            bits_per_second: per_second(self.window.bytes * 8),
            frames_per_second: per_second(self.window.frames),
        };
        Some(self.best.filter(|best| best.bits_per_second >= rate.bits_per_second).unwrap_or(rate))
    }
}

impl fmt::Display for BusyRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_second;
        let (number, unit) = if bits < 1e9 { (bits / 1e6, "Mbit/s") } else { (bits / 1e9, "Gbit/s") };
        write!(formatter, "{number:.1} {unit}, {:.0} frames/s", self.frames_per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_tenth_of_a_second_counts_and_idle_time_does_not() {
        let mut busiest = Busiest::default();
        assert_eq!(busiest.rate(), None);
        // 1250 B each 100 us for a second: 100 Mbit/s. Then nothing for 10 s, and the same at a tenth of the rate.
        (0..10_000).for_each(|number| busiest.add(number * 100_000, 1, 1250));
        (0..1_000).for_each(|number| busiest.add(11_000_000_000 + number * 1_000_000, 1, 1250));
        let rate = busiest.rate().unwrap();
        assert!((rate.bits_per_second - 1e8).abs() < 1e6 && (rate.frames_per_second - 1e4).abs() < 100.0, "{rate:?}");
        assert_eq!(rate.to_string(), "100.0 Mbit/s, 10000 frames/s");
    }

    #[test]
    fn a_short_life_has_the_rate_of_all_of_it() {
        let mut busiest = Busiest::default();
        busiest.add(5, 1, 1250);
        assert_eq!(busiest.rate(), None);
        busiest.add(1_000_005, 1, 1250);
        assert_eq!(busiest.rate().unwrap().to_string(), "20.0 Mbit/s, 2000 frames/s");
    }
}
