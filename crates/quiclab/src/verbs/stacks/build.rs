//! `quiclab stacks build`

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Result;
use quiclab_testbed::{stack::Made, stack_store::StackRequest};
use serde_json::json;

use crate::{
    session::{laboratory::open, signals},
    terminal::output,
};

/// Builds stacks. Returns the number of those that could not be built, at most 99.
///
/// # Errors
/// An unknown name, or an interruption.
pub fn build(asked: &[String], stacks: &StackRequest, as_json: bool) -> Result<u8> {
    let laboratory = open(stacks, signals::stop_flag()?)?;
    let names: Vec<_> = match asked {
        [] => laboratory.stack_store.default_builds().map(|manifest| manifest.name.clone()).collect(),
        names => names.to_vec(),
    };
    for name in &names {
        laboratory.stack_store.source(name)?;
    }
    let mut rows = Vec::new();
    let mut failed = 0_usize;
    for name in &names {
        let start = Instant::now();
        // Stacks that are asked for by name are built again with --rebuild even if --stack is there for another one.
        let built = if asked.is_empty() { laboratory.build(name) } else { laboratory.build_named(name) };
        let (outcome, error) = match built {
            Ok(stack) => (Some(stack.made), None),
            Err(error) if signals::is_interruption(&error) => return Err(error),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let seconds = start.elapsed().as_secs_f64();
        failed += usize::from(error.is_some());
        if !as_json {
            let outcome = match (&outcome, &error) {
                (Some(Made::Before { origin: Some(origin), .. }), _) => origin.to_string(),
                (Some(Made::Before { at, from, .. }), _) => format!("from the cache{}", since(*at, from.as_deref())),
                (_, None) => format!("built ({seconds:.1} s)"),
                (_, Some(error)) => format!("FAILED: {error} ({seconds:.1} s)"),
            };
            output::print(&format!("{name}: {outcome}\n"))?;
        }
        let origin = match &outcome {
            Some(Made::Before { origin, .. }) => origin.clone(),
            _ => None,
        };
        let from_cache = outcome.map(|made| made != Made::Now);
        rows.push(json!({
            "stack": name, "seconds": seconds, "from_cache": from_cache, "origin": origin, "error": error,
        }));
    }
    if as_json {
        output::print(&(serde_json::to_string_pretty(&rows)? + "\n"))?;
    }
    Ok(failed.min(99) as u8)
}

/// When and where a build of the cache was made, as far as it is known: ` (built 3 hours ago from stacks/quiche)`.
fn since(at: Option<SystemTime>, from: Option<&Path>) -> String {
    let age = at.and_then(|at| at.elapsed().ok()).map(|age| format!("{} ago", in_words(age)));
    let from = from.map(|from| format!("from {}", from.display()));
    match [age, from].into_iter().flatten().collect::<Vec<_>>().join(" ") {
        unknown if unknown.is_empty() => String::new(),
        known => format!(" (built {known})"),
    }
}

/// A time in its largest whole unit.
fn in_words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_the_cache_says_when_and_where_it_was_made() {
        let at = SystemTime::now() - Duration::from_secs(2 * 3600 + 5);
        assert_eq!(since(Some(at), Some(Path::new("stacks/x"))), " (built 2 hours ago from stacks/x)");
        assert_eq!(since(Some(at), None), " (built 2 hours ago)");
        assert_eq!(since(None, None), "");
    }

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let told = [1, 59, 60, 7199, 7200, 86400 * 3].map(|seconds| in_words(Duration::from_secs(seconds)));
        assert_eq!(told, ["1 second", "59 seconds", "1 minute", "1 hour", "2 hours", "3 days"]);
    }
}
