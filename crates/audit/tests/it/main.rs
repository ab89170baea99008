//! Captures in which each law is broken once, and the same without the fault.

mod capture;
mod content;
mod losses;
mod rates;
mod times;
