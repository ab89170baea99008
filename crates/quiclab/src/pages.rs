//! Pages and pictures of single runs.

pub mod figure_files;
pub mod host_pictures;
pub mod ladder;
pub mod run_page;
