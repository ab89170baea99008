//! Packets of a server, made by hand.

use std::net::SocketAddr;

use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Keys, Version};

/// Acknowledges packet 0.
pub const ACK: [u8; 5] = [0x02, 0, 0, 0, 0];
const OWN_ID: [u8; 8] = *b"hostile!";

/// Who a client's Initial packet is from, and the IDs in it.
#[derive(Clone)]
pub struct Client {
    /// The client's.
    pub address: SocketAddr,
    /// Connection ID that it gave to the server.
    pub destination: Vec<u8>,
    /// Its own.
    pub source: Vec<u8>,
}

impl Client {
    /// Reads a client from its first datagram.
    pub fn new(address: SocketAddr, initial: &[u8]) -> Client {
        let (length, rest) = initial[5..].split_first().expect("a long header");
        let (destination, rest) = rest.split_at((*length).into());
        let (length, rest) = rest.split_first().expect("a long header");
        Client { address, destination: destination.into(), source: rest[..(*length).into()].into() }
    }

    /// A server's Initial packet with these frames and padding, as RFC 9001 section 5 protects it.
    pub fn initial(&self, number: u8, frames: &[u8], bytes: usize) -> Vec<u8> {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().expect("TLS 1.3");
        let keys = Keys::initial(Version::V1, suite, suite.quic.expect("QUIC"), &self.destination, Side::Server).local;
        let mut packet = vec![0xc0, 0, 0, 0, 1, self.source.len() as u8];
        packet.extend_from_slice(&self.source);
        packet.push(OWN_ID.len() as u8);
        packet.extend_from_slice(&OWN_ID);
        packet.push(0);
        let length = bytes - packet.len() - 2;
        packet.extend_from_slice(&(length as u16 | 0x4000).to_be_bytes());
        let number_at = packet.len();
        packet.push(number);
        let header = packet.len();
        packet.extend_from_slice(frames);
        packet.resize(bytes - 16, 0);
        let (head, payload) = packet.split_at_mut(header);
        let tag = keys.packet.encrypt_in_place(number.into(), head, payload).expect("protected");
        packet.extend_from_slice(tag.as_ref());
        let sample: [u8; 16] = packet[number_at + 4..number_at + 20].try_into().expect("a sample");
        let (first, rest) = packet.split_first_mut().expect("a packet");
        keys.header.encrypt_in_place(&sample, first, &mut rest[number_at - 1..number_at]).expect("protected");
        packet
    }
}
