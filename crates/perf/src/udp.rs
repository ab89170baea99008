//! Plain UDP at a rate, as `iperf3 -u` sends it: what a path does to datagrams before any stack is involved. What is in a datagram
//! ([`Datagram`]), what a receiver makes of those that arrive ([`Arrivals`]), and what both ends say to each other.

mod arrivals;
mod messages;
mod outcome;

pub use arrivals::{Arrivals, Datagram, HEADER};
pub use messages::{Connection, UdpAnswer, UdpQuestion, UdpReading, UdpTest};
pub use outcome::{UdpInterval, UdpSummary, iperf_of_udp};
