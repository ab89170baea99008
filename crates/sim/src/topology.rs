//! How hosts are joined.

use std::ops::Range;

use quiclab_path::{
    clock::{PositiveRate, ZeroRate},
    delay::Delay,
    link::Link,
    pipeline::Pipeline,
    queue::QueueDiscipline,
};
use quiclab_units::{Duration, Rate};

use crate::{
    endpoint::Endpoint,
    simulation::{EndpointId, HopId, PipelineId, Simulation, Travelling},
};

/// A link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rate from left to right, behind a queue.
    pub rate: Rate,
    /// Rate from right to left, where nothing is ever dropped.
    pub back_rate: Rate,
    /// One way.
    pub delay: Duration,
}

impl Hop {
    /// Makes a hop that is as fast in both directions.
    pub fn symmetric(rate: Rate, delay: Duration) -> Self {
        Self { rate, back_rate: rate, delay }
    }
}

/// Routers in a row: with one hop a dumbbell, with several a parking lot. Each flow has links of its own to two of the routers.
pub struct Chain {
    side_rate: PositiveRate,
    /// There and back.
    hops: Vec<(PipelineId, HopId)>,
}

impl Chain {
    /// Builds it, each hop behind its queue, from left to right. Hosts' links have `side_rate`.
    ///
    /// # Errors
    /// Where a link has no rate.
    pub fn build<E, Q>(
        simulation: &mut Simulation<E>,
        side_rate: Rate,
        hops: impl IntoIterator<Item = (Hop, Q)>,
    ) -> Result<Self, ZeroRate>
    where
        E: Endpoint<Payload: 'static>,
        Q: QueueDiscipline<Travelling<E::Payload>> + 'static,
    {
        let mut built = Vec::new();
        for (hop, queue) in hops {
            let link = Link::new(hop.rate.try_into()?, queue);
            let there = Pipeline::new(vec![Box::new(link), Box::new(Delay::new(hop.delay))]);
            let there = simulation.add_pipeline(there);
            built.push((there, simulation.add_wire(hop.back_rate.try_into()?, hop.delay)));
        }
        Ok(Self { side_rate: side_rate.try_into()?, hops: built })
    }

    /// The pipeline of a hop from left to right, whose first stage is the link with its queue.
    ///
    /// # Panics
    /// Where there is no such hop.
    pub fn hop(&self, number: usize) -> PipelineId {
        self.hops[number].0
    }

    /// Adds a sender to the left of some hops and a receiver to their right, each behind a link of its own of this delay, one way.
    ///
    /// # Panics
    /// Where there are no such hops.
    pub fn add_flow<E: Endpoint<Payload: 'static>>(
        &self,
        simulation: &mut Simulation<E>,
        pair: [E; 2],
        side_delays: [Duration; 2],
        hops: Range<usize>,
    ) -> [EndpointId; 2] {
        let mut side = |delay| simulation.add_wire(self.side_rate, delay);
        let [left, right] = side_delays;
        let between = &self.hops[hops];
        let there: Vec<_> =
            [side(left)].into_iter().chain(between.iter().map(|hop| hop.0.into())).chain([side(right)]).collect();
        let back: Vec<_> =
            [side(right)].into_iter().chain(between.iter().rev().map(|hop| hop.1)).chain([side(left)]).collect();
        simulation.add_pair(pair, [&there, &back])
    }
}
