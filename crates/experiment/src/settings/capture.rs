//! What is captured, and how the packets are read.

use quiclab_units::{ByteCount, Duration};

use super::{
    declaration::section,
    value_parser::{Flag, ValueParser as _, size, time},
};

/// Ethernet, IPv6 and TCP headers with options: below this a packet cannot be told from another.
const SHORTEST_SNAP: ByteCount = ByteCount::from_bytes(128);
const LONGEST_SNAP: ByteCount = ByteCount::from_bytes(65_535);

section! {
    /// What is captured, at the server's egress and behind the bottleneck.
    pub struct Tap as tap {
        /// false captures nothing: only to measure the cost of capturing
        enabled: bool = true, takes Flag;
        /// true counts the lengths of buffers that the hosts' kernels get to send, before segmentation, in path.json;
        /// takes time for each packet
        send_sizes: bool = false, takes Flag, on [Vm, Sim];
        /// true counts the endpoints' system calls by name, in host.json, where quiclab is root; each takes about 0.1 us longer then
        system_calls: bool = true, takes Flag, neutral true, on [Netns];
        /// true makes the endpoints write qlog if they can; this takes time and changes what they send (in one test 495
        /// drops instead of 718), except in the simulator: compare such runs only with each other
        qlog: bool = false, takes Flag;
        /// true samples both endpoints' CPU time by function (server/profile.json, client/profile.json); each sample takes
        /// time and so moves packets slightly: compare such runs only with each other
        profile: bool = false, takes Flag, neutral false, on [Vm];
        /// bytes to keep of each packet at the sender's tap
        snaplen: Option<ByteCount> = None, takes size().at_least(SHORTEST_SNAP).at_most(LONGEST_SNAP).or("full"),
            neutral None;
        /// the same behind the bottleneck
        bottleneck_snaplen: Option<ByteCount> = Some(ByteCount::from_bytes(128)),
            takes size().at_least(SHORTEST_SNAP).at_most(LONGEST_SNAP).or("full"), neutral None;
        /// the taps have room for a transfer of this size plus a quarter for retransmissions; a run with more packets fails with an error
        room: Option<ByteCount> = None, takes size().positive().or("transfer"), neutral None;
    }
}

section! {
    /// How the packets are read. It changes the metrics, not the packets, and is part of the identity all the same.
    pub struct Analysis as analysis {
        /// packets with a gap strictly below it belong to one train
        train_threshold: Duration = Duration::from_micros(100), takes time().positive();
    }
}
