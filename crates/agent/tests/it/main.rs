//! The integration tests of this crate: one executable, a module for each subject.

mod activity;
mod by_hand;
mod common;
mod cross_traffic;
mod harmless;
mod host_settings;
mod identity;
mod iperf3;
mod limits_of_speed;
mod real_time;
mod serve;
