//! What `quiclab-agent serve` starts, as whoever runs the tests, cannot change the host.

use crate::common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_orders::{orders::HostFiles, report::Outcome};
use quiclab_testing::has_namespaces;

/// What a client says that runs `script` in Python.
fn said(script: &str) -> String {
    said_with(script, None)
}

fn said_with(script: &str, stack: Option<&std::path::Path>) -> String {
    let mut orders = orders(SERVER, script);
    let folder = stack.map(|folder| folder.to_str().unwrap().to_owned());
    orders.client.host = Some(HostFiles { root: None, stack: folder });
    let Answer { report, blobs } = perform(&orders);
    let errors = String::from_utf8_lossy(&blobs["client/stderr"]).into_owned();
    assert_eq!(report.outcome, Outcome::Done, "{errors}");
    String::from_utf8(blobs["client/stdout"].clone()).unwrap()
}

#[test]
fn an_endpoint_sees_no_device_of_the_hosts_hardware() {
    if !has_namespaces() {
        return;
    }
    let script = "
import os
print(sorted(os.listdir('/dev')))
open('/dev/null', 'w').write('text')
print(len(open('/dev/urandom', 'rb').read(8)), open('/dev/zero', 'rb').read(2))
open('/dev/shm/file', 'w').write('text')
try:
    open('/dev/file', 'w')
    print('wrote')
except OSError:
    pass
print(open('/dev/stdin').read() == '', os.path.exists('/dev/fd/1'))
";
    let devices = "['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'urandom', 'zero']";
    assert_eq!(said(script), format!("{devices}\n8 b'\\x00\\x00'\nTrue True\n"));
}

#[test]
fn a_device_in_the_files_of_the_host_cannot_be_opened() {
    if !has_namespaces() {
        return;
    }
    if !quiclab_testing::has_root("make a device") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("null");
    let status = std::process::Command::new("mknod").arg(&device).args(["c", "1", "3"]).status().unwrap();
    assert!(status.success());
    std::fs::write(&device, "a device that swallows all").unwrap();
    let script = "
try:
    open('/stack/null', 'w')
    print('opened')
except PermissionError:
    print('refused')
";
    assert_eq!(said_with(script, Some(folder.path())), "refused\n");
}

#[test]
fn an_endpoint_cannot_write_where_the_kernel_is_set_up() {
    if !has_namespaces() {
        return;
    }
    // Opening alone changes nothing, and files that cannot be opened for writing by anyone prove nothing.
    let script = "
import os
tried = 0
places = ['/proc/sysrq-trigger', '/sys/power/state']
for place in ['/proc', '/proc/sys/kernel', '/proc/sys/vm', '/proc/sys/net/core', '/proc/sys/net/ipv4', '/proc/irq']:
    if os.path.isdir(place):
        places += [os.path.join(place, name) for name in os.listdir(place)]
for place in places:
    if os.path.isfile(place) and os.stat(place).st_mode & 0o222:
        tried += 1
        try:
            os.close(os.open(place, os.O_WRONLY))
            print('opened', place)
        except OSError:
            pass
print(tried > 50)
open('/proc/self/comm', 'w').write('renamed')
print(open('/proc/self/comm').read())
";
    assert_eq!(said(script), "True\nrenamed\n\n");
}

#[test]
fn an_endpoint_keeps_few_capabilities_and_cannot_gain_others() {
    if !has_namespaces() {
        return;
    }
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
fn an_endpoint_has_namespaces_and_limits_of_its_own() {
    if !has_namespaces() {
        return;
    }
    let script = "
import os
for kind in ['ipc', 'mnt', 'net', 'pid', 'user', 'uts']:
    print(kind, os.readlink('/proc/self/ns/' + kind))
for line in open('/proc/self/status'):
    if line.startswith('NoNewPrivs'):
        print('privileges', line.split()[1])
for line in open('/proc/self/limits'):
    if line.startswith('Max processes'):
        print('processes', line.split()[3])
";
    let said = said(script);
    let said: std::collections::BTreeMap<_, _> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    for kind in ["ipc", "mnt", "net", "pid", "user", "uts"] {
        let own = std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        assert_ne!(said[kind], own.to_str().unwrap(), "{kind}: that of the tests");
    }
    assert_eq!((said["privileges"], said["processes"]), ("1", "256"));
}

#[test]
fn an_endpoint_can_mark_packets_and_open_raw_sockets_and_low_ports() {
    if !has_namespaces() {
        return;
    }
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
fn an_endpoint_is_alone_with_its_own_processes() {
    if !has_namespaces() {
        return;
    }
    let script = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()) == [1, os.getpid()])
for name in ['root', 'cwd', 'ns/mnt', 'ns/user']:
    try:
        os.stat('/proc/1/' + name)
        print('could look at', name)
    except OSError:
        pass
try:
    os.kill(1, 9)
    print(os.path.exists('/proc/1'))
except PermissionError:
    print(True)
print(libc.ptrace(16, 1, None, None))
print(' /roots/' in open('/proc/self/mountinfo').read(), os.path.exists('/roots'))
";
    assert_eq!(said(script), "True\nTrue\n-1\nFalse False\n");
}

#[test]
fn an_endpoint_cannot_force_its_buffers() {
    if !has_namespaces() {
        return;
    }
    let script = "
import socket
SO_RCVBUFFORCE = 33
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 50_000_000)
except PermissionError:
    print('refused')
";
    assert_eq!(said(script), "refused\n");
}
