//! Settings of the hosts.

use quiclab_units::{ByteCount, Duration, Rate};

use super::{
    cpus::{CpuList, Cpus},
    declaration::section,
    path::{LARGEST_FRAME, LONGEST_DELAY},
    value_parser::{Flag, ValueParser as _, count, rate, size, time, word, words},
};

/// `fq` keeps rates in 32 bits, as bytes per second, and takes the largest number for "none".
const FASTEST_FLOW: Rate = Rate::from_bits_per_second((u32::MAX as u64 - 1) * 8);
/// `fq` lets no packet wait for longer than a second because of its rate: one frame at this rate.
const SLOWEST_FLOW: Rate = Rate::from_bits_per_second(LARGEST_FRAME.as_bytes() * 8);
/// `fq` refuses more (`fq_change` in net/sched/sch_fq.c).
const LARGEST_QUANTUM: ByteCount = ByteCount::from_bytes(1 << 20);
/// `fq` keeps a flow's credit in a signed 32-bit number.
const LARGEST_CREDIT: ByteCount = ByteCount::from_bytes(i32::MAX as u64);
/// `fq` keeps its horizon in 32 bits, as microseconds.
const FARTHEST_HORIZON: Duration = Duration::from_micros(u32::MAX as u64);
/// `fq` keeps its slack in 32 bits, as nanoseconds.
const LONGEST_FQ_SLACK: Duration = Duration::from_nanos(u32::MAX as u64);
/// `delta` of `struct tc_etf_qopt` is a signed 32-bit number of nanoseconds.
const LONGEST_ETF_DELTA: Duration = Duration::from_nanos(i32::MAX as u64);
/// `SOCK_MIN_RCVBUF` and `SOCK_MIN_SNDBUF` of include/net/sock.h on x86-64: the kernel refuses smaller defaults.
const SMALLEST_RECEIVE_BUFFER: ByteCount = ByteCount::from_bytes(2304);
const SMALLEST_SEND_BUFFER: ByteCount = ByteCount::from_bytes(4608);
/// The kernel keeps these in a signed 32-bit number and doubles them.
const LARGEST_BUFFER: ByteCount = ByteCount::from_bytes(1 << 30);

/// A second of waiting on the CPU is far from any use.
const LONGEST_BUSY_POLL: Duration = Duration::from_millis(1000);

section! {
    /// Settings of the hosts.
    pub struct Hosts as hosts {
        /// what a processor takes for its work: "charged" lets each system call, and each byte that it moves, take a time of its own
        /// ([two processors](../concepts/uml-testbed.md#two-processors)); "ideal" takes none
        cpu: Cpu = Cpu::Charged, takes word::<Cpu>(), neutral Cpu::Charged, on [Uml];
        /// queueing discipline of the interface of the measured sender (`workload.sender`); "etf" drops packets without a send time, so it needs pacing "txtime"
        server_qdisc: QdiscKind = QdiscKind::None, takes word::<QdiscKind>(), values_on [("fq_codel", [Vm, Uml, Netns, Hosts])];
        /// maximum number of packets of one flow in the queue; this setting and the next six apply to "fq" only
        fq_flow_limit_packets: u32 = 10_000, takes count(), on [Vm, Uml, Netns, Hosts], when has_fq;
        /// maximum number of packets in the queue; "default" is the kernel's, here and below
        fq_limit_packets: Option<u32> = None, takes count().or("default"), neutral None, on [Vm, Uml, Netns, Hosts], when has_fq;
        /// bytes that a flow can send before the next one's turn
        fq_quantum: Option<ByteCount> = None, takes size().positive().at_most(LARGEST_QUANTUM).or("default"),
            neutral None, on [Vm, Uml, Netns, Hosts], when has_fq;
        /// the same for a new flow
        fq_initial_quantum: Option<ByteCount> = None, takes size().positive().at_most(LARGEST_CREDIT).or("default"),
            neutral None, on [Vm, Uml, Netns, Hosts], when has_fq;
        /// maximum rate of a flow, whatever the send times of its packets
        fq_maximum_rate: Option<Rate> = None,
            takes rate().at_least(SLOWEST_FLOW).at_most(FASTEST_FLOW).whole(8, "a multiple of 8 bit/s").or("default"),
            neutral None, on [Vm, Uml, Netns, Hosts], when has_fq;
        /// how far in the future a send time can be; packets beyond that are dropped
        fq_horizon: Option<Duration> = None,
            takes time().positive().at_most(FARTHEST_HORIZON).whole(1000, "whole microseconds").or("default"),
            neutral None, when has_fq;
        /// how late its timer can fire
        fq_timer_slack: Option<Duration> = None, takes time().at_most(LONGEST_FQ_SLACK).or("default"),
            neutral None, on [Vm, Uml, Netns, Hosts], when has_fq;
        /// how long before its send time a packet is dequeued; this setting and the next two apply to "etf" only
        etf_delta: Duration = Duration::from_micros(200),
            takes time().positive().at_most(LONGEST_ETF_DELTA).because("the kernel keeps it in a signed 32-bit number of nanoseconds"),
            when has_etf;
        /// treat send times as deadlines (ETF's deadline mode): packets leave at once, in the order of their times
        etf_deadline: bool = false, takes Flag, neutral false, sets "QUICLAB_TXTIME_DEADLINE" of Sender except "false",
            when has_etf;
        /// let the network card honour the send time (LaunchTime). Refused where card and driver do not offer it
        etf_launch_time: bool = false, takes Flag, neutral false, on [Hosts], when has_etf;
        /// minimum time between two bundles in which packets reach the server, as with a network card that bundles its interrupts
        receive_coalescing: Duration = Duration::ZERO, takes time().at_most(LONGEST_DELAY), neutral Duration::ZERO;
        /// whether interfaces pass on super-packets of up to 64 kB, as network cards with segmentation offload do (GSO, TSO), and hosts
        /// put packets together when they receive them (GRO). Captures have packets all the same
        offloads: Offloads = Offloads::Off, takes word::<Offloads>(), neutral Offloads::Off, on [Netns];
        /// the CPUs on which the server's threads may run
        server_cpus: Option<CpuList> = None, takes Cpus.or("all"), neutral None, on [Netns];
        /// the same for the client
        client_cpus: Option<CpuList> = None, takes Cpus.or("all"), neutral None, on [Netns];
        /// the same for the thread that moves packets, where the kernel does not
        forwarder_cpus: Option<CpuList> = None, takes Cpus.or("all"), neutral None, on [Netns];
        /// how long a socket call waits for packets on the CPU before it sleeps (net.core.busy_poll and busy_read). They belong to the whole
        /// machine, so the machine must have them set
        busy_poll: Duration = Duration::ZERO,
            takes time().at_most(LONGEST_BUSY_POLL).whole(1000, "whole microseconds"), neutral Duration::ZERO, on [Netns];
        /// receive buffer of every socket, on both hosts, that does not set its own size. In real time it belongs to the whole machine, so
        /// the machine must have another value than the default set
        udp_receive_buffer: ByteCount = ByteCount::from_bytes(50 << 20),
            takes size().at_least(SMALLEST_RECEIVE_BUFFER).at_most(LARGEST_BUFFER), on [Vm, Uml, Netns];
        /// the same for send buffers; the default is the kernel's
        udp_send_buffer: ByteCount = ByteCount::from_bytes(212_992),
            takes size().at_least(SMALLEST_SEND_BUFFER).at_most(LARGEST_BUFFER), on [Vm, Uml, Netns];
    }
}

fn has_fq(hosts: &Hosts) -> bool {
    hosts.server_qdisc == QdiscKind::Fq
}

fn has_etf(hosts: &Hosts) -> bool {
    hosts.server_qdisc == QdiscKind::Etf
}

words! {
    /// A model of a processor in virtual time.
    pub enum Cpu {
        /// System calls take time.
        Charged = "charged",
        /// Nothing does.
        Ideal = "ideal",
    }
}

words! {
    /// A queueing discipline of Linux.
    pub enum QdiscKind {
        /// No queue: `noqueue`, the default of a virtual Ethernet.
        None = "none",
        /// Three first-in first-out bands.
        PfifoFast = "pfifo_fast",
        /// Fair queueing with send times on `CLOCK_MONOTONIC`.
        Fq = "fq",
        /// Fair queueing with controlled delay.
        FqCodel = "fq_codel",
        /// Earliest TxTime first, send times on `CLOCK_TAI`. Drops packets without one.
        Etf = "etf",
    }
}

words! {
    /// Whether interfaces carry super-packets.
    pub enum Offloads {
        /// Packets alone.
        Off = "off",
        /// Super-packets too.
        On = "on",
    }
}
