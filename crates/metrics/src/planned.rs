//! Planned send times, joined to packets: `precision_*`.

use std::collections::{BTreeMap, btree_map::Entry};

use quiclab_wire::{ConnectionId, Role, Segment};

use crate::output::RunMetrics;
use crate::samples::Samples;
use crate::warnings::WarningCode;

/// What a planned time belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlannedKey {
    /// Packet number of a 1-RTT packet.
    PacketNumber(u64),
    /// CRC32c of the UDP payload.
    DatagramChecksum(u32),
}

/// When a stack planned to send its packets, in its own clock. The first plan of a packet number counts. Two datagrams with one checksum
/// are found by none: among 11,000 there are such in 1 of 70 transfers, and one wrong pair can be most of a deviation.
#[derive(Clone, Debug, Default)]
pub struct PlannedTimes {
    /// `None`: there are several of that checksum.
    times: BTreeMap<PlannedKey, Option<i64>>,
    packets: usize,
    has_checksums: bool,
    /// The checksum of the packet that was added last.
    latest: Option<PlannedKey>,
}

/// Why a list of planned times cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: found {found:?}, expected {expected}")]
pub struct PlannedListError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl PlannedTimes {
    /// An endpoint's own list: lines of `packet_number,planned_ns` or `crc32c,planned_ns`, under a heading that says which.
    ///
    /// # Errors
    /// [`PlannedListError`] with the first line that is neither.
    pub fn of_list(text: &str) -> Result<Self, PlannedListError> {
        let error = |line: usize, found: &str, expected: &str| PlannedListError {
            line,
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        let mut lines = text.lines().enumerate();
        let heading = lines.next().map(|(_, line)| line.trim()).unwrap_or_default();
        let key: fn(&str) -> Option<PlannedKey> = match heading {
            "packet_number,planned_ns" => |text| text.parse().ok().map(PlannedKey::PacketNumber),
            "crc32c,planned_ns" => |text| {
                let digits = text.strip_prefix("0x").unwrap_or(text);
                u32::from_str_radix(digits, 16).ok().map(PlannedKey::DatagramChecksum)
            },
            other => return Err(error(1, other, "packet_number,planned_ns or crc32c,planned_ns")),
        };
        let mut times = PlannedTimes::default();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let parsed = line
                .trim()
                .split_once(',')
                .and_then(|(first, second)| Some((key(first.trim())?, second.trim().parse::<i64>().ok()?)));
            let Some((key, planned)) = parsed else {
                let expected = format!("{heading}, whole numbers (crc32c in hexadecimal)");
                return Err(error(number + 1, line, &expected));
            };
            times.insert(&[key], planned);
        }
        Ok(times)
    }

    /// Adds a packet, by all that it can be found by. The zero of the clock does not matter, as long as it is the same for
    /// all.
    pub fn insert(&mut self, keys: &[PlannedKey], time_ns: i64) {
        let checksum = keys.iter().find(|key| matches!(key, PlannedKey::DatagramChecksum(_))).copied();
        // Packets of one datagram are logged one after the other.
        let is_part = checksum.is_some() && checksum == self.latest;
        self.latest = checksum;
        self.has_checksums |= checksum.is_some();
        let mut is_new = false;
        for key in keys {
            match self.times.entry(*key) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Some(time_ns));
                    is_new = true;
                }
                Entry::Occupied(mut occupied) if Some(*key) == checksum && !is_part => {
                    if *occupied.get() != Some(time_ns) {
                        occupied.insert(None);
                        is_new = true;
                    }
                }
                Entry::Occupied(_) => {}
            }
        }
        self.packets += usize::from(is_new && !is_part);
    }

    /// Datagrams in it.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether datagrams must be summed up to be found.
    pub(crate) fn has_checksums(&self) -> bool {
        self.has_checksums
    }

    /// When the packet was planned to be sent, by the plan's own clock. `None`: not known, or not of one packet alone.
    pub fn of(&self, key: PlannedKey) -> Option<i64> {
        self.times.get(&key).copied().flatten()
    }

    /// When a datagram was planned, by the checksum of its payload. `None` where some of it was not captured.
    pub fn of_datagram(&self, datagram: &Segment) -> Option<i64> {
        let is_whole = datagram.payload.len() == datagram.payload_length as usize;
        if !self.has_checksums || !is_whole {
            return None;
        }
        self.of(PlannedKey::DatagramChecksum(crc32c::crc32c(datagram.payload)))
    }
}

/// The planned times of one end of one connection.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which end planned.
    pub sender: Role,
    /// Destination connection ID of the client's first Initial. `None`: not known, and then the plan is taken for the
    /// first flow at each tap.
    pub original_destination_connection_id: Option<ConnectionId>,
    /// The times.
    pub times: PlannedTimes,
}

/// The plan of a sender, by connection ID, or the only one there is for the first flow at a tap.
pub(crate) fn plan_of(plans: &[Plan], sender: Role, is_first: bool, id: Option<ConnectionId>) -> Option<&PlannedTimes> {
    let of_sender = || plans.iter().filter(|plan| plan.sender == sender && !plan.times.is_empty());
    let by_id = of_sender().find(|plan| id.is_some() && plan.original_destination_connection_id == id);
    // Behind a Retry an end may name another ID than the first.
    let only = || (is_first && of_sender().count() == 1).then(|| of_sender().next()).flatten();
    by_id.or_else(only).map(|plan| &plan.times)
}

/// Differences between the tap and the plan.
#[derive(Clone, Default)]
pub(crate) struct PrecisionMeter {
    /// Difference of the first joined packet, in ns: differences are counted from it, so that clocks may differ.
    offset_ns: Option<i128>,
    smallest: i128,
    differences: Vec<i64>,
    count: u64,
    mean: f64,
    squares: f64,
}

/// Differences kept for the distribution.
const MOST_DIFFERENCES: usize = 1 << 20;

impl PrecisionMeter {
    pub(crate) fn on_packet(&mut self, actual_ns: u64, planned_ns: i64) {
        let difference = i128::from(actual_ns) - i128::from(planned_ns);
        let offset = *self.offset_ns.get_or_insert(difference);
        let relative = difference - offset;
        self.smallest = self.smallest.min(relative);
        if self.differences.len() < MOST_DIFFERENCES
            && let Ok(relative) = i64::try_from(relative)
        {
            self.differences.push(relative);
        }
        self.count += 1;
        let distance = relative as f64 - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (relative as f64 - self.mean);
    }

    pub(crate) fn finish(&self, planned: usize, run: &mut RunMetrics) {
        if planned == 0 {
            return;
        }
        run.metrics.precision_samples = Some(self.count);
        run.metrics.precision_sd_ns = (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt());
        let mut lateness = Samples::default();
        for difference in &self.differences {
            lateness.add(u64::try_from(i128::from(*difference) - self.smallest).unwrap_or(u64::MAX));
        }
        run.distributions.lateness_ns = lateness.log_bins();
        let missing = (planned as u64).saturating_sub(self.count);
        if missing > 0 {
            run.warn(
                WarningCode::PlannedTimesNotJoined,
                format!(
                    "{missing} of {planned} planned send times match no captured packet: is the list from this \
                     connection, and does the capture have packet numbers (keys) or whole payloads (checksums)? \
                     Datagrams with the same checksum are not joined"
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_does_not_depend_on_the_clocks() {
        let late = [0_u64, 1_000, 2_000, 3_000, 4_000];
        let deviation = |clock: i64| {
            let mut meter = PrecisionMeter::default();
            for (packet, late) in late.iter().enumerate() {
                let planned = packet as i64 * 250_000;
                meter.on_packet(1_767_225_600_000_000_000 + planned as u64 + late, planned + clock);
            }
            let mut run = RunMetrics::empty();
            meter.finish(5, &mut run);
            assert_eq!(run.warnings, []);
            assert_eq!(run.distributions.lateness_ns.iter().map(|(_, count)| count).sum::<u64>(), 5);
            run.metrics.precision_sd_ns.unwrap()
        };
        // Variance of 0 to 4 is 10 / 4.
        let expected = 1_000.0 * (2.5_f64).sqrt();
        for clock in [0, -5, i64::MAX / 2] {
            assert!((deviation(clock) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn plans_without_packets_are_told() {
        let mut run = RunMetrics::empty();
        PrecisionMeter::default().finish(3, &mut run);
        assert_eq!(run.warnings[0].code, "planned_times_not_joined");
        assert_eq!(run.metrics.precision_sd_ns, None);
    }

    #[test]
    fn both_kinds_of_lists_are_read() {
        assert_eq!(PlannedTimes::of_list("packet_number,planned_ns\n1,-5\n\n2, 7\n").unwrap().len(), 2);
        assert_eq!(PlannedTimes::of_list("crc32c,planned_ns\n0xDEADbeef,1\nff,2\n").unwrap().len(), 2);
    }

    #[test]
    fn two_datagrams_with_one_checksum_are_not_taken_for_each_other() {
        let times = PlannedTimes::of_list("crc32c,planned_ns\na,1\nb,2\na,300000000\nb,2\na,4\n").unwrap();
        // They count, so that those that are not joined are told of.
        assert_eq!(times.len(), 4);
        assert_eq!(times.of(PlannedKey::DatagramChecksum(10)), None);
        assert_eq!(times.of(PlannedKey::DatagramChecksum(11)), Some(2));
        // Their numbers still tell them apart.
        let mut times = PlannedTimes::default();
        for (number, checksum, time) in [(1, 7, 10), (2, 8, 15), (3, 7, 20)] {
            times.insert(&[PlannedKey::PacketNumber(number), PlannedKey::DatagramChecksum(checksum)], time);
        }
        assert_eq!((times.len(), times.of(PlannedKey::PacketNumber(3))), (3, Some(20)));
        assert_eq!(times.of(PlannedKey::DatagramChecksum(7)), None);
    }

    #[test]
    fn packets_of_one_datagram_are_one() {
        let mut times = PlannedTimes::default();
        times.insert(&[PlannedKey::DatagramChecksum(7)], 10);
        times.insert(&[PlannedKey::PacketNumber(0), PlannedKey::DatagramChecksum(7)], 11);
        assert_eq!((times.len(), times.of(PlannedKey::DatagramChecksum(7))), (1, Some(10)));
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        let error = PlannedTimes::of_list("packet_number,planned_ns\n1,5\n1;6\n").unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("1;6"), "{error}");
        assert!(PlannedTimes::of_list("").unwrap_err().to_string().contains("line 1"));
    }
}
