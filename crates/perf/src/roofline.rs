//! What this machine can do at best with the parts that a QUIC transfer is made of: authenticated encryption of packets ([`aead`]), sending
//! and receiving them by UDP sockets ([`udp`]), and, to compare, TCP of the kernel ([`tcp`]), also as `iperf3` sees it ([`iperf3`]).
//!
//! All costs are CPU time of one thread, in nanoseconds for each byte of UDP payload, so neither other programs nor the scheduler
//! are in them. [`Roofline::best`] is an upper bound made of them. [`profile`] samples what a program's CPU time goes to, and
//! [`limits`] splits that of a stack.

pub mod aead;
mod clock;
pub mod iperf3;
pub mod limits;
mod part;
pub mod profile;
pub mod tcp;
pub mod udp;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use iperf3::Iperf3;
pub use limits::{Split, split, split_by_samples};
pub use part::{Cost, Part, Unmeasured};
use tcp::Protection;

/// What this machine can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Bytes of a packet: of its UDP payload.
    pub packet_bytes: usize,
    /// Protecting and removing the protection of packets: RFC 9001, section 5.
    pub aes_128_gcm: Part<Cost>,
    /// The same.
    pub aes_256_gcm: Part<Cost>,
    /// The same.
    pub chacha20_poly1305: Part<Cost>,
    /// sendmsg and recvmsg for each packet.
    pub udp: Part<Cost>,
    /// UDP with UDP_SEGMENT and UDP_GRO: a batch for each system call.
    pub udp_offload: Part<Cost>,
    /// Kernel TCP, 128 KiB for each system call.
    pub tcp: Part<Cost>,
    /// The same with TLS 1.3 and AES-128-GCM in the program.
    pub tcp_tls: Part<Cost>,
    /// Kernel TCP by iperf3.
    pub iperf3: Part<Iperf3>,
}

/// What a program speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// QUIC.
    Quic,
    /// TCP alone.
    Tcp,
    /// TLS over TCP.
    TcpTls,
}

impl Roofline {
    /// Measures all parts over this machine's loopback, `time` for each.
    pub fn measure(packet_bytes: usize, time: Duration) -> Self {
        let aead = |algorithm| Part::from(aead::measure(algorithm, packet_bytes, time));
        Self {
            packet_bytes,
            aes_128_gcm: aead(aead::Algorithm::Aes128Gcm),
            aes_256_gcm: aead(aead::Algorithm::Aes256Gcm),
            chacha20_poly1305: aead(aead::Algorithm::ChaCha20Poly1305),
            udp: udp::measure(packet_bytes, udp::Batch::One, time).into(),
            udp_offload: udp::measure(packet_bytes, udp::Batch::Offload, time).into(),
            tcp: tcp::measure(Protection::Plain, time).into(),
            tcp_tls: tcp::measure(Protection::Tls, time).into(),
            iperf3: iperf3::measure().into(),
        }
    }

    /// The fastest of the ciphers.
    pub fn cheapest_cipher(&self) -> Option<Cost> {
        let all = [&self.aes_128_gcm, &self.aes_256_gcm, &self.chacha20_poly1305];
        let known = all.into_iter().filter_map(|part| part.known().copied());
        known.min_by(|one, other| one.send_ns_per_byte.total_cmp(&other.send_ns_per_byte))
    }

    /// The cheaper way through UDP sockets.
    pub fn cheapest_udp(&self) -> Option<Cost> {
        let known = [&self.udp, &self.udp_offload].into_iter().filter_map(|part| part.known().copied());
        known.min_by(|one, other| one.send_ns_per_byte.total_cmp(&other.send_ns_per_byte))
    }

    /// What a program with one core for each end costs at least. With QUIC it has to encrypt and to send, and the other end to receive and
    /// to decrypt, which no stack gets around; with TCP it is what a plain loop costs here.
    pub fn least(&self, protocol: Protocol) -> Option<Cost> {
        match protocol {
            Protocol::Quic => {
                let (cipher, udp) = (self.cheapest_cipher()?, self.cheapest_udp()?);
                Some(Cost {
                    send_ns_per_byte: cipher.send_ns_per_byte + udp.send_ns_per_byte,
                    receive_ns_per_byte: cipher.receive_ns_per_byte + udp.receive_ns_per_byte,
                })
            }
            Protocol::Tcp => self.tcp.known().copied(),
            Protocol::TcpTls => self.tcp_tls.known().copied(),
        }
    }

    /// What none passes, in bits of UDP payload in a second (with TCP: of its stream).
    pub fn best(&self, protocol: Protocol) -> Option<f64> {
        Some(self.least(protocol)?.bits_per_second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_measured_and_the_best_is_below_each_of_its_parts() {
        let roofline = Roofline::measure(1452, Duration::from_millis(20));
        let best = roofline.best(Protocol::Quic).unwrap();
        for part in [
            &roofline.aes_128_gcm,
            &roofline.aes_256_gcm,
            &roofline.chacha20_poly1305,
            &roofline.udp,
            &roofline.tcp,
            &roofline.tcp_tls,
        ] {
            let cost = part.known().unwrap_or_else(|| panic!("{part:?}"));
            assert!(cost.send_ns_per_byte > 0.0 && cost.receive_ns_per_byte > 0.0, "{roofline:?}");
        }
        assert!(best > 0.0 && best < roofline.cheapest_cipher().unwrap().bits_per_second(), "{roofline:?}");
        assert!(best < roofline.cheapest_udp().unwrap().bits_per_second());
    }

    #[test]
    fn the_bound_is_the_slower_end_of_the_sums() {
        let cost = |send_ns_per_byte, receive_ns_per_byte| Part::Known(Cost { send_ns_per_byte, receive_ns_per_byte });
        let unknown = || Part::Unknown { why: "no".to_owned() };
        let roofline = Roofline {
            packet_bytes: 1200,
            aes_128_gcm: cost(0.5, 0.25),
            aes_256_gcm: cost(2.0, 2.0),
            chacha20_poly1305: unknown(),
            udp: cost(3.0, 3.0),
            udp_offload: cost(0.5, 1.75),
            tcp: cost(0.1, 0.2),
            tcp_tls: unknown(),
            iperf3: Part::Unknown { why: "no".to_owned() },
        };
        assert_eq!(roofline.best(Protocol::Quic), Some(8e9 / 2.0));
        assert_eq!((roofline.best(Protocol::Tcp), roofline.best(Protocol::TcpTls)), (Some(8e9 / 0.2), None));
        let without = Roofline { udp: unknown(), udp_offload: unknown(), ..roofline };
        assert_eq!(without.best(Protocol::Quic), None);
    }
}
