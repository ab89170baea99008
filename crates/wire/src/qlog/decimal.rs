//! Decimal text to integers, exactly: an `f64` of ms since 1970 would keep a quarter of a microsecond.

/// Digits taken into account. Times in ns since 1970 have 19.
const SIGNIFICANT_DIGITS: u32 = 30;

/// The text of a JSON number, or of a string with a number in it, times `scale`, rounded to the nearest integer (halves
/// away from zero). `None`: no number, or too large.
pub(super) fn scaled(text: &str, scale: u32) -> Option<i128> {
    Some(Decimal::parse(text)?.times(scale)?.0)
}

/// The number as [`scaled`] by 1 gives it, for what can only be whole and not negative; `12.0` is whole, `12.5` is not.
pub(super) fn whole(text: &str) -> Option<u64> {
    let (value, exact) = Decimal::parse(text)?.times(1)?;
    if exact { u64::try_from(value).ok() } else { None }
}

struct Decimal {
    negative: bool,
    digits: u128,
    /// Power of ten of the last digit.
    exponent: i32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).trim();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
            None => (text, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut decimal = Decimal { negative, digits: 0, exponent: i32::from(exponent) };
        let mut significant = 0;
        for (text, step) in [(integer, 0), (fraction, -1)] {
            for byte in text.bytes() {
                let digit = char::from(byte).to_digit(10)?;
                if significant < SIGNIFICANT_DIGITS {
                    significant += u32::from(significant > 0 || digit > 0);
                    decimal.digits = decimal.digits * 10 + u128::from(digit);
                    decimal.exponent = decimal.exponent.checked_add(step)?;
                } else {
                    decimal.exponent = decimal.exponent.checked_add(1 + step)?;
                }
            }
        }
        Some(decimal)
    }

    /// The product, and whether it is exact.
    fn times(&self, scale: u32) -> Option<(i128, bool)> {
        let product = self.digits.checked_mul(u128::from(scale))?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let (magnitude, exact) = match (self.exponent >= 0, power) {
            _ if product == 0 => (0, true),
            (true, Some(power)) => (product.checked_mul(power)?, true),
            (true, None) => return None,
            (false, Some(power)) => {
                (product / power + u128::from(product % power >= power.div_ceil(2)), product % power == 0)
            }
            (false, None) => (0, false),
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some((if self.negative { -magnitude } else { magnitude }, exact))
    }
}

#[cfg(test)]
mod tests {
    use super::{scaled, whole};

    #[test]
    fn milliseconds_since_the_epoch_keep_their_nanoseconds() {
        assert_eq!(scaled("1795251765541.0371", 1_000_000), Some(1_795_251_765_541_037_100));
        assert_eq!(scaled("\"1795251765541037\"", 1_000), Some(1_795_251_765_541_037_000));
    }

    #[test]
    fn noise_of_a_float_is_rounded_away() {
        assert_eq!(scaled("9.143676999999999", 1_000_000), Some(9_143_677));
        assert_eq!(scaled("-0.0000005", 1_000_000), Some(-1));
        assert_eq!(scaled("-0.0000004", 1_000_000), Some(0));
        assert_eq!(scaled("9.5367431640625e-07", 1_000_000), Some(1));
    }

    #[test]
    fn what_is_no_number_or_too_large_is_none() {
        for text in ["", "-", ".", "true", "\"\"", "1e40", "1e99999", "0x10", "1.2.3", "--1"] {
            assert_eq!(scaled(text, 1_000_000), None, "{text}");
        }
        assert_eq!(scaled("0e30000", 1), Some(0));
        assert_eq!(scaled(&format!("0.{}", "9".repeat(1_000)), 1), Some(1));
        assert_eq!(scaled(&"9".repeat(1_000), 1), None);
    }

    #[test]
    fn a_count_is_whole_and_not_negative() {
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole("12000.0"), Some(12_000));
        assert_eq!(whole("12000.5"), None);
        assert_eq!(whole("-1"), None);
        assert_eq!(whole("18446744073709551616"), None);
    }
}
