//! Words for a POSIX shell.

/// A word as a shell reads it: as it is where it is plain, else between single quotes.
pub fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-=,:+@%".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(quoted("experiments/a.toml"), "experiments/a.toml");
        assert_eq!(quoted("path.rate=40 Mbit/s"), "'path.rate=40 Mbit/s'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
