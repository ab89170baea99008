//! What `quiclab-agent serve` starts, as whoever runs the tests, cannot change the host.

use crate::common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{orders::HostFiles, report::Outcome};
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

/// Begins a script that makes system calls by number: `call` answers the error's name, or `None`.
const CALLS: &str = "
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        return errno.errorcode[ctypes.get_errno()]
def family(number, kind=socket.SOCK_STREAM):
    try:
        socket.socket(number, kind).close()
    except OSError as error:
        return errno.errorcode[error.errno]
";

#[test]
fn keys_and_calls_past_every_filter_are_refused() {
    if !has_namespaces() {
        return;
    }
    let script = "
key = b'quiclab-test'
print(call(248, b'user', key, b'secret', 6, -3), call(249, b'user', key, None, -3), call(250, 6, -4, b'user', key, 0))
print(call(425, 1, bytes(120)), call(321, 0, bytes(8), 8), call(298, bytes(120), 0, -1, -1, 0))
";
    assert_eq!(said(&format!("{CALLS}{script}")), "EPERM EPERM EPERM\nEPERM EPERM EPERM\n");
}

#[test]
fn sockets_are_of_families_that_belong_to_a_network_namespace() {
    if !has_namespaces() {
        return;
    }
    // 38 AF_ALG, 40 AF_VSOCK, 44 AF_XDP, 30 AF_TIPC.
    let script = "
print(*[family(number) for number in (38, 40, 44, 30)])
print(family(1), family(2), family(10, socket.SOCK_DGRAM), family(16, socket.SOCK_RAW), family(17, socket.SOCK_RAW))
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
try:
    packets.setsockopt(263, 20, 1)
    print('could bypass the queue')
except PermissionError:
    print('refused')
";
    assert_eq!(
        said(&format!("{CALLS}{script}")),
        "EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT\nNone None None None None\nrefused\n"
    );
}

#[test]
fn nothing_that_the_caller_has_open_is_inherited() {
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Not closed when a program is executed, as what a shell leaves open.
    let open = std::fs::File::open(folder.path()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    // SAFETY: plain system call on a descriptor that is ours.
    assert_eq!(unsafe { libc::fcntl(number, libc::F_SETFD, 0) }, 0);
    let script = "
import os
# The last one is that by which the folder is read.
print(sorted(os.listdir('/proc/self/fd'), key=int))
";
    assert_eq!(said(script), "['0', '1', '2', '3']\n");
}

/// Runs `script` in both endpoints, in the client after it has fetched a file, and returns what the server and the client print.
fn both_said(script: &str) -> [String; 2] {
    let [server, client] = [format!("{script}\n{SERVER}"), format!("{CLIENT}\n{script}")];
    let Answer { report, blobs } = perform(&orders(&server, &client));
    let errors =
        ["server", "client"].map(|role| String::from_utf8_lossy(&blobs[&format!("{role}/stderr")]).into_owned());
    assert_eq!(report.outcome, Outcome::Done, "{errors:?}");
    ["server", "client"].map(|role| String::from_utf8(blobs[&format!("{role}/stdout")].clone()).unwrap())
}

#[test]
fn endpoints_share_no_file_that_one_could_write_or_lock() {
    if !has_namespaces() {
        return;
    }
    let script = "
import errno, fcntl, os, struct
def tried(work):
    try:
        work()
        return 'done'
    except OSError as error:
        return errno.errorcode[error.errno]
for path in ['/etc/hosts', '/dev/null', '/usr/bin/env']:
    file = os.open(path, os.O_RDONLY)
    lock = struct.pack('hhqqi', fcntl.F_RDLCK, 0, 5, 1, 0)
    print(path, tried(lambda: fcntl.fcntl(file, fcntl.F_SETLK, lock)), tried(lambda: fcntl.flock(file, fcntl.LOCK_SH)),
          tried(lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)))
print(tried(lambda: os.open('/etc/hosts', os.O_WRONLY)) in ['EACCES', 'EROFS'], flush=True)
";
    let each = "ENOLCK ENOLCK ENOLCK";
    let expected = format!("/etc/hosts {each}\n/dev/null {each}\n/usr/bin/env {each}\nTrue\n");
    let [server, client] = both_said(script);
    assert_eq!(server, expected);
    assert_eq!(client, format!("fetched\n{expected}"));
}

#[test]
fn an_endpoint_that_leaves_its_process_group_is_ended_with_its_run() {
    if !has_namespaces() {
        return;
    }
    // A child becomes the leader of a group, and its parent joins that.
    let script = "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    time.sleep(1000)
time.sleep(0.2)
os.setpgid(0, child)
print(os.getpgid(0) == child, flush=True)
";
    let Answer { report, blobs } = perform(&orders(&format!("{script}\n{SERVER}"), CLIENT));
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(blobs["server/stdout"], b"True\n");
    assert_eq!(report.server.unwrap().signal, Some(libc::SIGKILL));
}
