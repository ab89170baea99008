//! One direction of a path: stages in a row, and an account of every packet that entered.

use std::{borrow::Cow, collections::VecDeque};

use quiclab_units::{Duration, Time};

use crate::{
    loss::rule_report::RuleReport,
    packet::Packet,
    stage::{Backlog, DropCause, Out, Stage},
    usage::Usage,
};

/// One direction of a path.
///
/// Called in this order: [`Pipeline::handle_packet`] whenever a packet enters; when [`Pipeline::next_time`] has come, [`Pipeline::poll_packet`]
/// until it has no more. Time only ever grows from call to call. Stages work at their own times, whenever they are looked at, so the
/// outcome does not depend on how often a pipeline is polled.
pub struct Pipeline<P> {
    stages: Vec<Placed<P>>,
    /// What has left the last stage, and when.
    delivered: VecDeque<(Time, Packet<P>)>,
    /// What was dropped, where that is wanted.
    dropped: Option<VecDeque<Dropped<P>>>,
    /// Packets that entered.
    entered: u64,
    out: Out<P>,
    /// Packets between two stages, the next one last.
    moving: Vec<(usize, Packet<P>)>,
}

/// A packet that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// When.
    pub time: Time,
    /// Name of the stage.
    pub stage: Cow<'static, str>,
    /// Why.
    pub cause: DropCause,
    /// The packet.
    pub packet: Packet<P>,
}

struct Placed<P> {
    name: Cow<'static, str>,
    stage: Box<dyn Stage<P>>,
    /// When it is to be called; the end of time where nothing waits.
    next: Time,
    /// What a packet that leaves it spends in the stages behind, at least.
    rest: Duration,
    account: Account,
}

/// What became of the packets that entered a stage: entered + copied = left + dropped + waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that went in.
    pub entered: u64,
    /// Packets that came out.
    pub left: u64,
    /// Packets dropped, by [`DropCause`].
    pub(crate) dropped: [u64; DropCause::ALL.len()],
    /// Packets that were marked instead of dropped.
    pub marked: u64,
    /// Copies made.
    pub copied: u64,
    /// Packets with flipped bits.
    pub corrupted: u64,
    /// What waits in it.
    pub waiting: Backlog,
}

impl Account {
    /// Makes the account of what drops nothing: all that entered has left, but for what waits.
    pub fn without_loss(entered: u64, waiting: Backlog) -> Self {
        Self { entered, left: entered - waiting.packets, waiting, ..Self::default() }
    }

    /// Packets dropped for this cause.
    pub fn dropped(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Packets dropped for any cause.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

/// The end of time: nothing waits.
const NEVER: Time = Time::from_nanos(u64::MAX);

impl<P> Pipeline<P> {
    /// Makes a pipeline of these stages, the first one first; with none, packets pass at once.
    ///
    /// # Panics
    /// Where two stages have the same name, which would share a stream of random numbers.
    pub fn new(stages: Vec<Box<dyn Stage<P>>>) -> Self {
        Self::of(stages.into_iter().map(|stage| (Cow::Borrowed(stage.name()), stage)).collect())
    }

    /// The same, of stages with names of their own.
    ///
    /// # Panics
    /// Where two stages have the same name.
    pub fn of_names(stages: Vec<(String, Box<dyn Stage<P>>)>) -> Self {
        Self::of(stages.into_iter().map(|(name, stage)| (Cow::Owned(name), stage)).collect())
    }

    fn of(stages: Vec<(Cow<'static, str>, Box<dyn Stage<P>>)>) -> Self {
        for (index, (name, _)) in stages.iter().enumerate() {
            assert!(stages[..index].iter().all(|(other, _)| other != name), "two stages named {name}");
        }
        let mut rest = Duration::ZERO;
        let mut placed: Vec<_> = stages
            .into_iter()
            .rev()
            .map(|(name, stage)| {
                let behind = rest;
                rest = rest + stage.least_delay();
                Placed { name, stage, next: NEVER, rest: behind, account: Account::default() }
            })
            .collect();
        placed.reverse();
        Self {
            stages: placed,
            delivered: VecDeque::new(),
            dropped: None,
            entered: 0,
            out: Out::default(),
            moving: Vec::new(),
        }
    }

    /// Keeps what is dropped from now on for [`Pipeline::poll_dropped`].
    pub fn keep_dropped(&mut self) {
        self.dropped.get_or_insert_default();
    }

    /// Takes in a packet, which gets its number here.
    pub fn handle_packet(&mut self, now: Time, mut packet: Packet<P>) {
        self.work_until(now);
        self.entered += 1;
        packet.number = self.entered;
        self.moving.push((0, packet));
        self.move_on(now);
    }

    /// When [`Pipeline::poll_packet`] may have something, and not earlier; `None` where nothing waits.
    pub fn next_time(&self) -> Option<Time> {
        let mut earliest = self.delivered.front().map_or(NEVER, |(time, _)| *time);
        for placed in &self.stages {
            if placed.next < NEVER {
                earliest =
                    earliest.min(Time::from_nanos(placed.next.as_nanos().saturating_add(placed.rest.as_nanos())));
            }
        }
        (earliest < NEVER).then_some(earliest)
    }

    /// The next packet that has arrived by `now`, and when that was.
    pub fn poll_packet(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        self.work_until(now);
        self.delivered.pop_front()
    }

    /// The next packet that was dropped, in the order of time; nothing without [`Pipeline::keep_dropped`].
    pub fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.dropped.as_mut()?.pop_front()
    }

    /// Does everything that is due by `now`, so that accounts and usage are those of that time. What leaves the pipeline stays until it is polled, and
    /// [`Pipeline::next_time`] does not change.
    pub fn catch_up(&mut self, now: Time) {
        self.work_until(now);
    }

    /// How the first link of the pipeline was used up to `now`, to which it must have been brought by [`Pipeline::catch_up`]; `None` without a link.
    pub fn usage(&self, now: Time) -> Option<Usage> {
        self.stages.iter().find_map(|placed| placed.stage.usage(now))
    }

    /// Stages and their accounts at the time of the last call, the first stage first.
    pub fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        self.stages.iter().map(|placed| (&*placed.name, Account { waiting: placed.stage.backlog(), ..placed.account }))
    }

    /// The same with what implements each stage: name, [`Stage::name`], account.
    pub fn stages(&self) -> impl Iterator<Item = (&str, &'static str, Account)> {
        self.stages
            .iter()
            .map(|placed| placed.stage.name())
            .zip(self.accounts())
            .map(|(kind, (name, account))| (name, kind, account))
    }

    /// What the rules by content did, with the names of their stages.
    pub fn rules(&self) -> impl Iterator<Item = (&str, RuleReport)> {
        self.stages.iter().filter_map(|placed| Some((&*placed.name, placed.stage.rule()?)))
    }

    /// Lets every stage do what is due by `now`, each at its own time.
    fn work_until(&mut self, now: Time) {
        loop {
            // What leaves makes room before what arrives at the same time, so of two that are due the later stage comes first.
            let mut due: Option<usize> = None;
            for (index, placed) in self.stages.iter().enumerate() {
                if placed.next <= now && due.is_none_or(|other| placed.next <= self.stages[other].next) {
                    due = Some(index);
                }
            }
            let Some(index) = due.filter(|index| self.stages[*index].next < NEVER) else { return };
            let placed = &mut self.stages[index];
            let time = placed.next;
            placed.stage.handle_timeout(time, &mut self.out);
            self.settle(index, time);
            self.move_on(time);
        }
    }

    /// Brings the packets that are between two stages to where they stay.
    fn move_on(&mut self, now: Time) {
        while let Some((index, packet)) = self.moving.pop() {
            let Some(placed) = self.stages.get_mut(index) else {
                self.delivered.push_back((now, packet));
                continue;
            };
            placed.account.entered += 1;
            placed.stage.handle_packet(now, packet, &mut self.out);
            self.settle(index, now);
        }
    }

    /// Books what a stage has just done.
    fn settle(&mut self, index: usize, now: Time) {
        let placed = &mut self.stages[index];
        placed.next = placed.stage.next_time().unwrap_or(NEVER);
        let (account, fates) = (&mut placed.account, &mut self.out.fates);
        account.left += self.out.passed.len() as u64;
        account.marked += std::mem::take(&mut fates.marked);
        account.copied += std::mem::take(&mut fates.copied);
        account.corrupted += std::mem::take(&mut fates.corrupted);
        for (packet, cause) in fates.dropped.drain(..) {
            account.dropped[cause as usize] += 1;
            if let Some(dropped) = &mut self.dropped {
                dropped.push_back(Dropped { time: now, stage: placed.name.clone(), cause, packet });
            }
        }
        self.moving.extend(self.out.passed.drain(..).rev().map(|packet| (index + 1, packet)));
    }
}
