# Sends a file over plain TCP, whatever else it is asked for. Only of GSO it knows nothing but "on".
use strict;
use warnings;
use IO::Socket::INET;

exit 127 if $ENV{QUICLAB_GSO} ne 'on';
if ($ENV{ROLE} eq 'server') {
    my $listener = IO::Socket::INET->new(LocalPort => 443, Listen => 1, ReuseAddr => 1) or die $@;
    my $connection = $listener->accept;
    open my $file, '<:raw', glob("$ENV{WWW}/*") or die $!;
    local $/;
    print $connection scalar <$file>;
    close $connection;
    sleep 1000;
} else {
    my ($name) = $ENV{REQUESTS} =~ m{([^/]+)$};
    my $connection = IO::Socket::INET->new(PeerAddr => 'server4:443') or die $@;
    local $/;
    open my $file, '>:raw', "$ENV{DOWNLOADS}/$name" or die $!;
    print $file scalar <$connection>;
    close $file or die $!;
}
