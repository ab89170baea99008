//! Rules that say which datagrams are meant: `flight 1 after datagram 1`, `first stream frame`, `probe 2 or handshake_done`.
//!
//! `docs/reference/losses.md` is their reference. A rule is read by [`Rule`]'s `FromStr`; a [`Matcher`] is asked about one datagram after the other, and
//! remembers what it has to: counts and what has been seen, for each connection. Where a packet that matters could not be read, the answer is
//! neither yes nor no: such a datagram does not match, and is counted.

mod ask;
mod parse;
mod tokens;

use std::{collections::BTreeMap, fmt, str::FromStr};

use toml::Value;

use super::{Content, PacketForm};
use crate::spec::value::{SettingValue, unexpected};
pub use parse::RuleError;

/// Connections that a rule keeps a state for. It does not match datagrams of others.
const MAXIMUM_CONNECTIONS: usize = 4096;

/// A rule, as it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    root: Node,
    /// How many parts of it have a state.
    slots: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Or(Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Not(Box<Node>),
    /// The first so many datagrams for which it holds.
    First {
        times: u64,
        of: Box<Node>,
        slot: usize,
    },
    /// The first datagram for which it holds, and all behind it.
    From {
        of: Box<Node>,
        slot: usize,
    },
    Is(Predicate),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Predicate {
    Any,
    Datagram(Counts),
    Connection(Counts),
    Flight { number: Counts, datagram: Counts },
    DataOfFlight(Counts),
    Probe(Counts),
    Repeat,
    Unreadable,
    AcknowledgmentOnly,
    Packet(PacketForm),
    Frame { form: Option<PacketForm>, frame: FramePattern },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FramePattern {
    Crypto(Bytes),
    Stream { id: Option<u64>, bytes: Bytes },
    Named(&'static str),
}

/// Both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    from: u64,
    to: u64,
}

impl Counts {
    const ALL: Self = Self { from: 0, to: u64::MAX };

    fn contains(self, number: u64) -> bool {
        (self.from..=self.to).contains(&number)
    }
}

/// The end is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    from: u64,
    to: u64,
}

impl Bytes {
    const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Whether a frame carries a byte of them. A frame without bytes carries none, unless all are meant.
    fn overlaps(self, offset: u64, length: u64) -> bool {
        self == Self::ALL || (offset < self.to && self.from < offset.saturating_add(length))
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (root, slots) = parse::rule(text)?;
        Ok(Self { text: text.to_owned(), root, slots })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What it asks follows from its text.
impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Rule({:?})", self.text)
    }
}

impl SettingValue for Rule {
    const TAKES: &'static str = "[rule](losses.md)";

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.as_str().ok_or_else(|| unexpected(value, "a rule such as \"flight 1 after datagram 1\""))?;
        text.parse().map_err(|error: RuleError| error.to_string())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::String(self.text.clone()))
    }
}

/// Asks a rule about one datagram after the other.
#[derive(Clone, Debug)]
pub struct Matcher {
    rule: Rule,
    /// States of each connection: a number for each part of the rule that has a state.
    states: BTreeMap<u32, Vec<u64>>,
    counts: MatchCounts,
}

/// What became of the datagrams that a rule was asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// Datagrams that it was asked about.
    pub asked: u64,
    /// Datagrams that it matched.
    pub matched: u64,
    /// Datagrams of which it could not be decided, because a packet could not be read. They count as not matched.
    pub undecided: u64,
}

impl Matcher {
    /// Nothing seen yet.
    pub fn new(rule: Rule) -> Self {
        Self { rule, states: BTreeMap::new(), counts: MatchCounts::default() }
    }

    /// The rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The counts so far.
    pub fn counts(&self) -> MatchCounts {
        self.counts
    }

    /// Whether the rule means this datagram, which comes behind those that it was asked about before.
    pub fn matches(&mut self, content: &Content) -> bool {
        self.counts.asked += 1;
        let is_known = self.states.contains_key(&content.connection) || self.states.len() < MAXIMUM_CONNECTIONS;
        let answer = is_known.then(|| {
            let states = self.states.entry(content.connection).or_insert_with(|| vec![0; self.rule.slots]);
            self.rule.root.ask(content, states)
        });
        match answer.flatten() {
            Some(answer) => {
                self.counts.matched += u64::from(answer);
                answer
            }
            None => {
                self.counts.undecided += 1;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
