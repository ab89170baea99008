//! From the text of a rule to the rule.

use super::{
    Bytes, Counts, FramePattern, Node, PacketForm, Predicate,
    tokens::{Token, tokens},
};

/// Longest rule, in bytes.
const MAXIMUM_BYTES: usize = 4096;
/// How deep parentheses, `not`, `first`, `from` and `until` may be nested.
const MAXIMUM_DEPTH: u32 = 64;

/// Frames that rules can name, other than CRYPTO and STREAM, which have bytes, and DATAGRAM, which is `datagram frame`.
pub(super) const FRAMES: [&str; 23] = [
    "ack",
    "ack_frequency",
    "connection_close",
    "data_blocked",
    "handshake_done",
    "immediate_ack",
    "max_data",
    "max_stream_data",
    "max_streams",
    "new_connection_id",
    "new_token",
    "observed_address",
    "padding",
    "path_challenge",
    "path_response",
    "ping",
    "reset_stream",
    "reset_stream_at",
    "retire_connection_id",
    "stop_sending",
    "stream_data_blocked",
    "streams_blocked",
    "time_stamp",
];

const FORMS: [PacketForm; 6] = [
    PacketForm::Initial,
    PacketForm::ZeroRtt,
    PacketForm::Handshake,
    PacketForm::OneRtt,
    PacketForm::Retry,
    PacketForm::VersionNegotiation,
];

const CONDITION: &str = "a condition such as flight, datagram, probe, initial, handshake, 1-rtt, crypto, stream, \
                         handshake_done, acknowledgment only, first, from, until, not or \"(\"";

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: found {found}, expected {expected}")]
pub struct RuleError {
    /// The character at which it is none, counted from 1.
    pub at: usize,
    /// What is there.
    pub found: String,
    /// What could be.
    pub expected: String,
}

/// The rule, and how many parts of it have a state.
pub(super) fn rule(text: &str) -> Result<(Node, usize), RuleError> {
    if text.len() > MAXIMUM_BYTES {
        let found = format!("a rule of {} bytes", text.len());
        return Err(RuleError { at: 1, found, expected: format!("{MAXIMUM_BYTES} bytes at most") });
    }
    let mut parser = Parser { tokens: tokens(text)?, position: 0, end: text.chars().count() + 1, slots: 0, depth: 0 };
    let root = parser.any_of()?;
    match parser.peek() {
        None => Ok((root, parser.slots)),
        Some(_) => Err(parser.unexpected("and, or, or the end of the rule")),
    }
}

struct Parser<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    position: usize,
    /// The place behind the last character.
    end: usize,
    slots: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.position).map(|(_, token)| *token)
    }

    /// Takes the word, if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(Token::Word(word));
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, word: &str) -> Result<(), RuleError> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(&format!("{word:?}"))) }
    }

    fn take_number(&mut self) -> Option<u64> {
        let Some(Token::Number(number)) = self.peek() else { return None };
        self.position += 1;
        Some(number)
    }

    fn take_dots(&mut self) -> bool {
        let is_next = self.peek() == Some(Token::Dots);
        self.position += usize::from(is_next);
        is_next
    }

    /// What comes next is not what is expected.
    fn unexpected(&self, expected: &str) -> RuleError {
        let (at, found) = match self.tokens.get(self.position) {
            None => (self.end, "the end of the rule".to_owned()),
            Some((at, token)) => (*at, token.to_string()),
        };
        RuleError { at, found, expected: expected.to_owned() }
    }

    /// The same of what was taken last.
    fn unexpected_before(&mut self, expected: &str) -> RuleError {
        self.position -= 1;
        self.unexpected(expected)
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// `a or b or c`
    fn any_of(&mut self) -> Result<Node, RuleError> {
        let mut node = self.all_of()?;
        while self.take("or") {
            node = Node::Or(Box::new(node), Box::new(self.all_of()?));
        }
        Ok(node)
    }

    /// `a and b and c`
    fn all_of(&mut self) -> Result<Node, RuleError> {
        let mut node = self.one()?;
        while self.take("and") {
            node = Node::And(Box::new(node), Box::new(self.one()?));
        }
        Ok(node)
    }

    fn one(&mut self) -> Result<Node, RuleError> {
        if self.depth == MAXIMUM_DEPTH {
            return Err(self.unexpected(&format!("{MAXIMUM_DEPTH} levels of nesting at most")));
        }
        self.depth += 1;
        let node = self.one_at_this_depth();
        self.depth -= 1;
        node
    }

    fn one_at_this_depth(&mut self) -> Result<Node, RuleError> {
        if self.peek() == Some(Token::Open) {
            self.position += 1;
            let node = self.any_of()?;
            if self.peek() != Some(Token::Close) {
                return Err(self.unexpected("and, or, or \")\""));
            }
            self.position += 1;
            return Ok(node);
        }
        if self.take("not") {
            return Ok(Node::Not(Box::new(self.one()?)));
        }
        if self.take("first") {
            let times = match self.take_number() {
                Some(0) => return Err(self.unexpected_before("a number from 1")),
                Some(times) => {
                    self.expect("times")?;
                    times
                }
                None => 1,
            };
            let slot = self.slot();
            return Ok(Node::First { times, of: Box::new(self.one()?), slot });
        }
        if self.take("from") {
            let slot = self.slot();
            return Ok(Node::From { of: Box::new(self.one()?), slot });
        }
        if self.take("until") {
            let slot = self.slot();
            return Ok(Node::Not(Box::new(Node::From { of: Box::new(self.one()?), slot })));
        }
        self.predicate().map(Node::Is)
    }

    fn predicate(&mut self) -> Result<Predicate, RuleError> {
        if self.take("any") {
            return Ok(Predicate::Any);
        }
        if self.take("datagram") {
            if self.take("frame") {
                return Ok(Predicate::Frame { form: None, frame: FramePattern::Named("datagram") });
            }
            return Ok(Predicate::Datagram(self.counts()?));
        }
        if self.take("connection") {
            return Ok(Predicate::Connection(self.counts()?));
        }
        if self.take("flight") {
            return self.flight();
        }
        if self.take("data") {
            self.expect("of")?;
            self.expect("flight")?;
            return Ok(Predicate::DataOfFlight(self.counts()?));
        }
        if self.take("probe") {
            let is_number = matches!(self.peek(), Some(Token::Number(_)));
            return Ok(Predicate::Probe(if is_number { self.counts()? } else { Counts::ALL }));
        }
        if self.take("repeat") {
            return Ok(Predicate::Repeat);
        }
        if self.take("unreadable") {
            return Ok(Predicate::Unreadable);
        }
        if self.take("acknowledgment") {
            self.expect("only")?;
            return Ok(Predicate::AcknowledgmentOnly);
        }
        if let Some(form) = FORMS.into_iter().find(|form| self.take(form.name())) {
            return Ok(match self.frame()? {
                Some(frame) => Predicate::Frame { form: Some(form), frame },
                None => {
                    self.take("packet");
                    Predicate::Packet(form)
                }
            });
        }
        match self.frame()? {
            Some(frame) => Ok(Predicate::Frame { form: None, frame }),
            None => Err(self.unexpected(CONDITION)),
        }
    }

    /// `flight 1`, `flight 1 datagram 2..`, `flight 1 after datagram 1`
    fn flight(&mut self) -> Result<Predicate, RuleError> {
        let number = self.counts()?;
        let datagram = if self.take("after") {
            self.expect("datagram")?;
            let Some(last) = self.take_number() else { return Err(self.unexpected("a number")) };
            Counts { from: last.saturating_add(1), to: u64::MAX }
        } else if self.take("datagram") {
            self.counts()?
        } else {
            Counts::ALL
        };
        Ok(Predicate::Flight { number, datagram })
    }

    /// A frame with its bytes; `None` where none comes next.
    fn frame(&mut self) -> Result<Option<FramePattern>, RuleError> {
        let frame = if self.take("crypto") {
            let is_range = matches!(self.peek(), Some(Token::Number(_)));
            FramePattern::Crypto(if is_range { self.bytes()? } else { Bytes::ALL })
        } else if self.take("stream") {
            let id = self.take_number();
            let bytes = if self.take("bytes") { self.bytes()? } else { Bytes::ALL };
            FramePattern::Stream { id, bytes }
        } else if let Some(name) = FRAMES.into_iter().find(|name| self.take(name)) {
            FramePattern::Named(name)
        } else {
            return Ok(None);
        };
        self.take("frame");
        Ok(Some(frame))
    }

    /// `2`, `2..4` (both included), `2..`
    fn counts(&mut self) -> Result<Counts, RuleError> {
        let expected = "a number from 1, or a range such as 2..4 or 2..";
        let from = match self.take_number() {
            Some(0) => return Err(self.unexpected_before(expected)),
            Some(from) => from,
            None => return Err(self.unexpected(expected)),
        };
        if !self.take_dots() {
            return Ok(Counts { from, to: from });
        }
        let to = self.take_number().unwrap_or(u64::MAX);
        if to < from {
            return Err(self.unexpected_before(&format!("a number from {from}")));
        }
        Ok(Counts { from, to })
    }

    /// `1200..2400` (its end not included), `1200..`
    fn bytes(&mut self) -> Result<Bytes, RuleError> {
        let Some(from) = self.take_number() else {
            return Err(self.unexpected("a range of bytes such as 1200..2400 or 1200.."));
        };
        if !self.take_dots() {
            return Err(self.unexpected("\"..\""));
        }
        let to = self.take_number().unwrap_or(u64::MAX);
        if to <= from {
            return Err(self.unexpected_before(&format!("a number from {}", from.saturating_add(1))));
        }
        Ok(Bytes { from, to })
    }
}
