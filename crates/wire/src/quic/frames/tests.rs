use proptest::prelude::*;

use super::*;

fn frames_of(payload: &[u8]) -> Vec<QuicFrame> {
    let mut frames = Vec::new();
    parse_frames(payload, &mut frames).unwrap();
    frames
}

#[test]
fn ranges_of_an_ack_are_counted_from_the_largest() {
    // RFC 9000 sections 19.3 and 19.3.1.
    // Largest 10, first range of 2 more, gap 1, range of 0 more: 8..=10, then 8 - 1 - 2 = 5.
    assert_eq!(
        frames_of(&[0x02, 10, 7, 1, 2, 1, 0]),
        [QuicFrame::Ack(Ack { encoded_delay: 7, ranges: vec![8..=10, 5..=5], ecn: None })]
    );
}

#[test]
fn an_ack_below_zero_is_refused() {
    // RFC 9000 section 19.3.1: a packet number below 0 is an error.
    let mut frames = Vec::new();
    assert_eq!(
        parse_frames(&[0x02, 1, 0, 0, 2], &mut frames),
        Err(FrameError { offset: 0, frame_type: Some(2), is_known_type: true })
    );
    assert!(parse_frames(&[0x02, 3, 0, 1, 1, 1, 0], &mut frames).is_err());
}

#[test]
fn a_stream_frame_without_length_fills_the_packet() {
    // RFC 9000 section 19.8.
    assert_eq!(
        frames_of(&[0x0d, 4, 0x40, 0x80, 1, 2, 3]),
        [QuicFrame::Stream { stream: 4, offset: 128, length: 3, fin: true, head: None }]
    );
}

#[test]
fn the_head_of_a_stream_is_its_first_eight_bytes() {
    let head = |payload: &[u8]| match frames_of(payload)[..] {
        [QuicFrame::Stream { head, .. }] => head,
        ref found => panic!("{found:?}"),
    };
    assert_eq!(head(&[0x0a, 4, 9, 0, 0, 0, 0, 0, 1, 0, 2, 3]), Some(0x1_0002));
    assert_eq!(head(&[0x08, 4, 0, 0, 0, 0, 0, 0, 0, 7]), Some(7));
    assert_eq!(head(&[0x0a, 4, 7, 0, 0, 0, 0, 0, 1, 0]), None);
    assert_eq!(head(&[0x0e, 4, 1, 8, 0, 0, 0, 0, 0, 0, 0, 7]), None);
}

#[test]
fn padding_is_one_run() {
    assert_eq!(
        frames_of(&[0, 0, 0, 1, 0]),
        [QuicFrame::Padding { length: 3 }, QuicFrame::Ping, QuicFrame::Padding { length: 1 }]
    );
}

#[test]
fn extensions_are_read() {
    assert_eq!(
        frames_of(&[0x40, 0xaf, 1, 2, 0x41, 0x00, 3, 0x1f, 0x31, 2, 9, 9, 0x30, 9]),
        [
            QuicFrame::AckFrequency {
                sequence: 1,
                ack_eliciting_threshold: 2,
                requested_max_ack_delay_us: 256,
                reordering_threshold: 3
            },
            QuicFrame::ImmediateAck,
            QuicFrame::Datagram { length: 2 },
            QuicFrame::Datagram { length: 1 },
        ]
    );
}

#[test]
fn an_unknown_type_names_its_place() {
    let mut frames = Vec::new();
    let error = parse_frames(&[1, 0x40, 0x99, 5], &mut frames).unwrap_err();
    assert_eq!(error, FrameError { offset: 1, frame_type: Some(0x99), is_known_type: false });
    assert_eq!(frames, [QuicFrame::Ping]);
}

proptest! {
    #[test]
    fn any_payload_is_survived(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_frames(&payload, &mut Vec::new());
    }
}
