//! CPU time of the endpoints by function, for the terminal and as JSON.

use std::fmt::Write as _;

use quiclab_agent_protocol::profile::Profile;
use quiclab_units::shown;
use serde_json::{Value, json};

/// Profiles of endpoints, by role.
pub type Profiles = [(&'static str, Profile)];

/// Functions that the terminal shows of each endpoint.
const MOST_SHOWN: usize = 10;

/// Lines for the terminal: a heading for each endpoint, and its functions with most samples.
pub fn profiles_in_words(profiles: &Profiles) -> String {
    let mut text = String::new();
    for (role, profile) in profiles {
        let _ = writeln!(
            text,
            "  CPU time of the {role} by function: {} ({} samples, one per {} us; counted: {})",
            milliseconds(sampled_ns(profile, profile.samples)),
            profile.samples,
            profile.period_ns / 1000,
            milliseconds(profile.cpu_ns),
        );
        for one in profile.functions.iter().take(MOST_SHOWN) {
            let share = 100.0 * one.samples as f64 / profile.samples.max(1) as f64;
            let program = one.program.rsplit('/').next().unwrap_or(&one.program);
            let place = match &one.function {
                Some(function) => format!("{} ({})", shown(function), shown(program)),
                None => format!("{}", shown(program)),
            };
            let _ = writeln!(text, "  {share:>6.1} % {:>11}  {place}", milliseconds(sampled_ns(profile, one.samples)));
        }
        let hidden = profile.functions.len().saturating_sub(MOST_SHOWN);
        if hidden > 0 {
            let _ = writeln!(text, "      and {hidden} more: --json has all");
        }
        for note in &profile.notes {
            let _ = writeln!(text, "      {}", shown(note));
        }
    }
    text
}

/// One JSON object with all functions by endpoint.
pub(crate) fn profiles_as_json(profiles: &Profiles) -> Value {
    profiles
        .iter()
        .map(|(role, profile)| ((*role).to_owned(), json!(profile)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn sampled_ns(profile: &Profile, samples: u64) -> u64 {
    samples.saturating_mul(profile.period_ns)
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.1} ms", nanoseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use quiclab_agent_protocol::profile::{FunctionSamples, KERNEL};

    use super::*;

    fn profile() -> Profile {
        let of = |program: &str, function: Option<&str>, samples| FunctionSamples {
            program: program.into(),
            function: function.map(Into::into),
            samples,
        };
        let mut functions = vec![of("/stack/endpoint", Some("quic::send"), 60), of(KERNEL, None, 29)];
        functions.extend((0..11).map(|number| of("/stack/endpoint", Some(&format!("f{number}\u{1b}")), 1)));
        Profile { period_ns: 100_000, cpu_ns: 10_050_000, samples: 100, functions, notes: vec!["a note".into()] }
    }

    #[test]
    fn the_ten_functions_with_most_samples_are_shown_with_share_and_time() {
        let text = profiles_in_words(&[("server", profile())]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "  CPU time of the server by function: 10.0 ms (100 samples, one per 100 us; counted: 10.1 ms)"
        );
        assert_eq!(lines[1], "    60.0 %      6.0 ms  quic::send (endpoint)");
        assert_eq!(lines[2], "    29.0 %      2.9 ms  [kernel]");
        assert_eq!(lines[11..], ["      and 3 more: --json has all", "      a note"]);
        assert!(!text.contains('\u{1b}'), "a program's names are foreign");
        assert_eq!(profiles_as_json(&[("server", profile())])["server"]["functions"].as_array().unwrap().len(), 13);
    }

    #[test]
    fn no_profile_shows_nothing_and_one_without_samples_divides_by_nothing() {
        assert_eq!(profiles_in_words(&[]), "");
        let text = profiles_in_words(&[("client", Profile { period_ns: 100_000, ..Profile::default() })]);
        assert!(text.contains("0.0 ms (0 samples"), "{text}");
    }
}
