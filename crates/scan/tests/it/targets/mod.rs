//! Whom a scan asks, and when: a module for each subject.

mod exclusions;
mod journal;
mod journal_killed;
mod lists;
mod long_lists;
mod resolve;
mod resolver;
mod scan;
