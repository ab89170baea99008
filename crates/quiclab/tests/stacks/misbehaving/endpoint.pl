# Sends a file over plain TCP, or fails to do so in the way that QUICLAB_CCA names.
use strict;
use warnings;
use IO::Socket::INET;

my $manner = $ENV{QUICLAB_CCA};

if ($ENV{ROLE} eq 'server') {
    exit 3 if $manner eq 'server-crashes';
    exit 127 if $manner eq 'server-answers-127';
    sleep 1000 if $manner eq 'server-never-listens';
    my $listener = IO::Socket::INET->new(LocalPort => $ENV{QUICLAB_PORT}, Listen => 1, ReuseAddr => 1) or die $@;
    my $connection = $listener->accept;
    exit 4 if $manner eq 'server-crashes-later';
    if ($manner eq 'server-sends-much-more') {
        my $more = IO::Socket::INET->new(Proto => 'udp', PeerAddr => $connection->peerhost, PeerPort => 9) or die $@;
        # Nobody listens there.
        send $more, 'x' x 1400, 0 for 1 .. 5000;
    }
    open my $file, '<:raw', glob("$ENV{WWW}/*") or die $!;
    local $/;
    print $connection scalar <$file>;
    close $connection;
    sleep 1000;
} else {
    exit 1 if $manner eq 'client-fails';
    exit 127 if $manner eq 'client-answers-127';
    sleep 1000 if $manner eq 'client-hangs';
    1 while $manner eq 'client-spins';
    exit 0 if $manner eq 'client-stores-nothing';
    kill 'SEGV', $$ if $manner eq 'client-dies';
    print 'x' x 3_000_000 if $manner eq 'client-floods-its-log';
    if ($manner eq 'client-writes-elsewhere') {
        open my $elsewhere, '>', '/etc/elsewhere' or die $!;
    }
    if ($manner eq 'client-leaves-a-process' && !fork) {
        setpgrp;
        sleep 1000;
    }
    if ($manner eq 'client-leaves-many-logs') {
        for my $number (1 .. 1500) {
            open my $log, '>', "$ENV{LOGS}/log$number" or die $!;
        }
    }
    if ($manner eq 'client-leaves-a-log-of-holes') {
        open my $log, '>', "$ENV{LOGS}/holes" or die $!;
        truncate $log, 1 << 40 or die $!;
    }
    if ($manner eq 'client-fills-its-logs') {
        open my $log, '>', "$ENV{LOGS}/full" or die $!;
        print $log 'x' x 20_000_000;
        close $log;
    }
    my ($name) = $ENV{REQUESTS} =~ m{([^/]+)$};
    my $connection = IO::Socket::INET->new(PeerAddr => "server:$ENV{QUICLAB_PORT}") or die $@;
    local $/;
    my $bytes = <$connection>;
    sleep 1000 if $manner eq 'server-crashes-later';
    if ($manner eq 'client-stores-a-link') {
        symlink "../www/$name", "$ENV{DOWNLOADS}/$name" or die $!;
        exit 0;
    }
    if ($manner eq 'client-stores-holes') {
        open my $file, '>', "$ENV{DOWNLOADS}/$name" or die $!;
        truncate $file, 1 << 40 or die $!;
        exit 0;
    }
    $bytes = substr $bytes, 0, 10 if $manner eq 'client-stores-too-little';
    $bytes = "\0" x length $bytes if $manner eq 'client-stores-something-else';
    open my $file, '>:raw', "$ENV{DOWNLOADS}/$name" or die $!;
    print $file $bytes;
    close $file or die $!;
}
