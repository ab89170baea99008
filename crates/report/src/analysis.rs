//! What `quiclab analyze` shows of captures: the terminal's tables, JSON, a page.

mod figures;
mod handshake;
mod html;
mod input;
mod json;
mod side_by_side;
mod tap;
mod terminal;

pub use html::render_analysis_html;
pub use input::{AnalysisInput, AnalyzedCapture};
pub use json::render_analysis_json;
pub use terminal::render_analysis_terminal;
