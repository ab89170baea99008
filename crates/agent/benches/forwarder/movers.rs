//! Ways to move packets from the server to the client. Except the first two they have no stages and move packets in one direction only.

use std::{
    fs::File,
    io,
    mem::zeroed,
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, ensure};
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::time::TimeSpec,
};
use quiclab_agent::{
    forwarder::{
        Forwarder,
        frame::Frame,
        packets::SocketFull,
        socket::{MOST_BYTES, MOST_RECEIVED, Socket},
    },
    namespace::Namespace,
    topology::Topology,
};
use quiclab_agent_protocol::{
    addresses::{CLIENT_MAC, HOST_INTERFACE, SERVER_MAC, TO_CLIENT, TO_SERVER},
    forwarder::{Forwarder as Order, LARGEST_SUPER_PACKET_BYTES, RealTime},
};

/// Something that moves packets until it is stopped.
pub struct Mover {
    /// Time by which it delays packets.
    pub delay: Duration,
    how: How,
}

enum How {
    Kernel,
    Own(Box<Forwarder>),
    Thread { end: Arc<AtomicBool>, thread: JoinHandle<Result<()>> },
    Program(Child),
}

impl Mover {
    /// The kernel does it.
    pub fn kernel() -> Self {
        Self { delay: Duration::ZERO, how: How::Kernel }
    }

    fn thread(mut step: impl FnMut() -> Result<()> + Send + 'static) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ends = end.clone();
        let work = move || {
            while !ends.load(Ordering::Relaxed) {
                step()?;
            }
            Ok(())
        };
        Self { delay: Duration::ZERO, how: How::Thread { end, thread: std::thread::spawn(work) } }
    }

    /// Stops it. Answers how many frames found its socket full, where that is known.
    pub fn stop(self) -> Result<Option<u64>> {
        match self.how {
            How::Kernel => Ok(None),
            How::Own(forwarder) => {
                let (report, ended) = forwarder.finish();
                report.context("the forwarder has no report")?;
                match ended {
                    // The sender is faster than anybody, so packets are lost.
                    Err(error) => match error.downcast_ref::<SocketFull>() {
                        Some(full) => Ok(Some(full.lost.into())),
                        None => Err(error),
                    },
                    Ok(()) => Ok(Some(0)),
                }
            }
            How::Thread { end, thread } => {
                end.store(true, Ordering::Relaxed);
                thread.join().map_err(|_| anyhow!("it panicked"))??;
                Ok(None)
            }
            How::Program(mut child) => {
                ensure!(child.try_wait()?.is_none(), "the other program has ended by itself");
                child.kill()?;
                child.wait()?;
                Ok(None)
            }
        }
    }
}

/// The forwarder of the agent, as runs use it.
pub struct Forwarding {
    pub delay: Duration,
    pub real_time: RealTime,
}

impl Forwarding {
    pub fn start(&self, topology: &Topology) -> Result<Mover> {
        let stage = format!("stage = \"delay\"\nname = \"delay\"\ndelay = \"{} us\"\n", self.delay.as_micros());
        let stage = toml::from_str(&stage).expect("a stage");
        let order = Order {
            to_client: if self.delay.is_zero() { Vec::new() } else { vec![stage] },
            to_server: Vec::new(),
            seed: 1,
            reads_packets_of_port: None,
            real_time: Some(self.real_time),
        };
        let mut forwarder = Forwarder::open(&order, Vec::new(), &topology.wire)?;
        forwarder.start()?;
        Ok(Mover { delay: self.delay, how: How::Own(Box::new(forwarder)) })
    }
}

/// The forwarder's sockets, and nothing between them.
pub struct Bare {
    pub has_ring: bool,
    pub is_busy: bool,
}

impl Bare {
    pub fn start(&self, wire: &Namespace) -> Result<Mover> {
        let largest = self.has_ring.then_some(LARGEST_SUPER_PACKET_BYTES);
        let [mut from, to] = wire.inside(|| Ok([Socket::open(TO_SERVER, largest)?, Socket::open(TO_CLIENT, None)?]))?;
        let (mut buffers, mut frames, is_busy) = (vec![0; MOST_RECEIVED * MOST_BYTES], Vec::new(), self.is_busy);
        Ok(Mover::thread(move || {
            let received = from.receive(&mut buffers, |_, bytes| {
                frames.push(Frame::new(bytes.to_vec())?);
                Ok(())
            })?;
            to.send(&frames)?;
            frames.clear();
            if received == 0 && !is_busy {
                wait(&from)?;
            }
            Ok(())
        }))
    }
}

/// Waits until something can be read, or 10 ms have passed.
fn wait(from: &impl AsFd) -> Result<()> {
    let mut watched = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
    ppoll(&mut watched, Some(TimeSpec::from_duration(Duration::from_millis(10))), None).context("poll")?;
    Ok(())
}

/// Ethernet devices of user space instead of pairs of interfaces.
pub struct Tun {
    server: File,
    client: File,
}

impl Tun {
    /// Makes them, in the namespaces of the hosts.
    pub fn open(hosts: &Topology) -> Result<Self> {
        let host = |namespace: &Namespace, mac| namespace.inside(|| tap_device(mac));
        Ok(Self { server: host(&hosts.server, SERVER_MAC)?, client: host(&hosts.client, CLIENT_MAC)? })
    }

    pub fn start(&self) -> Result<Mover> {
        use io::{Read, Write};
        let (mut from, mut to) = (self.server.try_clone()?, self.client.try_clone()?);
        let mut buffer = vec![0; MOST_BYTES];
        Ok(Mover::thread(move || match from.read(&mut buffer) {
            Ok(length) => to.write(&buffer[..length]).map(drop).context("writing to TUN"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("reading from TUN"),
        }))
    }
}

fn tap_device(mac: [u8; 6]) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .context("/dev/net/tun")?;
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(HOST_INTERFACE.bytes()) {
        *to = from as libc::c_char;
    }
    let call = |file: &File, number: libc::c_ulong, argument: usize, name: &str| -> Result<()> {
        // SAFETY: all callers hand over what the request expects.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), number as _, argument) };
        ensure!(result >= 0, "{name}: {}", io::Error::last_os_error());
        Ok(())
    };
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    call(&file, libc::TUNSETIFF, &raw mut request as usize, "TUNSETIFF")?;
    // TUN_F_CSUM, TSO4, TSO6, USO4, USO6 (linux/if_tun.h).
    call(&file, libc::TUNSETOFFLOAD, 0x01 | 0x02 | 0x04 | 0x20 | 0x40, "TUNSETOFFLOAD")?;
    // SAFETY: plain system call.
    let control = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)) };
    let control = File::from(control);
    // SAFETY: the bytes of an address fit into this plain struct.
    unsafe {
        request.ifr_ifru.ifru_hwaddr = zeroed();
        request.ifr_ifru.ifru_hwaddr.sa_family = libc::ARPHRD_ETHER;
        for (to, from) in request.ifr_ifru.ifru_hwaddr.sa_data.iter_mut().zip(mac) {
            *to = from as libc::c_char;
        }
    }
    call(&control, libc::SIOCSIFHWADDR as _, &raw mut request as usize, "SIOCSIFHWADDR")?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    call(&control, libc::SIOCSIFFLAGS as _, &raw mut request as usize, "SIOCSIFFLAGS")?;
    Ok(file)
}

/// Another program that moves packets in both directions: it runs in the namespace of the wire, gets the names of both interfaces and the
/// delay in microseconds as arguments, and is killed at the end. It may mount what it likes.
pub struct Other(String);

impl Other {
    /// The one in `FORWARDER_OTHER`.
    pub fn named() -> Option<Self> {
        std::env::var("FORWARDER_OTHER").ok().map(Self)
    }

    pub fn name(&self) -> String {
        self.0.rsplit('/').next().unwrap_or_default().to_owned()
    }

    pub fn start(&self, wire: &Namespace, delay: Duration) -> Result<Mover> {
        let handle = wire.handle().as_raw_fd();
        let mut command = Command::new(&self.0);
        command.args([TO_SERVER, TO_CLIENT, &delay.as_micros().to_string()]);
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                if libc::setns(handle, libc::CLONE_NEWNET) != 0 || libc::unshare(libc::CLONE_NEWNS) != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            })
        };
        let child = command.spawn().with_context(|| self.0.clone())?;
        // Until it has opened its sockets.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Mover { delay, how: How::Program(child) })
    }
}

/// Loads the least program that AF_XDP needs to receive anything: "return 2", which hands a packet on.
pub fn load_xdp_program() -> Result<()> {
    /// `union bpf_attr` of `BPF_PROG_LOAD`, up to what is needed here (linux/bpf.h).
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        licence: u64,
        zeros: [u64; 12],
    }
    const BPF_PROG_LOAD: libc::c_int = 5;
    const BPF_PROG_TYPE_XDP: u32 = 6;
    let instructions: [u64; 2] = [0x0000_0002_0000_00b7, 0x0000_0000_0000_0095];
    let licence = c"GPL";
    let load = Load {
        kind: BPF_PROG_TYPE_XDP,
        count: 2,
        instructions: instructions.as_ptr() as u64,
        licence: licence.as_ptr() as u64,
        zeros: [0; 12],
    };
    // SAFETY: the attributes are as long as said, and what they point to outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const load, size_of_val(&load)) };
    ensure!(result >= 0, "bpf(2) does not load a program for it: {}", io::Error::last_os_error());
    // SAFETY: the descriptor is new and ours.
    drop(unsafe { OwnedFd::from_raw_fd(result as i32) });
    Ok(())
}
