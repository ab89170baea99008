//! How taps are called, and which warnings stand beside them.

use quiclab_metrics::{DirectionAnalysis, RunMetrics, TapPlace, Warning, WarningCode, capture_warnings};
use quiclab_units::shown;

use super::input::{AnalysisInput, AnalyzedCapture, endpoints};

/// Warnings that only say again that a tap keeps the first bytes of each packet.
const OF_A_CUT: [WarningCode; 10] = [
    WarningCode::PayloadCut,
    WarningCode::KeysMissing,
    WarningCode::DecryptionFailed,
    WarningCode::FramesMalformed,
    WarningCode::HandshakeUnread,
    WarningCode::AcknowledgmentsMissing,
    WarningCode::ForeignBytes,
    WarningCode::GoodputEdgesUncertain,
    WarningCode::GoodputFirstToLastPacket,
    WarningCode::GoodputNoProtectedPackets,
];

/// The tap at which a flow was seen, in words. `None` where the capture has only one place.
pub(super) fn tap(capture: &AnalyzedCapture, interface: u32) -> Option<String> {
    let summary = &capture.analysis.capture;
    if let Some(place) = TapPlace::of(summary, interface) {
        return Some(place.in_words().to_owned());
    }
    (summary.interfaces.len() > 1).then(|| {
        let name = summary.interfaces.get(interface as usize).and_then(|interface| interface.name.as_deref());
        name.map_or_else(|| format!("interface {interface}"), |name| format!("interface {name}"))
    })
}

/// Whether a flow was seen behind the bottleneck of a record; the sender's tap stands before it.
pub(super) fn is_behind((capture, direction): &(&AnalyzedCapture, &DirectionAnalysis)) -> bool {
    let interface = capture.analysis.flows[direction.flow].interface;
    TapPlace::of(&capture.analysis.capture, interface) == Some(TapPlace::BehindBottleneck)
}

/// The lines of a sender's title: protocol and sender, its address, that of its peer, the tap.
pub(super) fn title(capture: &AnalyzedCapture, direction: &DirectionAnalysis) -> Vec<String> {
    let (from, to) = endpoints(capture, direction.flow, direction.sender);
    let interface = capture.analysis.flows[direction.flow].interface;
    let mut lines =
        vec![format!("{}, from {}", direction.protocol.name(), direction.sender.name()), from, format!("to {to}")];
    lines.extend(tap(capture, interface).map(|tap| format!("at {tap}")));
    lines
}

/// What is to be looked at, of one capture or one tap.
pub(super) struct WarnedPlace {
    /// The file, with the tap where there are several.
    pub place: String,
    /// Senders that each warning is about (empty: the whole capture), and the warning.
    pub warnings: Vec<(Vec<String>, Warning)>,
    /// What is missing there on purpose.
    pub note: Option<String>,
}

/// The warnings of these senders, by capture and tap. A sentence that several senders share stands once. What follows from the snap
/// length of a record's second tap is a note.
pub(super) fn warned_places(
    input: &AnalysisInput,
    directions: &[(&AnalyzedCapture, &DirectionAnalysis)],
) -> Vec<WarnedPlace> {
    let mut places = Vec::new();
    for capture in &input.captures {
        let mut run = RunMetrics::empty();
        capture_warnings(&capture.analysis.capture, &mut run);
        let warnings: Vec<_> = run.warnings.into_iter().map(|warning| (Vec::new(), warning)).collect();
        places.push(WarnedPlace { place: shown(&capture.file).into_owned(), warnings, note: None });
        let mut interfaces: Vec<_> = capture.analysis.flows.iter().map(|flow| flow.interface).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        for interface in interfaces {
            let here = directions.iter().filter(|(of, it)| {
                std::ptr::eq(*of, capture) && capture.analysis.flows[it.flow].interface == interface
            });
            places.push(of_tap(capture, interface, here.map(|(_, direction)| *direction)));
        }
    }
    places.retain(|place| !place.warnings.is_empty() || place.note.is_some());
    places
}

fn of_tap<'a>(
    capture: &AnalyzedCapture,
    interface: u32,
    directions: impl Iterator<Item = &'a DirectionAnalysis>,
) -> WarnedPlace {
    let place = match tap(capture, interface) {
        Some(tap) => format!("{}, {tap}", shown(&capture.file)),
        None => shown(&capture.file).into_owned(),
    };
    let summary = &capture.analysis.capture;
    let snap_length = summary.interfaces.get(interface as usize).and_then(|interface| interface.snap_length);
    let is_cut = TapPlace::of(summary, interface) == Some(TapPlace::BehindBottleneck) && snap_length.is_some();
    let mut warning_groups = WarnedPlace { place, warnings: Vec::new(), note: None };
    for direction in directions {
        let (from, _) = endpoints(capture, direction.flow, direction.sender);
        let whom = format!("{} {from}", direction.sender.name());
        for warning in &direction.run.warnings {
            if is_cut && OF_A_CUT.iter().any(|code| code.name() == warning.code) {
                let kept = snap_length.unwrap_or(0);
                warning_groups.note = Some(format!(
                    "keeps the first {kept} bytes of each packet (tap.bottleneck_snaplen); metrics that need whole \
                     packets are measured at the sender's tap only"
                ));
                continue;
            }
            match warning_groups.warnings.iter_mut().find(|(_, known)| known == warning) {
                Some((who, _)) => who.push(whom.clone()),
                None => warning_groups.warnings.push((vec![whom.clone()], warning.clone())),
            }
        }
    }
    warning_groups
}
