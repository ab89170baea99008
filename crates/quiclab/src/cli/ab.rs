//! Arguments of `quiclab ab`.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use quiclab_report::{Condition, metric_names};

use super::{
    set::{SetOptions, parse_setting},
    setting_values,
    shared::{Output, parse_filter, testbeds},
};
use crate::settings::{AbSettings, Budget, JudgeSettings, SMALLEST_CHANGE, WALL_TIMEOUT};

/// Arguments of `quiclab ab`.
#[derive(Debug, Args)]
#[command(after_help = AB_HELP)]
pub struct AbArguments {
    /// A and B: folders with a stack.toml, programs, names of shipped stacks, or FOLDER@REVISION for a git revision; with --a and --b one of
    /// them is enough. Then experiment files, which end in .toml [default: 4 MiB over the default path]. Or two result folders, whose runs are
    /// compared as they are
    #[arg(value_name = "A B [FILE]", add = setting_values::stacks_and_paths())]
    pub paths: Vec<String>,
    /// A setting for A only, such as stack.gso=on; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, add = setting_values::settings())]
    pub a: Vec<(String, String)>,
    /// A setting for B only; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, add = setting_values::settings())]
    pub b: Vec<(String, String)>,
    #[command(flatten)]
    pub set: SetOptions,
    /// A profile that the files define, such as quick
    #[arg(long)]
    pub profile: Option<String>,
    /// Run only what has this setting; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_filter, add = setting_values::settings())]
    pub filter: Vec<(String, String)>,
    /// Number of repetitions per side, instead of the file's; with --until-decided the number before the first decision, at least 3
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: Option<u32>,
    /// Repeat until every condition is decided. Without conditions: until each metric of the verdict differs, or would have shown a change
    /// of --smallest-change
    #[arg(long)]
    pub until_decided: bool,
    /// When --until-decided gives up: runs of both sides together, or a time such as "20 min" [default: 40 runs]
    #[arg(long, value_name = "RUNS|TIME", requires = "until_decided", value_parser = parse_budget)]
    pub budget: Option<Budget>,
    /// The change, in percent of A, that --until-decided looks for if there are no conditions
    #[arg(long, value_name = "PERCENT", default_value_t = SMALLEST_CHANGE, value_parser = parse_percent)]
    pub smallest_change: f64,
    /// Where to run, in virtual time only, because A and B are run one after the other: vm, or sim for stacks without sockets [default: vm]
    #[arg(long, value_name = "TESTBED", value_parser = testbeds())]
    pub testbed: Option<String>,
    /// Number of virtual machines in parallel; does not affect results [default: one per core]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder for the records of A and B; runs with a record there are not repeated [default: results/ab/A-B]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = WALL_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    /// Folder of the shipped stacks [default: stacks/, in this folder or a parent]
    #[arg(long = "stacks", value_name = "DIR")]
    pub stacks: Option<PathBuf>,
    /// Run the build commands of A and B again even if the cache has their builds
    #[arg(long)]
    pub rebuild: bool,
    #[command(flatten)]
    pub judge: JudgeOptions,
}

impl AbArguments {
    /// Returns what they ask for.
    pub fn resolve(self) -> AbSettings {
        AbSettings {
            paths: self.paths,
            a: self.a,
            b: self.b,
            set: self.set.settings,
            profile: self.profile,
            filters: self.filter,
            repetitions: self.reps,
            until_decided: self.until_decided,
            budget: self.budget,
            smallest_change: self.smallest_change,
            testbed: self.testbed,
            jobs: self.jobs,
            out: self.out,
            wall_timeout: Duration::from_secs(self.wall_timeout),
            stacks: self.stacks,
            rebuild: self.rebuild,
            judge: self.judge.resolve(),
        }
    }
}

impl JudgeOptions {
    fn resolve(self) -> JudgeSettings {
        JudgeSettings {
            conditions: self.fail_if,
            metrics: self.metrics,
            strict: self.strict,
            all: self.all,
            html: self.html,
            markdown: self.markdown,
            json: self.output.json,
        }
    }
}

const AB_HELP: &str = "\
Examples:
  quiclab ab main/ pr/                                    two builds of an endpoint
  quiclab ab stack@main stack@HEAD gate.toml --fail-if 'train_max_packets > 1.05x'
  quiclab ab quiche --a stack.gso=on --b stack.gso=off    two settings of one stack
  quiclab ab main/ pr/ --until-decided --budget 60 --html page.html
  quiclab ab results/x results/x-netns                    two result folders, for example of two testbeds

Of two result folders, groups of runs are compared if all their settings are equal. Settings that only the simulator has (sim.timer_step, \
timer_lateness, call_cost, packet_cost, card_rate) may differ. How it decides: docs/reference/ab.md.
Exit status: the number of conditions that fail or cannot be judged, plus one if runs failed, plus one if handshakes of B fail that \
did not, at most 99; with --strict undecided conditions \
count as failed; 125 if nothing could be run or compared.";

/// What to decide about two sets of results, and how to show the answer.
#[derive(Debug, Args)]
pub struct JudgeOptions {
    /// A condition under which B fails: METRIC OPERATOR VALUE, such as "train_max_packets > 1.05x" (against A), "goodput_wire_bps < -5%",
    /// "drops_packets > +10" or "rtt_p95_ns > 60 ms"; can be repeated
    #[arg(long, value_name = "CONDITION", add = setting_values::metrics())]
    pub fail_if: Vec<Condition>,
    /// A metric for the verdict, instead of the usual ones; can be repeated
    #[arg(long = "metric", value_name = "NAME", value_parser = parse_metric, add = setting_values::metrics())]
    pub metrics: Vec<String>,
    /// Count undecided conditions as failed
    #[arg(long)]
    pub strict: bool,
    /// Show every metric, with its interval and the probability of chance
    #[arg(long)]
    pub all: bool,
    /// Write an HTML page with figures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write Markdown, for example for a comment on a pull request: to FILE, or to standard output instead of the tables
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub markdown: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

fn parse_budget(text: &str) -> Result<Budget, String> {
    let wrong = || format!("found {text:?}, expected a number of runs (1 or more) or a time such as \"20 min\"");
    if let Ok(runs) = text.trim().parse() {
        return if runs > 0 { Ok(Budget::Runs(runs)) } else { Err(wrong()) };
    }
    let time: quiclab_units::Duration = text.parse().map_err(|_| wrong())?;
    Ok(Budget::Time(Duration::from_nanos(time.as_nanos())))
}

fn parse_metric(text: &str) -> Result<String, String> {
    if metric_names().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let near = quiclab_experiment::error::nearest(text, metric_names());
    let hint =
        near.map_or_else(|| "docs/reference/metrics.md lists them".to_owned(), |near| format!("did you mean {near}?"));
    Err(format!("found {text:?}, expected the name of a metric; {hint}"))
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number
        .filter(|percent| *percent > 0.0 && percent.is_finite())
        .ok_or_else(|| format!("found {text:?}, expected a percentage above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_runs_or_time() {
        assert_eq!(parse_budget("40"), Ok(Budget::Runs(40)));
        assert_eq!(parse_budget("2 min"), Ok(Budget::Time(Duration::from_secs(120))));
        assert!(parse_budget("0").is_err() && parse_budget("soon").is_err());
    }

    #[test]
    fn a_percentage_must_be_positive() {
        assert_eq!(parse_percent("5%"), Ok(5.0));
        assert!(parse_percent("0").is_err() && parse_percent("-1").is_err());
    }
}
