//! The handshakes of a capture, each with what both taps of a record saw of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use quiclab_wire::{Capture, ConnectionId, Flow, Role};

use super::class::HandshakeClass;
use super::classifier::classify;
use super::log::HandshakeLog;
use super::measures;
use super::view::Views;
use crate::output::RunMetrics;
use crate::taps::TapPlace;

/// Flows whose handshakes are measured: the first of a capture, as many as are measured at all.
pub(crate) const MOST_HANDSHAKES: usize = 20_000;

/// A connection, at whichever tap.
type Name = (SocketAddr, SocketAddr, Option<ConnectionId>);

/// The logs of all flows.
pub(crate) struct Handshakes {
    logs: Vec<Option<Box<HandshakeLog>>>,
    /// The flow that is the same connection at the other tap, by flow.
    twins: Vec<Option<usize>>,
    /// The end at which the tap of each flow is, by flow. `None` in captures that are not those of a record.
    places: Vec<Option<Role>>,
}

impl Handshakes {
    /// `logs` are in the order of `flows`.
    pub(crate) fn new(logs: Vec<Option<Box<HandshakeLog>>>, flows: &[Flow], capture: &Capture) -> Self {
        let name = |flow: &Flow| -> Name {
            (flow.address(Role::Server), flow.address(Role::Client), flow.original_destination_connection_id())
        };
        let places: Vec<_> = flows.iter().map(|flow| TapPlace::end_at(capture, flow.interface())).collect();
        let mut seen: BTreeMap<(bool, Name), usize> = BTreeMap::new();
        for (index, (flow, place)) in flows.iter().zip(&places).enumerate() {
            if let (Some(place), Some(Some(_))) = (place, logs.get(index)) {
                seen.entry((*place == Role::Server, name(flow))).or_insert(index);
            }
        }
        let twin = |(flow, place): (&Flow, &Option<Role>)| seen.get(&((*place)? != Role::Server, name(flow))).copied();
        let twins = flows.iter().zip(&places).map(twin).collect();
        Handshakes { logs, twins, places }
    }

    /// Measures the handshake of a flow for its server.
    pub(crate) fn finish(&self, flow: usize, run: &mut RunMetrics) {
        let Some(views) = self.views(flow) else { return };
        let is_cut = self.log(flow).is_some_and(|log| log.is_cut) || self.twin(flow).is_some_and(|twin| twin.is_cut);
        measures::measure(&views, is_cut, run);
    }

    /// How the server of each flow answered; `None` where no beginning of a handshake was kept.
    pub(crate) fn classes(&self, flows: &[Flow]) -> Vec<Option<Box<HandshakeClass>>> {
        let class = |(index, flow): (usize, &Flow)| {
            self.log(index).filter(|log| log.begins()).map(|log| Box::new(classify(log, flow)))
        };
        flows.iter().enumerate().map(class).collect()
    }

    /// What each end of a flow saw; `None` where no handshake of it was kept.
    pub(super) fn views(&self, flow: usize) -> Option<Views<'_>> {
        let own = self.log(flow)?;
        Some(match (self.places.get(flow).copied().flatten(), self.twin(flow)) {
            (Some(Role::Server), Some(twin)) => Views::of_two_taps(twin, own),
            (Some(Role::Client), Some(twin)) => Views::of_two_taps(own, twin),
            (place, _) => Views::of_one_tap(own, place),
        })
    }

    fn log(&self, flow: usize) -> Option<&HandshakeLog> {
        self.logs.get(flow).filter(|_| flow < MOST_HANDSHAKES)?.as_deref()
    }

    fn twin(&self, flow: usize) -> Option<&HandshakeLog> {
        self.log(self.twins.get(flow).copied().flatten()?)
    }
}
