//! What a host notes beside the packets: what the endpoints do, and what stamps the packets.

use anyhow::{Result, anyhow, bail};
use quiclab_agent_protocol::hosts::PlaceOfHost;

use super::{
    super::{sniffer::Mirror, stamps},
    Running,
};
use crate::activity::{self, ROLES, Sampler, Watched};

impl<'a> Running<'a> {
    pub(super) fn mirror(&self) -> Result<Mirror<'a>> {
        let PlaceOfHost::Sniffer { interface } = &self.part.place else { bail!("this host is no sniffer") };
        Ok(Mirror::at(interface, self.part.server_mac))
    }

    /// Begins to sample what the endpoints here do. What cannot be sampled keeps no run from its results.
    pub(super) fn sample(&mut self) -> Result<()> {
        let Some(sampling) = self.part.orders.sampling else { return Ok(()) };
        let events = std::mem::take(&mut self.events);
        let namespaces = [(ROLES[0], &self.built.server), (ROLES[1], &self.built.client)];
        let watched: Vec<_> = namespaces
            .into_iter()
            .filter_map(|(role, namespace)| Some((role, namespace.as_ref()?)))
            .map(|(role, namespace)| Watched { role, network: &namespace.network, sandbox: namespace.root.sandbox() })
            .collect();
        self.sampler = Some(Sampler::start(sampling, &watched, events));
        Ok(())
    }

    pub(super) fn stop_sampling(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            let sampled = sampler.and_then(Sampler::finish).unwrap_or_else(|error| activity::nothing(&error));
            self.activity = serde_json::to_vec(&sampled).ok();
        }
    }

    /// Says what stamped packets. The inner result: an error where a card did not stamp all, so that times are of two clocks.
    pub(super) fn note_stamps(&mut self) -> Result<Result<()>> {
        let interface = self.part.place.interfaces().first().copied().unwrap_or_default();
        let mirror = self.mirror().ok();
        let why = mirror.as_ref().map_or_else(|| stamps::why_software(interface), Mirror::why_software);
        for tap in &mut self.report.taps {
            tap.no_hardware_stamps = Some(why.clone());
        }
        let Some(mirror) = mirror else { return Ok(Ok(())) };
        let without = self.taps.iter().map(|tap| mirror.not_stamped(tap)).sum::<Result<u64>>()?;
        Ok(if without == 0 {
            Ok(())
        } else {
            Err(anyhow!("interface {interface}: the card did not stamp {without} packets, expected it to stamp all"))
        })
    }
}
