//! What expectations have to know of runs.

use quiclab_content::Lost;

/// Repetitions of one thing, as expectations see them.
pub(crate) trait Repeated {
    /// A short name, unlike that of every other group.
    fn label(&self) -> &str;

    /// A metric of every run that has it, with the number of the run's repetition.
    fn repetitions(&self, metric: &str) -> Vec<(u32, f64)>;

    /// Whether a run of them is one sample of real time, of which another one would be different.
    fn is_sample(&self) -> bool {
        false
    }

    /// What the path of every run lost, with the number of the run's repetition; `None` where that is not known.
    fn losses(&self) -> Vec<(u32, Option<&Lost>)> {
        Vec::new()
    }
}
