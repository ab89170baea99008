//! The forwarder's loop: frames that came in enter the pipelines, frames that are due go out.
//!
//! Clock and cards are behind [`Clock`] and [`Cards`]. Frames enter at the times at which they came, not at which they are read, and what
//! leaves was due at a time that the pipeline computed: so a forwarder that wakes up late sends late, and changes nothing else.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use quiclab_agent_protocol::{
    forwarder::{
        self as orders, Forwarder, ForwarderReport, LONGEST_DROP_WORDS, MOST_DROP_WORDS, MOST_DROPS, SuperPackets,
    },
    stage::StageSeen,
};
use quiclab_path::{
    content::{Content, Direction},
    edits::Translation,
    packet::{Ecn, Packet},
    pipeline::{Dropped, Pipeline},
    random::Random,
    spec::{StageSpec, build, needs_packets},
};
use quiclab_units::{Duration, Time};

use super::{
    busiest::{Busiest, BusyRate},
    contents::{Carried, Reader},
    frame::{FlowKey, Frame, Side},
    lateness::Latenesses,
    nat::Nat,
};

/// The time, counted from the forwarder's start.
pub trait Clock {
    /// Now.
    fn now(&self) -> Time;
}

/// The cards towards both hosts.
pub trait Cards {
    /// Hands over frames that have come in, oldest first for each card. May leave some for the next call.
    ///
    /// # Errors
    /// Where frames were lost, or are none that can be forwarded.
    fn receive(&mut self, arrived: &mut Vec<Arrival>) -> Result<()>;

    /// Sends frames in this direction, the first one first.
    ///
    /// # Errors
    /// Where one cannot be sent.
    fn send(&mut self, to: Direction, frames: &[Frame]) -> Result<()>;

    /// Takes back a frame that was sent, to use its memory again.
    fn take_back(&mut self, _frame: Frame) {}

    /// Waits until a frame has come in, `at_most` has passed, or somebody asks the forwarder to end. True where that is so.
    ///
    /// # Errors
    /// What the kernel answers.
    fn wait(&mut self, at_most: Option<Duration>) -> Result<bool>;
}

/// A frame that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub time: Time,
    /// Where it is going.
    pub to: Direction,
    /// The frame.
    pub frame: Frame,
}

/// Most flows that are told apart; all others count as one.
const MOST_FLOWS: usize = 1 << 16;
/// Frames that are handed to a card together on a real clock.
pub const MOST_TOGETHER: usize = 32;

/// Two pipelines between two cards.
pub struct Engine<K, C> {
    clock: K,
    cards: C,
    directions: [PathDirection; 2],
    /// Says which bits flip.
    flips: Random,
    /// The translation of addresses; `None` where no stage does that.
    nat: Option<Nat>,
    flows: Flows,
    latenesses: Latenesses,
    busiest: Busiest,
    super_packets: SuperPackets,
    is_real_time: bool,
    /// Reads frames where they enter, where a stage asks what they hold.
    reader: Option<Reader>,
    drops: Vec<orders::Drop>,
    /// Bytes of the words of `drops`.
    drop_words: usize,
    drops_not_listed: u64,
    arrived: Vec<Arrival>,
    /// Frames that are due, when each was, and what it holds.
    due: Vec<Frame>,
    due_facts: Vec<(Time, Option<Rc<Content>>)>,
    /// Packets in both pipelines, for others to see.
    waiting: Arc<AtomicU64>,
}

/// One direction.
struct PathDirection {
    to: Direction,
    pipeline: Pipeline<Carried>,
    /// Up to when its pipeline was brought. Its time never goes back.
    reached: Time,
    bytes_delivered: u64,
    /// Whether super-packets are cut before they enter.
    needs_packets: bool,
}

impl<K: Clock, C: Cards> Engine<K, C> {
    /// Builds the pipelines as the simulator does. The endpoints write `key_logs`. `waiting` always has the number of packets in them.
    ///
    /// # Errors
    /// Stages that do not make a path.
    pub fn new(order: &Forwarder, key_logs: &[PathBuf], clock: K, cards: C, waiting: Arc<AtomicU64>) -> Result<Self> {
        let nat = Nat::of(&order.to_server, order.seed);
        let direction = |to: Direction, stages: &[StageSpec]| -> Result<PathDirection> {
            let mut pipeline = build::pipeline(stages, order.seed, to.name())
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("the stages {}", to.name()))?;
            pipeline.keep_dropped();
            // Datagrams are read before they enter and their addresses are translated in both directions.
            let needs_packets = needs_packets(stages) || order.reads_packets_of_port.is_some() || nat.is_some();
            Ok(PathDirection { to, pipeline, reached: Time::from_nanos(0), bytes_delivered: 0, needs_packets })
        };
        Ok(Self {
            clock,
            cards,
            directions: [
                direction(Direction::ToClient, &order.to_client)?,
                direction(Direction::ToServer, &order.to_server)?,
            ],
            flips: Random::new(order.seed, "flipped bits"),
            nat,
            flows: Flows::default(),
            latenesses: Latenesses::default(),
            busiest: Busiest::default(),
            super_packets: SuperPackets::default(),
            is_real_time: order.real_time.is_some(),
            reader: order.reads_packets_of_port.map(|port| Reader::new(port, key_logs)),
            drops: Vec::new(),
            drop_words: 0,
            drops_not_listed: 0,
            arrived: Vec::new(),
            due: Vec::new(),
            due_facts: Vec::new(),
            waiting,
        })
    }

    /// Forwards until somebody asks it to end.
    ///
    /// # Errors
    /// As [`Cards`].
    pub fn run(&mut self) -> Result<()> {
        loop {
            self.take_in()?;
            self.let_out()?;
            self.waiting.store(self.packets_waiting(), Ordering::Relaxed);
            let next = self.directions.iter().filter_map(|direction| direction.pipeline.next_time()).min();
            let at_most =
                next.map(|next| Duration::from_nanos(next.as_nanos().saturating_sub(self.clock.now().as_nanos())));
            if self.cards.wait(at_most)? {
                return Ok(());
            }
        }
    }

    /// Its cards.
    pub fn cards(&self) -> &C {
        &self.cards
    }

    /// Ends it.
    pub fn into_cards(self) -> C {
        self.cards
    }

    /// The highest rate that it has carried.
    pub fn busiest(&self) -> Option<BusyRate> {
        self.busiest.rate()
    }

    /// What has happened so far.
    pub fn report(&self, is_realtime: bool) -> ForwarderReport {
        let [to_client, to_server] = self.directions.each_ref().map(PathDirection::stages);
        ForwarderReport {
            to_client,
            to_server,
            drops: self.drops.clone(),
            drops_not_listed: self.drops_not_listed,
            lateness: self.latenesses.summary(),
            is_realtime,
            super_packets: Some(self.super_packets).filter(|counts| *counts != SuperPackets::default()),
        }
    }

    /// Frames that came in enter their pipelines, in the order in which they came.
    fn take_in(&mut self) -> Result<()> {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.cards.receive(&mut arrived)?;
        // Stable: of frames of one instant those to the client come first, and those of one card stay in their order.
        arrived.sort_by_key(|arrival| arrival.time);
        for Arrival { time, to, frame } in arrived.drain(..) {
            if !frame.is_super_packet() {
                self.enter(time, to, frame);
            } else if !self.is_real_time {
                bail!(
                    "found a frame of {} bytes that is yet to be segmented, expected none; the path's stages would take it for one \
                     packet\nhint: segmentation offload must be off at both hosts' interfaces",
                    frame.length()
                );
            } else if self.directions[to as usize].needs_packets {
                let packets = frame.cut()?;
                self.super_packets.cut += 1;
                self.super_packets.packets += packets.len() as u64;
                packets.into_iter().for_each(|packet| self.enter(time, to, packet));
            } else {
                self.super_packets.whole += 1;
                self.enter(time, to, frame);
            }
        }
        self.arrived = arrived;
        Ok(())
    }

    fn enter(&mut self, time: Time, to: Direction, frame: Frame) {
        let content = self.reader.as_mut().and_then(|reader| reader.on_frame(time, to, &frame));
        let (length, flow, ecn) = (frame.length(), self.flows.number(frame.flow()), frame.ecn());
        let translation = self.nat.as_ref().map_or(Translation::None, |nat| translation(nat, to, &frame));
        let packet = Packet::new(length, flow, ecn, Carried { frame, content, translation });
        let direction = &mut self.directions[to as usize];
        direction.reached = direction.reached.max(time);
        direction.pipeline.handle_packet(direction.reached, packet);
    }

    /// Frames that are due go out.
    fn let_out(&mut self) -> Result<()> {
        let now = self.clock.now();
        for index in 0..self.directions.len() {
            let direction = &mut self.directions[index];
            direction.reached = direction.reached.max(now);
            while self.take_due(index)? {
                self.send_due(index)?;
            }
            let direction = &mut self.directions[index];
            while let Some(dropped) = direction.pipeline.poll_dropped() {
                if self.drops.len() < MOST_DROPS && self.drop_words < MOST_DROP_WORDS {
                    let drop = direction.drop_of(&dropped);
                    self.drop_words += drop.words.as_ref().map_or(0, String::len);
                    self.drops.push(drop);
                } else {
                    self.drops_not_listed += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes frames that are due from a pipeline: one in virtual time, several on a real clock. False where none is.
    fn take_due(&mut self, index: usize) -> Result<bool> {
        let most = if self.is_real_time { MOST_TOGETHER } else { 1 };
        let direction = &mut self.directions[index];
        while self.due.len() < most
            && let Some((time, packet)) = direction.pipeline.poll_packet(direction.reached)
        {
            let content = packet.payload.content.clone().filter(|_| is_whole(&packet));
            self.due.push(travelled(packet, &mut self.flips, self.nat.as_mut())?);
            self.due_facts.push((time, content));
        }
        Ok(!self.due.is_empty())
    }

    fn send_due(&mut self, index: usize) -> Result<()> {
        let direction = &mut self.directions[index];
        let nanoseconds = || self.clock.now().as_nanos();
        let start = nanoseconds();
        self.cards.send(direction.to, &self.due)?;
        // Sending takes as long as the receiving kernel's work with the frame, so the last of many frames leaves later than the first.
        let frames = self.due.len() as u64;
        let took = if frames > 1 { nanoseconds().saturating_sub(start) } else { 0 };
        let mut bytes = 0;
        for (place, (frame, (time, content))) in (0..).zip(self.due.drain(..).zip(self.due_facts.drain(..))) {
            self.latenesses.add((start + took * place / frames).saturating_sub(time.as_nanos()));
            bytes += u64::from(frame.length());
            self.cards.take_back(frame);
            if let (Some(reader), Some(content)) = (&mut self.reader, content) {
                reader.on_delivered(&content);
            }
        }
        direction.bytes_delivered += bytes;
        self.busiest.add(start, frames, bytes);
        Ok(())
    }

    fn packets_waiting(&self) -> u64 {
        let in_direction = |direction: &PathDirection| {
            direction.pipeline.accounts().map(|(_, account)| account.waiting.packets).sum::<u64>()
        };
        self.directions.iter().map(in_direction).sum()
    }
}

impl PathDirection {
    fn stages(&self) -> Vec<StageSeen> {
        let seen = |(name, kind, account)| {
            let rule = self.pipeline.rules().find(|(stage, _)| *stage == name).map(|(_, report)| report.counts);
            StageSeen::of_pipeline(name, kind, &account, rule.unwrap_or_default())
        };
        let mut stages: Vec<_> = self.pipeline.stages().map(seen).collect();
        if let Some(last) = stages.last_mut() {
            last.bytes_passed = Some(self.bytes_delivered);
        }
        stages
    }

    fn drop_of(&self, dropped: &Dropped<Carried>) -> orders::Drop {
        let stage = self.pipeline.accounts().position(|(name, _)| name == dropped.stage).unwrap_or_default();
        let content = dropped.packet.payload.content.as_deref();
        orders::Drop {
            time_ns: dropped.time.as_nanos(),
            to_client: self.to == Direction::ToClient,
            stage: stage as u32,
            cause: dropped.cause.name().to_owned(),
            packet: dropped.packet.number,
            bytes: dropped.packet.bytes,
            connection: content.map(|content| content.connection),
            datagram: content.map(|content| content.datagram),
            words: content.map(|content| cut(content.describe())),
        }
    }
}

/// Words of a bounded length: a datagram can hold hundreds of frames.
fn cut(mut words: String) -> String {
    const END: &str = "...";
    if words.len() > LONGEST_DROP_WORDS {
        let fits = |place: &usize| words.is_char_boundary(*place);
        words.truncate((0..=LONGEST_DROP_WORDS - END.len()).rev().find(fits).unwrap_or(0));
        words.push_str(END);
    }
    words
}

/// Whether nothing that the sender wrote has changed.
fn is_whole(packet: &Packet<Carried>) -> bool {
    !packet.is_corrupt && packet.edits.as_ref().is_none_or(|edits| edits.bytes.is_empty())
}

/// What an address translator has to do with a frame.
fn translation(nat: &Nat, to: Direction, frame: &Frame) -> Translation {
    match (to, frame.end(Side::Destination)) {
        (_, None) => Translation::None,
        (Direction::ToServer, Some(_)) => Translation::Outward,
        (Direction::ToClient, Some(destination)) => Translation::Inward(nat.binding_of(destination)),
    }
}

/// The frame as the path leaves it: with the mark of a queue, with changed bytes and addresses, and with a flipped bit.
fn travelled(packet: Packet<Carried>, flips: &mut Random, nat: Option<&mut Nat>) -> Result<Frame> {
    let Carried { mut frame, translation, .. } = packet.payload;
    if packet.ecn == Ecn::CongestionExperienced && frame.ecn() != packet.ecn {
        frame.mark();
    }
    let edits = packet.edits.unwrap_or_default();
    for change in edits.bytes {
        frame.change_byte(change);
    }
    if let Some(nat) = nat {
        match (translation, edits.binding, frame.end(Side::Source), frame.end(Side::Destination)) {
            (Translation::Outward, Some(binding), Some(source), _) => {
                frame.set_end(Side::Source, nat.outward(source, binding)?);
            }
            (Translation::Inward(_), _, _, Some(destination)) => {
                frame.set_end(Side::Destination, nat.owner_of(destination));
            }
            _ => {}
        }
    }
    if packet.is_corrupt {
        frame.flip(flips.up_to(u64::from(packet.bytes) * 8 - 1));
    }
    Ok(frame)
}

/// Numbers flows in the order in which they appear.
#[derive(Debug, Default)]
struct Flows {
    numbers: BTreeMap<FlowKey, u64>,
    last: Option<(FlowKey, u64)>,
}

impl Flows {
    fn number(&mut self, key: FlowKey) -> u64 {
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.numbers.len();
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if next < MOST_FLOWS => *self.numbers.entry(key).or_insert(next as u64),
            None => MOST_FLOWS as u64,
        };
        self.last = Some((key, number));
        number
    }
}

#[cfg(test)]
mod tests;
