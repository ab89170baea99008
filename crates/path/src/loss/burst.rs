//! Loss in bursts: a channel that is good or bad (Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott, "Estimates of Error Rates for Codes on
//! Burst-Noise Channels", 1963).

use quiclab_units::Time;

use crate::{
    content::Payload,
    loss::gilbert_elliott::GilbertElliott,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Random loss in bursts. The channel begins good, and may change after each packet.
#[derive(Clone, Debug)]
pub struct BurstLoss {
    channel: GilbertElliott,
    is_bad: bool,
    random: Random,
}

impl BurstLoss {
    /// Makes a stage that loses packets as this channel does.
    pub fn new(channel: GilbertElliott, random: Random) -> Self {
        Self { channel, is_bad: false, random }
    }
}

impl<P> Stage<P> for BurstLoss {
    fn name(&self) -> &'static str {
        "burst-loss"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        // As `loss_gilb_ell` of Linux's sch_netem.c: the first draw is of the next state, the second of a loss in this one.
        let (change, loss) = match self.is_bad {
            true => (self.channel.to_good, self.channel.loss_in_bad),
            false => (self.channel.to_bad, self.channel.loss_in_good),
        };
        self.is_bad ^= self.random.unit() < change.get();
        if self.random.unit() < loss.get() {
            out.drop(packet, DropCause::BurstLoss);
        } else {
            out.pass(packet);
        }
    }
}

stage_settings! {
    /// Loses packets in bursts: a channel that is good or bad, and may change after each packet (Gilbert 1960, Elliott 1963). It begins
    /// good.
    BurstLossSettings: "loss", model = "burst" {
        /// of a change from good to bad, for each packet
        to_bad: Probability,
        /// of a change from bad to good, for each packet
        to_good: Probability,
        /// of a loss while the channel is good
        loss_in_good: Probability = Probability::default(),
        /// of a loss while it is bad
        loss_in_bad: Probability = Probability::ONE,
    }
}

impl BurstLossSettings {
    /// The channel.
    pub fn channel(&self) -> GilbertElliott {
        let Self { to_bad, to_good, loss_in_good, loss_in_bad } = *self;
        GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad }
    }
}

impl StageKind for BurstLossSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(BurstLoss::new(self.channel(), random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::BurstLoss(self.channel())
    }
}
