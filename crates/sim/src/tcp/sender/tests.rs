use super::*;
use crate::tcp::congestion::{cubic::Cubic, hystart::SlowStart, reno::Reno};

fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

fn reno(window: f64) -> Box<dyn CongestionControl> {
    Box::new(Reno::new(window, f64::INFINITY, SlowStart::standard(1.0)))
}

/// A sender that has sent its first window at 0.
fn sending(settings: SenderSettings, window: f64) -> (Sender, Outbox<Segment>) {
    let mut sender = Sender::new(settings, reno(window));
    let mut outbox = Outbox::default();
    sender.write(1000);
    sender.handle_timeout(at(0), &mut outbox);
    (sender, outbox)
}

fn acknowledge(sender: &mut Sender, now: Time, next: u64, echo: Time, is_first: bool, outbox: &mut Outbox<Segment>) {
    let segment = Segment::Acknowledgment { next, selective: [(0, 0); 3], echo, is_first, is_marked: false };
    sender.handle_packet(now, Ecn::NotCapable, segment, outbox);
}

fn sent(outbox: &mut Outbox<Segment>) -> Vec<u64> {
    let sequence = |(_, _, segment)| match segment {
        Segment::Data { sequence, .. } => sequence,
        Segment::Acknowledgment { .. } => unreachable!("a sender sends data"),
    };
    outbox.packets.drain(..).map(sequence).collect()
}

/// RFC 5681, section 3.1: an acknowledgment adds to the window that "cumulatively acknowledges new data", and section 3.2: the first two duplicates
/// do not change it.
#[test]
fn a_duplicate_does_not_make_the_window_grow() {
    for (recovery, threshold) in
        [Recovery::NewReno, Recovery::Selective].into_iter().flat_map(|recovery| [(recovery, 5.0), (recovery, 1e9)])
    {
        let slow_start = SlowStart::standard(1.0);
        let controllers: [Box<dyn CongestionControl>; 2] = [
            Box::new(Reno::new(10.0, threshold, slow_start.clone())),
            Box::new(Cubic::new(10.0, threshold, slow_start)),
        ];
        for controller in controllers {
            let mut sender = Sender::new(SenderSettings { recovery, ..SenderSettings::default() }, controller);
            let mut outbox = Outbox::default();
            sender.write(1000);
            sender.handle_timeout(at(0), &mut outbox);
            let mut told = Vec::new();
            // 1 and 2 arrive, 3 is lost, 4 and 5 arrive.
            for (next, selective) in [(1, (0, 0)), (2, (0, 0)), (2, (3, 4)), (2, (3, 5))] {
                let selective = [selective, (0, 0), (0, 0)];
                let segment =
                    Segment::Acknowledgment { next, selective, echo: at(0), is_first: true, is_marked: false };
                sender.handle_packet(at(100 + next), Ecn::NotCapable, segment, &mut outbox);
                told.push(sender.congestion_window());
            }
            assert!(10.0 < told[0] && told[0] < told[1], "{recovery:?}, {threshold}: {told:?}");
            assert_eq!(told[1..3], told[2..4], "{recovery:?}, {threshold}");
        }
    }
}

#[test]
fn with_timestamps_a_retransmission_tells_its_time() {
    let measured = |recovery, timestamps| {
        let settings = SenderSettings { recovery, timestamps, ..SenderSettings::default() };
        let (mut sender, mut outbox) = sending(settings, 10.0);
        acknowledge(&mut sender, at(100), 1, at(60), false, &mut outbox);
        sender.smoothed_rtt()
    };
    let time = Some(Duration::from_millis(40));
    assert_eq!(measured(Recovery::NewReno, None), None);
    assert_eq!(measured(Recovery::NewReno, Some(true)), time);
    assert_eq!(measured(Recovery::Selective, None), time);
    assert_eq!(measured(Recovery::Selective, Some(false)), None);
}

/// 100 ms at first, then a duplicate of 180 ms: (7 x 100 + 180) / 8 = 110 ms for the pacer. The retransmission timer does not look at duplicates.
#[test]
fn the_pacer_has_its_own_average_which_duplicates_change_too() {
    let interval = |timestamps, gain| {
        let pacing = Some(PacingSettings { gain, burst: 1 });
        let settings = SenderSettings { recovery: Recovery::NewReno, pacing, timestamps, ..SenderSettings::default() };
        let (mut sender, mut outbox) = sending(settings, 10.0);
        acknowledge(&mut sender, at(100), 1, at(0), true, &mut outbox);
        assert_eq!(sender.congestion_window(), 11.0);
        acknowledge(&mut sender, at(180), 1, at(0), true, &mut outbox);
        assert_eq!(sender.smoothed_rtt(), Some(Duration::from_millis(100)));
        sender.interval().map(Duration::as_nanos)
    };
    assert_eq!(interval(Some(true), 1.0), Some(10_000_000));
    assert_eq!(interval(None, 1.0), Some(100_000_000 / 11));
    assert_eq!(interval(Some(true), 2.0), Some(5_000_000));
}

/// RFC 5681, section 3.1: where the segment "has already been retransmitted by way of the retransmission timer at least once, the value of ssthresh is held
/// constant".
#[test]
fn a_segment_that_is_lost_again_does_not_lower_the_threshold_again() {
    for recovery in [Recovery::NewReno, Recovery::Selective] {
        let (mut sender, mut outbox) = sending(SenderSettings { recovery, ..SenderSettings::default() }, 16.0);
        let mut seen = Vec::new();
        for seconds in [1, 3, 7] {
            sender.handle_timeout(at(1000 * seconds), &mut outbox);
            seen.push((sender.slow_start_threshold(), sender.congestion_window()));
        }
        assert_eq!(seen, [(8.0, 1.0); 3], "{recovery:?}");
        assert_eq!(sender.counters().timeouts, 3);
        // Another segment is lost later: a new sign of congestion.
        acknowledge(&mut sender, at(7_100), 1, at(7_000), false, &mut outbox);
        sender.handle_timeout(at(1_000_000), &mut outbox);
        assert_eq!((sender.slow_start_threshold(), sender.congestion_window()), (2.0, 1.0), "{recovery:?}");
    }
}

/// RFC 6675, section 5, step 4.3, before step 4.4 and what the window allows: 18 are in flight, and half of 20 is 10. Step 3 has let two new segments leave before
/// that, which do not count for the threshold.
#[test]
fn the_first_lost_segment_is_sent_again_whatever_the_window() {
    let (mut sender, mut outbox) = sending(SenderSettings::default(), 20.0);
    assert_eq!(sent(&mut outbox), (0..20).collect::<Vec<_>>());
    for (end, expected) in [(2, &[20][..]), (3, &[21]), (4, &[0]), (5, &[]), (6, &[]), (7, &[])] {
        let selective = [(1, end), (0, 0), (0, 0)];
        let segment = Segment::Acknowledgment { next: 0, selective, echo: at(0), is_first: true, is_marked: false };
        sender.handle_packet(at(100 + end), Ecn::NotCapable, segment, &mut outbox);
        assert_eq!(sent(&mut outbox), expected, "up to {end}");
    }
    assert_eq!((sender.congestion_window(), sender.in_flight()), (10.0, 16));
}
