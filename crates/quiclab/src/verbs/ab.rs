//! `quiclab ab`

mod command;
mod cpu;
mod failures;
mod folders;
mod interim_analyses;
mod notes;
mod results;
mod revision;
mod same;
mod show;
mod sides;
mod train_search;
mod trains;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    Plan,
    run::{Run, Settings},
    settings_text,
};
use quiclab_report::{Comparison, Question, ReportInput};
use quiclab_testbed::{laboratory::Laboratory, perform::Interrupted, registry::testbed, stack_store::StackRequest};

use crate::{
    session::{
        experiment_files::read_text,
        laboratory::{named, open_on as open_laboratory},
        planned::Planned,
        signals,
    },
    settings::{AbSettings, RunSettings},
    verbs::run,
};
use failures::EarlierFailures;
use interim_analyses::InterimAnalyses;
use show::{show, show_no_verdict};
use sides::{Request, Side};

/// The chance that a verdict may have of showing a difference where there is none, and the conditions of failing a B that should pass.
const ALPHA: f64 = 0.05;
/// What is run where no file is given.
const DEFAULT: &str = include_str!("ab/default.toml");

/// Runs A and B with the same seeds and compares them. Returns how many conditions fail.
///
/// # Errors
/// A wrong file or side, a missing program, an interruption.
pub fn ab(settings: &AbSettings) -> Result<u8> {
    show::check(&settings.judge)?;
    refuse_real_time(settings)?;
    if let Some(folders) = results::folders(settings)? {
        return results::compare(folders, &settings.judge);
    }
    let stop = signals::stop_flag()?;
    let request = Request::parse(settings)?;
    let sides = request.sides(settings)?;
    let out = settings.out.clone().unwrap_or_else(|| Path::new("results/ab").join(sides::folder_name(&sides)));
    let default = request.files.is_empty().then(|| out.join("default.toml"));
    let files = default.clone().map_or_else(|| request.files.clone(), |path| vec![path]);
    let texts = match default {
        Some(_) => vec![DEFAULT.to_owned()],
        None => files.iter().map(|file| read_text(file)).collect::<Result<Vec<_>>>()?,
    };
    if let Some((file, _)) = files.iter().zip(&texts).find(|(_, text)| quiclab_experiment::scenario::is_scenario(text))
    {
        bail!("{}: found a scenario file, expected an experiment with stacks", file.display());
    }
    let open = |side: &Side| {
        let own = side.stack.iter().cloned().collect();
        // Each side was asked for by its path.
        let (folder, replace) = (settings.stacks.clone(), true);
        let stacks = StackRequest { folder, own, replace, rebuild: settings.rebuild };
        open_laboratory(named(settings.testbed.as_deref())?, &stacks, stop.clone())
    };
    let laboratories = [open(&sides[0])?, open(&sides[1])?];
    let bench = Bench { settings, sides: &sides, laboratories: &laboratories, files: &files, texts: &texts, out: &out };
    let question = Question {
        names: [0, 1].map(|side| sides[side].name.clone()),
        conditions: settings.judge.conditions.clone(),
        metrics: settings.judge.metrics.clone(),
        alpha: ALPHA,
        not_judged: BTreeMap::new(),
        command: command::command_line(settings),
    };
    let pairing = bench.pairing()?;
    // Nothing that is refused leaves a folder.
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    if let Some(path) = &default {
        fs::write(path, DEFAULT).with_context(|| path.display().to_string())?;
    }
    let question = Question { not_judged: pairing.not_judged(), ..question };
    if same::are_same(&bench, &pairing)? {
        let comparison = Comparison::of_the_same_bytes(&question, &pairing.label());
        return show(&comparison, None, &settings.judge);
    }
    let mut looks = InterimAnalyses::new(settings, pairing.groups());
    let mut failures = [EarlierFailures::default(), EarlierFailures::default()];
    loop {
        let plans = bench.plans(looks.repetitions())?;
        let one = bench.perform(0, &plans)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let mut inputs = [one, bench.perform(1, &plans)?];
        for (failures, input) in failures.iter_mut().zip(&mut inputs) {
            failures.keep(input);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let question = Question { alpha: looks.alpha(ALPHA), ..question.clone() };
        let keys: [&dyn Fn(&Settings) -> String; 2] = [&|one| pairing.key(0, one), &|one| pairing.key(1, one)];
        let Some(mut comparison) = Comparison::of(&inputs[0], &inputs[1], keys, &question) else {
            let reason = nothing_to_compare(&inputs, &out);
            if inputs.iter().all(|input| input.failures.is_empty()) {
                bail!("{reason}");
            }
            return show_no_verdict(&reason, &question, &settings.judge);
        };
        let runs = inputs.iter().map(|input| input.runs.len() + input.failures.len()).sum();
        if !comparison.is_decided(settings.smallest_change / 100.0)
            && let Some(repetitions) = looks.next(runs)
        {
            status!("quiclab: not decided yet; continuing to {repetitions} repetitions on each side");
            continue;
        }
        comparison.notes = notes::notes(&bench, &pairing, &plans);
        comparison.notes.extend(looks.in_words());
        comparison.explain(trains::differences(&comparison, &inputs, keys, &out));
        cpu::add(&mut comparison, &inputs, keys, [&out.join("a"), &out.join("b")]);
        return show(&comparison, Some(([&inputs[0], &inputs[1]], keys)), &settings.judge);
    }
}

/// Why nothing can be compared: no run of one side is left.
fn nothing_to_compare(inputs: &[ReportInput; 2], out: &Path) -> String {
    let count = |input: &ReportInput| {
        format!("{} of {} runs failed", input.failures.len(), input.failures.len() + input.runs.len())
    };
    let first = inputs
        .iter()
        .flat_map(|input| &input.failures)
        .next()
        .map_or_else(String::new, |row| format!("; the first: {}", row.message));
    format!(
        "found no settings with successful runs on both sides: A {}, B {}{first}\nhint: see {}/a/failed and \
         {}/b/failed",
        count(&inputs[0]),
        count(&inputs[1]),
        out.display(),
        out.display()
    )
}

/// What is run, and where.
struct Bench<'a> {
    settings: &'a AbSettings,
    sides: &'a [Side; 2],
    laboratories: &'a [Laboratory; 2],
    files: &'a [PathBuf],
    texts: &'a [String],
    out: &'a Path,
}

/// Which settings of A belong to which of B.
struct Pairing {
    /// Distinct settings of each side, in the order of the plans.
    sides: [Vec<Settings>; 2],
    /// Indices into them.
    pairs: Vec<(usize, usize)>,
    /// The keys that differ in pairs that belong together by their order alone, by the index into the settings of A.
    by_order: BTreeMap<usize, Vec<(String, [String; 2])>>,
}

impl Bench<'_> {
    /// The settings of `quiclab run` that perform the runs of a file on one side.
    fn run_settings(&self, side: usize, file: usize, repetitions: Option<u32>) -> RunSettings {
        let Self { settings, sides, files, .. } = self;
        let out = self.out.join(["a", "b"][side]);
        // One file has the folder for itself, so that `quiclab report` and `quiclab check` find it there.
        let out = if files.len() == 1 { out } else { out.join(files[file].file_stem().unwrap_or_default()) };
        RunSettings {
            profile: settings.profile.clone(),
            repetitions,
            testbed: settings.testbed.clone(),
            filters: settings.filters.clone(),
            set: [&settings.set[..], &sides[side].settings].concat(),
            jobs: settings.jobs,
            out: Some(out),
            wall_timeout: settings.wall_timeout,
            stacks: StackRequest {
                folder: settings.stacks.clone(),
                own: sides[side].shown_stack.iter().cloned().collect(),
                replace: sides[side].shown_stack.is_some(),
                rebuild: false,
            },
            ..RunSettings::of(&files[file])
        }
    }

    /// The plan of every file on both sides.
    fn plans(&self, repetitions: Option<u32>) -> Result<Vec<[Plan; 2]>> {
        let plan = |side: usize, file: usize| {
            let settings = self.run_settings(side, file, repetitions);
            let name = self.files[file].display().to_string();
            let plan = run::plan_transfers(&name, &self.texts[file], &settings, &self.laboratories[side])?;
            // Whoever compares two stacks wants both of them in the runs.
            if let [unused, ..] = &plan.unused[..] {
                bail!(
                    "{name}: found no run with the stack {unused:?}, which is {}\nhint: --set stack.name={unused}",
                    ["A", "B"][side]
                );
            }
            Ok(plan)
        };
        let both = |file: usize| {
            let plans = [plan(0, file)?, plan(1, file)?];
            self.refuse_other_roles(file, &plans)?;
            Ok(plans)
        };
        (0..self.files.len()).map(both).collect()
    }

    /// Refuses to compare runs about the stack of one side with runs in which the other side's is the client of another server. A stack that
    /// `--set stack.client` names takes no other place.
    fn refuse_other_roles(&self, file: usize, plans: &[Plan; 2]) -> Result<()> {
        let other_server = |side: usize| {
            let own = &self.laboratories[side].stack_store.own;
            let is_about = |run: &&Run| {
                // A name may be followed by options of the build.
                let is_own = |name: &String| own.iter().any(|own| name.split(' ').next() == Some(own.as_str()));
                is_own(&run.settings.stack.name) || is_own(&run.settings.stack.server)
            };
            if own.is_empty() || plans[side].runs.iter().any(|run| is_about(&run)) {
                None
            } else {
                plans[side].runs.first()
            }
        };
        let (side, run) = match [other_server(0), other_server(1)] {
            [Some(run), None] => (0, run),
            [None, Some(run)] => (1, run),
            _ => return Ok(()),
        };
        let (letter, option) = [("A", "--a"), ("B", "--b")][side];
        let (server, client) = (&run.settings.stack.server, &run.settings.stack.client);
        bail!(
            "{}: {letter} has {client} only as the client, and {server} as its server\nhint: {option} stack.name={client}",
            self.files[file].display()
        );
    }

    fn pairing(&self) -> Result<Pairing> {
        let plans = self.plans(Some(1))?;
        let settings = |side: usize| {
            let runs = plans.iter().flat_map(|plans| &plans[side].runs);
            let mut distinct: Vec<Settings> = Vec::new();
            for Run { settings, .. } in runs {
                if !distinct.contains(settings) {
                    distinct.push(settings.clone());
                }
            }
            distinct
        };
        let sides = [settings(0), settings(1)];
        let toggled: Vec<_> = self.sides.iter().flat_map(|side| &side.settings).map(|(key, _)| key.as_str()).collect();
        Ok(Pairing::of(sides, &toggled))
    }

    /// Performs the runs of one side, as far as there is no record of them.
    fn perform(&self, side: usize, plans: &[[Plan; 2]]) -> Result<ReportInput> {
        let mut all: Option<ReportInput> = None;
        for (file, plans) in plans.iter().enumerate() {
            let plan = &plans[side];
            let settings = self.run_settings(side, file, Some(repetitions(plan)));
            status!("quiclab: {}, {}: {} runs", ["A", "B"][side], plan.experiment.common.name, plan.runs.len());
            let planned = Planned::of_transfers(plan, &settings);
            let (results, _) = run::perform(&self.files[file], &planned, &settings, &self.laboratories[side])?;
            results.report(quiclab_pages::results::Ladders::Default, false)?;
            let input = results.pictured_transfers("ab")?;
            match &mut all {
                None => all = Some(input),
                Some(all) => {
                    all.runs.extend(input.runs);
                    all.failures.extend(input.failures);
                }
            }
        }
        all.context("no file was given")
    }
}

/// A and B are run one after the other. In virtual time that changes nothing; in real time the machine changes meanwhile.
fn refuse_real_time(settings: &AbSettings) -> Result<()> {
    let Some(name) = &settings.testbed else { return Ok(()) };
    if testbed(name)?.is_exact() {
        return Ok(());
    }
    bail!(
        "--testbed {name}: ab runs in virtual time only (--testbed vm or sim): it runs A first and then B, so the difference would contain what the \
         machine changed meanwhile\nhint: put both into one experiment, for example stack.gso = [\"on\", \"off\"] in [matrix] with an [[expect]]; \
         quiclab run --testbed {name} interleaves its runs"
    );
}

/// How often a plan repeats its runs.
fn repetitions(plan: &Plan) -> u32 {
    plan.runs.iter().map(|run| run.repetition).max().unwrap_or(1)
}

impl Pairing {
    /// Pairs settings that differ in names of stacks and in `toggled` keys alone. If as many are left on both sides, they are pairs by their
    /// order, but differ in more than was asked for; otherwise they have no counterpart.
    fn of(sides: [Vec<Settings>; 2], toggled: &[&str]) -> Self {
        let [one, other] = &sides;
        let mut left: Vec<usize> = Vec::new();
        let mut right: Vec<usize> = (0..other.len()).collect();
        let mut pairs = Vec::new();
        for (place, settings) in one.iter().enumerate() {
            match right.iter().position(|right| unintended(settings, &other[*right], toggled).is_empty()) {
                Some(found) => pairs.push((place, right.remove(found))),
                None => left.push(place),
            }
        }
        let mut by_order = BTreeMap::new();
        if left.len() == right.len() {
            for (left, right) in left.into_iter().zip(right) {
                by_order.insert(left, unintended(&one[left], &other[right], toggled));
                pairs.push((left, right));
            }
            pairs.sort_unstable();
        }
        Self { sides, pairs, by_order }
    }

    /// Why the conditions of some pairs are not judged, by their key.
    fn not_judged(&self) -> BTreeMap<String, String> {
        let why = |differences: &Vec<(String, [String; 2])>| {
            let list: Vec<_> =
                differences.iter().map(|(key, [one, other])| format!("{key} ({one} and {other})")).collect();
            format!(
                "A and B also differ in {}, expected the same settings or --a and --b with this key",
                list.join(", ")
            )
        };
        self.by_order.iter().map(|(left, differences)| (left.to_string(), why(differences))).collect()
    }

    /// The same text for settings of A and of B that belong together.
    fn key(&self, side: usize, settings: &Settings) -> String {
        let place = self.sides[side].iter().position(|one| one == settings);
        let is_of = |pair: &&(usize, usize)| Some([pair.0, pair.1][side]) == place;
        match self.pairs.iter().find(is_of) {
            Some((left, _)) => left.to_string(),
            None => format!("{side}: {}", settings_text(settings)),
        }
    }

    /// Pairs of settings.
    fn pairs(&self) -> impl Iterator<Item = (&Settings, &Settings)> {
        self.pairs.iter().map(|(left, right)| (&self.sides[0][*left], &self.sides[1][*right]))
    }

    /// Settings of both sides that are run.
    fn groups(&self) -> usize {
        self.sides[0].len() + self.sides[1].len()
    }

    /// What is compared, in a few words.
    fn label(&self) -> String {
        self.sides[1].first().map_or_else(String::new, |settings| settings.stack.name.clone())
    }
}

/// Settings in which two sides differ beside the names of stacks and the `toggled` keys, with both values.
fn unintended(one: &Settings, other: &Settings, toggled: &[&str]) -> Vec<(String, [String; 2])> {
    const NAMES: [&str; 3] = ["stack.name", "stack.server", "stack.client"];
    let differences = quiclab_experiment::settings_differences(one, other).into_iter();
    let by_stage = differences.flat_map(|(key, values)| match key.as_str() {
        "path.to_client" | "path.to_server" => stage_differences(one, other, key, values),
        _ => vec![(key, values)],
    });
    by_stage.filter(|(key, _)| !NAMES.contains(&key.as_str()) && !toggled.contains(&key.as_str())).collect()
}

/// The settings of stages in which the lists of two sides differ; the whole lists where their stages do.
fn stage_differences(
    one: &Settings,
    other: &Settings,
    list: String,
    values: [String; 2],
) -> Vec<(String, [String; 2])> {
    let same_stacks = Settings { stack: other.stack.clone(), ..one.clone() };
    let [left, right] = &quiclab_experiment::axes(&[&same_stacks, other])[..] else { return vec![(list, values)] };
    let is_of_list = |(key, _): &&(String, String)| key.strip_prefix(&list).is_some_and(|rest| rest.starts_with('.'));
    let [left, right] = [left, right].map(|side| side.iter().filter(is_of_list).cloned().collect::<Vec<_>>());
    if left.is_empty() || left.iter().map(|(key, _)| key).ne(right.iter().map(|(key, _)| key)) {
        return vec![(list, values)];
    }
    left.into_iter().zip(right).map(|((key, one), (_, other))| (key, [one, other])).collect()
}

#[cfg(test)]
mod tests;
