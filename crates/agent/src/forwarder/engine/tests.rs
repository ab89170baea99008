mod edits;

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

use anyhow::bail;

use super::*;
use crate::forwarder::frame::tests::{datagram, super_packet};

/// Two cards in memory and their clock, which goes on only while the forwarder waits.
#[derive(Default)]
struct Memory {
    now: Cell<u64>,
    /// What has not come in yet.
    to_come: RefCell<VecDeque<Arrival>>,
    sent: RefCell<Vec<(u64, Direction, Frame)>>,
    /// Time by which each waking up is late, in ns.
    late_ns: u64,
    /// How long sending a frame takes.
    sending_ns: u64,
    fails_after: Option<usize>,
}

impl Clock for Rc<Memory> {
    fn now(&self) -> Time {
        Time::from_nanos(self.now.get())
    }
}

impl Cards for Rc<Memory> {
    fn receive(&mut self, arrived: &mut Vec<Arrival>) -> Result<()> {
        let mut to_come = self.to_come.borrow_mut();
        while to_come.front().is_some_and(|next| next.time <= self.now()) {
            arrived.extend(to_come.pop_front());
        }
        Ok(())
    }

    fn send(&mut self, to: Direction, frames: &[Frame]) -> Result<()> {
        for frame in frames {
            if self.fails_after == Some(self.sent.borrow().len()) {
                bail!("the card is gone");
            }
            self.sent.borrow_mut().push((self.now.get(), to, frame.clone()));
            self.now.set(self.now.get() + self.sending_ns);
        }
        Ok(())
    }

    fn wait(&mut self, at_most: Option<Duration>) -> Result<bool> {
        let due = at_most.map(|time| self.now.get() + time.as_nanos());
        let comes = self.to_come.borrow().front().map(|next| next.time.as_nanos());
        let Some(next) = [due, comes].into_iter().flatten().min() else { return Ok(true) };
        self.now.set(self.now.get().max(next) + self.late_ns);
        Ok(false)
    }
}

const DELAY: &str = "stage = \"delay\"\nname = \"delay\"\ndelay = \"20 ms\"\n";

fn order(to_client: &[&str], to_server: &[&str]) -> Forwarder {
    let texts = |texts: &[&str]| texts.iter().map(|text| toml::from_str(text).unwrap()).collect();
    Forwarder {
        to_client: texts(to_client),
        to_server: texts(to_server),
        seed: 7,
        reads_packets_of_port: None,
        real_time: None,
    }
}

fn real(mut order: Forwarder) -> Forwarder {
    order.real_time = Some(orders::RealTime::default());
    order
}

fn arrival(micros: u64, to: Direction, port: u16) -> Arrival {
    Arrival { time: Time::from_nanos(micros * 1000), to, frame: datagram(false, 2, port) }
}

/// Forwards all of `arrivals`; answers what was sent and the report.
fn forwarded(order: &Forwarder, memory: Memory, arrivals: Vec<Arrival>) -> (Rc<Memory>, ForwarderReport, Result<()>) {
    let memory = Rc::new(memory);
    memory.to_come.borrow_mut().extend(arrivals);
    let mut engine = Engine::new(order, &[], memory.clone(), memory.clone(), Arc::default()).unwrap();
    let ended = engine.run();
    let report = engine.report(true);
    (memory, report, ended)
}

#[test]
fn frames_pass_an_empty_path_at_once_and_a_delay_after_exactly_that() {
    let arrivals = vec![
        arrival(1, Direction::ToClient, 1),
        arrival(2, Direction::ToServer, 2),
        arrival(2, Direction::ToClient, 3),
    ];
    let (memory, report, ended) = forwarded(&order(&[], &[DELAY]), Memory::default(), arrivals);
    ended.unwrap();
    let sent: Vec<_> = memory.sent.borrow().iter().map(|(time, to, frame)| (*time, *to, frame.clone())).collect();
    let expected = [
        (1_000, Direction::ToClient, datagram(false, 2, 1)),
        (2_000, Direction::ToClient, datagram(false, 2, 3)),
        (20_002_000, Direction::ToServer, datagram(false, 2, 2)),
    ];
    assert_eq!(sent, expected);
    assert_eq!((report.to_client.len(), report.to_server[0].packets_passed), (0, 1));
    assert_eq!(report.to_server[0].bytes_passed, Some(datagram(false, 2, 1).length().into()));
    assert_eq!(report.lateness.unwrap().largest_ns, 0);
}

#[test]
fn a_forwarder_that_wakes_up_late_sends_late_and_its_plan_does_not_move() {
    let arrivals = (0..50).map(|number| arrival(number * 500, Direction::ToClient, 1)).collect();
    let memory = Memory { late_ns: 3_000, ..Memory::default() };
    let (memory, report, ended) = forwarded(&order(&[DELAY], &[]), memory, arrivals);
    ended.unwrap();
    let late: Vec<_> = (0_u64..)
        .zip(memory.sent.borrow().iter())
        .map(|(number, sent)| sent.0 - number * 500_000 - 20_000_000)
        .collect();
    assert!(late.len() == 50 && late.iter().all(|late| *late <= 6_000), "{late:?}");
    assert!((3_000..=6_000).contains(&report.lateness.unwrap().largest_ns), "{report:?}");
}

const LOSSY: [&str; 4] = [
    "stage = \"loss\"\nname = \"loss\"\nmodel = \"independent\"\nprobability = 0.1\n",
    "stage = \"queue\"\nname = \"queue\"\ndiscipline = \"codel\"\nlimit = \"50 packets\"\ntarget = \"1 ms\"\ninterval = \"10 ms\"\n",
    "stage = \"rate\"\nname = \"rate\"\nrate = \"1 Mbit/s\"\n",
    "stage = \"bit_errors\"\nname = \"noise\"\nper_bit = 0.0005\n",
];

/// Frames of 66 bytes take 528 µs of the rate, and come every 300 µs.
fn burst() -> Vec<Arrival> {
    (0..2_000).map(|number| arrival(number * 300, Direction::ToClient, 1)).collect()
}

#[test]
fn packets_fare_as_in_the_simulators_pipeline_however_late_the_forwarder_is() {
    let stages: Vec<_> = LOSSY.iter().map(|text| toml::from_str(text).unwrap()).collect();
    let mut pipeline = build::pipeline::<Carried>(&stages, 7, "to_client").unwrap();
    for arrival in burst() {
        let Arrival { time: _, to: _, frame } = arrival.clone();
        let packet = Packet::new(
            frame.length(),
            0,
            frame.ecn(),
            Carried { frame, content: None, translation: Translation::None },
        );
        pipeline.handle_packet(arrival.time, packet);
    }
    let end = Time::from_nanos(10_000_000_000);
    let mut flips = Random::new(7, "flipped bits");
    let expected: Vec<_> = std::iter::from_fn(|| pipeline.poll_packet(end))
        .map(|(time, packet)| (time.as_nanos(), travelled(packet, &mut flips, None).unwrap()))
        .collect();
    for late_ns in [0, 1_000, 250_000] {
        let (memory, report, ended) = forwarded(&order(&LOSSY, &[]), Memory { late_ns, ..Memory::default() }, burst());
        ended.unwrap();
        let sent = memory.sent.borrow();
        assert_eq!(sent.len(), expected.len());
        for ((time, _, frame), (planned, wanted)) in sent.iter().zip(&expected) {
            assert!(frame == wanted && time >= planned && time - planned <= 2 * late_ns, "{time} {planned}");
        }
        let marked_or_flipped = report.to_client[1].counts["marked"] + report.to_client[2].counts["corrupted"];
        assert!(report.to_client[0].drops["random_loss"] > 100 && marked_or_flipped > 100, "{report:?}");
        for (stage, (name, account)) in report.to_client.iter().zip(pipeline.accounts()) {
            assert_eq!(
                (&*stage.name, stage.packets_entered(), stage.packets_passed),
                (name, account.entered, account.left)
            );
            assert_eq!(stage.all_drops(), account.all_dropped());
        }
        assert_eq!(report.drops.len() as u64, report.to_client.iter().map(StageSeen::all_drops).sum::<u64>());
        assert!(report.drops.is_sorted_by_key(|drop| drop.time_ns));
    }
}

#[test]
fn drops_beyond_the_longest_list_are_counted() {
    let rule = "stage = \"loss\"\nname = \"loss\"\nmodel = \"rule\"\nevery = 1\n";
    let arrivals = (1..=10_003).map(|number| arrival(number, Direction::ToServer, 1)).collect();
    let (_, report, ended) = forwarded(&order(&[], &[rule]), Memory::default(), arrivals);
    ended.unwrap();
    assert_eq!((report.drops.len(), report.drops_not_listed), (MOST_DROPS, 3));
    let drop = &report.drops[1];
    assert_eq!((drop.time_ns, drop.to_client, drop.packet, &*drop.cause), (2_000, false, 2, "rule"));
    assert_eq!(report.lateness, None);
}

#[test]
fn a_card_that_fails_ends_the_forwarder_and_what_it_did_stays_known() {
    let arrivals = (0..5).map(|number| arrival(number, Direction::ToClient, 1)).collect();
    let memory = Memory { fails_after: Some(2), ..Memory::default() };
    let (memory, report, ended) = forwarded(&order(&[DELAY], &[]), memory, arrivals);
    assert_eq!(ended.unwrap_err().to_string(), "the card is gone");
    assert_eq!((memory.sent.borrow().len(), report.to_client[0].packets_entered()), (2, 5));
}

#[test]
fn stages_that_make_no_path_are_named() {
    let memory = Rc::new(Memory::default());
    // A queue is in front of what it waits for.
    let stages = ["stage = \"queue\"\nname = \"lonely\"\ndiscipline = \"drop_tail\"\nlimit = \"9 packets\"\n"];
    let error = Engine::new(&order(&stages, &[]), &[], memory.clone(), memory, Arc::default());
    let error = format!("{:#}", error.err().unwrap());
    assert!(error.contains("to_client") && error.contains("lonely"), "{error}");
}

#[test]
fn flows_are_numbered_in_the_order_in_which_they_appear() {
    let mut flows = Flows::default();
    let numbers = [5, 5, 9, 5, 9, 1].map(|port| flows.number(datagram(false, 0, port).flow()));
    assert_eq!(numbers, [0, 0, 1, 0, 1, 2]);
}

#[test]
fn long_words_are_cut_between_characters() {
    assert_eq!(cut("short".to_owned()), "short");
    for words in ["x".repeat(1000), "ü".repeat(500), format!("x{}", "ü".repeat(500))] {
        let found = cut(words.clone());
        assert!(found.len() <= LONGEST_DROP_WORDS && found.len() >= LONGEST_DROP_WORDS - 2, "{}", found.len());
        assert!(words.starts_with(found.strip_suffix("...").unwrap()));
    }
}

fn super_packets() -> Vec<Arrival> {
    [1_000, 2_000]
        .map(|time| Arrival {
            time: Time::from_nanos(time),
            to: Direction::ToClient,
            frame: super_packet(&[7; 2500], 1000),
        })
        .to_vec()
}

#[test]
fn super_packets_pass_stages_that_only_delay_whole() {
    for stages in [&[][..], &[DELAY]] {
        let (memory, report, ended) = forwarded(&real(order(stages, &[LOSSY[0]])), Memory::default(), super_packets());
        ended.unwrap();
        let sent = memory.sent.borrow();
        assert_eq!(sent.iter().map(|sent| &sent.2).collect::<Vec<_>>(), vec![&super_packet(&[7; 2500], 1000); 2]);
        let counts = orders::SuperPackets { whole: 2, cut: 0, packets: 0 };
        assert_eq!((report.super_packets, report.lateness.unwrap().packets), (Some(counts), 2));
    }
}

#[test]
fn super_packets_are_cut_where_a_stage_treats_packets_one_by_one() {
    let second = "stage = \"loss\"\nname = \"loss\"\nmodel = \"list\"\npackets = [2, 6]\n";
    let (memory, report, ended) = forwarded(&real(order(&[second], &[])), Memory::default(), super_packets());
    ended.unwrap();
    let [first, _, last]: [Frame; 3] = super_packet(&[7; 2500], 1000).cut().unwrap().try_into().unwrap();
    let middle = super_packet(&[7; 2500], 1000).cut().unwrap().remove(1);
    let sent: Vec<_> = memory.sent.borrow().iter().map(|sent| sent.2.clone()).collect();
    assert_eq!(sent, [first.clone(), last, first, middle]);
    assert_eq!(report.super_packets, Some(orders::SuperPackets { whole: 0, cut: 2, packets: 6 }));
    assert_eq!((report.to_client[0].packets_entered(), report.to_client[0].packets_passed), (6, 4));
}

#[test]
fn in_virtual_time_a_super_packet_ends_the_forwarder() {
    let (memory, report, ended) = forwarded(&order(&[], &[]), Memory::default(), super_packets());
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("2542 bytes that is yet to be segmented") && error.contains("hint: "), "{error}");
    assert_eq!((memory.sent.borrow().len(), report.super_packets), (0, None));
}

#[test]
fn of_frames_that_are_sent_together_each_is_later_than_the_one_before() {
    let burst = || (0..40).map(|_| arrival(0, Direction::ToClient, 1)).collect();
    let memory = || Memory { sending_ns: 1_000, ..Memory::default() };
    for (order, virtual_time) in [(order(&[], &[]), true), (real(order(&[], &[])), false)] {
        let (_, report, ended) = forwarded(&order, memory(), burst());
        ended.unwrap();
        let lateness = report.lateness.unwrap();
        assert_eq!((lateness.packets, lateness.largest_ns), (40, 39_000), "{virtual_time}");
        assert!((19_000..=20_000).contains(&lateness.median_ns), "{lateness:?}");
    }
}
