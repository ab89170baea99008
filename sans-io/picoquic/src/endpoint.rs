//! An order in, an answer out.

use std::{mem, net::SocketAddr, ptr};

use anyhow::{Result, ensure};
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use quiclab_contract::Role;
use quiclab_sans_io::{Answer, Buffer, Endpoint, Received, tls, wire::ANSWER_LIMIT};

use crate::{
    addresses::address,
    client::{self, Fetch},
    ffi, machine,
    quic::Context,
    server::{self, Running},
    settings::Settings,
};

/// Nanoseconds of picoquic's unit of time.
const MICROSECOND: u64 = 1000;
/// Room for one call of picoquic: what its packet loop has for a batch.
const BATCH: usize = 0xffff;
/// Bytes that leave with one answer at most, and those of the batch that passes it.
const MOST_BYTES: usize = ANSWER_LIMIT / 2;

/// Addresses, the clock, and the buffer of packets that leave.
struct Network {
    /// In microseconds since the epoch. picoquic has this address.
    clock: Box<u64>,
    local: SocketAddr,
    peer: SocketAddr,
    /// Packets leave in batches, each one buffer.
    has_offload: bool,
    /// ECN of all packets, by the congestion control.
    ecn: u8,
    buffer: Vec<u8>,
}

impl Network {
    fn new(settings: &Settings) -> Self {
        let port = settings.requests.first().map_or(settings.port, |request| request.port);
        let [client, server] = [Role::Client, Role::Server].map(|role| address(settings.ip, role, port));
        let (local, peer) = if settings.role == Role::Client { (client, server) } else { (server, client) };
        Self {
            clock: Box::new(tls::NOW.as_micros() as u64),
            local,
            peer,
            has_offload: settings.gso.is_on(),
            ecn: 0,
            buffer: vec![0; BATCH],
        }
    }

    fn clock(&mut self) -> *mut u64 {
        &mut *self.clock
    }

    /// Time goes on, and datagrams arrive.
    fn receive(&mut self, context: &Context, now_ns: u64, datagrams: Vec<Received>) {
        machine::set_now(now_ns);
        *self.clock = tls::NOW.as_micros() as u64 + now_ns / MICROSECOND;
        let ends = [self.peer, self.local].map(SockaddrStorage::from);
        for Received { ecn, mut payload } in datagrams {
            let [from, to] = &ends;
            // SAFETY: everything lives during the call; picoquic does not write to addresses. What cannot be read is dropped.
            unsafe {
                ffi::picoquic_incoming_packet(
                    context.pointer,
                    payload.as_mut_ptr(),
                    payload.len(),
                    from.as_ptr().cast_mut().cast(),
                    to.as_ptr().cast_mut().cast(),
                    0,
                    ecn,
                    *self.clock,
                )
            };
        }
    }

    /// Takes what picoquic sends now. True: there was something.
    fn send(&mut self, context: &Context, answer: &mut Answer) -> Result<bool> {
        let before = answer.buffers.len();
        let mut bytes: usize = answer.buffers.iter().map(|buffer| buffer.payload.len()).sum();
        while bytes < MOST_BYTES {
            let (mut length, mut segment, mut interface) = (0, 0, 0);
            let mut last = ptr::null_mut();
            // SAFETY: plain structures for which zeros are valid; everything lives during the call.
            let outcome = unsafe {
                let mut to: ffi::sockaddr_storage = mem::zeroed();
                let mut from: ffi::sockaddr_storage = mem::zeroed();
                let mut id: ffi::picoquic_connection_id_t = mem::zeroed();
                ffi::picoquic_prepare_next_packet_ex(
                    context.pointer,
                    *self.clock,
                    self.buffer.as_mut_ptr(),
                    self.buffer.len(),
                    &mut length,
                    &mut to,
                    &mut from,
                    &mut interface,
                    &mut id,
                    &mut last,
                    if self.has_offload { &mut segment } else { ptr::null_mut() },
                )
            };
            ensure!(outcome == 0, "picoquic cannot prepare a packet: {outcome:#x}");
            if length == 0 {
                break;
            }
            bytes += length;
            let segment = if segment == 0 { length } else { segment.min(length) };
            answer.buffers.push(Buffer {
                ecn: self.ecn,
                segment: u16::try_from(segment)?,
                planned: None,
                payload: self.buffer[..length].to_vec(),
            });
        }
        Ok(answer.buffers.len() > before)
    }

    /// When picoquic wants to be called, since the start of the run.
    fn next(&self, context: &Context, now_ns: u64) -> Option<u64> {
        // SAFETY: the context lives.
        let wake = unsafe { ffi::picoquic_get_next_wake_time(context.pointer, *self.clock) };
        let since_start = wake.saturating_sub(tls::NOW.as_micros() as u64);
        since_start.checked_mul(MICROSECOND).map(|next| next.max(now_ns))
    }
}

/// The ECN mark that picoquic's packet loop gives its sockets. Algorithms are known once there is a context.
fn ecn(settings: &Settings) -> u8 {
    // SAFETY: the name ends with a zero; algorithms live as long as the process.
    unsafe { ffi::picoquic_get_congestion_algorithm(settings.congestion_control.algorithm.as_ptr()).as_ref() }
        .map_or(0, |algorithm| algorithm.ecn_mark)
}

/// Fetches files over one connection.
pub struct Client<'a> {
    settings: &'a Settings,
    /// `None` before the first order. Freed before the context.
    fetch: Option<Fetch>,
    context: Context,
    network: Network,
}

impl<'a> Client<'a> {
    /// Not connected yet.
    ///
    /// # Errors
    /// Where picoquic cannot use the certificates.
    pub fn new(settings: &'a Settings) -> Result<Self> {
        let mut network = Network::new(settings);
        let context = client::context(settings, network.clock())?;
        network.ecn = ecn(settings);
        Ok(Self { settings, fetch: None, context, network })
    }
}

impl Endpoint for Client<'_> {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        let Self { settings, fetch, context, network } = self;
        network.receive(context, now_ns, datagrams);
        let fetch = match fetch {
            Some(fetch) => fetch,
            none => none.insert(Fetch::begin(settings, context, network.peer, &settings.requests, false)?),
        };
        let mut answer = Answer::default();
        let mut is_over = fetch.step(settings, context);
        // A connection can also end without sending anything.
        loop {
            let has_sent = network.send(context, &mut answer)?;
            is_over |= fetch.step(settings, context);
            if is_over || !has_sent {
                break;
            }
        }
        if is_over {
            fetch.check(settings, context)?;
            answer.is_done = true;
            return Ok(answer);
        }
        answer.next = network.next(context, now_ns);
        Ok(answer)
    }
}

/// Answers requests.
pub struct Server<'a> {
    running: Running<'a>,
    network: Network,
}

impl<'a> Server<'a> {
    /// Nobody has connected yet.
    ///
    /// # Errors
    /// Where picoquic cannot use the certificates.
    pub fn new(settings: &'a Settings) -> Result<Self> {
        let mut network = Network::new(settings);
        let running = server::begin(settings, network.clock())?;
        network.ecn = ecn(settings);
        Ok(Self { running, network })
    }
}

impl Endpoint for Server<'_> {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        let Self { running, network } = self;
        network.receive(&running.context, now_ns, datagrams);
        let mut answer = Answer::default();
        network.send(&running.context, &mut answer)?;
        running.look();
        answer.next = network.next(&running.context, now_ns);
        Ok(answer)
    }
}
