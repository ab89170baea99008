//! rattan's AF_PACKET driver and its delay cell between two interfaces of the calling thread's namespace, for `make bench-forwarder`:
//! `rattan-delay FROM TO MICROSECONDS`. One thread; packets move from FROM to TO only, as with the benchmark's other bare movers.

use std::{
    fs,
    os::fd::{AsRawFd, RawFd},
    sync::Arc,
    time::Duration,
};

use rattan_core::{
    cells::{Cell, CellState, Egress, Ingress, Packet, delay::DelayCell},
    metal::io::{
        af_packet::AfPacketDriver,
        common::{InterfaceDriver, InterfaceReceiver, InterfaceSender},
    },
};
use rattan_env::{MacAddr, NetNs, VethCell};
use tokio::{io::unix::AsyncFd, time::Instant};

struct Descriptor(RawFd);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// An interface and its peer, which has the address `host`.
fn interface(name: &str, host: [u8; 6]) -> [Arc<VethCell>; 2] {
    let table = fs::read_to_string("/proc/thread-self/net/igmp").expect("list of interfaces");
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let index = words.next()?.parse().ok()?;
        (words.next()? == name).then_some(index)
    };
    let index = table.lines().find_map(line).expect("index of the interface");
    let cell = |name: &str, index, mac| {
        Arc::new(VethCell {
            name: name.to_owned(),
            index,
            mac_addr: MacAddr::new(mac),
            ip_addr: ("0.0.0.0".parse().unwrap(), 0),
            peer: Default::default(),
            namespace: NetNs::current().expect("namespace"),
        })
    };
    let [own, peer] = [cell(name, index, [2, 0, 0, 0, 1, host[5]]), cell("eth0", 0, host)];
    own.peer.set(Arc::downgrade(&peer)).expect("a peer");
    [own, peer]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let delay = Duration::from_micros(arguments[3].parse().expect("microseconds"));
    let [from, _server] = interface(&arguments[1], [2, 0, 0, 0, 0, 1]);
    let [to, _client] = interface(&arguments[2], [2, 0, 0, 0, 0, 2]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        let driver = AfPacketDriver::bind_cell(from).expect("socket").remove(0);
        let sender = AfPacketDriver::bind_cell(to).expect("socket").remove(0).sender();
        let cell = DelayCell::new(delay).expect("cell");
        let ingress = cell.sender();
        let mut egress = cell.into_receiver();
        egress.change_state(CellState::Normal);
        tokio::spawn(async move {
            while let Some(packet) = egress.dequeue().await {
                // A frame that is longer than the interface takes.
                let _ = sender.send(packet);
            }
        });
        let descriptor = AsyncFd::new(Descriptor(driver.raw_fd())).expect("descriptor");
        let mut receiver = driver.into_receiver();
        loop {
            let mut guard = descriptor.readable().await.expect("readable");
            match guard.try_io(|_| receiver.receive()) {
                Ok(Ok(Some(mut packet))) => {
                    packet.delay_until(Instant::now());
                    ingress.enqueue(packet).expect("the cell takes packets");
                }
                Ok(Ok(None)) | Err(_) => {}
                Ok(Err(error)) => panic!("receiving: {error}"),
            }
        }
    });
}
