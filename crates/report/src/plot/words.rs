//! Text of pictures: what XML reads in it, and how wide it is.

/// Width of a character in relation to the size of the font, by class. Those of DejaVu Sans, which is wider than other fonts of its kind: a text
/// in another font takes less space than planned.
const NARROW: f64 = 0.36;
const USUAL: f64 = 0.62;
const CAPITAL: f64 = 0.7;
const WIDE: f64 = 0.95;

/// Text that XML would read as something else.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Width of a text in pixels, at most.
pub(crate) fn width(text: &str, font_size: f64) -> f64 {
    let of = |letter: char| match letter {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '(' | ')' | '-' | '/' => NARROW,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '\u{2026}' => WIDE,
        letter if letter.is_ascii() && !letter.is_ascii_uppercase() => USUAL,
        letter if letter.is_ascii() => CAPITAL,
        // Letters with accents are as wide as without, ideographs a whole square.
        letter if (letter as u32) < 0x1100 => CAPITAL,
        _ => 1.0,
    };
    text.chars().map(of).sum::<f64>() * font_size
}

/// The text, or its beginning and an ellipsis where it would be wider.
pub(crate) fn shortened(text: &str, most: f64, font_size: f64) -> String {
    if width(text, font_size) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if width(&kept, font_size) + width(&format!("{letter}\u{2026}"), font_size) > most {
            break;
        }
        kept.push(letter);
    }
    kept.trim_end().to_owned() + "\u{2026}"
}

/// The size in which a line fits into this width: that of the font, or a smaller one down to half of it.
pub(super) fn fitting(text: &str, most: f64, font_size: f64) -> f64 {
    (font_size * most / width(text, font_size).max(1.0)).clamp(font_size / 2.0, font_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_wide_ends_with_an_ellipsis() {
        assert_eq!(shortened("quiche", 100.0, 12.0), "quiche");
        let short = shortened("quiche with a long name", 60.0, 12.0);
        assert!(short.starts_with("quic") && short.ends_with('\u{2026}') && width(&short, 12.0) <= 60.0, "{short}");
        assert_eq!(fitting("quiche", 1000.0, 12.0), 12.0);
        assert_eq!(fitting("quiche", 1.0, 12.0), 6.0);
    }
}
