//! What `quiclab-agent serve` starts, as whoever runs the tests, cannot change the host.

mod common;

use common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_orders::report::Outcome;

/// What a client says that runs `script` in Python.
fn said(script: &str) -> String {
    let Answer { report, blobs } = perform(&orders(SERVER, script));
    let errors = String::from_utf8_lossy(&blobs["client/stderr"]).into_owned();
    assert_eq!(report.outcome, Outcome::Done, "{errors}");
    String::from_utf8(blobs["client/stdout"].clone()).unwrap()
}

#[test]
fn an_endpoint_keeps_few_capabilities_and_cannot_gain_others() {
    let script = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def status(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith('Cap')]
print(status(open('/proc/self/status').read()))
print(status(os.popen('cat /proc/self/status').read()))
def refused(name, result):
    if result == 0:
        print('could', name)
refused('unshare mounts', libc.unshare(0x00020000))
refused('unshare users', libc.unshare(0x10000000))
refused('mount', libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None))
refused('remount', libc.mount(None, b'/proc/sys', None, 32 | 4096, None))
refused('unmount', libc.umount2(b'/proc/sys', 2))
refused('make a device', libc.mknod(b'/tmp/null', 0o20666, 0x103))
for name in ['/tmp', '/proc/1/root']:
    try:
        os.chroot(name)
        print('could change its root to', name)
    except OSError:
        pass
";
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP; NET_BIND_SERVICE, NET_ADMIN, NET_RAW.
    let kept: u64 = 0b0011_0101_1111_1011;
    let sets = format!("['{:016x}', '{kept:016x}', '{kept:016x}', '{kept:016x}', '{:016x}']", 0, 0);
    assert_eq!(said(script), format!("{sets}\n{sets}\n"));
}

#[test]
fn an_endpoint_can_mark_packets_and_open_raw_sockets_and_low_ports() {
    let script = "
import socket
SO_MARK = 36
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, SO_MARK, 7)
one.bind(('0.0.0.0', 443))
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
";
    assert_eq!(said(&format!("{script}\n{CLIENT}")), "fetched\n");
}

#[test]
fn an_endpoint_of_root_can_force_its_buffers() {
    // The kernel asks for the capability outside of every user namespace.
    if !nix::unistd::getuid().is_root() {
        eprintln!("skipped: only root can force buffers");
        return;
    }
    let script = "
import socket
SO_RCVBUFFORCE = 33
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 50_000_000)
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
";
    assert_eq!(said(script), "100000000\n");
}
