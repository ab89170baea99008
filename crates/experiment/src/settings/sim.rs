//! Settings of the simulator, which other testbeds refuse.

use quiclab_units::{Duration, Rate};

use super::{
    declaration::section,
    value_parser::{ValueParser as _, rate, time},
};

section! {
    /// What a simulated host costs and how late it is. The default costs nothing and is never late.
    pub struct Sim as sim {
        /// the endpoints' timers fire at multiples of it; 0 means at any time
        timer_step: Duration = Duration::ZERO, takes time(), neutral Duration::ZERO, formerly ["hosts.timer_step"];
        /// mean of the exponentially distributed time by which they fire later than that
        timer_lateness: Duration = Duration::ZERO, takes time(), neutral Duration::ZERO,
            formerly ["hosts.timer_lateness"];
        /// CPU time of a system call that sends or receives
        call_cost: Duration = Duration::ZERO, takes time(), neutral Duration::ZERO, formerly ["hosts.call_cost"];
        /// CPU time of a packet that is sent or received
        packet_cost: Duration = Duration::ZERO, takes time(), neutral Duration::ZERO, formerly ["hosts.packet_cost"];
        /// rate of each host's network card; "none" for one that takes no time
        card_rate: Option<Rate> = None, takes rate().positive().or("none"), neutral None,
            formerly ["hosts.card_rate"];
    }
}
