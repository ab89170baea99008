//! The report of a scan: from its rows to the tables and figures of a study of instant ACKs in the wild, with what was
//! published beside, and what the study lacks: certificates against the amplification limit.
//!
//! Give every row to [`ScanReport::push`], in any order, then render. A row takes some 200 bytes and its texts once, so a
//! million rows are far below 1 GiB. Each part is a file that makes a `Section`; the page and the Markdown are made of the
//! same sections.

mod answers;
mod course;
mod curves;
mod date;
mod delay;
mod deployment;
mod html;
mod lead;
mod limit;
mod markdown;
mod published;
mod report;
mod report_row;
mod rows;
mod section;
#[cfg(test)]
mod tests;
mod week;
mod week_pictures;

pub use html::render_scan_html;
pub use markdown::render_scan_markdown;
pub use report::{ScanReport, render_scan_figures};
pub use report_row::ScanReportRow;
