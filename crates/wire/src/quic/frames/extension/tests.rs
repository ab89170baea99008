use proptest::prelude::*;

use super::super::{FrameError, QuicFrame, parse_frames};
use super::*;

/// RFC 9000 section 16, the shortest form.
fn integer(value: u64) -> Vec<u8> {
    match value {
        0..=0x3f => vec![value as u8],
        0x40..=0x3fff => (0x4000 | value as u16).to_be_bytes().to_vec(),
        0x4000..=0x3fff_ffff => (0x8000_0000 | value as u32).to_be_bytes().to_vec(),
        _ => (0xc000_0000_0000_0000 | value).to_be_bytes().to_vec(),
    }
}

/// A frame of this type as its document has it, and what it says.
fn example(frame_type: u64) -> (Vec<u8>, ExtensionFrame) {
    let id = ConnectionId::new(&[7, 8, 9]).unwrap();
    let ack = |ecn| Ack { encoded_delay: 300, ranges: vec![8..=10, 5..=5], ecn };
    let status = |is_available| ExtensionFrame::PathStatus { path: 1, sequence: 2, is_available };
    let (v4, v6): (SocketAddr, SocketAddr) = ("192.0.2.1:258".parse().unwrap(), "[::1]:258".parse().unwrap());
    let v4_bytes = [5, 192, 0, 2, 1, 1, 2];
    let v6_bytes = [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2];
    let new_id = [&[1, 4, 2, 3, 7, 8, 9][..], &[0xee; 16]].concat();
    let (body, frame): (Vec<u8>, ExtensionFrame) = match frame_type {
        TIME_STAMP => (integer(1_000_000), ExtensionFrame::TimeStamp { time_stamp: 1_000_000 }),
        RESET_STREAM_AT | RESET_STREAM_AT_OF_MSQUIC => {
            let frame = ExtensionFrame::ResetStreamAt { stream: 4, error: 1, final_size: 9, reliable_size: 3 };
            (vec![4, 1, 9, 3], frame)
        }
        EARLIER_IMMEDIATE_ACK => (vec![], ExtensionFrame::EarlierImmediateAck),
        PATH_ACK | EARLIER_PATH_ACK => {
            (vec![2, 10, 0x41, 0x2c, 1, 2, 1, 0], ExtensionFrame::PathAck { path: 2, ack: ack(None) })
        }
        PATH_ACK_ECN | EARLIER_PATH_ACK_ECN => {
            let frame = ExtensionFrame::PathAck { path: 2, ack: ack(Some([6, 0, 1])) };
            (vec![2, 10, 0x41, 0x2c, 1, 2, 1, 0, 6, 0, 1], frame)
        }
        PATH_ABANDON => (vec![1, 2], ExtensionFrame::PathAbandon { path: 1, error: 2 }),
        PATH_STATUS_BACKUP | EARLIER_PATH_STATUS_BACKUP => (vec![1, 2], status(false)),
        PATH_STATUS_AVAILABLE | EARLIER_PATH_STATUS_AVAILABLE => (vec![1, 2], status(true)),
        PATH_NEW_CONNECTION_ID | EARLIER_PATH_NEW_CONNECTION_ID => {
            let frame = ExtensionFrame::PathNewConnectionId {
                path: 1,
                sequence: 4,
                retire_prior_to: 2,
                connection_id: id,
                reset_token: [0xee; 16],
            };
            (new_id, frame)
        }
        PATH_RETIRE_CONNECTION_ID | EARLIER_PATH_RETIRE_CONNECTION_ID => {
            (vec![1, 2], ExtensionFrame::PathRetireConnectionId { path: 1, sequence: 2 })
        }
        MAX_PATH_ID | EARLIER_MAX_PATH_ID => (vec![3], ExtensionFrame::MaxPathId { maximum: 3 }),
        PATHS_BLOCKED => (vec![3], ExtensionFrame::PathsBlocked { maximum: 3 }),
        PATH_CIDS_BLOCKED => (vec![1, 2], ExtensionFrame::PathCidsBlocked { path: 1, sequence: 2 }),
        OBSERVED_ADDRESS_V4 => (v4_bytes.into(), ExtensionFrame::ObservedAddress { sequence: 5, address: v4 }),
        OBSERVED_ADDRESS_V6 => (v6_bytes.into(), ExtensionFrame::ObservedAddress { sequence: 5, address: v6 }),
        ADD_ADDRESS_V4 => (v4_bytes.into(), ExtensionFrame::AddAddress { sequence: 5, address: v4 }),
        ADD_ADDRESS_V6 => (v6_bytes.into(), ExtensionFrame::AddAddress { sequence: 5, address: v6 }),
        REACH_OUT_V4 => (v4_bytes.into(), ExtensionFrame::ReachOut { round: 5, address: v4 }),
        REACH_OUT_V6 => (v6_bytes.into(), ExtensionFrame::ReachOut { round: 5, address: v6 }),
        REMOVE_ADDRESS => (vec![5], ExtensionFrame::RemoveAddress { sequence: 5 }),
        DC_STATELESS_RESET_TOKENS => {
            ([&[2][..], &[1; 32]].concat(), ExtensionFrame::DcStatelessResetTokens { count: 2 })
        }
        MTU_PROBING_COMPLETE => (vec![0x05, 0xdc], ExtensionFrame::MtuProbingComplete { mtu: 1_500 }),
        other => panic!("no example of {other:#x}"),
    };
    ([integer(frame_type), body].concat(), frame)
}

fn parsed(payload: &[u8]) -> (Vec<QuicFrame>, Option<FrameError>) {
    let mut frames = Vec::new();
    let error = parse_frames(payload, &mut frames).err();
    (frames, error)
}

#[test]
fn every_known_type_is_read_and_what_follows_it_too() {
    for frame_type in KNOWN_TYPES {
        let (mut bytes, frame) = example(frame_type);
        bytes.push(0x01);
        assert_eq!(parsed(&bytes), (vec![QuicFrame::Extension(frame), QuicFrame::Ping], None), "{frame_type:#x}");
    }
}

#[test]
fn a_cut_frame_of_a_known_type_is_malformed_and_not_unknown() {
    for frame_type in KNOWN_TYPES {
        let (bytes, _) = example(frame_type);
        let type_bytes = integer(frame_type).len();
        for length in type_bytes..bytes.len() {
            let (frames, error) = parsed(&bytes[..length]);
            let expected = FrameError { offset: 0, frame_type: Some(frame_type), is_known_type: true };
            assert_eq!((frames, error), (vec![], Some(expected)), "{frame_type:#x} cut to {length} bytes");
        }
    }
}

#[test]
fn a_type_outside_of_the_list_is_unknown() {
    // GREASE of RFC 9000 section 18.1's form, PATH_ABANDON of earlier drafts, BDP_FRAME, KNOB of mvfst.
    for frame_type in [31 * 7 + 27, 0x1522_8c05, 0xebd9, 0x1550] {
        let (frames, error) = parsed(&[vec![0x01], integer(frame_type), vec![0; 40]].concat());
        assert_eq!(frames, [QuicFrame::Ping]);
        assert_eq!(error, Some(FrameError { offset: 1, frame_type: Some(frame_type), is_known_type: false }));
    }
}

#[test]
fn an_error_says_where_and_which_type() {
    let (_, error) = parsed(&[&[0x01][..], &integer(0x1f2a3), &[1, 2]].concat());
    assert_eq!(error.unwrap().to_string(), "unread from offset 1, frame type 127651");
    let (_, error) = parsed(&integer(TIME_STAMP));
    assert_eq!(error.unwrap().to_string(), "unread from offset 0, malformed frame of type 757");
    let (_, error) = parsed(&[0x40]);
    assert_eq!(error.unwrap().to_string(), "unread from offset 0, truncated frame type");
}

#[test]
fn only_what_asks_for_an_acknowledgment_elicits_one() {
    let quiet: Vec<u64> = KNOWN_TYPES.into_iter().filter(|it| !example(*it).1.is_ack_eliciting()).collect();
    assert_eq!(quiet, [TIME_STAMP, PATH_ACK, PATH_ACK_ECN, EARLIER_PATH_ACK, EARLIER_PATH_ACK_ECN]);
}

#[test]
fn a_path_ack_of_the_first_path_acknowledges_and_one_of_another_does_not() {
    let frame = |path| QuicFrame::Extension(ExtensionFrame::PathAck { path, ack: Ack::default() });
    assert!(frame(0).acknowledgment().is_some());
    assert!(frame(1).acknowledgment().is_none());
}

proptest! {
    #[test]
    fn any_body_of_a_known_type_is_survived(place in 0..KNOWN_TYPES.len(), body in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = parsed(&[integer(KNOWN_TYPES[place]), body].concat());
    }
}
