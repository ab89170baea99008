//! One transfer, packet by packet: rows, the page, where two part, and which bytes were lost.

pub mod filter;
pub mod listing;
pub mod logs;
pub mod losses;
pub mod page;
pub mod row;
pub mod sequence;
pub mod waiting;
pub mod which;
