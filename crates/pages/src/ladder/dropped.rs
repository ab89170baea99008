//! Which datagrams of a ladder the path dropped, by the list in the record.

use quiclab_experiment::run::Run;
use quiclab_path::spec::StageSettings;
use quiclab_record::{DropSeen, Observed};
use quiclab_report::{Ladder, LadderDatagram, LadderTaps};
use quiclab_wire::Role;

/// Headers of a frame before its UDP payload, with IPv4 and with IPv6.
const HEADERS: [u32; 2] = [42, 62];

/// Says what dropped each datagram that passed one tap only. Only datagrams of a connection that both taps saw are looked at.
pub(super) fn name(ladder: &mut Ladder, run: &Run, observed: &Observed) {
    let mut drops: Vec<Option<&DropSeen>> = observed.path.dropped.iter().map(Some).collect();
    for (number, connection) in ladder.connections.iter_mut().enumerate() {
        if connection.taps != LadderTaps::Two {
            continue;
        }
        let mut counts = [0_u64; 2];
        for datagram in &mut connection.datagrams {
            let count = &mut counts[datagram.sender as usize];
            *count += 1;
            if datagram.arrived_ns.is_some() {
                continue;
            }
            let place = find(&drops, number as u32 + 1, *count, datagram);
            if let Some(drop) = place.and_then(|place| drops[place].take()) {
                datagram.dropped_by = Some(words(run, drop));
            }
        }
    }
}

/// The place of a datagram in the list: by its number where packets were read, and otherwise the next one of its direction and length.
fn find(drops: &[Option<&DropSeen>], connection: u32, number: u64, datagram: &LadderDatagram) -> Option<usize> {
    let direction = if datagram.sender == Role::Server { "to_client" } else { "to_server" };
    let fits = |drop: &&DropSeen| {
        drop.direction == direction && HEADERS.iter().any(|headers| drop.bytes == datagram.bytes + headers)
    };
    let place = |is_it: &dyn Fn(&DropSeen) -> bool| {
        drops.iter().position(|drop| drop.as_ref().filter(|drop| fits(drop)).is_some_and(|drop| is_it(drop)))
    };
    place(&|drop| (drop.connection, drop.datagram) == (Some(connection), Some(number)))
        .or_else(|| place(&|drop| drop.datagram.is_none()))
}

/// `to_client.loss, by its rule "flight 1 after datagram 1"`.
fn words(run: &Run, drop: &DropSeen) -> String {
    let settings = &run.settings;
    let stages = if drop.direction == "to_client" { settings.stages_to_client() } else { settings.stages_to_server() };
    let place = format!("{}.{}", drop.direction, drop.stage);
    match stages.into_iter().find(|stage| stage.name == drop.stage).map(|stage| stage.settings) {
        Some(StageSettings::ContentLoss(settings)) => format!("{place}, by its rule {:?}", settings.drop.to_string()),
        _ => format!("{place}, {}", drop.cause.replace('_', " ")),
    }
}
