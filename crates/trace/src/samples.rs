//! Rows of `samples.parquet`.

use crate::row::row;

/// What was counted of one subject in one step of time. Each field is described in `docs/reference/trace.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// The begin of the step, by the clock of the capture.
    pub time_ns: u64,
    /// The length of the step.
    pub duration_ns: u64,
    /// `server`, `client`, `agent`, or `machine`.
    pub of: &'a str,
    /// `endpoint`, `thread`, `core`, `udp`, `system_calls`, or `events`.
    pub kind: &'a str,
    /// Process of the thread, where the subject is one.
    pub process: Option<u32>,
    /// Number of the thread or the core.
    pub number: Option<u32>,
    /// Name of the thread.
    pub name: Option<&'a str>,
    /// What was counted.
    pub counter: &'a str,
    /// How much.
    pub value: u64,
}

row! {
    /// A sample. Each field is described in `docs/reference/trace.md`.
    struct SampleRow<'a> {
        time_ns: u64,
        duration_ns: u64,
        of: &'a str,
        kind: &'a str,
        process: Option<u32>,
        number: Option<u32>,
        name: Option<&'a str>,
        counter: &'a str,
        value: u64,
    }
}

impl<'a> SampleRow<'a> {
    pub(crate) fn new(sample: &Sample<'a>) -> Self {
        let Sample { time_ns, duration_ns, of, kind, process, number, name, counter, value } = *sample;
        SampleRow { time_ns, duration_ns, of, kind, process, number, name, counter, value }
    }
}
