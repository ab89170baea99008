//! Stages that change bytes: what they ask for, and of which packets.

use quiclab_path::{
    content::Payload,
    edits::{ByteChange, Translation},
    packet::{Ecn, Packet},
    scenario::compile,
    spec::{StageSettings, StageSpec, build::pipeline},
};
use quiclab_units::Time;

#[derive(Clone, Debug, PartialEq)]
struct Datagram {
    bytes: Option<u32>,
    translation: Translation,
}

impl Payload for Datagram {
    fn bytes_to_corrupt(&self) -> Option<u32> {
        self.bytes
    }

    fn translation(&self) -> Translation {
        self.translation
    }
}

const LINK: &str = "--delay=15ms --bandwidth=10Mbps --queue=25";

/// The last stage of a scenario towards the client.
fn last(scenario: &str) -> Vec<StageSpec> {
    let stages = compile(&format!("{scenario} {LINK}")).unwrap().to_client;
    vec![stages.last().unwrap().clone()]
}

fn changes(stages: &[StageSpec], count: u64, bytes: Option<u32>) -> Vec<Option<ByteChange>> {
    let mut path = pipeline::<Datagram>(stages, 7, "to_client").unwrap();
    let time = Time::from_nanos(0);
    (0..count)
        .map(|_| {
            let datagram = Datagram { bytes, translation: Translation::None };
            path.handle_packet(time, Packet::new(1250, 0, Ecn::NotCapable, datagram));
            let (_, packet) = path.poll_packet(time).unwrap();
            let changes = packet.edits.map(|edits| edits.bytes).unwrap_or_default();
            assert!(changes.len() <= 1 && !packet.is_corrupt);
            changes.first().copied()
        })
        .collect()
}

#[test]
fn corrupt_rate_changes_its_share_of_datagrams_in_the_first_51_bytes_to_any_other_value() {
    let count = 60_000;
    let found = changes(&last("corrupt-rate --rate_to_client=30 --rate_to_server=0"), count, Some(1200));
    let changed: Vec<_> = found.iter().flatten().collect();
    let share = changed.len() as f64 / count as f64;
    assert!((share - 0.3).abs() < 0.01, "{share}");
    for offset in 0..51 {
        let hits = changed.iter().filter(|change| change.offset == offset).count() as f64 / changed.len() as f64;
        assert!((hits * 51.0 - 1.0).abs() < 0.25, "byte {offset}: {hits}");
    }
    assert!(changed.iter().all(|change| change.offset < 51 && change.mask != 0));
    assert!((1..=255).all(|mask| changed.iter().any(|change| change.mask == mask)));
}

#[test]
fn a_burst_of_changes_is_one_longer_than_the_option_says() {
    let found =
        changes(&last("corrupt-rate --rate_to_client=90 --rate_to_server=0 --burst_to_client=3"), 5_000, Some(9));
    let longest = found.chunk_by(|one, next| one.is_some() == next.is_some()).filter(|run| run[0].is_some());
    assert_eq!(longest.map(<[_]>::len).max(), Some(4));
    assert!(found.iter().flatten().all(|change| change.offset < 9), "a short datagram");
}

#[test]
fn packets_without_bytes_to_change_pass_and_draw_no_number() {
    let stages = last("corrupt-rate --rate_to_client=50 --rate_to_server=0");
    for bytes in [None, Some(0)] {
        assert!(changes(&stages, 100, bytes).iter().all(Option::is_none));
    }
}

fn bindings(stages: &[StageSpec], translation: Translation) -> Vec<Option<Option<u32>>> {
    let mut path = pipeline::<Datagram>(stages, 7, "to_client").unwrap();
    [0, 999_999_999, 1_000_000_000, 5_999_999_999, 6_000_000_000, 11_000_000_000]
        .map(|time| {
            let time = Time::from_nanos(time);
            path.handle_packet(time, Packet::new(1250, 0, Ecn::NotCapable, Datagram { bytes: None, translation }));
            path.poll_packet(time).map(|(_, packet)| packet.edits.and_then(|edits| edits.binding))
        })
        .to_vec()
}

#[test]
fn bindings_change_at_the_first_time_and_then_every_so_often() {
    let stages = last("rebind --first-rebind=1s --rebind-freq=5s");
    let found = bindings(&stages, Translation::Outward);
    assert_eq!(found, [0, 0, 1, 1, 2, 3].map(|binding| Some(Some(binding))));
    let once = bindings(&last("rebind --first-rebind=1s"), Translation::Outward);
    assert_eq!(once, [0, 0, 1, 1, 1, 1].map(|binding| Some(Some(binding))));
}

#[test]
fn packets_to_an_earlier_binding_are_dropped() {
    let stages = last("rebind --first-rebind=1s --rebind-freq=5s");
    let passed =
        |binding| bindings(&stages, Translation::Inward(binding)).iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(passed(0), [true, true, false, false, false, false]);
    assert_eq!(passed(1), [false, false, true, true, false, false]);
    assert!(bindings(&stages, Translation::None).iter().all(|packet| *packet == Some(None)));
}

#[test]
fn the_options_of_rebind_are_settings_of_both_directions() {
    let scenario = compile(&format!("rebind {LINK} --first-rebind=1s --rebind-freq=0s --rebind-addr")).unwrap();
    assert_eq!(scenario.to_client, scenario.to_server);
    let Some(StageSettings::Rebind(settings)) = scenario.to_server.last().map(|stage| &stage.settings) else {
        panic!()
    };
    assert_eq!((settings.every, settings.address), (None, true));
    let too_often = "stage = \"rebind\"\nfirst = \"1 s\"\nevery = \"999 µs\"\n".parse().unwrap();
    let message = StageSpec::read(&too_often).unwrap_err();
    assert!(message.starts_with("every: found") && message.contains("expected at least"), "{message}");
}

#[derive(Clone, Debug)]
struct Message {
    is_control: bool,
}

impl Payload for Message {
    fn is_control_message(&self) -> bool {
        self.is_control
    }
}

/// The simulator looks at UDP alone. A client that starts while messages about an earlier one pass must not lose more in a row than is said.
#[test]
fn control_messages_pass_a_limited_loss_and_do_not_end_a_run_of_losses() {
    let stages = last("drop-rate --rate_to_client=90 --burst_to_client=3 --rate_to_server=0");
    let mut path = pipeline::<Message>(&stages, 7, "to_client").unwrap();
    let time = Time::from_nanos(0);
    let mut passes = |is_control| {
        path.handle_packet(time, Packet::new(1250, 0, Ecn::NotCapable, Message { is_control }));
        path.poll_packet(time).is_some()
    };
    let (mut in_a_row, mut longest) = (0, 0);
    for _ in 0..5_000 {
        assert!(passes(true));
        in_a_row = if passes(false) { 0 } else { in_a_row + 1 };
        longest = longest.max(in_a_row);
    }
    assert_eq!(longest, 4);
}
