//! An endpoint on this machine, over a loopback, without virtual machines.

pub mod bench;
pub mod capture;
pub mod checks;
mod endpoint_variables;
mod network;
mod peers;
#[cfg(test)]
mod shipped;
