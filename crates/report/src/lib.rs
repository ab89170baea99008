//! Turns the metrics of runs, and verdicts of interoperation, into what a person looks at: tables, JSON, one
//! self-contained HTML page.
//!
//! This crate knows neither files nor processes: the same input gives the same bytes. Read [`ReportInput`], then
//! the `render_*` functions. A new column is an entry in `columns`, a new picture a file in `figures` and a line in
//! its list.

mod analysis;
mod answers;
mod any_report;
mod bars;
mod burst_causes;
mod columns;
mod comparison;
mod curves;
mod figures;
mod findings;
mod groups;
mod host;
mod html;
mod input;
mod interim_analyses;
mod interop;
mod json;
mod ladder;
mod look;
mod markdown;
mod notes;
mod number;
mod packet_summary;
mod page;
mod path_summary;
mod phases;
mod plot;
mod profile;
mod quantiles;
mod quantity;
mod ranking;
mod results_table;
mod scan;
mod scenario;
mod squares;
mod terminal;
mod timeline;
mod verdicts;
mod warning_groups;

pub use analysis::{
    AnalysisInput, AnalyzedCapture, render_analysis_html, render_analysis_json, render_analysis_terminal,
};
pub use answers::{AnswerRow, render_answers_terminal};
pub use any_report::{AnyReport, group_key};
pub use bars::{Bars, render_bars_svg};
pub use columns::metric_names;
pub use comparison::{
    Change, Comparison, Condition, ConditionOutcome, CpuChange, CpuDifference, DifferenceNumbers, FunctionChange,
    HandshakeCell, HandshakeOutcome, Handshakes, Judgement, Key, Lines, Pair, Question, Row, SeededProfiles, SeenTrain,
    ShownTrain, SideNumbers, Tone, TrainDifference, Verdict, counts_handshakes, render_comparison_html,
    render_comparison_markdown, render_comparison_terminal, settings_key,
};
pub use curves::{Curves, render_curves_svg};
pub use figures::render_figures;
pub use findings::{
    Basis, FINDINGS_HEAD, Finding, FoundLosses, Interval, Outcome, Side, findings, findings_as_rows, render_findings,
};
pub use groups::{Repetition, repetitions};
pub use host::{HostCurve, HostPictures};
pub use html::{is_of_handshakes, render_html, render_html_with_pages};
pub use input::{FailedRun, FailureCause, FailureRow, MachineLimits, ReportInput, RunRow};
pub use interim_analyses::InterimAnalyses;
pub use interop::{RunnerInfo, render_interop_html, render_interop_json, render_interop_terminal};
pub use json::render_json;
pub use ladder::{
    Ladder, LadderConnection, LadderDatagram, LadderMark, LadderMarkKind, LadderRun, LadderTaps, render_ladder_html,
};
pub use look::{LookPacket, LookTransfer, render_look_html};
pub use markdown::{render_markdown, render_markdown_brief};
pub use packet_summary::{OverTime, PacketSummary};
pub use path_summary::{DropSummary, Mover, PathSummary, StageSummary};
pub use profile::{Profiles, profiles_in_words};
pub use scan::{ScanReport, ScanReportRow, render_scan_figures, render_scan_html, render_scan_markdown};
pub use scenario::{
    ScenarioReport, ScenarioRow, render_scenario_figures, render_scenario_html, render_scenario_json,
    render_scenario_markdown, render_scenario_terminal, scenario_findings,
};
pub use terminal::{
    paragraph::{paragraph, paragraphs},
    render_terminal,
};
pub use timeline::{RunPage, render_run_html, render_run_svg};
pub use verdicts::{verdicts_as_json, verdicts_in_words};
