# What an endpoint must not be able to do, and what it must.
use strict;
use warnings;
use Socket;

# Numbers of system calls, by asm/unistd_64.h.
my %number = (
    kill => 62, ptrace => 101, syslog => 103, sched_setscheduler => 144, pivot_root => 155, adjtimex => 159, chroot => 161, acct => 163,
    settimeofday => 164, mount => 165, umount2 => 166, swapon => 167, reboot => 169, sethostname => 170, iopl => 172, ioperm => 173,
    init_module => 175, delete_module => 176, mknod => 133, clock_settime => 227, kexec_load => 246, unshare => 272,
    perf_event_open => 298, open_by_handle_at => 304, clock_adjtime => 305, setns => 308, process_vm_readv => 310,
    finit_module => 313, bpf => 321, fsopen => 430, add_key => 248, keyctl => 250, io_uring_setup => 425,
);

sub call {
    my ($name, @arguments) = @_;
    # Perl passes strings by their address, and insists on being able to change them.
    my @copies = @arguments;
    return syscall($number{$name}, @copies) != -1;
}

sub can_open {
    my ($mode, $path) = @_;
    return open(my $file, $mode, $path);
}

# Each is a name, and what answers true where it succeeds.
sub forbidden {
    my ($goal) = @_;
    my $second = pack 'qq', 1_900_000_000, 0;
    my $makes = sub {
        my ($kind, $major, $minor) = @_;
        my $path = "/tmp/device-$major-$minor";
        return 0 unless call('mknod', $path, $kind | 0666, $major << 8 | $minor);
        return can_open('<', $path);
    };
    my @attempts = (
        'write to the slot'                => sub { grep { can_open('+<', $_) } map { "/dev/pmem$_" } 0 .. 4 },
        'make the device of the slot'      => sub { grep { $makes->(0060000, 259, $_) } 0 .. 4 },
        'make /dev/mem'                    => sub { $makes->(0020000, 1, 1) },
        'make /dev/port'                   => sub { $makes->(0020000, 1, 4) },
        'make the serial console'          => sub { $makes->(0020000, 4, 64) },
        'open memory or ports'             => sub { grep { can_open('<', $_) } '/dev/mem', '/dev/port', '/dev/kmem', '/proc/kcore' },
        'open the console'                 => sub { grep { can_open('+<', $_) } '/dev/console', '/dev/ttyS0', '/dev/kmsg' },
        'use the port that ends the guest' => sub { call('ioperm', 0xf4, 1, 1) },
        'use the port that stops the guest' => sub { call('ioperm', 0x505, 1, 1) },
        'use all ports'                    => sub { call('iopl', 3) },
        'reboot'                           => sub { call('reboot', 0xfee1dead, 672274793, 0x01234567, 0) },
        'power off'                        => sub { call('reboot', 0xfee1dead, 672274793, 0x4321fedc, 0) },
        'press a magic key'                => sub { can_open('>', '/proc/sysrq-trigger') },
        'load a module'                    => sub { $! = 0; call('init_module', 'x' x 64, 64, '') || $!{ENOEXEC} },
        'unload a module'                  => sub { $! = 0; call('delete_module', 'veth', 0) || $!{EWOULDBLOCK} || $!{EBUSY} },
        'load another kernel'              => sub { call('kexec_load', 0, 0, 0, 0) },
        'set the clock'                    => sub { call('clock_settime', 0, $second) },
        'set the time of day'              => sub { call('settimeofday', $second, 0) },
        'change the speed of the clock'    => sub { call('adjtimex', pack('L x4 q q', 2, 0, 32_768_000) . "\0" x 256) },
        'step the clock'                   => sub { call('clock_adjtime', 0, pack('L x4 q', 0x100, 10) . "\0" x 256) },
        'change the kernel'                => sub {
            grep { can_open('>', "/proc/sys/$_") } 'kernel/core_pattern', 'kernel/modprobe', 'kernel/hostname', 'kernel/sysrq',
                'net/core/rmem_max', 'vm/overcommit_memory', 'user/max_user_namespaces';
        },
        'change TCP for both'              => sub { can_open('>', '/sys/module/tcp_cubic/parameters/hystart') },
        'write to /sys'                    => sub { can_open('>', '/sys/power/state') || can_open('>', '/sys/class/net/eth0/mtu') },
        'mount'                            => sub { call('mount', 'none', '/tmp', 'tmpfs', 0, 0) },
        'mount a table of processes'       => sub { call('mount', 'none', '/tmp', 'proc', 0, 0) },
        'mount devices'                    => sub { call('mount', 'none', '/tmp', 'devtmpfs', 0, 0) },
        'open a file system'               => sub { call('fsopen', 'tmpfs', 0) },
        'unmount'                          => sub { grep { call('umount2', $_, 2) } '/', '/proc', '/dev', '/certs', '/logs' },
        'write to the certificates'        => sub { can_open('>', '/certs/cert.pem') || can_open('>', '/certs/message') },
        'change its root'                  => sub { call('chroot', '/proc/1/root') || call('chroot', '/tmp') },
        'turn its root'                    => sub { call('pivot_root', '/tmp', '/tmp') },
        'become root of other users'       => sub { call('unshare', 0x10000000) },
        'leave its mounts or network'      => sub { grep { call('unshare', $_) } 0x00020000, 0x40000000, 0x20000000 },
        'enter the namespaces of another'  => sub {
            grep { can_open('<', "/proc/1/ns/$_") } 'mnt', 'user', 'pid', 'net';
        },
        'reach the other through /proc'    => sub { grep { -e "$_$goal" || -e "$_/shared" } glob('/proc/[0-9]*/root/proc/1/root'), '/proc/1/root', '/proc/1/cwd' },
        'find files of the other'          => sub { grep { glob("$_$goal/*") } '', glob('/proc/[0-9]*/root'), glob('/roots/*/*') },
        'see other processes'              => sub { grep { $_ != 1 && $_ != $$ } map { m{(\d+)$} } glob('/proc/[0-9]*') },
        'look into process 1'              => sub { opendir(my $folder, '/proc/1/fd') || can_open('<', '/proc/1/mem') || can_open('<', '/proc/1/environ') },
        'trace process 1'                  => sub { call('ptrace', 16, 1, 0, 0) || call('ptrace', 0x4206, 1, 0, 0) },
        'read the memory of process 1'     => sub {
            my $buffer = "\0" x 8;
            call('process_vm_readv', 1, pack('PQ', $buffer, 8), 1, pack('QQ', 0x400000, 8), 1, 0);
        },
        'end process 1'                    => sub { kill('KILL', 1); kill('TERM', 1); select undef, undef, undef, 0.01; !-e '/proc/1' },
        'end every other process'          => sub { kill('KILL', grep { $_ != $$ } 2 .. 2_000) },
        'open files by handles'            => sub { $! = 0; call('open_by_handle_at', 0, pack('Ll', 8, 1) . "\0" x 8, 0) || !$!{EPERM} },
        'load a program into the kernel'   => sub { call('bpf', 5, pack('LLQQ', 1, 2, 0, 0) . "\0" x 100, 120) },
        'measure the kernel'               => sub { call('perf_event_open', pack('LLQ', 1, 112, 0) . "\0" x 96, -1, 0, -1, 0) },
        'account processes'                => sub { call('acct', '/tmp/acct') },
        'swap'                             => sub { call('swapon', '/tmp/swap', 0) },
        'read or clear the kernel log'     => sub { call('syslog', 5, 0, 0) },
        'name the machine'                 => sub { call('sethostname', 'mine', 4) },
        'run before everything else'       => sub { call('sched_setscheduler', 0, 1, pack('l', 99)) },
        'be nicer than others'             => sub { setpriority(0, 0, -20) },
        # Of the session and the user: -3 and -4. A search answers with another error where there is no such key.
        'use keys'                         => sub { $! = 0; call('add_key', 'user', 'quiclab', 'secret', 6, -3) || call('keyctl', 0, -4, 1) || !$!{EPERM} },
        'make calls past the filter'       => sub { $! = 0; call('io_uring_setup', 1, "\0" x 120) || !$!{EPERM} },
        # AF_TIPC, AF_ALG, AF_VSOCK, AF_XDP.
        'open sockets beside its network'  => sub {
            grep { my $family = $_; grep { socket(my $socket, $family, $_, 0) } SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW } 30, 38, 40, 44;
        },
        'send past its queue'              => sub {
            socket(my $socket, 17, SOCK_RAW, 0) or die $!;
            setsockopt($socket, 263, 20, pack 'l', 1);
        },
        # Perl has its script open, and the folder.
        'inherit files'                    => sub { grep { m{/(\d+)$} && $1 > 2 && (readlink($_) // '/stack') !~ m{^(/stack|/proc)} } glob('/proc/self/fd/*') },
        'force its buffers'                => sub {
            socket(my $socket, AF_INET, SOCK_DGRAM, 0) or die $!;
            setsockopt($socket, SOL_SOCKET, 33, 500_000_000);
        },
    );
    return @attempts;
}

# What the contract promises.
sub allowed {
    my $socket = sub { socket(my $socket, $_[0], $_[1], $_[2] // 0) or die $!; $socket };
    return (
        'open a low port'     => sub { bind $socket->(AF_INET, SOCK_DGRAM), sockaddr_in(80, INADDR_ANY) },
        'open a raw socket'   => sub { $socket->(AF_INET, SOCK_RAW, 17) },
        'mark packets'        => sub { setsockopt($socket->(AF_INET, SOCK_DGRAM), SOL_SOCKET, 36, 7) },
        'prefer packets'      => sub { setsockopt($socket->(AF_INET, SOCK_DGRAM), SOL_SOCKET, 12, 7) },
        'set send times on CLOCK_TAI' => sub { setsockopt($socket->(AF_INET, SOCK_DGRAM), SOL_SOCKET, 61, pack('lL', 11, 0)) },
        'have a buffer of 50 MiB' => sub {
            my $one = $socket->(AF_INET, SOCK_DGRAM);
            setsockopt($one, SOL_SOCKET, SO_RCVBUF, 50 << 20) && unpack('l', getsockopt($one, SOL_SOCKET, SO_RCVBUF)) == 100 << 20;
        },
        'use memory of its own' => sub { can_open('>', '/dev/shm/mine') },
        'write to its folders'  => sub { 5 == grep { can_open('>', "$_/mine") } '/logs', '/tmp', '/var/tmp', '/run', '/root' },
        'read random numbers'   => sub { can_open('<', '/dev/urandom') && can_open('<', '/dev/random') },
        'write to nowhere'      => sub { can_open('>', '/dev/null') },
        'open its output by name' => sub { can_open('>>', '/dev/stdout') && can_open('>>', '/dev/stderr') },
        'end its own processes' => sub {
            my $child = fork // die $!;
            if (!$child) { sleep 1000; exit }
            kill('KILL', $child) && waitpid($child, 0) == $child;
        },
        'become another user'   => sub {
            my $child = fork // die $!;
            if (!$child) { $) = '33 33'; ($<, $>) = (33, 33); exit($> == 33 && !can_open('<', '/etc/shadow') ? 0 : 1) }
            waitpid($child, 0) == $child && $? == 0;
        },
        'read what only root may read' => sub { can_open('<', '/etc/shadow') },
    );
}

sub attempt_everything {
    my ($goal) = @_;
    local $| = 1;
    my ($could, $could_not) = (0, 0);
    for my $attempts ([ 'could', 0, forbidden($goal) ], [ 'could not', 1, allowed() ]) {
        my ($word, $expected, @pairs) = @$attempts;
        while (my ($name, $attempt) = splice @pairs, 0, 2) {
            # In a folder of the endpoint's own, and with no answer taken for a success where it died.
            my $succeeded = eval { scalar $attempt->() } ? 1 : 0;
            print "$word $name\n" if $succeeded != $expected;
            print "tried $name\n";
        }
    }
}

1;
