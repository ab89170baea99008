//! An Internet to test a scanner of QUIC servers on: hosts at addresses of several networks, in a network namespace from which
//! no packet reaches another machine. What each host does is described, so the truth about it is known.
//!
//! ```text
//!   scanner's sockets ---> routes ---> TUN device ---> this crate ---> loopback ---> real QUIC servers
//!                                                      delays, silence, ICMP, rubbish
//! ```
//!
//! Call order: [`enter_empty_network`] while the process has a single thread; start real servers on the loopback;
//! [`Internet::start`] with a [`Description`], which [`Description::populate`] fills with hosts; scan;
//! [`Internet::stop`], which answers the [`Truth`].
//! [`ways_out`] proves that the namespace leads nowhere else.
//!
//! Servers see each flow come from an address of its own in 127.64.0.0/10. Times of packets from servers are those of the kernel
//! at the loopback, so half an RTT later means after the server sent them, whenever this crate reads them.
//!
//! Does not contain: servers that speak TLS; those are real ones. Loss and rate limits; `quiclab_path` has them.

mod clock;
mod description;
mod drops;
mod error;
mod flows;
mod forwarder;
mod internet;
mod link;
mod namespace;
mod nat;
mod packet;
mod quic;
mod reaction;
mod record;
mod resolver;
mod table;
mod timers;
mod truth;
mod tun;

pub use description::{
    BadDescription, Behaviour, Delay, Description, Group, Host, Name, Population, Resolution, Rubbish, Server,
    Settings, Unreachable,
};
pub use error::StartError;
pub use internet::{INTERFACE, Internet};
pub use namespace::{enter_empty_network, ways_out};
pub use truth::{Counters, FlowTruth, HostTruth, Lateness, MOST_PASSED, Passed, Truth};
