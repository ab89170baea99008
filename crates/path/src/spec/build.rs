//! From a list of stages to the pipeline that the simulator runs.

use super::{StageSpec, part::Part};
use crate::{content::Payload, pipeline::Pipeline, random::Random, stage::Stage};

/// The pipeline of one direction, whose random numbers follow from `seed`, the name of the direction, and each stage's own name.
///
/// A rate and the queue before it are one stage of the pipeline, which has the name of the rate.
///
/// # Errors
/// As [`super::read_list`].
pub fn pipeline<P: Payload>(stages: &[StageSpec], seed: u64, direction: &str) -> Result<Pipeline<P>, String> {
    let mut built: Vec<(String, Box<dyn Stage<P>>)> = Vec::new();
    let mut waiting: Option<(&StageSpec, Part<P>)> = None;
    for (index, spec) in stages.iter().enumerate() {
        if stages[..index].iter().any(|other| other.name == spec.name) {
            return Err(format!("name: found {:?} a second time, expected another name", spec.name));
        }
        let random = Random::new(seed, &format!("path {direction} {}", spec.name));
        let part = spec.settings.part(random).map_err(|message| format!("{}: {message}", spec.name))?;
        let before = waiting.take();
        let part = match (before, part) {
            (Some((_, Part::Queue(queue))), Part::Rate(rate)) => Part::Stage(rate(queue)),
            (Some((_, Part::DelayLine(line))), Part::Rate(rate)) => Part::Stage(rate(Box::new(line))),
            (before, part) => {
                if let Some((line_spec, part)) = before {
                    built.push((line_spec.name.clone(), alone(line_spec, part)?));
                }
                part
            }
        };
        match part {
            Part::Stage(stage) => built.push((spec.name.clone(), stage)),
            other => waiting = Some((spec, other)),
        }
    }
    if let Some((spec, part)) = waiting {
        built.push((spec.name.clone(), alone(spec, part)?));
    }
    Ok(Pipeline::of_names(built))
}

/// A queue that no rate follows, or a rate that no queue precedes.
fn alone<P: 'static>(spec: &StageSpec, part: Part<P>) -> Result<Box<dyn Stage<P>>, String> {
    match part {
        Part::Stage(stage) => Ok(stage),
        Part::DelayLine(line) => Ok(Box::new(line)),
        Part::Queue(_) => Err(no_rate(spec)),
        Part::Rate(_) => Err(no_queue(spec)),
    }
}

fn no_rate(spec: &StageSpec) -> String {
    format!("{}: no rate follows this queue; expected a stage \"rate\" or \"rate_trace\" right after it", spec.name)
}

fn no_queue(spec: &StageSpec) -> String {
    format!("{}: no queue precedes this rate; expected a stage \"queue\" right before it", spec.name)
}

/// Queues stand before rates, and rates behind queues.
pub(super) fn check_order(stages: &[StageSpec]) -> Result<(), String> {
    pipeline::<()>(stages, 0, "check").map(drop)
}
