//! Options of a command line that change a plan.

/// The options of a command line that change a plan.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Number of repetitions instead of `workload.repetitions`.
    pub repetitions: Option<u32>,
    /// Settings that a run must have, as (dotted key, value); `stack` stands for `stack.name`.
    pub filters: Vec<(String, String)>,
    /// Settings that replace those of the file and of its profile, as (dotted key, text of the value): TOML, or a text
    /// without its quotes. A list, or values with commas between, becomes an axis of the matrix.
    pub settings: Vec<(String, String)>,
    /// Names of the user's own stacks. Where the file names none of them, they take the place of those that it does name.
    pub own_stacks: Vec<String>,
}
