//! Two sets of results side by side: two builds of an endpoint, two settings, two testbeds. Which metrics differ, by how much, and what that
//! decides.
//!
//! Read [`Comparison::of`], then the `render_comparison_*` functions. docs/reference/ab.md says how the numbers come about.

mod cells;
mod compare;
mod condition;
mod cpu;
mod cpu_words;
mod forest;
mod handshake_words;
mod handshakes;
mod html;
mod markdown;
mod measure;
mod result;
mod terminal;
mod trains;
mod verdict;
mod words;

pub use compare::{Key, Question, settings_key};
pub use condition::{Condition, ConditionOutcome, Judgement};
pub use cpu::{CpuChange, CpuDifference, FunctionChange, SeededProfiles};
pub use handshakes::{HandshakeCell, HandshakeOutcome, Handshakes, is_counted as counts_handshakes};
pub use html::render_comparison_html;
pub use markdown::render_comparison_markdown;
pub use measure::{Change, DifferenceNumbers, Row, SideNumbers};
pub use result::{Comparison, Pair, Verdict};
pub use terminal::{Lines, Tone, render_comparison_terminal};
pub use trains::{SeenTrain, ShownTrain, TrainDifference};
