//! From the metrics of runs to what a person looks at: tables, JSON, one self-contained HTML page.
//!
//! Knows neither files nor processes. Read [`ReportInput`], then the `render_*` functions.

mod input;

pub use input::{FailureRow, PublishedRow, ReportInput, RunRow};

/// The table for a terminal, at most `width` columns wide.
pub fn render_terminal(_input: &ReportInput, _width: Option<u16>) -> String {
    String::new()
}

/// The table as Markdown.
pub fn render_markdown(_input: &ReportInput) -> String {
    String::new()
}

/// Everything as JSON, for programs.
pub fn render_json(_input: &ReportInput) -> String {
    String::new()
}

/// One page with pictures, without any reference to the network.
pub fn render_html(_input: &ReportInput) -> String {
    String::new()
}
