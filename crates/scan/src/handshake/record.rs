//! The packets of a handshake: as much of them as will be asked for.

use std::net::{IpAddr, SocketAddr};

use crate::answer::{Answer, KeptPacket, Outcome};
use crate::classify::{Datagram, Watch};
use crate::clock::Moment;
use crate::first_flight::FirstFlight;
use crate::settings::Request;
use crate::sockets::Received;

use super::local_address;

/// What was seen of a handshake: before the first answer, the datagrams that were sent; from then on, a [`Watch`] that has read them.
enum Seen {
    Unanswered(FirstFlight),
    Answered(Box<Watch>),
}

/// Whole datagrams, for those who asked for them.
#[derive(Default)]
struct Whole {
    packets: Vec<KeptPacket>,
    key_log: Vec<String>,
}

/// What is remembered of a handshake's packets.
pub struct Record {
    id: u64,
    address: SocketAddr,
    /// Address of the socket; the IP address is known with the first answer.
    socket: SocketAddr,
    local_ip: Option<IpAddr>,
    /// When it was asked for, until it is sent.
    start: Moment,
    is_sent: bool,
    received_datagrams: u32,
    received_bytes: u64,
    seen: Seen,
    whole: Option<Box<Whole>>,
}

impl Record {
    /// Makes the record of a handshake that is asked for now, over this socket.
    pub fn new(request: &Request, socket: SocketAddr, now: Moment) -> Self {
        Record {
            id: request.id,
            address: request.address,
            socket,
            local_ip: None,
            start: now,
            is_sent: false,
            received_datagrams: 0,
            received_bytes: 0,
            seen: Seen::Unanswered(FirstFlight::default()),
            whole: request.keeps_packets.then(Box::default),
        }
    }

    /// The server's.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// When the first datagram left, or the handshake was asked for.
    pub fn start(&self) -> Moment {
        self.start
    }

    /// Whether a datagram left.
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Number of datagrams that came from the server's address.
    pub fn received_datagrams(&self) -> u32 {
        self.received_datagrams
    }

    /// Their payload.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// A datagram has left.
    pub fn on_sent(&mut self, moment: Moment, bytes: Vec<u8>) {
        if !self.is_sent {
            self.is_sent = true;
            self.start = moment;
        }
        let unix_ns = self.start.unix_of(moment.monotonic_ns);
        if let Some(whole) = &mut self.whole {
            whole.packets.push(KeptPacket { time_ns: unix_ns, is_sent: true, bytes: bytes.clone() });
        }
        let local = local_address(self.socket, self.local_ip);
        match &mut self.seen {
            Seen::Unanswered(flight) => flight.push(moment.monotonic_ns, bytes),
            Seen::Answered(watch) => watch.on_datagram(&Datagram {
                unix_ns,
                source: local,
                destination: self.address,
                ecn: 0,
                payload: &bytes,
            }),
        }
    }

    /// A datagram came, after which there are these secrets.
    pub fn on_received(&mut self, time_ns: u64, received: &Received<'_>, secrets: Vec<String>) {
        self.received_datagrams += 1;
        self.received_bytes += received.payload.len() as u64;
        self.local_ip = self.local_ip.or(received.local);
        let unix_ns = self.start.unix_of(time_ns);
        let (address, local) = (self.address, local_address(self.socket, self.local_ip));
        let watch = self.watch(local);
        for line in &secrets {
            watch.add_secret(line);
        }
        watch.on_datagram(&Datagram {
            unix_ns,
            source: address,
            destination: local,
            ecn: received.ecn,
            payload: received.payload,
        });
        if let Some(whole) = &mut self.whole {
            whole.packets.push(KeptPacket { time_ns: unix_ns, is_sent: false, bytes: received.payload.to_vec() });
            whole.key_log.extend(secrets);
        }
    }

    /// Made of the first flight where there is none yet.
    fn watch(&mut self, local: SocketAddr) -> &mut Watch {
        if let Seen::Unanswered(flight) = &mut self.seen {
            let mut watch = Watch::new(self.address);
            for (time_ns, payload) in std::mem::take(flight).into_datagrams() {
                let unix_ns = self.start.unix_of(time_ns);
                let (source, destination) = (local, self.address);
                watch.on_datagram(&Datagram { unix_ns, source, destination, ecn: 0, payload: &payload });
            }
            self.seen = Seen::Answered(Box::new(watch));
        }
        match &mut self.seen {
            Seen::Answered(watch) => watch,
            Seen::Unanswered(_) => unreachable!("it was replaced above"),
        }
    }

    /// What the packets say of a handshake with this outcome.
    pub fn into_answer(self, outcome: Outcome) -> Answer {
        let class = match &self.seen {
            Seen::Unanswered(_) => None,
            Seen::Answered(watch) => watch.finish(),
        };
        let Whole { mut packets, key_log } = self.whole.map(|whole| *whole).unwrap_or_default();
        // A datagram may be read after later ones were sent.
        packets.sort_by_key(|packet| packet.time_ns);
        Answer {
            local: self.is_sent.then(|| local_address(self.socket, self.local_ip)),
            class,
            received_bytes: self.received_bytes,
            packets,
            key_log,
            ..Answer::new(self.id, self.address, outcome, self.start.unix_ns)
        }
    }
}
