//! Times of a trace to integer nanoseconds.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::decimal;
use super::summary::QlogTimeFormat;

const NANOS_PER_MILLI: u32 = 1_000_000;
const NANOS_PER_MICRO: u32 = 1_000;

/// Times later than this (March 1973) are absolute where the file does not say: no trace is three years long.
const ABSOLUTE_FROM_NS: i64 = 100_000_000_000_000_000;

/// How a trace writes times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clock {
    /// `None`: not declared, and no event seen.
    pub format: Option<QlogTimeFormat>,
    /// ns per unit of times and RTTs.
    pub unit_ns: u32,
    /// Time of the event before, for [`QlogTimeFormat::Delta`].
    previous_ns: i64,
}

impl Default for Clock {
    fn default() -> Self {
        // The unit where the file does not say, in every version of the schema.
        Clock { format: None, unit_ns: NANOS_PER_MILLI, previous_ns: 0 }
    }
}

impl Clock {
    /// `None`: no such format.
    pub fn parse_format(name: &str) -> Option<QlogTimeFormat> {
        match name {
            "relative" | "relative_to_epoch" | "relative_time" => Some(QlogTimeFormat::Relative),
            "delta" | "relative_to_previous_event" | "delta_time" => Some(QlogTimeFormat::Delta),
            "absolute" | "absolute_time" => Some(QlogTimeFormat::Absolute),
            _ => None,
        }
    }

    /// ns per unit. `None`: no such unit.
    pub fn parse_unit(name: &str) -> Option<u32> {
        match name {
            "ms" => Some(NANOS_PER_MILLI),
            "us" => Some(NANOS_PER_MICRO),
            _ => None,
        }
    }

    /// Time of the next event, since the trace's time 0. `own_format` is the event's, where it has one.
    pub fn event_ns(&mut self, text: &str, own_format: Option<QlogTimeFormat>) -> Option<i64> {
        let value = self.point_ns(text)?;
        let format = own_format.or(self.format).unwrap_or(if value >= ABSOLUTE_FROM_NS {
            QlogTimeFormat::Absolute
        } else {
            QlogTimeFormat::Relative
        });
        self.format = self.format.or(Some(format));
        let time = match format {
            QlogTimeFormat::Delta => self.previous_ns.checked_add(value)?,
            QlogTimeFormat::Relative | QlogTimeFormat::Absolute => value,
        };
        self.previous_ns = time;
        Some(time)
    }

    /// A time in the trace's unit.
    pub fn point_ns(&self, text: &str) -> Option<i64> {
        i64::try_from(decimal::scaled(text, self.unit_ns)?).ok()
    }

    /// `reference_time` of a trace: a number in the trace's unit (until 0.3), or an object.
    ///
    /// `Ok(None)`: it says that the clock is not tied to 1970, as a number by being too small for a date.
    pub fn reference_ns(&self, text: &str) -> Result<Option<i64>, ()> {
        if text.starts_with('{') {
            let reference: ReferenceTime = serde_json::from_str(text).map_err(drop)?;
            let epoch = reference.epoch.as_deref().unwrap_or("1970-01-01T00:00:00.000Z");
            let date = if epoch == "unknown" { reference.wall_clock_time.as_deref() } else { Some(epoch) };
            return date.map(|date| parse_date(date).ok_or(())).transpose();
        }
        if let Some(date) = serde_json::from_str::<String>(text).ok().and_then(|date| parse_date(&date)) {
            return Ok(Some(date));
        }
        let reference = self.point_ns(text).ok_or(())?;
        Ok((reference >= ABSOLUTE_FROM_NS).then_some(reference))
    }
}

#[derive(Deserialize)]
struct ReferenceTime {
    epoch: Option<String>,
    wall_clock_time: Option<String>,
}

/// The text of a JSON string, or any other value as it stands.
pub(super) fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// RFC 3339 to ns since 1970.
fn parse_date(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let offset_at = time.find(['Z', 'z', '+', '-'])?;
    let (time, offset) = time.split_at(offset_at);
    let offset_minutes = match offset.strip_prefix(['+', '-']) {
        None => 0,
        Some(minutes) => {
            let (hours, minutes) = minutes.split_once(':')?;
            let minutes = i64::from(hours.parse::<u8>().ok()?) * 60 + i64::from(minutes.parse::<u8>().ok()?);
            if offset.starts_with('-') { -minutes } else { minutes }
        }
    };
    let mut clock = time.split(':');
    let (hour, minute) = (clock.next()?.parse::<u32>().ok()?, clock.next()?.parse::<u32>().ok()?);
    let nanos = i64::try_from(decimal::scaled(clock.next()?, 1_000_000_000)?).ok()?;
    if date.next().is_some() || clock.next().is_some() {
        return None;
    }
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || offset_minutes.abs() > 1_440
    {
        return None;
    }
    let minutes = days_since_1970(i64::from(year), i64::from(month), i64::from(day)) * 1_440
        + i64::from(hour) * 60
        + i64::from(minute)
        - offset_minutes;
    minutes.checked_mul(60_000_000_000)?.checked_add(nanos)
}

/// Days of the proleptic Gregorian calendar, counted in years that begin in March, so that a leap day is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let days_before_month = (153 * month_from_march + 2) / 5;
    let days_of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719 468 days lie between 0000-03-01 and 1970-01-01.
    days_of_years + days_before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::{Clock, parse_date};

    #[test]
    fn dates_are_ns_since_1970() {
        for (text, nanos) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00.5Z", 951_825_600_500_000_000),
            ("2026-11-21T09:01:52.394304821Z", 1_795_251_712_394_304_821),
            ("2026-11-21T10:01:52.394304821+01:00", 1_795_251_712_394_304_821),
            ("1969-12-31T23:59:59Z", -1_000_000_000),
        ] {
            assert_eq!(parse_date(text), Some(nanos), "{text}");
        }
        for text in ["", "T", "2026-11-21", "2026-13-21T00:00:00Z", "2026-11-21T00:00:00", "4294967295-01-01T00:00:00Z"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
        // 307 445 734 561 825 861 hours are 44 minutes beyond 2^64.
        for offset in ["307445734561825861:00", "9223372036854775807:00", "00:9223372036854775807", "-1:00"] {
            assert_eq!(parse_date(&format!("2026-11-21T00:00:00+{offset}")), None, "{offset}");
        }
    }

    #[test]
    fn an_object_without_epoch_means_1970() {
        let clock = Clock::default();
        assert_eq!(clock.reference_ns(r#"{"clock_type":"system"}"#), Ok(Some(0)));
        assert_eq!(clock.reference_ns(r#"{"epoch":"unknown"}"#), Ok(None));
        assert_eq!(clock.reference_ns("0"), Ok(None));
        assert_eq!(clock.reference_ns("true"), Err(()));
    }
}
