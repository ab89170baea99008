# The dumbbell of the TCP pacing study in ns-2: flows over one bottleneck of four fifths of the round-trip time, each behind links of its own
# of four times the rate.
#
# ns dumbbell.tcl KEY VALUE ...   a key is one of `given` below, or `tcp:NAME` for a variable of Agent/TCP, for example tcp:bugFix_ false
#
# It prints a line for each value. All but `timeouts` are metrics of docs/reference/scenario-file.md, except that a segment counts for goodput
# and fairness when it is acknowledged.

array set given {
    agent Reno    flows 1       rate 57e6       buffer 284   rtt 0.1           seed 1
    packet 628    headers 52    ack 52          duration 113 warm_up 0         begin_within 0
}
array set tcp {}
foreach {key value} $argv {
    if {[string match tcp:* $key]} {
        set tcp([string range $key 4 end]) $value
    } elseif {[info exists given($key)]} {
        set given($key) $value
    } else {
        puts stderr "dumbbell.tcl: there is no $key"
        exit 1
    }
}

# What the study says of its senders: no limit by the receiver, timestamps, an initial window of one segment. Without a handshake, which would begin
# everything one round-trip time later.
set unlimited 1000000
Agent/TCP set window_ $unlimited
Agent/TCP set useHeaders_ true
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ 12
Agent/TCP set timestamps_ [expr {$given(headers) > 40}]
Agent/TCP set packetSize_ [expr {$given(packet) - $given(headers)}]
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCPSink set packetSize_ $given(ack)
foreach {name value} [array get tcp] {
    Agent/TCP set $name $value
}

set ns [new Simulator]
set random [new RNG]
$random seed $given(seed)

proc connect_nodes {from to rate delay buffer} {
    global ns
    $ns duplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to $buffer
    $ns queue-limit $to $from $::unlimited
}

set near [$ns node]
set far [$ns node]
# ns-2's DropTail holds one packet less than its limit, besides the one that the link is sending.
connect_nodes $near $far $given(rate) [expr {$given(rtt) * 0.4}] [expr {$given(buffer) + 1}]
set monitor [$ns monitor-queue $near $far ""]
set integrator [$monitor get-pkts-integrator]

# The agents write each change of window and threshold here, until one of them has lost.
set path [exec mktemp]
set changes [open $path w]
for {set flow 0} {$flow < $given(flows)} {incr flow} {
    set from [$ns node]
    set to [$ns node]
    connect_nodes $from $near [expr {$given(rate) * 4}] [expr {$given(rtt) * 0.05}] $unlimited
    connect_nodes $far $to [expr {$given(rate) * 4}] [expr {$given(rtt) * 0.05}] $unlimited
    set sender($flow) [new Agent/TCP/$given(agent)]
    set receiver [new Agent/TCPSink]
    $ns attach-agent $from $sender($flow)
    $ns attach-agent $to $receiver
    $ns connect $sender($flow) $receiver
    $sender($flow) attach $changes
    $sender($flow) trace cwnd_
    $sender($flow) trace ssthresh_
    set source [new Application/FTP]
    $source attach-agent $sender($flow)
    $ns at [$random uniform 0 $given(begin_within)] "$source start"
}

proc look_for_loss {} {
    global ns given sender changes unlimited
    for {set flow 0} {$flow < $given(flows)} {incr flow} {
        if {[$sender($flow) set ssthresh_] < $unlimited} {
            set nowhere [open /dev/null w]
            for {set each 0} {$each < $given(flows)} {incr each} {
                $sender($each) attach $nowhere
            }
            close $changes
            return
        }
    }
    $ns at [expr {[$ns now] + 0.01}] look_for_loss
}

# Time and window of the first loss: the first threshold that was set, and the window that its flow had before.
proc first_loss {} {
    global path unlimited
    set file [open $path]
    file delete $path
    while {[gets $file line] >= 0} {
        foreach {time address port - - name value} $line {}
        if {$name eq "cwnd_"} {
            set window($address) $value
        } elseif {$name eq "ssthresh_" && $value < $unlimited} {
            return [list $time $window($address)]
        }
    }
    return {}
}

proc sum {values} {
    set sum 0.0
    foreach value $values {
        set sum [expr {$sum + $value}]
    }
    return $sum
}

# Jain's index.
proc index {values} {
    set squares 0.0
    foreach value $values {
        set squares [expr {$squares + double($value) * $value}]
    }
    set sum [sum $values]
    expr {$squares > 0 ? $sum * $sum / ([llength $values] * $squares) : 0}
}

# Segments that each flow has had acknowledged.
proc delivered {} {
    global given sender
    set all {}
    for {set flow 0} {$flow < $given(flows)} {incr flow} {
        lappend all [expr {[$sender($flow) set ack_] + 1}]
    }
    return $all
}

proc since {before now} {
    set all {}
    foreach one $before other $now {
        lappend all [expr {$other - $one}]
    }
    return $all
}

proc queue_so_far {} {
    global ns monitor integrator
    $integrator newpoint [$ns now] [$monitor set pkts_]
    $integrator set sum_
}

proc begin {} {
    global at_begin monitor
    set at_begin [list [delivered] [$monitor set pdrops_] [$monitor set pdepartures_] [queue_so_far]]
}

proc end {} {
    global at_begin given monitor sender
    foreach {delivered drops departures queue} $at_begin {}
    set seconds [expr {double($given(duration)) - $given(warm_up)}]
    set segments [since $delivered [delivered]]
    set bits [expr {$given(packet) * 8.0}]
    set busy [expr {([$monitor set pdepartures_] - $departures) * $bits / $given(rate) / $seconds}]
    set timeouts 0
    for {set flow 0} {$flow < $given(flows)} {incr flow} {
        incr timeouts [$sender($flow) set nrexmit_]
    }
    puts "goodput_bps [expr {[sum $segments] * $bits / $seconds}]"
    foreach {time window} [first_loss] {
        puts "first_loss_s $time"
        puts "first_loss_window_segments $window"
    }
    puts "drops_packets [expr {[$monitor set pdrops_] - $drops}]"
    # With the packet that the link is sending.
    puts "queue_mean_packets [expr {([queue_so_far] - $queue) / $seconds + $busy}]"
    puts "fairness [index $segments]"
    puts "timeouts $timeouts"
    exit 0
}

$ns at 0 look_for_loss
$ns at $given(warm_up) begin
$ns at $given(duration) end
$ns run
