//! The `quiclab` command.
fn main() {}
