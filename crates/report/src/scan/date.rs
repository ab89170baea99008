//! Days of the calendar.

/// Days of four centuries of the Gregorian calendar, after which it repeats.
const DAYS_OF_FOUR_CENTURIES: u64 = 146_097;

/// A day as `2024-08-06`, from its number since 1970, in UTC.
pub(super) fn date(day: u64) -> String {
    let (mut year, mut left) = (1970 + 400 * (day / DAYS_OF_FOUR_CENTURIES), day % DAYS_OF_FOUR_CENTURIES);
    while left >= days_of_year(year) {
        left -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while left >= days_of_month(year, month) {
        left -= days_of_month(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::date;

    /// The numbers are those of `date -u -d DATE +%s` divided by 86400.
    #[test]
    fn days_are_those_of_the_calendar() {
        let days = [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_941, "2024-08-06"),
            (20_088, "2024-12-31"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (146_097, "2370-01-01"),
            (213_503, "2554-07-21"),
        ];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }
}
