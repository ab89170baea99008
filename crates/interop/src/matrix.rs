//! The verdicts of many pairs.

use std::collections::BTreeMap;

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// Number of the layout that [`Matrix::to_json`] writes.
pub const SCHEMA: u32 = 2;

/// One case of one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Stack of the server.
    pub server: String,
    /// Stack of the client.
    pub client: String,
    /// Name of the case.
    pub case: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Name of the folder with its capture and the endpoints' output; `None` where nothing was kept.
    pub record: Option<String>,
    /// Time from the start of the client to its end; `None` where it never started.
    pub elapsed_ns: Option<u64>,
    /// Goodput of a measurement that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_kbps: Option<u64>,
}

impl Entry {
    /// Time from the start of the client to its end.
    pub fn elapsed(&self) -> Option<Duration> {
        self.elapsed_ns.map(Duration::from_nanos)
    }

    /// Why it failed or cannot be judged; empty where it passed or is not supported.
    pub fn reasons(&self) -> &[String] {
        match &self.verdict {
            Verdict::Failed { reasons } | Verdict::CannotBeJudged { reasons } => reasons,
            Verdict::Succeeded | Verdict::Unsupported { .. } => &[],
        }
    }
}

/// Every case of every pair. Rows are clients and columns are servers, as on the interop runner's page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// [`SCHEMA`]
    pub schema: u32,
    /// Stacks as servers, in the order in which they are shown.
    pub servers: Vec<String>,
    /// Stacks as clients, in the order in which they are shown.
    pub clients: Vec<String>,
    /// Names of the cases, in the order in which they are shown.
    pub cases: Vec<String>,
    /// When the first run began, in seconds since the Unix epoch.
    pub begin_unix_s: u64,
    /// When the last one ended.
    pub end_unix_s: u64,
    /// The entries, in any order; a combination that was not run is absent.
    pub entries: Vec<Entry>,
    /// Stacks that were asked for and are in no row and no column, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// Why text is no matrix.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// No JSON, or not of this layout.
    #[error("not an interop matrix: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    /// Written by another version.
    #[error("found a matrix with schema {found}, expected {SCHEMA}; run the cases again")]
    OtherSchema {
        /// What it says.
        found: u32,
    },
}

impl Matrix {
    /// Nothing run yet.
    pub fn new(servers: Vec<String>, clients: Vec<String>, cases: Vec<String>, begin_unix_s: u64) -> Self {
        Matrix {
            schema: SCHEMA,
            servers,
            clients,
            cases,
            begin_unix_s,
            end_unix_s: begin_unix_s,
            entries: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// The verdict of a case of a pair; `None` where it was not run. The last one where it was run twice.
    pub fn entry(&self, server: &str, client: &str, case: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|it| it.server == server && it.client == client && it.case == case)
    }

    /// The verdicts of a pair, in the order of the cases.
    pub fn pair<'a>(&'a self, server: &'a str, client: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.cases.iter().filter_map(move |case| self.entry(server, client, case))
    }

    /// All verdicts that are shown: those of each client in turn, over the servers and the cases.
    pub fn in_order(&self) -> impl Iterator<Item = &Entry> {
        self.clients.iter().flat_map(|client| self.servers.iter().flat_map(|server| self.pair(server, client)))
    }

    /// The measurements that succeeded, in the order of [`Matrix::in_order`].
    pub fn measured(&self) -> impl Iterator<Item = (&Entry, u64)> {
        self.in_order().filter_map(|entry| Some((entry, entry.goodput_kbps?)))
    }

    /// The matrix as text, which [`Matrix::from_json`] reads.
    pub fn to_json(&self) -> String {
        // No map with other keys than text, no float: nothing that JSON could not hold.
        serde_json::to_string_pretty(self).expect("a matrix is JSON")
    }

    /// Reads what [`Matrix::to_json`] wrote.
    ///
    /// # Errors
    /// [`MatrixError`] where it is something else.
    pub fn from_json(text: &str) -> Result<Self, MatrixError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: u32,
        }
        let Schema { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(MatrixError::OtherSchema { found: schema });
        }
        Ok(serde_json::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use quiclab_wire::Role;

    use super::*;

    fn entry(server: &str, client: &str, case: &str, verdict: Verdict) -> Entry {
        let (server, client, case) = (server.to_owned(), client.to_owned(), case.to_owned());
        Entry { server, client, case, verdict, record: None, elapsed_ns: Some(5), goodput_kbps: None }
    }

    fn matrix() -> Matrix {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut matrix = Matrix::new(names(&["a", "b"]), names(&["c"]), names(&["handshake", "retry"]), 7);
        matrix.entries = vec![
            entry("b", "c", "retry", Verdict::Unsupported { role: Role::Server }),
            entry("b", "c", "handshake", Verdict::Failed { reasons: vec!["no".to_owned()] }),
            entry("a", "c", "handshake", Verdict::Failed { reasons: vec!["no".to_owned()] }),
            entry("a", "c", "handshake", Verdict::Succeeded),
        ];
        matrix
    }

    #[test]
    fn what_was_written_is_read_back() {
        let matrix = matrix();
        assert_eq!(Matrix::from_json(&matrix.to_json()).unwrap(), matrix);
        assert!(matrix.to_json().contains(r#""role": "server""#));
    }

    #[test]
    fn another_layout_is_refused() {
        let text = matrix().to_json().replace("\"schema\": 2", "\"schema\": 1");
        assert!(matches!(Matrix::from_json(&text), Err(MatrixError::OtherSchema { found: 1 })));
        assert!(matches!(Matrix::from_json("{}"), Err(MatrixError::NotUnderstood(_))));
    }

    #[test]
    fn verdicts_come_in_the_order_of_the_table_and_the_last_one_counts() {
        let matrix = matrix();
        let found: Vec<_> =
            matrix.in_order().map(|it| (it.server.as_str(), it.case.as_str(), it.verdict.name())).collect();
        let expected = [("a", "handshake", "succeeded"), ("b", "handshake", "failed"), ("b", "retry", "unsupported")];
        assert_eq!(found, expected);
        assert!(matrix.entry("a", "c", "retry").is_none());
    }
}
