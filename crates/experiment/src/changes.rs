//! What a file, or a command line, sets.

use std::collections::BTreeSet;

use toml::Value;

use crate::{error::Place, scenario::declaration::ALTERNATIVES, text::canonical, value::shown};

/// What a file, or one of its profiles, sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) assignments: Vec<Assignment>,
    /// Axes of the matrix: a key, and its values. No key stands in both.
    pub(crate) matrix: Vec<(String, Vec<Assignment>)>,
    /// Names of the tables in the section that has such, also of those that set nothing.
    pub(crate) named: BTreeSet<String>,
}

/// A setting and its value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The value was written in the file.
    File(Place),
    /// The value was written in a `--set KEY=VALUE`.
    Set,
    /// The value is a stack of the user's own, which replaces the stacks that the file names.
    OwnStack,
}

impl Origin {
    /// The place of the value in the file; `None` for the command line.
    pub(crate) fn place(self) -> Option<Place> {
        match self {
            Origin::File(place) => Some(place),
            Origin::Set | Origin::OwnStack => None,
        }
    }

    /// Returns the words before a message about the value.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Origin::File(_) => "",
            Origin::Set => "--set ",
            Origin::OwnStack => "--stack: ",
        }
    }
}

impl Assignment {
    /// The value as the settings of a run have it as text.
    pub(crate) fn text(&self) -> String {
        self.value.as_str().map_or_else(|| shown(&self.value), canonical)
    }
}

impl Changes {
    /// Both changes together, of which `others` win key by key: a key that they set, or make an axis, loses its value and its axis here. So does
    /// one that says the same in another way, such as a buffer in packets instead of bandwidth-delay products.
    pub(crate) fn overridden_by(self, others: Self) -> Self {
        let is_set = |key: &str| others.values_of(key).next().is_some();
        let is_replaced = |key: &String| {
            let pairs = ALTERNATIVES.iter().filter(|pair| pair.contains(&key.as_str()));
            is_set(key) || pairs.flatten().any(|key| is_set(key))
        };
        let kept = |key: &String| !is_replaced(key);
        let assignments: Vec<_> = self.assignments.into_iter().filter(|set| kept(&set.key)).collect();
        let matrix: Vec<_> = self.matrix.into_iter().filter(|(key, _)| kept(key)).collect();
        Self {
            assignments: assignments.into_iter().chain(others.assignments).collect(),
            matrix: matrix.into_iter().chain(others.matrix).collect(),
            named: self.named.into_iter().chain(others.named).collect(),
        }
    }

    /// The keys that have values.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let own = self.assignments.iter().map(|set| set.key.as_str());
        own.chain(self.matrix.iter().map(|axis| axis.0.as_str()))
    }

    /// All values that a key has, whether by itself or as an axis.
    pub(crate) fn values_of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Assignment> {
        let own = self.assignments.iter().filter(move |set| set.key == key);
        own.chain(self.matrix.iter().filter(move |axis| axis.0 == key).flat_map(|axis| &axis.1))
    }
}
