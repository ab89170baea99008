//! Traffic from the server's host to the client's beside that of the endpoints, by the kernel's own TCP and UDP.
//!
//! Each end is a thread with a socket that was made in its host's namespace, and so stays there.

mod ends;
mod socket;

use std::{
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    thread::JoinHandle,
};

use anyhow::{Context, Result, anyhow};
use nix::sys::eventfd::{EfdFlags, EventFd};
use quiclab_agent_protocol::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, SERVER_ADDRESS, SERVER_ADDRESS_V6},
    cross_traffic::{CrossFlow, CrossTraffic as Order, CrossTrafficReport, PORT},
};

use crate::topology::Topology;
use ends::{Received, Sent};

/// Cross traffic that is ready to start, or under way. Dropping it ends it.
pub struct CrossTraffic {
    stop_source: Arc<EventFd>,
    stop_sink: Arc<EventFd>,
    stage: Stage,
}

enum Stage {
    Ready { order: Order, source: OwnedFd, sink: OwnedFd, to: SocketAddr },
    Running { source: Option<JoinHandle<Result<Sent>>>, sink: Option<JoinHandle<Result<Received>>> },
}

impl CrossTraffic {
    /// Opens both sockets.
    ///
    /// # Errors
    /// Where a port is taken, or the kernel lacks the congestion control.
    pub fn open(order: &Order, topology: &Topology) -> Result<Self> {
        let [from, to]: [IpAddr; 2] = if order.over_ipv6 {
            [SERVER_ADDRESS_V6.into(), CLIENT_ADDRESS_V6.into()]
        } else {
            [SERVER_ADDRESS.into(), CLIENT_ADDRESS.into()]
        };
        let [from, to] = [from, to].map(|address| SocketAddr::new(address, PORT));
        let sink = topology.client.inside(|| socket::sink(&order.flow, to)).context("the end of the cross traffic")?;
        let source =
            topology.server.inside(|| socket::source(&order.flow, from)).context("the source of the cross traffic")?;
        let event = || EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Arc::new);
        Ok(Self {
            stop_source: event()?,
            stop_sink: event()?,
            stage: Stage::Ready { order: order.clone(), source, sink, to },
        })
    }

    /// Starts both ends. Times count from now.
    ///
    /// # Errors
    /// Where a thread cannot be started.
    pub fn start(&mut self) -> Result<()> {
        let running = Stage::Running { source: None, sink: None };
        let Stage::Ready { order, source, sink, to } = std::mem::replace(&mut self.stage, running) else {
            return Err(anyhow!("cross traffic was started twice"));
        };
        let is_tcp = matches!(order.flow, CrossFlow::Tcp { .. });
        let (stop_source, stop_sink) = (Arc::clone(&self.stop_source), Arc::clone(&self.stop_sink));
        let sink = spawn("cross-sink", move || ends::receive(&sink, is_tcp, stop_sink.as_fd()))?;
        let source = spawn("cross-source", move || ends::send(&source, &order, to, stop_source.as_fd()))?;
        self.stage = Stage::Running { source: Some(source), sink: Some(sink) };
        Ok(())
    }

    /// Ends the source. TCP sends what it has taken over and closes, in some seconds at most.
    ///
    /// # Errors
    /// What went wrong with it.
    pub fn stop_source(&mut self, report: &mut CrossTrafficReport) -> Result<()> {
        let Stage::Running { source, .. } = &mut self.stage else { return Ok(()) };
        let Some(source) = source.take() else { return Ok(()) };
        self.stop_source.write(1)?;
        let sent = joined(source).context("the source of the cross traffic")?;
        report.packets_sent = sent.packets;
        report.bytes_sent = sent.bytes;
        report.retransmissions = sent.retransmissions;
        report.lifetime_ns = sent.lifetime_ns;
        report.is_complete = sent.is_complete;
        Ok(())
    }

    /// Ends the other end, once nothing is under way any more.
    ///
    /// # Errors
    /// What went wrong with it.
    pub fn stop_sink(&mut self, report: &mut CrossTrafficReport) -> Result<()> {
        let Stage::Running { sink, .. } = &mut self.stage else { return Ok(()) };
        let Some(sink) = sink.take() else { return Ok(()) };
        self.stop_sink.write(1)?;
        let received = joined(sink).context("the end of the cross traffic")?;
        report.packets_received = received.packets;
        report.bytes_received = received.bytes;
        Ok(())
    }
}

impl Drop for CrossTraffic {
    fn drop(&mut self) {
        let mut unused = CrossTrafficReport::default();
        let _ = self.stop_source(&mut unused);
        let _ = self.stop_sink(&mut unused);
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<JoinHandle<Result<T>>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).context("a thread for cross traffic")
}

fn joined<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("its thread panicked"))?
}

#[cfg(test)]
mod tests;
