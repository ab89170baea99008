//! `quiclab check`

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use quiclab_pages::results::{
    Results,
    audits::{self, AuditedRecord, audit_all, violated},
    overview::find_results,
};
use quiclab_report::{AnyReport, FINDINGS_HEAD, Finding, Outcome, ReportInput, findings_as_rows, render_findings};
use quiclab_testbed::testbed::is_sample;
use quiclab_units::ShowPath;
use serde_json::{Value, json};

use crate::terminal::{output, progress};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Words for people.
    Text,
    /// A Markdown table.
    Markdown,
    /// JSON.
    Json,
}

/// What is judged, and how strictly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRules {
    /// Undecided expectations count as failed.
    pub strict: bool,
    /// There may be no expectations.
    pub allow_none: bool,
    /// The packets of each record are compared with the laws of its path.
    pub audit: bool,
}

/// Judges the expectations of all results below some folders. Returns how many do not hold, with the number of records that violate a law, at
/// most [`MOST_FAILURES`].
///
/// # Errors
/// Where there are no results, no expectations about them that must be there, or a record that cannot be read.
pub fn check(folders: &[PathBuf], rules: CheckRules, form: Form) -> Result<u8> {
    let CheckRules { strict, allow_none, audit } = rules;
    let mut places = Vec::new();
    for folder in folders {
        places.extend(find_results(folder)?);
    }
    let mut all = Vec::new();
    let mut counts = Counts::default();
    if form == Form::Markdown {
        output::print(FINDINGS_HEAD)?;
    }
    for place in &places {
        let Judged { experiment, findings: found, left_out, failed_runs, warnings, audits } = judge(place, audit)?;
        counts.violated += audits.as_deref().map_or(0, violated);
        found.iter().for_each(|finding| counts.add(finding, strict));
        if form == Form::Json {
            all.push(json!({
                "audits": audits,
                "folder": place.display().to_string(),
                "experiment": experiment,
                "expectations": found,
                "left_out": left_out,
                "failed_runs": failed_runs,
                "warnings": warnings.iter().map(|(of, message)| json!({ "of": of, "message": message })).collect::<Vec<_>>(),
            }));
            continue;
        }
        if form == Form::Markdown {
            output::print(&findings_as_rows(&experiment, &found))?;
            // A table holds no audits.
            audits.as_deref().map(audits::in_words).iter().for_each(|words| status!("{}", words.trim_end()));
            continue;
        }
        let mut text = format!("{experiment} ({})\n{}", place.shown(), render_findings(&found));
        for claim in &left_out {
            text.push_str(&format!("{:<12}  {claim}\n", "skipped"));
        }
        for (of, message) in &warnings {
            text.push_str(&format!("{:<12}  {of}: {message}\n", "warning"));
        }
        if found.is_empty() && left_out.is_empty() {
            text.push_str("no expectations\n");
        }
        text.push_str(&audits.as_deref().map(audits::in_words).unwrap_or_default());
        output::print(&(text + "\n"))?;
    }
    if form == Form::Json {
        let summary = json!({
            "results": Value::Array(all),
            "judged": counts.all,
            "holding": counts.holding,
            "undecided": counts.undecided,
            "wrong": counts.wrong,
            "violated": audit.then_some(counts.violated),
        });
        output::print(&(serde_json::to_string_pretty(&summary)? + "\n"))?;
    } else if form == Form::Markdown {
        output::print(&format!("\n{}.\n", counts.in_words()))?;
    } else {
        output::print(&(counts.in_words() + "\n"))?;
    }
    if counts.all == 0 && !allow_none && !audit {
        // A gate that judges nothing must not let everything pass.
        bail!(
            "found no expectations about these runs, expected at least one [[expect]] in the experiment's file\n\
             hint: docs/reference/experiment-file.md tells how to write one; --allow-none accepts results without"
        );
    }
    Ok((counts.wrong + counts.violated).min(MOST_FAILURES) as u8)
}

/// What came of one experiment.
struct Judged {
    experiment: String,
    findings: Vec<Finding>,
    /// Claims about runs that are not part of its plan.
    left_out: Vec<String>,
    failed_runs: usize,
    /// What to look at before trusting a verdict on runs in real time.
    warnings: Vec<(String, String)>,
    /// What the auditor found; `None` where it was not asked.
    audits: Option<Vec<AuditedRecord>>,
}

fn judge(place: &Path, audit: bool) -> Result<Judged> {
    let report = Results::open(place, progress::say)?.measured()?;
    let is_of_samples = matches!(&report, AnyReport::Transfers(input) if are_samples(input));
    if is_of_samples {
        status!(
            "quiclab: {}: its runs are samples of real time, so that chance and the machine can decide about an expectation; \
             more repetitions make it surer",
            report.experiment()
        );
    }
    Ok(Judged {
        experiment: report.experiment().to_owned(),
        findings: report.findings(),
        left_out: report.claims_left_out(),
        failed_runs: report.failures().len(),
        audits: audit.then(|| audit_all(place, &report)).transpose()?,
        warnings: if is_of_samples { report.warnings() } else { Vec::new() },
    })
}

#[derive(Default)]
struct Counts {
    all: usize,
    holding: usize,
    undecided: usize,
    failing: usize,
    not_measured: usize,
    /// What counts in the exit status.
    wrong: usize,
    /// Records that violate a law.
    violated: usize,
}

impl Counts {
    fn add(&mut self, finding: &Finding, strict: bool) {
        self.all += 1;
        let (count, is_wrong) = match finding.outcome {
            Outcome::Holds => (&mut self.holding, false),
            Outcome::Undecided => (&mut self.undecided, strict),
            Outcome::Fails => (&mut self.failing, true),
            Outcome::NotMeasured(_) => (&mut self.not_measured, true),
        };
        *count += 1;
        self.wrong += usize::from(is_wrong);
    }

    /// How many hold, and how many of the others there are of each kind.
    fn in_words(&self) -> String {
        let others = [(self.failing, "fail"), (self.undecided, "undecided"), (self.not_measured, "not measured")];
        let others = others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!(", {count} {word}"));
        format!("{} of {} expectations hold{}", self.holding, self.all, others.collect::<String>())
    }
}

/// Whether any of the runs was made in real time.
fn are_samples(input: &ReportInput) -> bool {
    input.runs.iter().any(|run| is_sample(&run.versions))
}
