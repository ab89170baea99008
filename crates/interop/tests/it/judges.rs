//! Every judge on captures of real stacks, with its pair: what passes, and what differs from it in one thing and fails.

use crate::common;
use crate::common::{
    ALL, NO_KEYS, assert_cannot_be_judged, assert_fails, assert_passes, facts, read, read_with, remade, remade_at,
    verdict, well,
};
use quiclab_interop::{CASES, End, EndpointFacts, Facts, FactsSettings, ValidatedBy, Verdict, case_named, judge};
use quiclab_wire::{QuicForm, Role, VERSION_2};

/// Captures and the cases they pass; all other cases fail on them. The captures of loopback have one connection with the
/// usual settings but for what their name says.
const PASSED: [(&str, &[&str]); 16] = [
    ("ipv6", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption", "ipv6"]),
    ("retry", &["transfer", "retry", "http3", "transferloss", "transfercorruption"]),
    ("chacha20", &["handshake", "transfer", "chacha20", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("aes256", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("key-update", &["handshake", "transfer", "http3", "keyupdate", "ecn", "transferloss", "transfercorruption"]),
    ("version-2", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption", "v2"]),
    ("version-negotiation", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("zero-rtt", &["resumption", "zerortt"]),
    ("migration", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption", "rebind-port"]),
    ("ngtcp2", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("quiche", &["handshake", "transfer", "http3", "transferloss", "transfercorruption"]),
    ("quic-go", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("super-packets", &["handshake", "transfer", "http3", "ecn", "transferloss", "transfercorruption"]),
    ("tcp-tls", &[]),
    ("multiplexing", &["handshake", "transfer", "multiplexing", "http3", "ecn", "transferloss", "transfercorruption"]),
    (
        "large-certificate",
        &["handshake", "transfer", "http3", "ecn", "amplificationlimit", "transferloss", "transfercorruption"],
    ),
];

#[test]
fn a_capture_passes_the_cases_it_shows_and_no_other() {
    for (capture, passed) in PASSED {
        let facts = facts(capture);
        let found: Vec<&str> = CASES
            .iter()
            .filter(|case| !case.is_measurement && judge(case, &facts, &well()) == Verdict::Succeeded)
            .map(|case| case.name)
            .collect();
        let expected: Vec<&str> = CASES.iter().map(|case| case.name).filter(|name| passed.contains(name)).collect();
        assert_eq!(found, expected, "{capture}");
    }
}

#[test]
fn a_handshake_must_complete() {
    let mut facts = facts("ipv6");
    assert_passes("handshake", &facts);
    facts.connections[0].completed = None;
    assert_fails("handshake", &facts, &["did not complete", "HANDSHAKE_DONE", "9 1-RTT packets", "41"]);
}

#[test]
fn packets_of_the_server_must_not_end_with_the_handshake() {
    let one_way = remade("ipv6", NO_KEYS, |seen| usize::from(!(seen.from_server && seen.first_byte & 0x80 == 0)));
    assert_fails("handshake", &read(&one_way), &["did not complete", "the client sent"]);
}

#[test]
fn a_handshake_with_a_retry_is_another_case() {
    assert_fails("handshake", &facts("retry"), &["expected no Retry packet", "found 1"]);
}

#[test]
fn a_transfer_takes_one_connection() {
    assert_fails("transfer", &facts("zero-rtt"), &["expected 1 handshake, found 2"]);
    assert_fails("transfer", &facts("tcp-tls"), &["expected 1 handshake, found 0"]);
}

/// The client's first packets before the server listens are no handshake of the case.
#[test]
fn a_connection_without_an_answer_does_not_count() {
    let facts = facts("version-negotiation");
    assert_eq!(facts.connections.len(), 2);
    assert_eq!(facts.connections[0].sent(Role::Server).packets(QuicForm::VersionNegotiation), 1);
    assert_passes("transfer", &facts);
}

#[test]
fn a_transfer_is_seen_without_keys() {
    let without_keys = read(&remade("ipv6", NO_KEYS, |_| 1));
    assert!(without_keys.connections[0].sent(Role::Server).packets_unread > 40);
    assert_passes("transfer", &without_keys);
}

#[test]
fn with_a_long_rtt_the_client_hello_is_sent_twice() {
    assert_fails("longrtt", &facts("ipv6"), &["at least 2 times", "found 1", "RFC 9002 section 6.2.2"]);
    assert_passes("longrtt", &read(&remade("ipv6", ALL, |seen| 1 + usize::from(seen.number == 0))));
}

#[test]
fn only_chacha20_may_be_offered() {
    assert_fails("chacha20", &facts("ipv6"), &["found 4", "TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384"]);
    assert_fails("chacha20", &facts("aes256"), &["choose", "found TLS_AES_256_GCM_SHA384"]);
    let mut greased = facts("chacha20");
    greased.connections[0].tls.offer.as_mut().unwrap().cipher_suites.insert(0, 0x1a1a);
    assert_passes("chacha20", &greased);
    greased.connections[0].tls.offer = None;
    assert_fails("chacha20", &greased, &["no ClientHello"]);
}

#[test]
fn every_file_has_its_stream() {
    assert_fails("multiplexing", &facts("quic-go"), &["at least 200 streams", "found 1"]);
    let mut facts = facts("multiplexing");
    assert_eq!(facts.connections[0].sent(Role::Client).request_streams, 200);
    assert_passes("multiplexing", &facts);
    facts.connections[0].senders[Role::Client as usize].request_streams = 199;
    assert_fails("multiplexing", &facts, &["at least 200 streams", "found 199"]);
}

#[test]
fn a_server_must_not_allow_all_streams_from_the_start() {
    let mut facts = facts("multiplexing");
    let limit = &mut facts.connections[0].senders[Role::Server as usize].initial_max_streams_bidi;
    assert_eq!(*limit, Some(100));
    *limit = Some(1_000);
    assert_passes("multiplexing", &facts);
    facts.connections[0].senders[Role::Server as usize].initial_max_streams_bidi = Some(1_001);
    assert_fails("multiplexing", &facts, &["at most 1000", "found 1001"]);
}

#[test]
fn streams_cannot_be_counted_without_keys() {
    let facts = read(&remade("quic-go", NO_KEYS, |_| 1));
    assert_cannot_be_judged("multiplexing", &facts, &["found 0", "could not be read"]);
    assert_cannot_be_judged("multiplexing", &facts, &["initial_max_streams_bidi", "was not found"]);
}

#[test]
fn streams_behind_frames_that_nobody_knows_cannot_be_counted() {
    let mut facts = facts("multiplexing");
    let client = &mut facts.connections[0].senders[Role::Client as usize];
    let packets = client.packets(QuicForm::OneRtt);
    client.request_streams = 142;
    client.unread_frame = Some("unread from offset 0, frame type 757".to_owned());
    client.unread_frames_by_form.insert(QuicForm::OneRtt, packets / 100);
    assert_fails("multiplexing", &facts, &["at least 200 streams", "found 142"]);
    let client = &mut facts.connections[0].senders[Role::Client as usize];
    client.unread_frames_by_form.insert(QuicForm::OneRtt, packets / 100 + 1);
    assert_cannot_be_judged("multiplexing", &facts, &["found 142", "frame type 757", "of the client"]);
    // What fails for certain fails all the same.
    facts.connections[0].retry.packets = 1;
    facts.connections.push(facts.connections[0].clone());
    assert_fails("multiplexing", &facts, &["expected 1 handshake, found 2"]);
}

#[test]
fn a_retry_must_be_there_and_its_token_must_come_back() {
    // RFC 9000 sections 8.1.2 and 17.2.5.
    assert_fails("retry", &facts("ipv6"), &["expected a Retry packet", "found none"]);
    let mut retried = facts("retry");
    assert!(retried.connections[0].retry.token_came_back);
    retried.connections[0].retry.token_came_back = false;
    assert_fails("retry", &retried, &["token of the Retry", "found none after 1"]);
}

#[test]
fn packet_numbers_go_on_behind_a_retry() {
    // RFC 9000 section 17.2.5.3.
    let mut retried = facts("retry");
    assert!(!retried.connections[0].retry.packet_number_was_reset);
    retried.connections[0].retry.packet_number_was_reset = true;
    assert_fails("retry", &retried, &["began again", "17.2.5.3"]);
}

#[test]
fn a_token_that_no_retry_gave_is_none() {
    // Long headers of version 1 have their type in these bits: 3 is Retry.
    let without = read(&remade("retry", ALL, |seen| usize::from(seen.first_byte & 0xf0 != 0xf0)));
    assert!(without.connections.iter().all(|it| it.retry.packets == 0 && !it.retry.token_came_back));
    assert_fails("retry", &without, &["expected a Retry packet", "found none"]);
}

#[test]
fn a_second_connection_must_resume_the_session() {
    let mut facts = facts("zero-rtt");
    let choice = facts.connections[1].tls.choice.as_mut().unwrap();
    choice.pre_shared_key = false;
    for case in ["resumption", "zerortt"] {
        assert_fails(case, &facts, &["pre_shared_key", "the server did not accept it"]);
    }
    facts.connections[1].tls.offer.as_mut().unwrap().pre_shared_key = false;
    assert_fails("resumption", &facts, &["the client did not offer it"]);
}

#[test]
fn a_resumed_session_has_no_certificate() {
    let mut facts = facts("zero-rtt");
    facts.connections[1].tls.certificate_bytes = Some(803);
    assert_fails("resumption", &facts, &["no certificate on the second connection", "803 bytes"]);
}

#[test]
fn the_first_connection_does_not_resume() {
    let mut facts = facts("zero-rtt");
    facts.connections[0].tls.choice.as_mut().unwrap().pre_shared_key = true;
    assert_fails("resumption", &facts, &["the first connection resumes"]);
}

#[test]
fn requests_go_out_before_the_handshake_and_are_taken() {
    let zero_rtt = facts("zero-rtt");
    let client = zero_rtt.connections[1].sent(Role::Client);
    assert_eq!((client.request_streams_in_zero_rtt, client.request_streams), (1, 1));
    let mut late = zero_rtt.clone();
    let bytes = client.zero_rtt_stream_bytes;
    assert!(bytes > 0);
    late.connections[1].senders[Role::Client as usize].one_rtt_stream_bytes = bytes;
    assert_passes("zerortt", &late);
    late.connections[1].senders[Role::Client as usize].one_rtt_stream_bytes = bytes + 1;
    assert_fails("zerortt", &late, &["most bytes", &format!("{bytes} there and {} in 1-RTT", bytes + 1)]);
    let mut refused = zero_rtt.clone();
    refused.connections[1].tls.accepts_early_data = Some(false);
    assert_fails("zerortt", &refused, &["did not accept the 0-RTT data"]);
    assert_passes("resumption", &refused);
}

/// Not every library logs the early secret.
#[test]
fn early_data_that_cannot_be_read_counts_by_its_packets_where_the_server_took_it() {
    let mut without = read(&remade("zero-rtt", |line| !line.starts_with("CLIENT_EARLY"), |_| 1));
    let client = without.connections[1].sent(Role::Client);
    assert_eq!(client.zero_rtt_stream_bytes, 0);
    assert!(client.packets(QuicForm::ZeroRtt) > 0 && client.zero_rtt_bytes_unread > 0);
    assert_passes("zerortt", &without);
    assert_passes("resumption", &without);
    let mut refused = without.clone();
    refused.connections[1].tls.accepts_early_data = Some(false);
    assert_fails("zerortt", &refused, &["did not accept the 0-RTT data"]);
    without.connections[1].senders[Role::Client as usize].zero_rtt_bytes_unread = 0;
    assert_cannot_be_judged("zerortt", &without, &["expected requests in 0-RTT packets", "could not be read"]);
}

/// Where each 1-RTT packet of the client begins with a frame that nobody knows, no late request is seen, and any number may be there.
#[test]
fn early_data_beside_unread_packets_cannot_be_judged() {
    let mut facts = facts("zero-rtt");
    assert_passes("zerortt", &facts);
    let client = &mut facts.connections[1].senders[Role::Client as usize];
    client.unread_frames_by_form.insert(QuicForm::OneRtt, client.packets(QuicForm::OneRtt));
    client.unread_frame = Some("unread from offset 0, frame type 127651".to_owned());
    assert_cannot_be_judged("zerortt", &facts, &["1-RTT packets", "is not known", "frame type 127651"]);
}

/// One packet of thousands, and the one that decides.
#[test]
fn a_single_unread_handshake_packet_hides_what_it_holds() {
    let mut facts = facts("multiplexing");
    let server = &mut facts.connections[0].senders[Role::Server as usize];
    server.initial_max_streams_bidi = None;
    server.packets_by_form.insert(QuicForm::OneRtt, 1_000_000);
    assert_fails("multiplexing", &facts, &["initial_max_streams_bidi", "was not found"]);
    let server = &mut facts.connections[0].senders[Role::Server as usize];
    server.unread_frames_by_form.insert(QuicForm::Handshake, 1);
    server.unread_frame = Some("unread from offset 0, frame type 757".to_owned());
    assert_cannot_be_judged("multiplexing", &facts, &["initial_max_streams_bidi", "frame type 757"]);
}

#[test]
fn both_ends_must_update_their_keys() {
    let updated = facts("key-update");
    for sender in Role::BOTH {
        let mut one_way = updated.clone();
        let sent = &mut one_way.connections[0].senders[sender as usize];
        assert!(sent.key_updates == 1 && sent.key_phase_packets.iter().all(|packets| *packets > 0));
        sent.key_updates = 0;
        sent.key_phase_packets = [40, 0];
        let words = [sender.name(), "with a new key", "0 key updates, 40 packets with key phase 0 and 0"];
        assert_fails("keyupdate", &one_way, &words);
    }
    let without_keys = read(&remade("key-update", NO_KEYS, |_| 1));
    assert_cannot_be_judged(
        "keyupdate",
        &without_keys,
        &["could not be read because keys or captured bytes are missing"],
    );
}

#[test]
fn a_short_certificate_shows_nothing_of_the_limit() {
    assert_fails("amplificationlimit", &facts("ipv6"), &["at least 7500 bytes", "found 1237"]);
    let mut facts = facts("large-certificate");
    assert_eq!(facts.connections[0].tls.certificate_bytes, Some(9_973));
    facts.connections[0].senders[Role::Server as usize].handshake_crypto_bytes = 7_500;
    assert_passes("amplificationlimit", &facts);
    facts.connections[0].senders[Role::Server as usize].handshake_crypto_bytes = 7_499;
    assert_fails("amplificationlimit", &facts, &["at least 7500 bytes", "found 7499"]);
}

#[test]
fn three_times_as_much_passes_and_a_byte_more_does_not() {
    // RFC 9000 section 8.1.
    let mut facts = facts("large-certificate");
    facts.connections[0].amplification.client_bytes = 1_200;
    facts.connections[0].amplification.server_bytes = 3_600;
    assert_passes("amplificationlimit", &facts);
    facts.connections[0].amplification.server_bytes = 3_601;
    assert_fails("amplificationlimit", &facts, &["sent 3601 bytes", "received 1200", "1 more", "section 8.1"]);
}

/// The server's datagrams until the client's Handshake packet, twice: as a server does that does not wait.
#[test]
fn a_server_that_does_not_wait_is_seen() {
    let before = facts("large-certificate").connections[0].amplification.clone();
    let validated = before.validated.unwrap();
    assert_eq!((validated.by, validated.client_bytes), (ValidatedBy::HandshakePacket, 3 * 1_280));
    assert_eq!(
        (before.client_bytes, before.server_bytes),
        (2 * 1_280, 5 * 1_280),
        "of six times 1280 that it may send"
    );
    assert_eq!((before.excess_bytes(), before.datagrams_beyond_limit), (0, 0));
    let eager = read(&remade("large-certificate", ALL, |seen| 1 + usize::from(seen.from_server)));
    let after = &eager.connections[0].amplification;
    assert_eq!((after.client_bytes, after.server_bytes), (2 * 1_280, 10 * 1_280));
    assert_eq!(after.excess_bytes(), 4 * 1_280);
    assert!(after.datagrams_beyond_limit > 0);
    assert_fails("amplificationlimit", &eager, &["5120 more than three times", "RFC 9000 section 8.1"]);
}

#[test]
fn a_long_connection_id_of_the_server_validates_an_address() {
    let amplification = facts("ipv6").connections[0].amplification.clone();
    assert_eq!(amplification.validated.unwrap().by, ValidatedBy::ConnectionId);
    assert_eq!(amplification.excess_bytes(), 0);
}

#[test]
fn an_address_that_was_never_validated_is_no_pass() {
    let mut facts = facts("large-certificate");
    assert_passes("amplificationlimit", &facts);
    let mut negotiated = facts.clone();
    negotiated.connections[0].senders[Role::Server as usize].packets_by_form.insert(QuicForm::VersionNegotiation, 2);
    assert_fails("amplificationlimit", &negotiated, &["no Version Negotiation packet", "found 2"]);
    facts.connections[0].amplification.validated = None;
    assert_fails("amplificationlimit", &facts, &["the client's address was never validated"]);
}

#[test]
fn a_token_validates_an_address() {
    // RFC 9000 section 8.1.2.
    let validated = facts("retry").connections[0].amplification.validated.unwrap();
    assert_eq!(validated.by, ValidatedBy::Token);
}

#[test]
fn a_datagram_over_ipv4_is_one_too_many() {
    let mut facts = facts("ipv6");
    assert!(facts.connections[0].ipv6_datagrams > 0);
    facts.connections[0].ipv4_datagrams = 1;
    assert_fails("ipv6", &facts, &["52 over IPv6 and 1 over IPv4"]);
}

#[test]
fn handshake_packets_of_version_1_are_too_many_for_version_2() {
    // RFC 9369 section 4.1.
    let mut facts = facts("version-2");
    let client = facts.connections[0].sent(Role::Client);
    assert!(client.initial_versions.contains(&1), "it began with version 1");
    facts.connections[0].senders[Role::Server as usize].handshake_versions.insert(1);
    assert_fails("v2", &facts, &["Handshake packets of the server", "version 1 and version 2"]);
}

#[test]
fn version_2_is_for_clients_that_began_with_version_1() {
    let mut facts = facts("version-2");
    facts.connections[0].senders[Role::Client as usize].initial_versions = [VERSION_2].into();
    assert_fails("handshake", &facts, &["began with version 1", "found version 2"]);
}

#[test]
fn early_data_can_be_answered_before_the_handshake_is_over() {
    let mut facts = facts("zero-rtt");
    facts.connections[1].completed = None;
    assert_passes("zerortt", &facts);
    let mut silent = facts.clone();
    silent.connections[1].senders[Role::Client as usize].packets_by_form.remove(&QuicForm::OneRtt);
    assert_fails("zerortt", &silent, &["handshake of connection 2 did not complete"]);
    facts.connections[0].completed = None;
    assert_fails("zerortt", &facts, &["handshake of connection 1 did not complete"]);
}

#[test]
fn a_ticket_of_version_2_is_for_version_2() {
    // RFC 9369 section 5.
    let mut facts = facts("zero-rtt");
    let [first, second] = &mut facts.connections[..] else { panic!() };
    for connection in [&mut *first, &mut *second] {
        let server = &mut connection.senders[Role::Server as usize];
        (server.initial_versions, server.handshake_versions) = ([VERSION_2].into(), [VERSION_2].into());
    }
    second.senders[Role::Client as usize].initial_versions = [VERSION_2].into();
    assert_passes("resumption", &facts);
    let first = &mut facts.connections[0].senders[Role::Server as usize];
    (first.initial_versions, first.handshake_versions) = ([1].into(), [1].into());
    assert_fails("resumption", &facts, &["of the second connection", "found version 2"]);
}

#[test]
fn a_server_that_goes_on_with_both_versions_fails() {
    let mut facts = facts("version-2");
    facts.connections[0].senders[Role::Server as usize].handshake_versions.insert(1);
    assert_fails("handshake", &facts, &["in all Handshake packets", "found version 1 and version 2"]);
}

#[test]
fn the_server_chooses_version_2_in_its_initial_packets() {
    let mut facts = facts("version-2");
    let server = &mut facts.connections[0].senders[Role::Server as usize];
    server.initial_versions = [1, 2].into();
    assert_fails("v2", &facts, &["expected the server to choose version 2", "version 1 and version 0x00000002"]);
    facts.connections[0].senders[Role::Server as usize].initial_versions = [1, VERSION_2].into();
    assert_passes("v2", &facts);
}

#[test]
fn packets_of_another_tap_are_left_out() {
    let alone = facts("zero-rtt");
    for tap in [0, 1] {
        let settings = FactsSettings { tap: Some(tap), ..FactsSettings::default() };
        let both = read_with(&remade_at("zero-rtt", ALL, |_| 1, &[0, 1]), &settings);
        let bytes = |facts: &Facts| facts.connections.iter().map(|it| it.sent(Role::Server).bytes).collect::<Vec<_>>();
        assert_eq!(bytes(&both), bytes(&alone));
        assert_passes("zerortt", &both);
        let other = read_with(&remade_at("zero-rtt", ALL, |_| 1, &[1 - tap]), &settings);
        assert!(other.connections.is_empty());
    }
}

/// A tap in fibre has an interface for each direction.
#[test]
fn without_a_tap_given_all_interfaces_are_one() {
    let one = read(&remade_at("zero-rtt", ALL, |_| 1, &[1]));
    let twice = read(&remade_at("zero-rtt", ALL, |_| 1, &[0, 1]));
    assert_eq!(twice.connections.len(), one.connections.len());
    assert_eq!(twice.connections[0].ipv4_datagrams, 2 * one.connections[0].ipv4_datagrams);
}

#[test]
fn the_files_decide_as_the_packets_do() {
    let facts = facts("ipv6");
    let case = case_named("transfer").unwrap();
    let files_ok = Err("a: expected 1024 bytes, found 1000".to_owned());
    let Verdict::Failed { reasons } = judge(case, &facts, &EndpointFacts { files_ok, ..well() }) else {
        panic!("a file is missing")
    };
    assert_eq!(reasons, ["files: a: expected 1024 bytes, found 1000"]);
}

#[test]
fn an_exit_status_explains_a_failure_and_makes_none() {
    let ended_badly = EndpointFacts { client: End::Status(1), ..well() };
    let case = case_named("retry").unwrap();
    assert_eq!(judge(case, &facts("retry"), &ended_badly), Verdict::Succeeded);
    let Verdict::Failed { reasons } = judge(case, &facts("ipv6"), &ended_badly) else { panic!("no Retry") };
    assert_eq!(reasons.last().unwrap(), "the client ended with status 1");
}

#[test]
fn not_supported_is_what_an_endpoint_says() {
    let case = case_named("retry").unwrap();
    for facts in [facts("retry"), facts("tcp-tls")] {
        let server = EndpointFacts { server: End::Status(127), ..well() };
        assert_eq!(judge(case, &facts, &server), Verdict::Unsupported { role: Role::Server });
        let client = EndpointFacts { client: End::Status(127), ..well() };
        assert_eq!(judge(case, &facts, &client), Verdict::Unsupported { role: Role::Client });
    }
}

#[test]
fn a_capture_that_stops_early_says_so() {
    let bytes = common::capture("ipv6");
    let facts = read(&bytes[..bytes.len() / 50]);
    assert!(facts.capture_cut_at_byte.is_some());
    assert_fails("handshake", &facts, &["the capture is truncated in the middle of a record at byte"]);
    let whole = verdict("handshake", &common::facts("ipv6"));
    assert_eq!(whole, Verdict::Succeeded);
}
