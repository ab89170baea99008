//! Asking again and again.

use quiclab_units::{Duration, Time};
use serde::Serialize;

/// Targets that are asked equally often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name that the user gives it.
    pub name: String,
    /// Time between two connections of a target, more than zero.
    pub every: Duration,
    /// How many targets it has.
    pub targets: u64,
}

/// One connection that is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Index of the group.
    pub group: usize,
    /// Index of the target in its group.
    pub target: u64,
    /// Which connection of this target it is, counted from 0, with those that were missed.
    pub round: u64,
    /// When it should have started.
    pub at: Time,
}

/// Connections that did not start, since nobody asked for them in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Missed {
    /// Index of the group.
    pub group: usize,
    /// How many.
    pub count: u64,
    /// When the first should have started, in nanoseconds from the start of the scan.
    pub from_ns: u64,
    /// When the last should have.
    pub to_ns: u64,
}

/// A schedule that spreads the targets of a group evenly over its time, and that catches up nothing.
///
/// Times count from the start of the scan, by a clock that goes on while the machine sleeps. What is late by more than the
/// [grace](Self::grace) of its group is missed, and reported by [`missed`](Self::missed).
#[derive(Clone, Debug)]
pub struct Schedule {
    groups: Vec<State>,
    missed: Vec<Missed>,
}

#[derive(Clone, Debug)]
struct State {
    group: Group,
    /// Connections of the group that were started or missed.
    next: u64,
    /// Connections that the group has in all.
    end: u64,
}

impl Schedule {
    /// A schedule of some groups, which starts at zero. `length`: how long it goes on; nothing starts at its end.
    ///
    /// A group without targets or time has no connections.
    pub fn new(groups: Vec<Group>, length: Duration) -> Self {
        let end = Time::from_nanos(length.as_nanos());
        let state = |group: Group| State { end: group.before(end), group, next: 0 };
        Self { groups: groups.into_iter().map(state).collect(), missed: Vec::new() }
    }

    /// How late a connection of a group may start: a second, or half of the time between two of a target if that is shorter.
    pub fn grace(group: &Group) -> Duration {
        Duration::from_nanos((group.every.as_nanos() / 2).min(1_000_000_000))
    }

    /// The next connection if it is due. Of several the one that has waited longest, of these the one whose group comes first.
    pub fn poll(&mut self, now: Time) -> Option<Due> {
        self.skip(now);
        let (index, at) = self.first()?;
        if at > now {
            return None;
        }
        let state = &mut self.groups[index];
        let (round, target) = (state.next / state.group.targets, state.next % state.group.targets);
        state.next += 1;
        Some(Due { group: index, target, round, at })
    }

    /// When the next connection is due. `None`: the schedule is over.
    pub fn next_at(&self) -> Option<Time> {
        self.first().map(|(_, at)| at)
    }

    /// What was missed since the last call, in the order in which it was noticed.
    pub fn missed(&mut self) -> Vec<Missed> {
        std::mem::take(&mut self.missed)
    }

    /// How many connections of each group were started or missed: what [`resume`](Self::resume) takes.
    pub fn positions(&self) -> Vec<u64> {
        self.groups.iter().map(|state| state.next).collect()
    }

    /// Goes on where an earlier process stood. What was due since then is missed at the next [`poll`](Self::poll).
    ///
    /// Positions beyond the end mean the end, and those of groups that do not exist mean nothing: a file is not trusted.
    pub fn resume(&mut self, positions: &[u64]) {
        for (state, position) in self.groups.iter_mut().zip(positions) {
            state.next = (*position).min(state.end);
        }
    }

    fn first(&self) -> Option<(usize, Time)> {
        let remaining = self.groups.iter().enumerate().filter(|(_, state)| state.next < state.end);
        remaining.map(|(index, state)| (state.group.time(state.next), index)).min().map(|(at, index)| (index, at))
    }

    /// Passes over what is too late.
    fn skip(&mut self, now: Time) {
        for (index, state) in self.groups.iter_mut().enumerate() {
            let grace = Self::grace(&state.group).as_nanos();
            let Some(latest) = now.as_nanos().checked_sub(grace) else { continue };
            let next = state.group.before(Time::from_nanos(latest)).min(state.end);
            if next <= state.next {
                continue;
            }
            let missed = Missed {
                group: index,
                count: next - state.next,
                from_ns: state.group.time(state.next).as_nanos(),
                to_ns: state.group.time(next - 1).as_nanos(),
            };
            state.next = next;
            self.missed.push(missed);
        }
    }
}

impl Group {
    /// When a connection of the group is due, by its number. Saturates.
    fn time(&self, number: u64) -> Time {
        let nanos = u128::from(number) * u128::from(self.every.as_nanos()) / u128::from(self.targets.max(1));
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many connections are due before a time.
    fn before(&self, time: Time) -> u64 {
        let Some(every) = std::num::NonZero::new(u128::from(self.every.as_nanos())) else { return 0 };
        // The time of a number is rounded down, so number · every / targets < time says the same without rounding.
        let number = (u128::from(time.as_nanos()) * u128::from(self.targets)).div_ceil(every.get());
        u64::try_from(number).unwrap_or(u64::MAX)
    }
}

/// The day of a time in UTC, as in 2026-11-25: the name of a folder. `seconds`: since 1970-01-01 00:00 UTC, without leap seconds.
pub fn utc_day(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    const ERA: u64 = 146_097;
    // Days from 0000-03-01, so that the day of a leap year is the last one of its year, and 400 years are an era.
    let days = seconds / DAY + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March have 31, 30, 31, 30, 31 days, again and again.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const MINUTE: u64 = 60 * SECOND;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn group(name: &str, every: u64, targets: u64) -> Group {
        Group { name: name.into(), every: Duration::from_nanos(every), targets }
    }

    #[test]
    fn two_groups_with_their_own_rates_get_what_they_ask_for() {
        let groups = vec![group("popular", SECOND, 2), group("unpopular", MINUTE, 3)];
        let mut schedule = Schedule::new(groups, Duration::from_secs(600));
        let mut counts = [[0_u64; 3]; 2];
        let mut last = [[None; 3]; 2];
        while let Some(now) = schedule.next_at() {
            let due = schedule.poll(now).unwrap();
            assert_eq!(due.at, now);
            let (group, target) = (due.group, due.target as usize);
            assert_eq!(due.round, counts[group][target]);
            counts[group][target] += 1;
            if let Some(before) = last[group][target].replace(now.as_nanos()) {
                assert_eq!(now.as_nanos() - before, [SECOND, MINUTE][group]);
            }
        }
        assert_eq!(counts, [[600, 600, 0], [10, 10, 10]]);
        assert!(schedule.missed().is_empty());
    }

    #[test]
    fn after_a_pause_nothing_is_caught_up_and_all_of_it_is_told() {
        let mut schedule =
            Schedule::new(vec![group("a", SECOND, 1), group("b", MINUTE, 60)], Duration::from_secs(7200));
        let mut started = 0;
        let mut run = |schedule: &mut Schedule, from: u64, to: u64| {
            let (mut now, mut most_at_once) = (from, 0);
            while now < to {
                let mut at_once = 0;
                while schedule.poll(at(now)).is_some() {
                    at_once += 1;
                }
                started += at_once;
                most_at_once = most_at_once.max(at_once);
                let Some(next) = schedule.next_at() else { break };
                now = next.as_nanos();
            }
            most_at_once
        };
        assert_eq!(run(&mut schedule, 0, 600 * SECOND), 2);
        // An hour in which nobody asks, and which ends within a second.
        assert!(run(&mut schedule, 4200 * SECOND + SECOND / 4, 8000 * SECOND) <= 3);
        let missed = schedule.missed();
        assert_eq!(missed.len(), 2);
        assert_eq!(missed[0].from_ns, 600 * SECOND);
        assert_eq!((missed[0].count, missed[0].to_ns), (3600, 4199 * SECOND));
        let of_both: u64 = missed.iter().map(|missed| missed.count).sum();
        assert_eq!(started + of_both, 2 * 7200, "all that is not started is told");
        assert_eq!(schedule.poll(at(u64::MAX)), None);
        assert!(schedule.missed().is_empty() && schedule.next_at().is_none());
    }

    #[test]
    fn what_is_a_little_late_starts_and_what_is_later_is_missed() {
        let mut schedule = Schedule::new(vec![group("a", MINUTE, 1)], Duration::from_secs(600));
        assert_eq!(schedule.poll(at(SECOND)).map(|due| due.round), Some(0), "just inside the grace");
        assert_eq!(schedule.poll(at(MINUTE + SECOND + 1)), None, "just outside");
        assert_eq!(schedule.missed(), [Missed { group: 0, count: 1, from_ns: MINUTE, to_ns: MINUTE }]);
    }

    #[test]
    fn a_new_process_goes_on_and_misses_what_was_due_meanwhile() {
        let groups = vec![group("a", SECOND, 2)];
        let mut first = Schedule::new(groups.clone(), Duration::from_secs(60));
        while first.poll(first.next_at().unwrap()).is_some() {
            if first.positions() == [20] {
                break;
            }
        }
        let mut second = Schedule::new(groups, Duration::from_secs(60));
        second.resume(&[20, 7]);
        assert_eq!(second.poll(at(30 * SECOND)).map(|due| (due.round, due.target)), Some((29, 1)));
        assert_eq!(second.missed()[0].count, 39);
        second.resume(&[u64::MAX]);
        assert_eq!(second.next_at(), None);
    }

    #[test]
    fn a_clock_that_goes_back_asks_nobody_twice_and_empty_groups_nobody() {
        let mut schedule = Schedule::new(
            vec![group("none", SECOND, 0), group("timeless", 0, 5), group("a", SECOND, 1)],
            Duration::from_secs(10),
        );
        assert_eq!(schedule.poll(at(0)).map(|due| due.group), Some(2));
        assert_eq!(schedule.poll(at(SECOND)).map(|due| due.round), Some(1));
        assert_eq!(schedule.poll(at(0)), None);
        assert_eq!(schedule.poll(at(SECOND)), None);
        assert_eq!(schedule.next_at(), Some(at(2 * SECOND)));
    }

    #[test]
    fn the_largest_numbers_neither_overflow_nor_loop() {
        let mut schedule = Schedule::new(vec![group("a", 1, u64::MAX)], Duration::from_nanos(u64::MAX));
        assert_eq!(schedule.poll(at(0)).map(|due| due.target), Some(0));
        assert_eq!(schedule.poll(at(u64::MAX)), None);
        assert_eq!(schedule.missed()[0].count, u64::MAX - 1);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_709_164_800, "2024-02-29"),
            (1_722_988_800, "2024-08-07"),
            (1_798_761_599, "2026-12-31"),
            (4_107_542_400, "2100-03-01"),
            (4_107_456_000, "2100-02-28"),
        ] {
            assert_eq!(utc_day(seconds), day);
        }
        // The rule of the Gregorian calendar, counted day by day.
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for number in 0..60_000_u64 {
            assert_eq!(utc_day(number * 86_400), format!("{year:04}-{month:02}-{day:02}"));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, 28 + u32::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
