//! Numbers of a comparison, for people.

/// The level of an interval that misses with this probability, such as `95 %`.
pub(super) fn level(alpha: f64) -> String {
    let percent = (1.0 - alpha) * 100.0;
    let digits = if alpha >= 0.01 { 1 } else { 2 };
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A p-value.
pub(super) fn p(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// A share as a percentage with a sign: `+4.1 %`.
pub(super) fn percent(share: f64) -> String {
    let text = magnitude(share);
    let sign = if share < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{text}")
}

/// A bound of a change as a percentage, rounded up, at least 0.1 %.
pub(super) fn within(share: f64) -> String {
    let percent = (share.abs() * 100.0).max(0.1);
    let step = 10f64.powf(percent.log10().floor() - 1.0);
    // What is at a step already is not rounded up by the error of the division.
    magnitude((percent / step - 1e-9).ceil() * step / 100.0)
}

/// What became of a mean: `2.8 x` where it more than doubled, otherwise a percentage with a sign.
pub(super) fn change(share: f64) -> String {
    if share >= 1.0 { format!("{:.1} x", 1.0 + share) } else { percent(share) }
}

/// A share as a percentage without a sign, with two digits at least: `0.040 %`, `4.1 %`, `38 %`.
pub(super) fn magnitude(share: f64) -> String {
    let percent = share.abs() * 100.0;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    let digits = (1.0 - percent.log10().floor()).max(0.0) as usize;
    format!("{percent:.digits$} %")
}

/// How many runs have no value, and why; `None` where all have one. `counts` are those that have one.
pub(super) fn missing(counts: [usize; 2], without: [usize; 2], withheld: &[Vec<String>; 2]) -> Option<String> {
    (without != [0, 0]).then(|| {
        let [a, b] = [0, 1].map(|side| format!("{} of {}", without[side], counts[side] + without[side]));
        let mut text = format!("without a value: {a} runs of A, {b} of B");
        for (letter, reasons) in ["A", "B"].into_iter().zip(withheld) {
            for reason in reasons {
                text.push_str(&format!("; {letter}: {reason}"));
            }
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_percentages_have_the_digits_that_matter() {
        assert_eq!([0.05, 0.025, 0.05 / 6.0, 0.05 / 12.0].map(level), ["95 %", "97.5 %", "99.17 %", "99.58 %"]);
        assert_eq!([0.4, -0.041, 0.0013].map(percent), ["+40 %", "\u{2212}4.1 %", "+0.13 %"]);
        assert_eq!(
            [0.0, 0.0112, 0.02, 0.134, 0.5, 1.81].map(within),
            ["0.10 %", "1.2 %", "2.0 %", "14 %", "50 %", "190 %"]
        );
        assert_eq!([1.76, 0.4, -0.5].map(change), ["2.8 x", "+40 %", "\u{2212}50 %"]);
        assert_eq!([0.0004, 0.000_012, 0.0].map(magnitude), ["0.040 %", "0.0012 %", "0 %"]);
        assert_eq!([0.0004, 0.0123].map(p), ["p < 0.001", "p = 0.012"]);
    }
}
