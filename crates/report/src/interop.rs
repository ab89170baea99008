//! What a matrix of interoperation looks like: the terminal's table, a page, and the JSON of the QUIC Interop Runner.
//!
//! Rows are clients and columns are servers. A cell has up to four lines, each with a sign before its letters: colour repeats
//! what the sign says and is never needed.

mod html;
mod json;
mod outcome;
mod terminal;

pub use html::render_interop_html;
pub use json::{RunnerInfo, render_interop_json};
pub use terminal::render_interop_terminal;
