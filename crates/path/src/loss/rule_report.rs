//! What a rule that chooses datagrams by their content did.

use crate::content::rule::MatchCounts;

/// What a rule did in a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The rule.
    pub rule: String,
    /// Its counts.
    pub counts: MatchCounts,
    /// How many datagrams it was to drop at least.
    pub at_least: Option<u64>,
    /// How many datagrams it was to drop at most.
    pub at_most: Option<u64>,
}

impl RuleReport {
    /// Why the run does not count: the rule dropped fewer or more datagrams than the experiment allows.
    pub fn fault(&self) -> Option<String> {
        let Self { rule, counts: MatchCounts { asked, matched, undecided }, .. } = self;
        let (bound, key, hint) = match (self.at_least, self.at_most) {
            (Some(least), _) if *matched < least => (
                format!("at least {least}"),
                "at_least_drops",
                if *undecided > 0 { "; without their keys they cannot be read" } else { "" },
            ),
            (_, Some(most)) if *matched > most => (format!("at most {most}"), "at_most_drops", ""),
            _ => return None,
        };
        Some(format!(
            "drop = {rule:?}: dropped {matched} of {asked} datagrams ({undecided} undecided), expected {bound}{hint}; \
             change the rule, or {key}"
        ))
    }
}
