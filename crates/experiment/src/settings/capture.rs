//! What is captured, and how the packets are read.

use quiclab_units::{ByteCount, Duration};

use super::{
    Draft, Settings,
    declaration::section,
    takes::{Flag, Takes as _, size, time},
};

/// Ethernet, IPv6 and TCP headers with options: below this a packet cannot be told from another.
const SHORTEST_SNAP: ByteCount = ByteCount::from_bytes(96);
const LONGEST_SNAP: ByteCount = ByteCount::from_bytes(65_535);

section! {
    /// What is captured, at the server's egress and behind the bottleneck.
    pub struct Tap as tap {
        /// false leaves the wire unseen: only for measuring what capturing costs
        enabled: bool = true, takes Flag;
        /// true counts the lengths of what the hosts' kernels are given to send, before segmentation, in path.json; it costs time per packet
        send_sizes: bool = false, takes Flag;
        /// true has the endpoints write qlog, where they can; it costs them time and so changes what they send (in one test 495 drops instead of
        /// 718): compare such runs only with each other
        qlog: bool = false, takes Flag;
        /// bytes kept of each packet at the sender's tap
        snaplen: Option<ByteCount> = None, takes size().at_least(SHORTEST_SNAP).at_most(LONGEST_SNAP).or("full"),
            neutral None;
        /// the same behind the bottleneck
        bottleneck_snaplen: Option<ByteCount> = Some(ByteCount::from_bytes(128)),
            takes size().at_least(SHORTEST_SNAP).at_most(LONGEST_SNAP).or("full"), neutral None;
        /// the taps keep the packets of a transfer of this size and a quarter more for what is sent again; a run whose packets find no room fails,
        /// and says so
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
