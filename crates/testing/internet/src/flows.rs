//! Flows: a client's port and a host's.

use std::{collections::HashMap, net::SocketAddr};

use crate::{reaction::Memory, truth::FlowTruth};

/// A flow at one time. Its number is used again when it has ended, but not at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowId {
    pub(crate) number: u32,
    generation: u32,
}

/// What is known of a flow. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) client: SocketAddr,
    pub(crate) host_address: SocketAddr,
    pub(crate) host: u32,
    /// The last packet of a client or server.
    pub(crate) last_packet: u64,
    /// When the last packet arrives at the host, and at the client: none overtakes it.
    pub(crate) last_to_host: u64,
    pub(crate) last_to_client: u64,
    /// When the next datagram of a trickle may leave, or the first that needs a certificate.
    pub(crate) next_departure: u64,
    /// Whether a server has answered, where that matters.
    pub(crate) has_answer: bool,
    pub(crate) memory: Memory,
    pub(crate) truth: FlowTruth,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    flow: Option<Box<Flow>>,
}

/// All flows.
#[derive(Debug)]
pub(crate) struct Flows {
    slots: Vec<Slot>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Numbers of flows that have ended, the one that has waited longest first: a server may still send to it.
    free: std::collections::VecDeque<u32>,
    most: u32,
}

impl Flows {
    pub(crate) fn new(most: u32) -> Self {
        Self { slots: Vec::new(), by_ends: HashMap::new(), free: Default::default(), most }
    }

    pub(crate) fn find(&self, client: SocketAddr, host: SocketAddr) -> Option<FlowId> {
        let number = *self.by_ends.get(&(client, host))?;
        Some(FlowId { number, generation: self.slots[number as usize].generation })
    }

    /// Adds a flow. `None` where there are too many.
    pub(crate) fn insert(&mut self, flow: Flow) -> Option<FlowId> {
        // Numbers that were never used come first, so that those of ended flows rest.
        let number = if (self.slots.len() as u32) < self.most {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        } else {
            self.free.pop_front()?
        };
        self.by_ends.insert((flow.client, flow.host_address), number);
        let slot = &mut self.slots[number as usize];
        slot.flow = Some(Box::new(flow));
        Some(FlowId { number, generation: slot.generation })
    }

    /// A flow, if it has not ended.
    pub(crate) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        let slot = self.slots.get_mut(id.number as usize).filter(|slot| slot.generation == id.generation)?;
        slot.flow.as_deref_mut()
    }

    /// The flow that has a number now.
    pub(crate) fn id_of(&self, number: u32) -> Option<FlowId> {
        let slot = self.slots.get(number as usize)?;
        slot.flow.as_ref()?;
        Some(FlowId { number, generation: slot.generation })
    }

    /// Ends a flow.
    pub(crate) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let slot = self.slots.get_mut(id.number as usize).filter(|slot| slot.generation == id.generation)?;
        let flow = slot.flow.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.by_ends.remove(&(flow.client, flow.host_address));
        self.free.push_back(id.number);
        Some(*flow)
    }

    /// Ends all of them.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Flow> {
        self.by_ends.clear();
        self.slots.drain(..).filter_map(|slot| slot.flow).map(|flow| *flow)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_ends.len()
    }
}
