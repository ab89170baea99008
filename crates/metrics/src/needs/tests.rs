//! Each need is taken away from a real capture, and what is left is held to [`NEEDS`].

use std::collections::BTreeSet;

use quiclab_units::{ByteCount, Time};
use quiclab_wire::{
    Capture, CaptureReader, Decryption, Dissector, DissectorSettings, FrameError, Observed, QuicForm, QuicFrame,
    QuicPacket, Segment,
};

use super::*;
use crate::analysis::{Analysis, AnalysisSettings};

/// The first 0.55 s of a transfer: 206 packets were dropped at the bottleneck, and every packet begins with a TIME_STAMP frame.
const CAPTURE: &[u8] = include_bytes!("../../tests/data/picoquic-bbr-time-stamp.pcapng");
const STRANGE: u64 = 0x1f2a3;

/// A datagram on its way to the meters.
struct Seen<'a> {
    number: u64,
    time_ns: u64,
    sender: Role,
    segment: Segment<'a>,
    packets: Vec<QuicPacket>,
    frames: Vec<QuicFrame>,
}

impl Seen<'_> {
    fn is_one_rtt(&self) -> bool {
        self.packets.iter().all(|packet| packet.form == QuicForm::OneRtt)
    }

    /// Hides the frames, as if each packet began with a frame of a type that nobody knows.
    fn hide_frames(&mut self) {
        let error = FrameError { offset: 0, frame_type: Some(STRANGE), is_known_type: false };
        for packet in &mut self.packets {
            packet.frame_error = Some(error);
            packet.frames = 0..0;
        }
    }

    /// Cuts the packets as the snap length cuts them, where nothing says which range their numbers are in.
    fn cut(&mut self) {
        for packet in &mut self.packets {
            packet.decryption = Decryption::HeaderOnly;
            packet.packet_number = None;
            packet.frames = 0..0;
        }
    }

    fn hide_keys(&mut self) {
        for packet in &mut self.packets {
            packet.decryption = Decryption::NoKeys;
            packet.packet_number = None;
            packet.frames = 0..0;
        }
    }
}

/// Measures the capture; `change` alters each datagram and says how often the tap saw it.
fn server(settings: &AnalysisSettings, change: &dyn Fn(&mut Seen) -> usize) -> RunMetrics {
    let mut dissector = Dissector::new(DissectorSettings::default());
    let mut analysis = Analysis::new(settings.clone());
    let mut first = None;
    let mut reader = CaptureReader::new(CAPTURE).unwrap();
    reader
        .dissect(&mut dissector, None, &mut |number, segment, observed| {
            let observed = observed.unwrap();
            let start = *first.get_or_insert(segment.time);
            let mut seen = Seen {
                number,
                time_ns: segment.time.checked_since(start).unwrap().as_nanos(),
                sender: observed.sender,
                segment: *segment,
                packets: observed.packets.to_vec(),
                frames: observed.frames.to_vec(),
            };
            for _ in 0..change(&mut seen) {
                let observed = Observed { packets: &seen.packets, frames: &seen.frames, ..*observed };
                analysis.on_packet(&seen.segment, &observed);
            }
        })
        .unwrap();
    analysis
        .finish(dissector.flows(), &Capture::default())
        .directions
        .into_iter()
        .find(|direction| direction.sender == Role::Server)
        .unwrap()
        .run
}

fn settings(response_bytes: Option<u64>) -> AnalysisSettings {
    AnalysisSettings { transferred_bytes: response_bytes.map(ByteCount::from_bytes), ..AnalysisSettings::default() }
}

fn unchanged(_: &mut Seen) -> usize {
    1
}

fn names_with_values(run: &RunMetrics) -> BTreeSet<&'static str> {
    NEEDS.iter().map(|(name, _)| *name).filter(|name| run.metrics.value(name).unwrap().is_some()).collect()
}

fn withheld(run: &RunMetrics) -> BTreeSet<&str> {
    run.withheld.iter().flat_map(|it| &it.metrics).map(String::as_str).collect()
}

#[test]
fn every_metric_has_its_needs() {
    let all = serde_json::to_value(Metrics::default()).unwrap();
    let fields: BTreeSet<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
    let listed: BTreeSet<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, fields);
    assert_eq!(listed.len(), NEEDS.len());
}

/// The numbers that were silently wrong while TIME_STAMP was unknown: 0 losses, one RTT sample, every burst at start-up.
#[test]
fn a_capture_with_time_stamps_has_its_losses_and_round_trips() {
    let run = server(&settings(None), &unchanged);
    let metrics = &run.metrics;
    let lost = metrics.packets_lost.unwrap() as f64;
    assert!((lost - 206.0).abs() <= 0.05 * 206.0, "{lost} lost");
    assert!(metrics.acks_received.unwrap() > 50 && metrics.rtt_samples.unwrap() > 50);
    // 40 ms of path and the queue, which holds 143 packets: some 41 ms at 40 Mbit/s, in front of which 20 ms are shared.
    assert!((40_000_000..90_000_000).contains(&metrics.rtt_min_ns.unwrap()));
    assert!(metrics.rtt_max_ns.unwrap() < 90_000_000);
    // The path holds 200 kB, the queue as much again, and slow start overshoots by one round trip.
    assert!(metrics.bytes_in_flight_max.unwrap() < 800_000);
    assert!(metrics.burst_share_start_up.unwrap() < 0.2, "{:?}", metrics.burst_share_start_up);
    assert_eq!(run.withheld, []);
    assert!(!run.warnings.iter().any(|warning| warning.code.starts_with("frames_")), "{:?}", run.warnings);
}

#[test]
fn a_metric_is_null_exactly_where_a_need_of_it_is_taken_away() {
    fn one_in_twenty(seen: &Seen, sender: Role) -> bool {
        seen.sender == sender && seen.is_one_rtt() && seen.number.is_multiple_of(20)
    }
    type Change = fn(&mut Seen) -> usize;
    let changes: [(&[Need], Change); 9] = [
        (&[OrderedTimes], |seen| {
            if one_in_twenty(seen, Role::Server) {
                seen.segment.time = Time::from_nanos(seen.segment.time.as_nanos() - 50_000_000);
            }
            1
        }),
        (&[WireSizedPackets], |seen| {
            if one_in_twenty(seen, Role::Server) {
                seen.segment.frame_length = 9_000;
            }
            1
        }),
        (&[NoCopies], |seen| 1 + usize::from(one_in_twenty(seen, Role::Server))),
        (&[NoPeerCopies], |seen| {
            1 + usize::from(seen.sender == Role::Client && seen.is_one_rtt() && seen.number.is_multiple_of(3))
        }),
        (&[EveryPacket], |seen| usize::from(!one_in_twenty(seen, Role::Server))),
        (&[Beginning], |seen| usize::from(seen.time_ns > 100_000_000 && seen.is_one_rtt())),
        (&[PacketNumbers, OwnFrames], |seen| {
            if one_in_twenty(seen, Role::Server) {
                seen.hide_keys();
            }
            1
        }),
        (&[OwnFrames], |seen| {
            if one_in_twenty(seen, Role::Server) {
                seen.hide_frames();
            }
            1
        }),
        (&[PeerFrames], |seen| {
            if seen.sender == Role::Client && seen.is_one_rtt() && seen.number.is_multiple_of(3) {
                seen.hide_frames();
            }
            1
        }),
    ];
    for response_bytes in [None, Some(1_200_000)] {
        let settings = settings(response_bytes);
        let whole = server(&settings, &unchanged);
        assert_eq!(whole.withheld, []);
        let subject =
            Subject { sender: Role::Server, protocol: FlowProtocol::Quic, bytes_are_given: response_bytes.is_some() };
        for (taken, change) in changes {
            let run = server(&settings, &change);
            let (present, withheld) = (names_with_values(&run), withheld(&run));
            for (name, needs) in NEEDS.iter().filter(|(name, _)| names_with_values(&whole).contains(name)) {
                // Counted from the client's first packet, or looked for packet by packet: tested by themselves.
                if name.starts_with("handshake_") || *name == "time_to_first_byte_ns" {
                    continue;
                }
                let needs = subject.needs(name, needs);
                let is_hit = needs.iter().any(|need| taken.contains(need));
                assert_eq!(present.contains(name), !is_hit, "{name} without {taken:?}, response {response_bytes:?}");
                assert_eq!(withheld.contains(name), is_hit, "reason of {name} without {taken:?}");
            }
        }
    }
}

#[test]
fn one_percent_of_unread_packets_is_a_warning_and_more_takes_the_numbers_away() {
    let measured = |hidden: u64| {
        server(&settings(None), &|seen| {
            if seen.sender == Role::Server && seen.is_one_rtt() && (200..200 + hidden).contains(&seen.number) {
                seen.hide_frames();
            }
            1
        })
    };
    let packets = server(&settings(None), &unchanged).metrics.packets_sent.unwrap();
    let hidden_packets = |run: &RunMetrics| run.warnings.iter().filter(|it| it.code == "frames_unknown").count();
    // The numbers count the client's datagrams too, so look for the last run of numbers within the bound.
    let bound = (MOST_UNMET * packets as f64) as u64;
    let within = measured(bound);
    assert_eq!(hidden_packets(&within), 1);
    assert!(within.metrics.packets_lost.is_some() && within.withheld.is_empty(), "{:?}", within.withheld);
    let beyond = measured(2 * bound);
    assert_eq!(hidden_packets(&beyond), 1);
    assert_eq!((beyond.metrics.packets_lost, beyond.metrics.stream_bytes), (None, None));
}

#[test]
fn the_warning_names_frame_type_direction_share_and_what_is_withheld() {
    let run = server(&settings(None), &|seen| {
        if seen.sender == Role::Client && seen.is_one_rtt() {
            seen.hide_frames();
        }
        1
    });
    let warning = run.warnings.iter().find(|warning| warning.code == "frames_unknown").unwrap();
    for part in ["the client's", "%", "unknown frame type 127651", "withheld: ", "packets_lost", "rtt_median_ns"] {
        assert!(warning.message.contains(part), "{part:?} in {}", warning.message);
    }
    assert_eq!(run.metrics.burst_share_start_up, None);
    assert!(run.distributions.rtt_ns.is_empty());
    assert!(run.distributions.bursts.iter().all(|burst| burst.cause == BurstCause::Unknown));
    // What rests on times and lengths alone stays.
    assert!(run.metrics.gap_median_ns.is_some() && run.metrics.train_max_packets.is_some());
}

#[test]
fn nothing_is_made_up_where_every_packet_ends_in_an_unknown_frame() {
    let run = server(&settings(Some(1_200_000)), &|seen| {
        seen.hide_frames();
        1
    });
    let rests_on_frames = |needs: &[Need]| needs.contains(&OwnFrames) || needs.contains(&PeerFrames);
    for (name, needs) in NEEDS.iter().filter(|(name, needs)| rests_on_frames(needs) && *name != "goodput_wire_bps") {
        assert_eq!(run.metrics.value(name), Some(None), "{name}, needs {needs:?}");
    }
    for name in ["handshake_server_hello_ns", "handshake_confirmed_ns", "time_to_first_byte_ns", "packets_lost"] {
        assert!(withheld(&run).contains(name), "{name}");
    }
    assert!(run.metrics.goodput_wire_bps.is_some(), "its bounds are packets, and the response's length was given");
}

#[test]
fn a_step_of_the_handshake_behind_unread_packets_is_not_known() {
    let run = server(&settings(None), &|seen| {
        // The first 1-RTT packets of the server, one of which has HANDSHAKE_DONE.
        if seen.sender == Role::Server && seen.time_ns < 50_000_000 && seen.is_one_rtt() {
            seen.hide_frames();
        }
        1
    });
    assert_eq!(run.metrics.handshake_confirmed_ns, None);
    assert!(withheld(&run).contains("handshake_confirmed_ns"));
    assert!(run.metrics.handshake_server_hello_ns.is_some() && run.metrics.handshake_first_one_rtt_ns.is_some());
}

#[test]
fn a_capture_that_begins_late_counts_nothing_from_a_first_packet_that_it_has_not() {
    let late = |from_ns: u64| server(&settings(Some(1_200_000)), &|seen| usize::from(seen.time_ns >= from_ns));
    // Behind the ClientHello: the server comes first, and its handshake is there.
    let behind_hello = late(1_000_000);
    assert_eq!(behind_hello.metrics.handshake_server_hello_ns, None);
    assert!(withheld(&behind_hello).contains("handshake_server_hello_ns"));
    assert!(behind_hello.metrics.goodput_wire_bps.is_some());
    // In the middle of the transfer: nobody knows how much came before.
    let middle = late(300_000_000);
    assert_eq!((middle.metrics.goodput_wire_bps, middle.metrics.packets_retransmitted), (None, None));
    assert!(middle.warnings.iter().any(|warning| warning.code == "capture_began_late"));
    assert!(middle.metrics.rtt_min_ns.is_some() && middle.metrics.packets_lost.is_some());
    // Bytes in flight are counted from the moment from which all of them were captured.
    let whole = server(&settings(None), &unchanged);
    assert_eq!(middle.metrics.bytes_in_flight_max, whole.metrics.bytes_in_flight_max);
}

#[test]
fn packets_that_were_acknowledged_and_not_captured_are_noticed() {
    let run = server(&settings(None), &|seen| {
        usize::from(!(seen.sender == Role::Server && seen.is_one_rtt() && seen.number.is_multiple_of(20)))
    });
    let warning = run.warnings.iter().find(|warning| warning.code == "capture_missed_packets").unwrap();
    assert!(warning.message.contains("packets of the server were acknowledged"), "{}", warning.message);
}

#[test]
fn cut_packets_whose_numbers_are_unknown_are_not_missed_ones() {
    let run = server(&settings(None), &|seen| {
        if seen.sender == Role::Server && seen.is_one_rtt() && seen.number.is_multiple_of(20) {
            seen.cut();
        }
        1
    });
    assert!(run.warnings.iter().all(|warning| warning.code != "capture_missed_packets"), "{:?}", run.warnings);
    let withheld = withheld(&run);
    assert!(withheld.contains("packet_numbers_missing") && withheld.contains("packets_lost"), "{withheld:?}");
    let warning = run.warnings.iter().find(|warning| warning.code == "payload_cut").unwrap();
    assert!(warning.message.contains("cut by the snap length"), "{}", warning.message);
}

#[test]
fn a_capture_that_is_cut_off_has_no_goodput_of_a_response_that_was_given() {
    let measured = |bytes: &[u8], response_bytes| {
        let reader = CaptureReader::new(bytes).unwrap();
        let dissector = Dissector::new(DissectorSettings::default());
        let analysis = crate::analyze(reader, dissector, settings(response_bytes), &mut |_, _, _| {}).unwrap();
        analysis.directions.into_iter().find(|direction| direction.sender == Role::Server).unwrap().run
    };
    let cut = &CAPTURE[..CAPTURE.len() - 10];
    let run = measured(cut, Some(1_200_000));
    assert_eq!(run.metrics.goodput_wire_bps, None);
    assert!(withheld(&run).contains("goodput_wire_bps"));
    assert!(measured(CAPTURE, Some(1_200_000)).metrics.goodput_wire_bps.is_some());
    assert!(measured(cut, None).metrics.goodput_wire_bps.is_some(), "of the bytes that are there");
}

#[test]
fn packets_that_a_tap_says_it_lost_take_the_numbers_away_from_a_share_on() {
    let dissector = Dissector::new(DissectorSettings { server_port: Some(443), ..DissectorSettings::default() });
    let analysis =
        crate::analyze(CaptureReader::new(CAPTURE).unwrap(), dissector, settings(None), &mut |_, _, _| {}).unwrap();
    let lost = |packets: u64| {
        let mut observation = crate::Observation::of_port(443);
        observation.capture_losses_packets.insert("sender".to_owned(), packets);
        crate::measure(&analysis, &observation)
    };
    let few = lost(1);
    assert!(few.metrics.packets_lost.is_some() && few.warnings.iter().any(|it| it.code == "capture_lost_packets"));
    let many = lost(analysis.packets / 50);
    assert_eq!((many.metrics.packets_lost, many.metrics.gap_median_ns), (None, None));
    assert!(many.metrics.packet_numbers_missing.is_some());
}
