//! Numbers as people read them.

/// Four significant digits, no exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_exponent() {
        let shown = [0.0, 1.0, 0.98765, 0.000_123_456, 12.345, 37_212_345.6, -2.5].map(number);
        assert_eq!(shown, ["0", "1", "0.9877", "0.0001235", "12.35", "37212346", "-2.5"]);
    }
}
