//! What a forwarder's report can say, given its order.

use super::{BlobError, shortened};
use crate::{
    forwarder::{Drop, ForwarderReport, LONGEST_DROP_WORDS, MOST_DROPS},
    orders::Orders,
    stage::StageSeen,
};

/// Longest name of a stage, a kind or a cause, in bytes.
const LONGEST_NAME: usize = 1000;
/// Causes, counts and kinds are words of this program.
const LONGEST_WORD: usize = 40;

/// Makes sure that a forwarder with the order in `orders` can have made the report.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(report: &ForwarderReport, orders: &Orders) -> Result<(), BlobError> {
    let Some(order) = &orders.network.forwarder else {
        return Err(wrong("", "one", "none"));
    };
    for (stages, ordered, what) in [
        (&report.to_client, &order.to_client, "stages towards the client"),
        (&report.to_server, &order.to_server, "stages towards the server"),
    ] {
        // A rate and its queue are one stage of the report.
        if stages.len() > ordered.len() {
            return Err(wrong(what, stages.len(), format!("at most {}", ordered.len())));
        }
        stages.iter().try_for_each(check_stage)?;
    }
    if report.drops.len() > MOST_DROPS {
        return Err(wrong("list of drops", report.drops.len(), format!("at most {MOST_DROPS}")));
    }
    report.drops.iter().try_for_each(|drop| check_drop(drop, report))
}

fn check_stage(stage: &StageSeen) -> Result<(), BlobError> {
    check_word("name of a stage", &stage.name, LONGEST_NAME)?;
    check_word("kind of a stage", &stage.kind, LONGEST_WORD)?;
    stage.drops.keys().try_for_each(|cause| check_word("cause of drops", cause, LONGEST_WORD))?;
    stage.counts.keys().try_for_each(|count| check_word("count of a stage", count, LONGEST_WORD))
}

fn check_drop(drop: &Drop, report: &ForwarderReport) -> Result<(), BlobError> {
    let stages = if drop.to_client { report.to_client.len() } else { report.to_server.len() };
    if drop.stage as usize >= stages {
        return Err(wrong("stage of a drop", drop.stage, format!("less than {stages}")));
    }
    check_word("cause of a drop", &drop.cause, LONGEST_WORD)?;
    match &drop.words {
        Some(words) if words.len() > LONGEST_DROP_WORDS => {
            Err(wrong("words of a drop", format!("{} bytes", words.len()), format!("at most {LONGEST_DROP_WORDS}")))
        }
        _ => Ok(()),
    }
}

fn check_word(what: &'static str, word: &str, longest: usize) -> Result<(), BlobError> {
    let is_word =
        word.len() <= longest && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_word {
        return Ok(());
    }
    let found = format!("{:?}", shortened(word));
    Err(wrong(what, found, format!("letters, digits, '-' and '_', {longest} at most")))
}

fn wrong(what: &'static str, found: impl ToString, expected: impl ToString) -> BlobError {
    let what = if what.is_empty() { "as a whole" } else { what };
    BlobError::Forwarder { what, found: found.to_string(), expected: expected.to_string() }
}
