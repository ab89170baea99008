//! The page of one run: everything on one time axis that zooms.

pub(crate) mod axis;
mod draw;
mod host;
mod html;
mod run_page;
#[cfg(test)]
mod tests;

pub use draw::render_run_svg;
pub use html::render_run_html;
pub use run_page::RunPage;
