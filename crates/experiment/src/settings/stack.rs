//! The stack, and how it is to behave.

use quiclab_units::Duration;

use super::{
    declaration::section,
    hosts::{Hosts, QdiscKind},
    value_parser::{Quantity, Text, ValueParser as _, count, time, word, words},
};

/// The contract counts probe timeouts in milliseconds.
const MILLISECOND: u64 = 1_000_000;

/// What stands for "whatever the endpoint does by itself", of stacks that have no manifest to tell.
pub const DEFAULT: &str = "default";

section! {
    /// The stack, and how it is to behave. An endpoint that cannot honour one of these says so by exit status 127. Each value is one that
    /// the measured sender's stack claims; [`DEFAULT`] leaves it to the endpoint.
    pub struct StackSettings as stack {
        /// the stack to measure: a folder in `stacks/` or in that of `--stacks`, an imported image, or one given with
        /// `--stack`; followed by options of its build, such as "quiche-0.24 profile=dev" (`quiclab stacks list NAME`
        /// prints them). A version can follow an `@`: "quiche@0.22" is "quiche-0.22"
        name: String = String::new(), takes Text("the name of a stack"), default_said "required";
        /// the stack of the server; the settings below apply to the stack of the measured sender (`workload.sender`)
        server: String = String::new(), takes Text("the name of a stack"),
            default_said "`stack.name`, or its peer where it has no server";
        /// the stack of the client. An end that does not have the measured sender's stack keeps its own defaults
        client: String = String::new(), takes Text("the name of a stack"),
            default_said "`stack.name`, or its peer where it has no client";
        /// the sender's algorithm, one that the stack claims, such as "cubic"
        congestion_control: String = DEFAULT.to_owned(), takes Text("an algorithm such as \"cubic\""),
            default_said "the stack's", sets "QUICLAB_CCA" of Sender except "default";
        /// segmentation offload: one packet per system call, many, or many to each of which the kernel gives a send
        /// time ([paced GSO](../concepts/paced-gso.md)); "default" is for a stack without a manifest
        gso: Gso = Gso::Default, takes word::<Gso>(), default_said "the stack's",
            sets "QUICLAB_GSO" of Sender except "default", values_on [("paced", [Vm])];
        /// maximum number of packets per system call with segmentation offload; a stack that supports a number gives
        /// each such batch its own send time
        gso_segments: Option<u32> = None, takes count().or("all"), neutral None,
            sets "QUICLAB_GSO_SEGMENTS" of Sender except "all";
        /// how the stack passes the rate of a buffer to the kernel with `stack.gso` = "paced": as its mark, for a
        /// module, or in a control message, for a patched kernel
        gso_rate: Option<GsoRate> = None, takes word::<GsoRate>().open(),
            default_said "`\"mark\"`, or `\"message\"` with `vm.kernel` = \"6.1-paced\"",
            sets "QUICLAB_GSO_RATE" of Sender except "mark";
        /// what spaces packets: nothing, the stack's own timers, or the kernel by the send time of each packet
        /// (`SO_TXTIME`); "default" is for a stack without a manifest
        pacing: Pacing = Pacing::Default, takes word::<Pacing>(), default_said "the stack's",
            sets "QUICLAB_PACING" of Sender except "default";
        /// the clock of the send times with `stack.pacing` = "txtime"; "fq" needs the first, "etf" the second
        txtime_clock: Option<Clock> = None, takes word::<Clock>().open(),
            default_said "what `hosts.server_qdisc` needs", sets "QUICLAB_TXTIME_CLOCK" of Sender except "monotonic",
            implied by Hosts: |hosts| matches!(hosts.server_qdisc, QdiscKind::Fq | QdiscKind::Etf);
        /// let HyStart++ (RFC 9406), or the older HyStart in the kernel's CUBIC, end slow start; for stacks with a switch for it
        hystart: Option<Switch> = None, takes word::<Switch>().or(DEFAULT), neutral None,
            sets "QUICLAB_HYSTART" of Sender except "default";
        /// what the server sends before its ServerHello, while it waits for its certificate: an acknowledgment at
        /// once, the same in a datagram of full size, or nothing; "default" leaves it to the stack
        first_ack: Option<FirstAck> = None, takes word::<FirstAck>().or(DEFAULT), neutral None,
            sets "QUICLAB_FIRST_ACK" of Server except "default";
        /// the server's probe timeout until it has measured a round-trip time, three times its initial RTT (RFC 9002,
        /// section 6.2.2)
        default_pto: Option<Duration> = None, takes pto().or(DEFAULT), neutral None;
        /// the same, of the client
        client_default_pto: Option<Duration> = None, takes pto().or(DEFAULT), neutral None;
        /// the only key exchange that the client offers; with "x25519" a ClientHello fits into one datagram, with
        /// "x25519mlkem768" it takes two; "default" leaves it to the stack
        client_key_exchange: Option<KeyExchange> = None, takes word::<KeyExchange>().or(DEFAULT), neutral None,
            sets "QUICLAB_KEY_EXCHANGE" of Client except "default";
        /// HTTP/3, HTTP/0.9 over QUIC, or HTTP/2 over TCP
        http: Http = Http::H3, takes word::<Http>(), default_said "the stack's", sets "QUICLAB_HTTP" of Both;
    }
}

/// A probe timeout; a handshake is given up before the longest one.
const fn pto() -> Quantity<Duration> {
    time().at_least(Duration::from_millis(1)).at_most(Duration::from_secs(60)).whole(MILLISECOND, "whole milliseconds")
}

words! {
    /// A key exchange, by its name in TLS (IANA, TLS Supported Groups).
    pub enum KeyExchange {
        /// Elliptic curves only; a key share of 32 bytes.
        X25519 = "x25519",
        /// Together with ML-KEM (FIPS 203); a key share of 1216 bytes.
        X25519MlKem768 = "x25519mlkem768",
    }
}

words! {
    /// What a server sends while its certificate is not there yet.
    pub enum FirstAck {
        /// An acknowledgment at once, in a datagram as long as it needs.
        Instant = "instant",
        /// An acknowledgment at once, in a datagram of at least 1200 bytes.
        Padded = "padded",
        /// Nothing: the acknowledgment comes with the ServerHello.
        Wait = "wait",
    }
}

words! {
    /// How the kernel is told the rate at which the segments of a buffer leave.
    pub enum GsoRate {
        /// The rate is the mark of the buffer (`SO_MARK`), for the queueing discipline of kernel/module.
        Mark = "mark",
        /// The rate is in a control message of its own (`UDP_SEGMENT_PACING_RATE`), for a kernel with the patch of kernel/patch.
        Message = "message",
    }
}

words! {
    /// Whether something is on or off.
    pub enum Switch {
        /// The feature is on.
        On = "on",
        /// The feature is off.
        Off = "off",
    }
}

words! {
    /// Generic segmentation offload of UDP.
    pub enum Gso {
        /// One packet per system call or message.
        Off = "off",
        /// Many packets in one buffer, cut by the kernel.
        On = "on",
        /// The same, and the kernel gives each packet a send time of its own, by a rate that the stack sets.
        Paced = "paced",
        /// Whatever the endpoint does by itself.
        Default = "default",
    }
}

words! {
    /// Who spaces the packets.
    pub enum Pacing {
        /// Nobody.
        Off = "off",
        /// The stack, by timers of its own.
        User = "user",
        /// The kernel, by the send time that the stack gives each packet (`SO_TXTIME`).
        Txtime = "txtime",
        /// Whatever the endpoint does by itself.
        Default = "default",
    }
}

words! {
    /// What is spoken over the transport.
    pub enum Http {
        /// HTTP/3.
        H3 = "h3",
        /// HTTP/0.9 over QUIC, as the interop tests have it.
        Hq = "hq",
        /// HTTP/2 over TLS over TCP.
        H2 = "h2",
    }
}

words! {
    /// A clock of the kernel that send times can be on.
    pub enum Clock {
        /// `CLOCK_MONOTONIC`, that of the stacks and of `fq`.
        Monotonic = "monotonic",
        /// `CLOCK_TAI`, that of `etf` and of network cards.
        Tai = "tai",
    }
}
