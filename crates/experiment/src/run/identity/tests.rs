use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::Duration;

use super::{canonical_text, of_parts, settings_that_count};
use crate::{
    run::{Run, Versions},
    settings::{Settings, declaration::Section},
};

/// Declarations of a version that lacks some settings.
mod earlier {
    use quiclab_units::Duration;

    use crate::settings::{
        declaration::{contains, section},
        value_parser::{count, time},
    };

    #[derive(Default)]
    pub(super) struct Settings {
        pub(super) vm: Vm,
    }

    contains!(Settings { vm: Vm });

    section! {
        /// A section.
        pub struct Vm as vm {
            /// by how much timers may be late
            slack: Duration = Duration::from_micros(50), takes time().positive(), neutral Duration::from_micros(50),
                formerly ["hosts.slack"];
            /// some number
            number: u32 = 7, takes count();
        }
    }
}

/// The section of a later version, in which a setting has moved again, and one was added.
mod later {
    use quiclab_units::Duration;

    use crate::settings::{
        declaration::{contains, section},
        value_parser::{count, time},
    };

    #[derive(Default)]
    pub(super) struct Settings {
        pub(super) machine: Machine,
    }

    contains!(Settings { machine: Machine });

    section! {
        /// A section of another name.
        pub struct Machine as machine {
            /// some number, in another place
            number: u32 = 7, takes count(), formerly ["vm.number"];
            /// added; earlier versions did what it does at 1
            dummy: u32 = 2, takes count(), neutral 1;
            /// by how much timers may be late
            timer_slack: Duration = Duration::from_micros(50), takes time().positive(), neutral Duration::from_micros(50),
                formerly ["vm.slack", "hosts.slack"];
        }
    }
}

type Counted = BTreeMap<&'static str, String>;

fn of_earlier(change: impl FnOnce(&mut earlier::Vm)) -> Counted {
    let mut settings = earlier::Settings::default();
    change(&mut settings.vm);
    settings_that_count(&settings, <earlier::Vm as Section<earlier::Settings, _>>::SETTINGS.iter())
}

fn of_later(change: impl FnOnce(&mut later::Machine)) -> Counted {
    let mut settings = later::Settings::default();
    settings.machine.dummy = 1;
    change(&mut settings.machine);
    settings_that_count(&settings, <later::Machine as Section<later::Settings, _>>::SETTINGS.iter())
}

#[test]
fn a_setting_that_is_added_or_moved_changes_no_identity() {
    assert_eq!(of_earlier(|_| {}), BTreeMap::from([("vm.number", "7".to_owned())]));
    assert_eq!(of_earlier(|_| {}), of_later(|_| {}));
    assert_eq!(of_earlier(|vm| vm.number = 8), of_later(|machine| machine.number = 8));
    let slack = Duration::from_micros(1);
    assert_eq!(of_earlier(|vm| vm.slack = slack), of_later(|machine| machine.timer_slack = slack));
    assert_eq!(of_earlier(|vm| vm.slack = slack)["hosts.slack"], "\"1 us\"");
}

#[test]
fn every_other_value_changes_it() {
    let all = [
        of_later(|_| {}),
        of_later(|machine| machine.number = 8),
        of_later(|machine| machine.dummy = 2),
        of_later(|machine| machine.timer_slack = Duration::from_micros(51)),
    ];
    let texts: BTreeSet<_> = all.iter().map(|counted| of_parts(1, Duration::ZERO, counted, &BTreeMap::new())).collect();
    assert_eq!(texts.len(), all.len());
}

fn run(change: impl FnOnce(&mut Settings)) -> Run {
    let mut settings = Settings::default();
    settings.stack.name = "quiche".to_owned();
    settings.stack.server = "quiche".to_owned();
    settings.stack.client = "quiche".to_owned();
    change(&mut settings);
    Run {
        experiment: "x".to_owned(),
        repetition: 1,
        seed: 3,
        start_shift: Duration::from_nanos(16_130_350),
        settings,
        label: String::new(),
    }
}

fn versions() -> Versions {
    Versions::from([("qemu".to_owned(), "7.2".to_owned()), ("server.files".to_owned(), "0123".to_owned())])
}

/// An identity is what it is for good: a record of this version is found by the next one.
const PLAIN: &str = "\
quiclab run 1
seed = 3
start_shift = \"16130350 ns\"
analysis.train_threshold = \"100 us\"
hosts.server_qdisc = \"none\"
hosts.udp_receive_buffer = \"50 MiB\"
hosts.udp_send_buffer = \"208 KiB\"
kernel = \"6.1\"
path.burst = \"1535 B\"
path.delay_to_client = \"20 ms\"
path.delay_to_server = \"20 ms\"
path.drops_to_server = []
path.ip = \"4\"
path.queue_limit_packets = 143
path.rate = \"40 Mbit/s\"
path.return_limit_packets = 1000
stack.client = \"quiche\"
stack.congestion_control = \"default\"
stack.gso = \"default\"
stack.http = \"h3\"
stack.name = \"quiche\"
stack.pacing = \"default\"
stack.server = \"quiche\"
tap.bottleneck_snaplen = \"128 B\"
tap.enabled = true
tap.qlog = false
tap.send_sizes = false
workload.certificate = \"small\"
workload.certificate_delay = \"0 ns\"
workload.files = 1
workload.name_bytes = 1
workload.size = \"10 MiB\"
workload.test_case = \"transfer\"
workload.timeout = \"300 s\"
versions.\"qemu\" = \"7.2\"
versions.\"server.files\" = \"0123\"
";

#[test]
fn the_canonical_text_of_a_run_stays_as_it_is() {
    assert_eq!(canonical_text(&run(|_| {}), &versions()), PLAIN);
}

#[test]
fn a_release_changes_no_identity_and_another_agent_does() {
    let with = |name: &str, version: &str| {
        let mut versions = versions();
        versions.insert(name.to_owned(), version.to_owned());
        run(|_| {}).id(&versions)
    };
    let plain = run(|_| {}).id(&versions());
    assert_eq!(with("quiclab", "0.1.0"), plain);
    assert_eq!(with("quiclab", "0.2.0"), plain);
    assert_ne!(with("guest", "1"), with("guest", "2"));
}

/// The digests were made by another program: the first 16 digits of `sha256sum` over the text, edited by hand.
#[test]
fn identities_stay_as_they_are() {
    for (run, id) in [
        (run(|_| {}), "182c956cc50e1afe"),
        (run(|settings| settings.vm.timer_slack = Duration::from_millis(1)), "734a63f539c6f369"),
        (run(|settings| settings.path.drops_to_server = vec![2, 3]), "6cfbda80265805b8"),
        (run(|settings| settings.sim.packet_cost = Duration::from_micros(15)), "e7b10ebfa556e7bc"),
    ] {
        assert_eq!(run.id(&versions()), id);
    }
}
