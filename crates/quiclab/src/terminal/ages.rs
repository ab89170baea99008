//! Ages in words.

/// How long ago something was, in the largest unit of which there is one.
pub fn ago(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_readable() {
        assert_eq!(
            [ago(59), ago(60), ago(7199), ago(172_800)],
            ["just now", "1 minute ago", "1 hour ago", "2 days ago"]
        );
    }
}
