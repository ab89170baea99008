//! The server's queueing discipline with its parameters.

use quiclab_units::{ByteCount, Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::settings::{Hosts, QdiscKind};

impl Hosts {
    /// The queueing discipline of the server's interface.
    pub fn qdisc(&self) -> Qdisc {
        match self.server_qdisc {
            QdiscKind::None => Qdisc::None,
            QdiscKind::PfifoFast => Qdisc::PfifoFast,
            QdiscKind::FqCodel => Qdisc::FqCodel,
            QdiscKind::Fq => Qdisc::Fq(FairQueueing {
                flow_limit_packets: self.fq_flow_limit_packets,
                limit_packets: self.fq_limit_packets,
                quantum: self.fq_quantum,
                initial_quantum: self.fq_initial_quantum,
                maximum_rate: self.fq_maximum_rate,
                horizon: self.fq_horizon,
                timer_slack: self.fq_timer_slack,
            }),
            QdiscKind::Etf => Qdisc::Etf { delta: self.etf_delta, deadline: self.etf_deadline },
        }
    }
}

/// A queueing discipline of Linux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// No queue: `noqueue`, the default of a virtual Ethernet.
    None,
    /// Three first-in first-out bands.
    PfifoFast,
    /// Fair queueing with send times on `CLOCK_MONOTONIC`.
    Fq(FairQueueing),
    /// Fair queueing with controlled delay.
    FqCodel,
    /// Earliest TxTime first, send times on `CLOCK_TAI`. Drops what has none.
    Etf {
        /// How long before its send time a packet is taken up; more than 0.
        #[serde(with = "crate::quantity")]
        delta: Duration,
        /// Whether the send time is a deadline: packets leave as soon as they can, in the order of their times.
        #[serde(default, skip_serializing_if = "is_false")]
        deadline: bool,
    },
}

/// Parameters of the queueing discipline `fq`; `None` leaves the kernel's own value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FairQueueing {
    /// Most packets of one flow in the queue; from 1.
    pub flow_limit_packets: u32,
    /// Most packets in the queue; from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// Bytes that a flow may send before it is the next one's turn; from 1.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<ByteCount>,
    /// Bytes that a new flow may send in its first turn; from 1.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub initial_quantum: Option<ByteCount>,
    /// A rate that no flow may exceed, whatever its packets' send times say.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub maximum_rate: Option<Rate>,
    /// How far ahead a send time may be; packets beyond are dropped.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Duration>,
    /// Time by which the timer of the discipline may be late.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
}

fn is_false(value: &bool) -> bool {
    !value
}
