use proptest::prelude::*;

use super::*;

fn wanting(names: &[&str]) -> HttpSettings {
    HttpSettings { headers: names.iter().map(|&name| name.into()).collect(), ..HttpSettings::default() }
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_integer(kind, &mut bytes);
    push_integer(payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::encode(fields.iter().copied(), &mut section);
    frame(HEADERS, &section)
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

#[test]
fn a_response_has_the_fields_that_were_asked_for() {
    let stream = headers(&[
        (":status", "200"),
        ("server", "cloudflare"),
        ("alt-svc", "h3=\":443\""),
        ("alt-svc", "h2=\":443\""),
        ("cf-ray", "8f1-FRA"),
        ("date", "today"),
    ]);
    let expected = HttpAnswer {
        status: 200,
        server: Some("cloudflare".into()),
        alt_svc: Some("h3=\":443\", h2=\":443\"".into()),
        headers: vec![("cf-ray".into(), "8f1-FRA".into())],
        cut: None,
    };
    let read = ResponseReader::default().on_bytes(&stream, &wanting(&["cf-ray", "via"]));
    assert_eq!(read, Ok(Some(expected)));
}

#[test]
fn frames_of_no_interest_and_informational_responses_are_skipped_in_any_pieces() {
    let stream = [
        frame(0x21, &[7; 300]),
        headers(&[(":status", "103"), ("link", "</a>")]),
        frame(0x1f * 7 + 0x21, b""),
        headers(&[(":status", "404")]),
    ]
    .concat();
    for piece in [1, 2, 7, stream.len()] {
        let mut reader = ResponseReader::default();
        let mut last = Ok(None);
        for bytes in stream.chunks(piece) {
            assert_eq!(last, Ok(None));
            last = reader.on_bytes(bytes, &wanting(&[]));
        }
        assert_eq!(last.map(|it| it.map(|answer| answer.status)), Ok(Some(404)), "{piece}");
    }
}

#[test]
fn what_is_no_response_is_refused() {
    let read = |stream: &[u8]| ResponseReader::default().on_bytes(stream, &wanting(&[]));
    assert_eq!(read(&frame(DATA, b"x")), Err(Http3Error::UnexpectedFrame(0)));
    assert_eq!(read(&frame(4, b"")), Err(Http3Error::UnexpectedFrame(4)));
    assert_eq!(read(&headers(&[("server", "x")])), Err(Http3Error::Status));
    assert_eq!(read(&headers(&[(":status", "20")])), Err(Http3Error::Status));
    assert_eq!(read(&[1, 0x80, 0, 0x80, 1]), Err(Http3Error::TooLarge((32 << 10) + 1)));
    assert_eq!(read(&[1, 0x80, 0, 0x80, 0]), Ok(None));
}

#[test]
fn a_request_says_who_asks() {
    let settings =
        HttpSettings { user_agent: "scan (page)".into(), from: Some("a@example.com".into()), headers: vec![] };
    let stream = request(&settings, Some("example.com"), address("192.0.2.1:443"));
    let (kind, rest) = variable_integer(&stream).expect("a type");
    let (length, section) = variable_integer(rest).expect("a length");
    assert_eq!((kind, length as usize), (HEADERS, section.len()));
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    qpack::decode(section, |name, value| fields.push((text(name), text(value)))).expect("a field section");
    let expected = [
        (":method", "HEAD"),
        (":scheme", "https"),
        (":authority", "example.com"),
        (":path", "/"),
        ("user-agent", "scan (page)"),
        ("accept", "*/*"),
        ("from", "a@example.com"),
    ];
    assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn an_authority_has_a_port_where_it_is_not_that_of_https() {
    assert_eq!(authority(Some("a.example"), address("192.0.2.1:4433")), "a.example:4433");
    assert_eq!(authority(None, address("192.0.2.1:443")), "192.0.2.1");
    assert_eq!(authority(None, address("[2001:db8::1]:443")), "[2001:db8::1]");
    assert_eq!(authority(None, address("[2001:db8::1]:4433")), "[2001:db8::1]:4433");
}

#[test]
fn the_control_stream_begins_with_settings() {
    let stream = control_stream();
    assert_eq!(stream[..2], [0x00, 0x04], "the stream's type, the frame's type");
    assert_eq!(usize::from(stream[2]), stream.len() - 3);
    assert_eq!(stream[3..], [0x01, 0, 0x07, 0, 0x06, 0x80, 0, 0x80, 0]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6)) {
        let mut reader = ResponseReader::default();
        for piece in pieces {
            if !matches!(reader.on_bytes(&piece, &wanting(&["a"])), Ok(None)) {
                break;
            }
        }
    }
}
