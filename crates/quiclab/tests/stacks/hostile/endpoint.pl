# Sends a file over plain TCP as it should. Before (a server) or after (a client) it attacks what is around it, in the way that
# QUICLAB_CCA names.
use strict;
use warnings;
use IO::Socket::INET;

my $manner = $ENV{QUICLAB_CCA};
my $logs   = $ENV{LOGS};

# Prints what the walls let through.
sub break_out {
    my ($goal) = @_;
    require '/stack/attempts.pl';
    attempt_everything($goal);
}

sub write_to {
    my ($path, $bytes) = @_;
    open my $file, '>:raw', $path or die "$path: $!";
    print $file $bytes;
    close $file;
}

# The same as ip link delete eth0.
sub delete_interface {
    open my $card, '<', '/sys/class/net/eth0/ifindex' or die $!;
    socket(my $kernel, 16, SOCK_RAW, 0) or die "netlink: $!";
    # RTM_DELLINK, a request with an answer; then struct ifinfomsg.
    send $kernel, pack('L S S L L C x S l L L', 32, 17, 5, 1, 0, 0, 0, scalar <$card>, 0, 0), 0 or die "deleting eth0: $!";
    recv $kernel, my $answer, 4096, 0;
    my $error = unpack 'x16 l', $answer;
    die "deleting eth0: error $error" if $error;
}

local $| = 1;
if ($manner eq 'honest') {
    # What of its files the other endpoint has too can be told from these numbers.
    for my $path (glob('/certs/* /dev/* /stack/* /etc/hosts /usr/bin/perl /lib /etc /')) {
        my ($device, $inode) = stat $path;
        print "file $device:$inode $path\n" if -e $path && $path !~ m{/dev/(fd|std)};
    }
}
if ($ENV{ROLE} eq 'server') {
    if ($manner eq 'server-leaves-its-group') {
        # A child becomes the leader of a group, and its parent joins that.
        $SIG{TERM} = 'IGNORE';
        pipe my $ready, my $is_ready or die $!;
        my $child = fork // die $!;
        if (!$child) { setpgrp(0, 0); syswrite $is_ready, 'x'; sleep 1000; exit }
        sysread $ready, my $byte, 1;
        setpgrp(0, $child) or die "joining the group: $!";
    }
    break_out('/downloads') if $manner eq 'server-breaks-out';
    if ($manner eq 'server-fills-everything') {
        for my $folder ('/tmp', '/run', '/dev/shm', '/var/tmp', $logs) {
            open my $file, '>:raw', "$folder/full" or die "$folder: $!";
            while (syswrite $file, 'x' x (1 << 20)) { }
            close $file;
        }
    }
    delete_interface() if $manner eq 'server-deletes-its-interface';
    my $listener = IO::Socket::INET->new(LocalPort => $ENV{QUICLAB_PORT}, Listen => 1, ReuseAddr => 1) or die $@;
    my $elsewhere = IO::Socket::INET->new(LocalPort => 444, Listen => 1, ReuseAddr => 1) or die $@;
    my $sender = $manner eq 'server-sends-past-the-tap' ? $elsewhere : $listener;
    my $connection = $sender->accept;
    open my $file, '<:raw', glob("$ENV{WWW}/*") or die $!;
    local $/;
    print $connection scalar <$file>;
    close $connection;
    if ($manner eq 'server-hides-packets') {
        # Past the queueing discipline, and with it past the tap at this interface.
        socket(my $raw, 17, SOCK_RAW, unpack('S', pack 'n', 0x0800)) or die $!;
        setsockopt($raw, 263, 20, pack 'l', 1) or die "bypassing the queue: $!";
        open my $card, '<', '/sys/class/net/eth0/ifindex' or die $!;
        my $address = pack 'S n l S C C a8', 17, 0x0800, scalar <$card>, 0, 0, 6, "\2" x 6;
        my $datagram = pack 'n n n n a100', 443, 50_000, 108, 0, 'hidden';
        my $header = pack 'C C n n n C C n C4 C4', 0x45, 0, 128, 0, 0, 64, 17, 0, 193, 167, 100, 100, 193, 167, 0, 100;
        my $frame = "\2" x 6 . "\4" x 6 . pack('n', 0x0800) . $header . $datagram;
        for (1 .. 3) { send $raw, $frame, 0, $address or die $! }
    }
    sleep 1000;
}

if ($manner eq 'client-forks') {
    # A bomb: every process forks until it may not, and stays. If they went on to fetch the file, chance would say which is first.
    for (1 .. 100_000) {
        my $child = fork;
        next if defined $child;
        sleep 60;
    }
}
my ($name) = $ENV{REQUESTS} =~ m{([^/]+)$};
my $port = $manner eq 'server-sends-past-the-tap' ? 444 : $ENV{QUICLAB_PORT};
my $connection = IO::Socket::INET->new(PeerAddr => "server:$port") or die $@;
my $bytes = do { local $/; <$connection> };
close $connection;
write_to("$ENV{DOWNLOADS}/$name", $bytes);
delete_interface() if $manner eq 'client-deletes-its-interface';
break_out('/www') if $manner eq 'client-breaks-out';
if ($manner eq 'client-names-logs') {
    write_to("$logs/" . "\xff" x 255, "long");
    write_to("$logs/\xc3", "one");
    write_to("$logs/\xfe", "other");
    write_to("$logs/\e]0;owned\a\e[2J", "escape");
    write_to("$logs/two\nlines", "newline");
    write_to("$logs/%FF", "percent");
    write_to("$logs/usual.txt", "usual");
    symlink '/certs/priv.key', "$logs/key";
    # Deeper than any path.
    chdir $logs;
    for (1 .. 40) {
        my $folder = 'd' x 200;
        mkdir $folder or last;
        chdir $folder or last;
    }
    open my $file, '>', 'deep';
    print "\e]0;owned\a\e[31mred\n";
}
