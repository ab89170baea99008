//! CPU time of the endpoints by function on both sides: what grew, what shrank, and by how much.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_agent_protocol::profile::{FunctionSamples, KERNEL, Profile};
use quiclab_metrics::holm;
use serde::Serialize;

use super::{
    measure::Values,
    result::{Comparison, Pair},
};

/// The endpoints of a run.
const ROLES: [&str; 2] = ["server", "client"];
/// Where the programs and libraries of a stack are, as endpoints see them.
const STACK_FOLDER: &str = "/stack/";
/// Share of an endpoint's CPU time that its samples have to stand for: with fewer, part of the transfer was not sampled.
const LEAST_SAMPLED: f64 = 0.9;

/// Profiles of an endpoint by seed, of the runs that were to have one. An error is the reason why there is none.
pub type SeededProfiles = BTreeMap<u64, Result<Profile, String>>;

/// CPU time of an endpoint on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct CpuDifference {
    /// Name of the settings.
    pub label: String,
    /// `server` or `client`.
    pub role: &'static str,
    /// Runs of A and of B that have samples.
    pub runs: [usize; 2],
    /// Whether runs with the same seed are compared with each other: where at least two seeds are common.
    pub is_paired: bool,
    /// CPU time by the kernel's counter; `None` where a side has no samples.
    pub total: Option<CpuChange>,
    /// Functions, those whose CPU time differs most first; `None` where they cannot be compared.
    pub functions: Option<Vec<FunctionChange>>,
    /// Why `functions` is `None`.
    pub missing: Option<String>,
    /// What is missing in some runs, or in part of a program: each note once.
    pub notes: Vec<String>,
    /// Whether any run was to have samples.
    #[serde(skip)]
    pub(super) was_asked: bool,
}

/// CPU time of a function on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionChange {
    /// Name of the function. In brackets: the kernel, or what has no name in a program.
    pub function: String,
    /// CPU time in it.
    #[serde(flatten)]
    pub cpu: CpuChange,
    /// The p-value of "no difference", corrected for the number of functions; `None` where nothing was repeated.
    pub p_corrected: Option<f64>,
    /// Whether it differs by more than chance does: `p_corrected` is at most the level of the comparison.
    pub is_shown: bool,
}

/// CPU time of a run on both sides, in ns. In a virtual machine a nanosecond is an instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuChange {
    /// Means of A and of B: of the pairs where there are any, otherwise of all runs.
    pub means_ns: [f64; 2],
    /// The mean difference, B less A.
    pub difference_ns: f64,
    /// Confidence interval of the difference, by itself; `None` where nothing was repeated.
    pub interval_ns: Option<(f64, f64)>,
    /// The p-value of "no difference", by itself; `None` where nothing was repeated.
    pub p: Option<f64>,
}

impl Comparison {
    /// Adds the CPU time of both endpoints of each pair. `profiles` returns those of the runs of A (0) or of B (1) in a role.
    pub fn attribute_cpu_time(&mut self, profiles: impl Fn(&Pair, &'static str, usize) -> SeededProfiles) {
        let of = |pair: &Pair, role| {
            let sides = [0, 1].map(|side| profiles(pair, role, side));
            CpuDifference::of(&pair.label, role, &sides, pair.is_paired, self.alpha)
        };
        self.cpu = self.pairs.iter().flat_map(|pair| ROLES.map(|role| of(pair, role))).collect();
    }
}

impl CpuDifference {
    fn of(label: &str, role: &'static str, sides: &[SeededProfiles; 2], is_paired: bool, alpha: f64) -> Self {
        let sampled = sides.each_ref().map(Side::of);
        let [a, b] = &sampled;
        let common_seeds = a.runs.keys().filter(|seed| b.runs.contains_key(seed)).count();
        let is_paired = is_paired && common_seeds > 1;
        let change = |step_ns: u64, value: &dyn Fn(&Sampled) -> u64| {
            let of_side = |side: &Side| {
                side.runs.iter().map(|(seed, run)| (*seed, value(run) as f64)).collect::<BTreeMap<_, _>>()
            };
            CpuChange::of(&Values::in_steps_of(step_ns as f64, sampled.each_ref().map(of_side), is_paired), alpha)
        };
        let missing = if sides.iter().all(BTreeMap::is_empty) {
            Some("no run was sampled; hint: --set tap.profile=true".to_owned())
        } else {
            let why = |side: &Side, letter| Some(format!("{letter}: {}", side.why_not_compared(role)?));
            why(a, "A").or_else(|| why(b, "B"))
        };
        let runs = || sampled.iter().flat_map(|side| side.runs.values());
        let functions = missing.is_none().then(|| {
            let period_ns = runs().map(|run| run.period_ns).max().unwrap_or(0);
            let names: BTreeSet<&String> = runs().flat_map(|run| run.functions.keys()).collect();
            let of_function = |name: &String| {
                let cpu = change(period_ns, &|run| run.functions.get(name).copied().unwrap_or(0));
                FunctionChange { function: name.clone(), cpu, p_corrected: None, is_shown: false }
            };
            let mut functions: Vec<_> = names.into_iter().map(of_function).collect();
            correct(&mut functions, alpha);
            // Stable: equal ones stay in the order of their names.
            functions.sort_by(|one, other| other.cpu.size().total_cmp(&one.cpu.size()));
            functions
        });
        let with_letter = |(letter, side): (&str, &Side)| {
            side.notes.iter().map(|note| format!("{letter}: {note}")).collect::<Vec<_>>()
        };
        Self {
            label: label.to_owned(),
            role,
            runs: sampled.each_ref().map(|side| side.runs.len()),
            is_paired,
            total: sampled.iter().all(|side| !side.runs.is_empty()).then(|| change(1, &|run| run.counted_ns)),
            functions,
            missing,
            notes: ["A", "B"].into_iter().zip(&sampled).flat_map(with_letter).collect(),
            was_asked: sides.iter().any(|side| !side.is_empty()),
        }
    }
}

impl CpuChange {
    fn of(values: &Values, alpha: f64) -> Self {
        let means_ns = values.means();
        let estimate = values.difference(1.0);
        Self {
            means_ns,
            difference_ns: estimate.map_or(means_ns[1] - means_ns[0], |estimate| estimate.mean),
            interval_ns: estimate.map(|estimate| estimate.interval(alpha)),
            p: estimate.map(|estimate| estimate.p()),
        }
    }

    fn size(&self) -> f64 {
        self.difference_ns.abs()
    }
}

/// Corrects the p-values of the functions together.
fn correct(functions: &mut [FunctionChange], alpha: f64) {
    let values: Vec<_> = functions.iter().filter_map(|one| one.cpu.p).collect();
    for (one, p) in functions.iter_mut().filter(|one| one.cpu.p.is_some()).zip(holm(&values)) {
        one.p_corrected = Some(p);
        one.is_shown = p <= alpha;
    }
}

/// The runs of a side that can be compared.
#[derive(Default)]
struct Side {
    runs: BTreeMap<u64, Sampled>,
    /// What is missing: each note once.
    notes: Vec<String>,
    /// Whether functions have names: any outside the kernel, and any in the stack's own files; `None` without samples there.
    has_names: Option<bool>,
    has_names_in_stack: Option<bool>,
}

/// Samples of an endpoint in a run.
struct Sampled {
    period_ns: u64,
    counted_ns: u64,
    /// CPU time in ns.
    functions: BTreeMap<String, u64>,
}

impl Side {
    fn of(profiles: &SeededProfiles) -> Self {
        let mut side = Self::default();
        for (seed, profile) in profiles {
            let usable = profile.as_ref().map_err(Clone::clone).and_then(|profile| {
                let notes = profile.notes.iter().cloned();
                side.notes.extend(notes);
                Sampled::of(profile).map(|run| (profile, run))
            });
            match usable {
                Ok((profile, run)) => {
                    side.note_names(&profile.functions);
                    side.runs.insert(*seed, run);
                }
                Err(reason) => side.notes.push(format!("seed {seed}: {reason}")),
            }
        }
        let mut seen = BTreeSet::new();
        side.notes.retain(|note| seen.insert(note.clone()));
        side
    }

    fn note_names(&mut self, functions: &[FunctionSamples]) {
        for one in functions.iter().filter(|one| one.samples > 0 && one.program != KERNEL) {
            let has_name = one.function.is_some();
            *self.has_names.get_or_insert(false) |= has_name;
            if one.program.starts_with(STACK_FOLDER) {
                *self.has_names_in_stack.get_or_insert(false) |= has_name;
            }
        }
    }

    /// `None` where its functions can be compared.
    fn why_not_compared(&self, role: &str) -> Option<String> {
        if self.runs.is_empty() {
            return Some(match self.notes.first() {
                None => "no run was sampled; hint: --set tap.profile=true".to_owned(),
                Some(first) => format!("no run has samples that can be used: {first}"),
            });
        }
        let is_named = self.has_names != Some(false) && self.has_names_in_stack != Some(false);
        let why = || self.notes.first().map_or_else(String::new, |note| format!(": {note}"));
        (!is_named).then(|| format!("no function of the {role}'s program has a name{}", why()))
    }
}

impl Sampled {
    fn of(profile: &Profile) -> Result<Self, String> {
        let sampled_ns = profile.samples.saturating_mul(profile.period_ns);
        if (sampled_ns as f64) < LEAST_SAMPLED * profile.cpu_ns as f64 {
            return Err(format!("samples stand for {sampled_ns} ns only, of {} ns of CPU time", profile.cpu_ns));
        }
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for one in &profile.functions {
            let time = functions.entry(name_of(one)).or_default();
            *time = time.saturating_add(one.samples.saturating_mul(profile.period_ns));
        }
        Ok(Self { period_ns: profile.period_ns, counted_ns: profile.cpu_ns, functions })
    }
}

/// The name of a function, without its program: those of A and of B may be called differently.
fn name_of(one: &FunctionSamples) -> String {
    match (&one.function, one.program.as_str()) {
        (Some(name), _) => name.clone(),
        // The kernel, and memory without a file such as [vdso].
        (None, program) if program.starts_with('[') => program.to_owned(),
        (None, program) => format!("[{}, no name]", program.rsplit('/').next().unwrap_or(program)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1_000_000;

    fn function(program: &str, function: Option<&str>, samples: u64) -> FunctionSamples {
        FunctionSamples { program: program.to_owned(), function: function.map(str::to_owned), samples }
    }

    fn profile(functions: Vec<FunctionSamples>) -> Profile {
        let samples = functions.iter().map(|one| one.samples).sum::<u64>();
        Profile { period_ns: PERIOD_NS, cpu_ns: samples * PERIOD_NS, samples, functions, notes: Vec::new() }
    }

    /// Runs with the seeds 1, 2, ..., each with these samples of functions of the stack.
    fn side(runs: &[&[(&str, u64)]]) -> SeededProfiles {
        let of_run = |samples: &&[(&str, u64)]| {
            Ok(profile(samples.iter().map(|(name, count)| function("/stack/e", Some(name), *count)).collect()))
        };
        (1..).zip(runs.iter().map(of_run)).collect()
    }

    fn compared(a: SeededProfiles, b: SeededProfiles) -> CpuDifference {
        CpuDifference::of("x", "server", &[a, b], true, 0.05)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-3 * expected.abs(), "found {found}, expected {expected}");
    }

    #[test]
    fn the_interval_is_that_of_the_pairs_by_the_table_of_student() {
        // Differences 2, 4 and 6 samples: mean 4, standard deviation 2, and t(0.975; 2) = 4.3027 in every table.
        let a = side(&[&[("f", 10)], &[("f", 50)], &[("f", 90)]]);
        let b = side(&[&[("f", 12)], &[("f", 54)], &[("f", 96)]]);
        let found = compared(a, b);
        assert!(found.is_paired);
        let functions = found.functions.unwrap();
        let [f] = &functions[..] else { panic!("one function") };
        assert_eq!((f.cpu.means_ns, f.cpu.difference_ns), ([50e6, 54e6], 4e6));
        let (low, high) = f.cpu.interval_ns.unwrap();
        let half = 4.3027 * 2e6 / 3_f64.sqrt();
        near(low, 4e6 - half);
        near(high, 4e6 + half);
        // t = 4 / (2 / sqrt 3) = sqrt 12; with two degrees of freedom p = 1 - t / sqrt(2 + t^2).
        near(f.cpu.p.unwrap(), 1.0 - (12_f64 / 14.0).sqrt());
        assert_eq!(found.total.unwrap().difference_ns, 4e6);
    }

    #[test]
    fn equal_differences_are_certain_up_to_the_steps_of_the_samples() {
        let a = side(&[&[("f", 10)], &[("f", 20)]]);
        let b = side(&[&[("f", 13)], &[("f", 23)]]);
        let f = compared(a, b).functions.unwrap().remove(0);
        // Each side is rounded to a sample: a variance of 1/12, together 1/6. t(0.975; 1) = 12.706.
        near(f.cpu.interval_ns.unwrap().1, 3e6 + 12.706 * 1e6 * (1.0 / 6.0 / 2.0_f64).sqrt());
    }

    #[test]
    fn a_function_of_one_side_counts_as_zero_on_the_other_and_what_differs_most_comes_first() {
        let a = side(&[&[("old", 9), ("both", 40)], &[("old", 11), ("both", 40)]]);
        let b = side(&[&[("new", 5), ("both", 41)], &[("both", 41)]]);
        let found = compared(a, b).functions.unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.function.as_str(), one.cpu.means_ns)).collect();
        assert_eq!(found, [("old", [10e6, 0.0]), ("new", [0.0, 2.5e6]), ("both", [40e6, 41e6])]);
    }

    #[test]
    fn only_runs_with_a_counterpart_count_and_one_run_of_a_side_has_no_interval() {
        let found = compared(side(&[&[("f", 10)], &[("f", 20)], &[("f", 99)]]), side(&[&[("f", 12)], &[("f", 24)]]));
        assert_eq!((found.runs, found.functions.unwrap()[0].cpu.difference_ns), ([3, 2], 3e6));
        let found = compared(side(&[&[("f", 10)]]), side(&[&[("f", 15)]]));
        let f = found.functions.unwrap().remove(0);
        assert_eq!((found.is_paired, f.cpu.difference_ns, f.cpu.interval_ns, f.is_shown), (false, 5e6, None, false));
    }

    #[test]
    fn p_values_are_corrected_for_the_number_of_functions() {
        // Seven differences of 100 samples less or more one, beside functions without a difference.
        let runs = |base: u64| {
            let of = |seed: u64| {
                let others = (0..9).map(|number| (format!("same{number}"), 50));
                others.chain([("grew".to_owned(), base + seed % 2)]).collect::<Vec<_>>()
            };
            let runs: Vec<_> = (1..=7).map(of).collect();
            let runs: Vec<Vec<_>> =
                runs.iter().map(|run| run.iter().map(|(name, count)| (name.as_str(), *count)).collect()).collect();
            side(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let found = compared(runs(50), runs(150)).functions.unwrap();
        let shown: Vec<_> = found.iter().filter(|one| one.is_shown).map(|one| one.function.as_str()).collect();
        assert_eq!(shown, ["grew"]);
        near(found[0].p_corrected.unwrap(), 10.0 * found[0].cpu.p.unwrap());
    }

    #[test]
    fn a_side_that_was_not_sampled_is_null_with_the_reason() {
        let of = |a, b| {
            let found = compared(a, b);
            assert!(found.functions.is_none());
            (found.missing.unwrap(), found.total.is_some())
        };
        let good = || side(&[&[("f", 1)]]);
        let none = || "no run was sampled; hint: --set tap.profile=true".to_owned();
        assert_eq!(of(SeededProfiles::new(), SeededProfiles::new()), (none(), false));
        assert_eq!(of(good(), SeededProfiles::new()), (format!("B: {}", none()), false));
        let lost = SeededProfiles::from([(4, Err("server/profile.json: it is gone".to_owned()))]);
        let why = "A: no run has samples that can be used: seed 4: server/profile.json: it is gone";
        assert_eq!(of(lost, good()), (why.to_owned(), false));
        // A run that was sampled at its beginning only.
        let mut cut = profile(vec![function("/stack/e", Some("f"), 89)]);
        cut.cpu_ns = 100 * PERIOD_NS;
        let why = of(good(), SeededProfiles::from([(1, Ok(cut.clone()))])).0;
        assert!(why.contains("seed 1: samples stand for 89000000 ns only, of 100000000 ns"), "{why}");
        cut.functions[0].samples = 90;
        cut.samples = 90;
        assert!(compared(good(), SeededProfiles::from([(1, Ok(cut))])).functions.is_some());
    }

    #[test]
    fn a_stripped_program_is_not_compared_function_by_function() {
        let mut stripped = profile(vec![
            function("[kernel]", None, 9),
            function("/stack/e", None, 7),
            function("/lib/libc.so.6", Some("memcpy"), 1),
        ]);
        stripped.notes = vec!["[no symbols] /stack/e: was stripped".to_owned()];
        let found = compared(side(&[&[("f", 1)]]), SeededProfiles::from([(1, Ok(stripped.clone()))]));
        assert_eq!((found.functions.is_none(), found.total.is_some()), (true, true));
        let why = "B: no function of the server's program has a name: [no symbols] /stack/e: was stripped";
        assert_eq!(found.missing.as_deref(), Some(why));
        // With names of some of its functions it is, and the rest is a row.
        stripped.functions.push(function("/stack/lib.so", Some("f"), 1));
        let found = compared(side(&[&[("f", 1)]]), SeededProfiles::from([(1, Ok(stripped))]));
        assert_eq!(found.notes, ["B: [no symbols] /stack/e: was stripped"]);
        let names: Vec<_> = found.functions.iter().flatten().map(|one| one.function.as_str()).collect();
        assert_eq!(names, ["[kernel]", "[e, no name]", "memcpy", "f"]);
    }

    #[test]
    fn an_endpoint_that_is_only_in_the_kernel_has_one_row() {
        let of_kernel = || SeededProfiles::from([(1, Ok(profile(vec![function("[kernel]", None, 9)])))]);
        let found = compared(of_kernel(), of_kernel());
        assert_eq!((found.missing, found.functions.unwrap().len()), (None, 1));
    }

    #[test]
    fn numbers_of_a_damaged_profile_do_no_harm() {
        let mut wild = profile(vec![function("/stack/e", Some("f"), 1), function("//anon", None, 1)]);
        (wild.period_ns, wild.cpu_ns, wild.samples) = (u64::MAX, u64::MAX, u64::MAX);
        wild.functions[0].samples = u64::MAX;
        let found = compared(SeededProfiles::from([(1, Ok(wild))]), side(&[&[("f", 1)]]));
        assert_eq!(found.functions.unwrap().len(), 2);
    }
}
