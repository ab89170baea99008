//! The page of one transfer, packet by packet, or of two on one time axis.

mod data;
mod transfer;

use maud::{Markup, PreEscaped, html};
use serde_json::json;

use crate::{figures::train_mix::CLASSES, page::page_with, verdicts::verdict_list};
pub use transfer::{LookPacket, LookTransfer};

const STYLE: &str = include_str!("look/look.css");
/// The scripts of the page, in the order in which they are read.
const SCRIPTS: [&str; 6] = [
    include_str!("look/data.js"),
    include_str!("look/series.js"),
    include_str!("look/raster.js"),
    include_str!("look/panels.js"),
    include_str!("look/view.js"),
    include_str!("look/page.js"),
];

/// The page. It needs no network and no library; a browser from 2023 or later shows it.
pub fn render_look_html(transfers: &[LookTransfer]) -> String {
    let title = transfers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" and ");
    let body = html! {
        h1 { (title) }
        @for (place, transfer) in transfers.iter().enumerate() {
            (head(transfer, ["A", "B"].get(place).filter(|_| transfers.len() > 1).copied()))
        }
        (controls())
        div #stage {
            canvas #chart tabindex="0" role="application" aria-describedby="help"
                aria-label="Packets, acknowledgments, bytes in flight, rates, round-trip time and queue over time" {}
        }
        p #readout.note aria-live="polite" { "Reading \u{2026}" }
        noscript { p.warnings { "The figure needs JavaScript." } }
        div #detail aria-live="polite" { p.note { "Point at a packet to see what it holds; click to keep it." } }
        (help())
        @for transfer in transfers {
            script type="application/octet-stream" .transfer { (PreEscaped(data::encoded(transfer))) }
        }
        script { (PreEscaped(train_classes())) (PreEscaped(SCRIPTS.join("\n"))) }
    };
    page_with(&title, STYLE, &body)
}

/// The classes of lengths of trains for the scripts: the longest train of each, 0 for any length, and its name.
fn train_classes() -> String {
    let classes = CLASSES.map(|(longest, name, _)| json!([if longest == u64::MAX { 0 } else { longest }, name]));
    format!("const TRAIN_CLASSES = {};\n", json!(classes))
}

/// `letter`: what the transfer is called in the figure, where there are two.
fn head(transfer: &LookTransfer, letter: Option<&str>) -> Markup {
    html! {
        @if let Some(letter) = letter { h2 { (letter) ": " (transfer.name) } }
        p.lead {
            (transfer.packets.len()) " packets"
            @if !transfer.tap.is_empty() { " at tap " (transfer.tap) }
        }
        @for note in &transfer.notes { p.warnings { (note) } }
        @if !transfer.warnings.is_empty() {
            details.warnings {
                summary { "Warnings: " (transfer.warnings.len()) ". Check them before you trust the numbers" }
                ul { @for warning in &transfer.warnings { li { (warning) } } }
            }
        }
        (verdict_list(&transfer.verdicts, Some(""), transfer.server_start_ns, letter))
    }
}

fn controls() -> Markup {
    html! {
        form #controls {
            label { "Go to packet " input #goto inputmode="numeric" size="9" placeholder="1234 or 1.5 s"; }
            button type="submit" { "go" }
            button #in type="button" aria-label="zoom in" { "+" }
            button #out type="button" aria-label="zoom out" { "\u{2212}" }
            button #left type="button" aria-label="move left" { "\u{2190}" }
            button #right type="button" aria-label="move right" { "\u{2192}" }
            button #whole type="button" { "all" }
        }
        ul #legend {}
    }
}

fn help() -> Markup {
    html! {
        details #help {
            summary { "How to use and read this page" }
            p {
                "The wheel zooms around the pointer, dragging moves, double-click shows everything. With the figure in \
                 focus, + and \u{2212} zoom, the arrows move, Home and End go to the ends, 0 shows everything, and n and p \
                 go to the next and the previous packet. The address names what you see: "
                code { "#packet=1234" } " (packet number), " code { "#frame=1234" } " (number in the capture), "
                code { "#time=1.5" } " (seconds); of the second of two transfers with " code { "&of=B" } " behind it."
            }
            p {
                "A dot is a packet of the measured sender, by packet number; its colour is the length of its train: \
                 consecutive packets with gaps below the threshold. The grey line is the largest number acknowledged. \
                 Crosses are packets that were dropped or declared lost; diamonds repeat bytes. Goodput counts new \
                 stream bytes, at the time at which they leave the bottleneck if a tap is there. The queue is the \
                 time between the two taps above its smallest value. Lateness is how much later than planned a packet \
                 left, above its smallest value. Times count from the first packet at the tap."
            }
        }
    }
}

#[cfg(test)]
mod tests;
