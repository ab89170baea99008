//! How hosts are joined.

use quiclab_path::{
    clock::{PositiveRate, ZeroRate},
    delay::Delay,
    link::Link,
    pipeline::Pipeline,
    queue::QueueDiscipline,
    wire::Wire,
};
use quiclab_units::{Duration, Rate};

use crate::{
    endpoint::Endpoint,
    simulation::{EndpointId, PipelineId, Simulation, Travelling},
};

/// Two routers and one link between them: every flow has links of its own to both.
#[derive(Clone, Copy, Debug)]
pub struct Dumbbell {
    /// Of the link between the routers.
    pub rate: Rate,
    /// Of the links at the hosts, as a multiple of that.
    pub side_factor: u64,
    /// One way between the routers.
    pub delay: Duration,
}

/// A dumbbell in a simulation, to which flows can be added.
pub struct BuiltDumbbell {
    /// Of the links at the hosts.
    side_rate: PositiveRate,
    /// From the senders' router to the receivers'.
    pub bottleneck: PipelineId,
    /// The way back.
    pub back: PipelineId,
}

impl Dumbbell {
    /// Builds it, with `queue` in front of the link from left to right.
    ///
    /// # Errors
    /// Where a link has no rate.
    pub fn build<E, Q>(self, simulation: &mut Simulation<E>, queue: Q) -> Result<BuiltDumbbell, ZeroRate>
    where
        E: Endpoint<Payload: 'static>,
        Q: QueueDiscipline<Travelling<E::Payload>> + 'static,
    {
        let rate = self.rate.try_into()?;
        let side_rate = Rate::from_bits_per_second(self.rate.as_bits_per_second().saturating_mul(self.side_factor));
        let bottleneck = simulation
            .add_pipeline(Pipeline::new(vec![Box::new(Link::new(rate, queue)), Box::new(Delay::new(self.delay))]));
        let back = simulation.add_pipeline(wire(rate, self.delay));
        Ok(BuiltDumbbell { side_rate: side_rate.try_into()?, bottleneck, back })
    }
}

impl BuiltDumbbell {
    /// Adds a sender on the left and a receiver on the right, each behind a link of its own of this delay, one way.
    pub fn add_flow<E: Endpoint<Payload: 'static>>(
        &self,
        simulation: &mut Simulation<E>,
        pair: [E; 2],
        side_delays: [Duration; 2],
    ) -> [EndpointId; 2] {
        let mut side = |delay| simulation.add_pipeline(wire(self.side_rate, delay));
        let [left, right] = side_delays;
        let there = [side(left), self.bottleneck, side(right)];
        let back = [side(right), self.back, side(left)];
        simulation.add_pair(pair, [&there, &back])
    }
}

/// A link that never drops.
fn wire<P: 'static>(rate: PositiveRate, delay: Duration) -> Pipeline<Travelling<P>> {
    Pipeline::new(vec![Box::new(Wire::new(rate, delay))])
}
