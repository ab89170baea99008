//! What a stage becomes, before the queue of a rate is known.

use crate::{
    queue::{QueueDiscipline, netem::Netem},
    stage::Stage,
};

/// What a stage becomes in a pipeline.
pub enum Part<P> {
    /// A stage by itself.
    Stage(Box<dyn Stage<P>>),
    /// The queue of the rate that follows.
    Queue(Box<dyn QueueDiscipline<P>>),
    /// The same, or a stage by itself where no rate follows.
    DelayLine(Netem<P>),
    /// A rate, which needs a queue.
    Rate(BehindQueue<P>),
}

/// Makes a stage of a rate and the queue before it.
pub type BehindQueue<P> = Box<dyn FnOnce(Box<dyn QueueDiscipline<P>>) -> Box<dyn Stage<P>>>;
