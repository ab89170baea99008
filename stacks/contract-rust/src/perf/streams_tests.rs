//! What both ends of a connection open, send and count.

use super::*;

const SIZES: Sizes = Sizes { request: 3 * CHUNK as u64, response: 70_000 };

/// All that is to be sent, handed over in pieces of at most `most` bytes.
fn drain(mut outgoing: Outgoing, most: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let (piece, last) = outgoing.rest();
        let taken = piece.bytes().len().min(most);
        sent.extend_from_slice(&piece.bytes()[..taken]);
        let whole = taken == piece.bytes().len();
        assert_eq!(outgoing.take(taken), last && whole, "{} bytes in", sent.len());
        if outgoing.is_done() {
            return sent;
        }
    }
}

#[test]
fn a_request_is_a_head_and_zeros_whatever_the_stack_takes() {
    for request in [8, 9, CHUNK as u64 + 8, SIZES.request] {
        let sizes = Sizes { request, ..SIZES };
        for most in [1000, CHUNK] {
            let sent = drain(Outgoing::request(sizes), most);
            assert_eq!((sent.len() as u64, &sent[..8]), (request, &70_000_u64.to_be_bytes()[..]));
            assert!(sent[8..].iter().all(|byte| *byte == 0));
        }
    }
    assert_eq!(drain(Outgoing::request(Sizes { request: 20, response: 1 }), 3).len(), 20);
}

#[test]
fn an_empty_response_is_the_end_of_a_stream() {
    let mut outgoing = Outgoing::response(0);
    assert!(!outgoing.is_done());
    assert_eq!(outgoing.rest(), (Piece::Zeros(&[]), true));
    assert!(outgoing.take(0));
}

#[test]
fn no_more_streams_run_than_the_settings_say() {
    let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 3, Some(2), None);
    for stream in [0, 4] {
        assert!(exchanges.wants_stream());
        exchanges.opened(stream);
    }
    assert!(!exchanges.wants_stream());
    assert_eq!(exchanges.unsent(), [0, 4]);
    exchanges.on_data(4, 5).unwrap();
    exchanges.on_end(4).unwrap();
    assert!(!exchanges.wants_stream(), "the request is not sent");
    assert!(exchanges.take(4, 8));
    assert!(exchanges.wants_stream() && !exchanges.is_running(4) && exchanges.rest(4).is_none());
    exchanges.opened(8);
    for stream in [0, 8] {
        assert!(exchanges.take(stream, 8));
        exchanges.on_data(stream, 5).unwrap();
        assert!(!exchanges.are_complete());
        exchanges.on_end(stream).unwrap();
    }
    assert!(exchanges.are_complete());
}

#[test]
fn a_response_of_another_length_is_an_error() {
    let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 2, None, None);
    exchanges.opened(0);
    exchanges.opened(4);
    exchanges.on_data(0, 4).unwrap();
    assert_eq!(exchanges.on_end(0), Err(WrongLength { found: 4, expected: 5 }));
    assert_eq!(exchanges.on_data(4, 6), Err(WrongLength { found: 6, expected: 5 }));
}

#[test]
fn a_time_ends_what_is_not_complete() {
    let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 1, None, Some(Duration::ZERO));
    assert!(!exchanges.are_complete(), "it counts from the first stream");
    exchanges.opened(0);
    assert!(exchanges.are_complete() && exchanges.is_running(0));
    let mut long = Exchanges::new(Sizes { request: 8, response: 5 }, 1, None, Some(Duration::from_secs(3600)));
    long.opened(0);
    assert!(!long.are_complete());
}

#[test]
fn requests_follow_each_other_until_the_time_is_over() {
    let (sizes, hour) = (Sizes { request: 8, response: 5 }, Some(Duration::from_secs(3600)));
    let mut exchanges = Exchanges::new(sizes, 2, None, hour).with(Load::Requests);
    for number in 0..10_u64 {
        let stream = 4 * number;
        assert!(exchanges.wants_stream(), "{number}");
        exchanges.opened(stream);
        assert_eq!(exchanges.wants_stream(), number == 0, "two at a time");
        if let Some(before) = stream.checked_sub(4) {
            exchanges.take(before, 8);
            exchanges.on_data(before, 5).unwrap();
            exchanges.on_end(before).unwrap();
        }
        assert!(!exchanges.are_complete());
    }
    let mut late = Exchanges::new(sizes, 1, None, Some(Duration::ZERO)).with(Load::Requests);
    late.opened(0);
    assert!(late.are_complete());
}

#[test]
fn streams_with_a_period_begin_whether_others_are_over_or_not() {
    let (sizes, period) = (Sizes { request: 8, response: 5 }, Duration::from_millis(2));
    let mut exchanges = Exchanges::new(sizes, 3, None, None).with(Load::Periodic).every(Some(period));
    assert_eq!(exchanges.next_due(), None, "the first waits for the handshake only");
    assert!(exchanges.wants_stream());
    let start = Instant::now();
    exchanges.opened(0);
    for number in 1..3_u32 {
        let due = exchanges.next_due().unwrap();
        assert!(due >= start + period * number && !exchanges.are_complete(), "{number}");
        while !exchanges.wants_stream() {
            assert_eq!(exchanges.next_due(), Some(due));
        }
        assert!(Instant::now() >= due);
        assert_eq!(exchanges.next_due(), None, "it is asked for, so that no timer is needed");
        exchanges.opened(4 * u64::from(number));
    }
    assert!(!exchanges.wants_stream() && exchanges.next_due().is_none() && exchanges.unsent() == [0, 4, 8]);
    for stream in [8, 0, 4] {
        assert!(exchanges.take(stream, 8) && !exchanges.are_complete());
        exchanges.on_data(stream, 5).unwrap();
        exchanges.on_end(stream).unwrap();
    }
    assert!(exchanges.are_complete());
}

#[test]
fn both_directions_have_streams_of_their_own() {
    let mut exchanges = Exchanges::new(SIZES, 2, None, None).with(Load::Bidirectional);
    let mut opened = Vec::new();
    for stream in [0, 4, 8, 12] {
        assert!(exchanges.wants_stream());
        opened.push(exchanges.next_sizes());
        exchanges.opened(stream);
    }
    assert!(!exchanges.wants_stream());
    let (up, down) = (Sizes { response: 0, ..SIZES }, Sizes { request: 8, ..SIZES });
    assert_eq!(opened, [up, down, up, down]);
    assert_eq!(exchanges.on_data(0, 1), Err(WrongLength { found: 1, expected: 0 }));
    exchanges.on_data(4, 70_000).unwrap();
    assert!(exchanges.take(4, 8));
    exchanges.on_end(4).unwrap();
    assert!(!exchanges.is_running(4) && !exchanges.are_complete());
}

#[test]
fn a_handshake_is_followed_by_one_small_stream() {
    let time = Some(Duration::ZERO);
    let mut exchanges = Exchanges::new(SIZES, 7, None, time).with(Load::Handshakes);
    assert_eq!(exchanges.next_sizes(), Sizes { request: 8, response: 0 });
    exchanges.opened(0);
    assert!(!exchanges.wants_stream() && !exchanges.are_complete());
    exchanges.take(0, 8);
    exchanges.on_end(0).unwrap();
    assert!(exchanges.are_complete());
}

#[test]
fn a_server_answers_complete_requests_and_no_streams_of_one_direction() {
    let mut answers = Answers::default();
    let request = [&SIZES.head()[..], &[1; 100]].concat();
    for piece in request.chunks(7) {
        answers.on_data(0, piece);
        answers.on_data(2, piece);
        assert!(answers.unsent().is_empty());
    }
    answers.on_end(2).unwrap();
    assert!(answers.unsent().is_empty());
    answers.on_end(0).unwrap();
    assert_eq!(answers.unsent(), [0]);
    assert_eq!(answers.rest(0), Some((Piece::Zeros(&ZEROS), false)));
    assert!(!answers.take(0, CHUNK));
    assert_eq!(answers.rest(0), Some((Piece::Zeros(&ZEROS[..70_000 - CHUNK]), true)));
    assert!(answers.take(0, 70_000 - CHUNK));
    assert_eq!(answers.rest(0), None);
}

#[test]
fn a_request_without_a_head_has_no_answer() {
    let mut answers = Answers::default();
    answers.on_data(0, &[0; 7]);
    assert_eq!(answers.on_end(0), Err(NoHead));
    assert_eq!(answers.on_end(4), Err(NoHead), "nothing came at all");
    answers.on_data(8, &[0; 8]);
    answers.forget(8);
    assert!(answers.unsent().is_empty() && answers.heads.is_empty());
}
