//! What is wrong with an experiment file, and where.

use std::fmt;

/// A place in a file, both counted from 1; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset in `text`.
    pub fn of_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start_of_line..].chars().count() + 1 }
    }
}

/// What is wrong with an experiment: place, found, expected, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentError {
    /// Name of the file.
    pub file: String,
    /// The place in the file; `None` where no single place is to blame.
    pub place: Option<Place>,
    /// What was found, and what was expected.
    pub message: String,
    /// A way for the user to repair the error.
    pub hint: Option<String>,
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for ExperimentError {}

/// The known name that `found` is most likely a misspelling of, if any is near.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Number of changed letters in a misspelling at most: with more it is another word.
    const NEAR: usize = 3;
    let candidates = known.into_iter().map(|name| (strsim::damerau_levenshtein(found, name), name));
    candidates.filter(|(distance, _)| *distance <= NEAR).min().map(|(_, name)| name)
}

/// The allowed value that `found` is most likely a misspelling of. Values are short, so fewer letters may differ than in a key: one in three.
pub fn nearest_word<'a>(found: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates = allowed.into_iter().map(|word| (strsim::damerau_levenshtein(found, word), word));
    let is_near = |(distance, word): &(usize, &str)| {
        let letters = word.chars().count();
        *distance <= (letters / 3).max(1) && *distance < letters
    };
    candidates.filter(is_near).min().map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one() {
        let text = "a\n\u{e4}b = 1\n";
        assert_eq!(Place::of_offset(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of_offset(text, 4), Place { line: 2, column: 2 });
    }

    #[test]
    fn a_misspelling_finds_its_word_and_another_word_does_not() {
        assert_eq!(nearest("tiemout", ["size", "timeout"]), Some("timeout"));
        assert_eq!(nearest("congestion", ["size", "timeout"]), None);
    }

    #[test]
    fn a_misspelled_value_finds_its_word_and_another_short_value_does_not() {
        assert_eq!(nearest_word("cubci", ["reno", "cubic"]), Some("cubic"));
        assert_eq!(nearest_word("monotinic", ["monotonic", "tai"]), Some("monotonic"));
        assert_eq!(nearest_word("off", ["on", "paced"]), None);
        assert_eq!(nearest_word("", ["4", "6"]), None);
    }
}
