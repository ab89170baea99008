//! The words of a rule.

use std::fmt;

use super::RuleError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Number(u64),
    Dots,
    Open,
    Close,
}

/// Writes the token as an error shows it.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{word:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Dots => f.write_str("\"..\""),
            Self::Open => f.write_str("\"(\""),
            Self::Close => f.write_str("\")\""),
        }
    }
}

/// Words, numbers and signs with their places, counted in characters from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, RuleError> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let bytes = match first {
            letter if letter.is_whitespace() => letter.len_utf8(),
            '(' | ')' => {
                tokens.push((at, if first == '(' { Token::Open } else { Token::Close }));
                1
            }
            '.' if rest.starts_with("..") => {
                tokens.push((at, Token::Dots));
                2
            }
            letter if is_word(letter) => {
                let bytes = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
                tokens.push((at, word(at, &rest[..bytes])?));
                bytes
            }
            other => {
                let expected = "words, numbers, \"..\" and parentheses".to_owned();
                return Err(RuleError { at, found: format!("{:?}", other.to_string()), expected });
            }
        };
        at += rest[..bytes].chars().count();
        rest = &rest[bytes..];
    }
    Ok(tokens)
}

fn word(at: usize, word: &str) -> Result<Token<'_>, RuleError> {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Token::Word(word));
    }
    let too_large = |_| RuleError { at, found: word.to_owned(), expected: format!("a number up to {}", u64::MAX) };
    word.parse().map(Token::Number).map_err(too_large)
}
