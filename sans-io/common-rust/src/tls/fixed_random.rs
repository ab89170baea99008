//! The random bytes that ring is given. It accepts no sources but its own. Two of them are meant for its tests, and marked as deprecated because they may
//! go away: Cargo.toml asks for a release that has them.

#[allow(deprecated)]
mod of_tests {
    pub(in super::super) type FixedByte = ring::test::rand::FixedByteRandom;
    pub(in super::super) type FixedSlice<'a> = ring::test::rand::FixedSliceRandom<'a>;
}

pub(super) use of_tests::{FixedByte, FixedSlice};
