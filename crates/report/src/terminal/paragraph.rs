//! Prose in the terminal.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm, fill};

/// A paragraph of at most so many columns, in which every line but the first is indented. Words are not broken: a path can be copied.
pub fn paragraph(text: &str, columns: u16, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = Options::new(usize::from(columns))
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    fill(text, options)
}

/// Lines of prose, each a paragraph that fits the terminal; as they are where `width` is `None`, so that programs find each in one line.
pub fn paragraphs(text: &str, width: Option<u16>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let indented = |line: &str| line.len() - line.trim_start_matches(' ').len();
    text.lines().map(|line| paragraph(line, width, indented(line) + 2) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_whole_and_a_sentence_does_not() {
        let path = "results/ab/quiche_stack.gso_on-quiche_stack.gso_off/a/quiche-01-1bdf15f93a64d110";
        let text = paragraphs(&format!("  more: quiclab diff {path} and then some words\nshort\n"), Some(40));
        assert_eq!(text, format!("  more: quiclab diff\n    {path}\n    and then some words\nshort\n"));
    }
}
