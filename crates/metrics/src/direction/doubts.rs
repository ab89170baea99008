//! What a sender's packets do not show: which needs of metrics they leave unmet, and what is odd about them.

use crate::decryption::DecryptionCounts;
use crate::needs::{MOST_UNMET, MissingEvidence, Need, Subject};
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

use super::DirectionMeter;

impl DirectionMeter {
    /// Copies of packets, and how many packets there are.
    pub(crate) fn copies(&self) -> (u64, u64) {
        let by_meter = match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => recovery.duplicates(),
            (_, Some(tcp)) => tcp.duplicates(),
            _ => 0,
        };
        (by_meter.max(self.copies), self.packets())
    }

    /// Whether frames of decrypted packets could not be read.
    pub(crate) fn has_unread_frames(&self) -> bool {
        self.unread.packets() > 0
    }

    /// Packets (TCP: bytes) that the peer acknowledged and the capture does not have, and how many it has.
    pub(crate) fn missed(&self) -> (u64, u64) {
        match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => {
                let missed = recovery.packets_missed().saturating_sub(self.decryption.without_number());
                (missed, recovery.packets_numbered())
            }
            (_, Some(tcp)) => (tcp.bytes_missed(), tcp.data_bytes()),
            _ => (0, 0),
        }
    }

    /// Datagrams with bytes behind their packets, and those without captured payload.
    pub(crate) fn odd_datagrams(&self) -> (u64, u64) {
        (self.foreign, self.without_payload)
    }

    /// What metrics need and this sender's packets do not show. `unmet` has what concerns the whole flow already.
    pub(super) fn add_unmet(&self, subject: Subject, unmet: &mut MissingEvidence) {
        let packets = self.packets();
        let gaps = self.packets.gaps();
        unmet.add_share(Need::OrderedTimes, WarningCode::TimeBackwards, gaps.backwards(), packets, &|| {
            gaps.backwards_in_words(packets)
        });
        unmet.add_share(Need::WireSizedPackets, WarningCode::SuperPackets, self.super_packets, packets, &|| {
            self.super_packets_in_words(packets)
        });
        if self.tcp.is_some() {
            if !self.acks_of_peer_read {
                unmet.add(Need::PeerFrames, WarningCode::AcknowledgmentsMissing, self.no_acknowledgments(subject));
            }
            return;
        }
        let [own, peer] = [&self.decryption, &self.decryption_of_peer];
        let code = |counts: &DecryptionCounts| {
            let kinds = [
                (counts.no_keys, WarningCode::KeysMissing),
                (counts.failed, WarningCode::DecryptionFailed),
                (counts.header_only, WarningCode::PayloadCut),
            ];
            kinds.into_iter().max_by_key(|(count, _)| *count).map_or(WarningCode::KeysMissing, |(_, code)| code)
        };
        let sender = subject.sender;
        unmet
            .add_share(Need::PacketNumbers, code(own), own.without_number(), own.protected(), &|| own.in_words(sender));
        for (need, counts, unread, sender) in [
            (Need::OwnFrames, own, &self.unread, sender),
            (Need::PeerFrames, peer, &self.unread_of_peer, sender.peer()),
        ] {
            let closed = counts.closed();
            unmet.add_share(need, code(counts), closed, counts.protected(), &|| counts.in_words(sender));
            let code = if unread.packets_with_unknown() >= unread.packets_with_malformed() {
                WarningCode::FramesUnknown
            } else {
                WarningCode::FramesMalformed
            };
            unmet
                .add_share(need, code, unread.packets(), counts.verified, &|| unread.in_words(sender, counts.verified));
        }
        if own.verified == 0 {
            let reason = format!("no packet of the {} could be read", sender.name());
            unmet.add(Need::PacketNumbers, WarningCode::KeysMissing, reason.clone());
            unmet.add(Need::OwnFrames, WarningCode::KeysMissing, reason);
        }
        if !self.acks_of_peer_read {
            unmet.add(Need::PeerFrames, WarningCode::AcknowledgmentsMissing, self.no_acknowledgments(subject));
        }
    }

    fn super_packets_in_words(&self, packets: u64) -> String {
        format!(
            "{} of {packets} packets are frames of more than {} bytes: the tap saw them before segmentation; turn tso, gso and \
             tx-udp-segmentation off on the sender's interface",
            self.super_packets, self.largest_frame_bytes
        )
    }

    fn no_acknowledgments(&self, subject: Subject) -> String {
        format!("no acknowledgment of the {} was captured or could be read", subject.sender.peer().name())
    }

    /// What is odd. Where more than a share of the packets is concerned, the warning comes with what is withheld instead.
    pub(super) fn warn(&self, packets: u64, subject: Subject, run: &mut RunMetrics) {
        let mut warn_if = |count: u64, code: WarningCode, text: String| {
            if count > 0 {
                run.warn(code, text);
            }
        };
        let few = |count: u64, of: u64| if count as f64 > MOST_UNMET * of as f64 { 0 } else { count };
        warn_if(few(self.super_packets, packets), WarningCode::SuperPackets, self.super_packets_in_words(packets));
        let DecryptionCounts { header_only, header_only_without_number, no_keys, failed, verified, .. } =
            self.decryption;
        let closed = self.decryption.closed();
        let is_few = |count: u64| if few(closed, self.decryption.protected()) > 0 { count } else { 0 };
        warn_if(
            is_few(no_keys),
            WarningCode::KeysMissing,
            format!(
                "{no_keys} QUIC packets could not be decrypted for want of keys; pass the key log of this connection \
                 with --keys"
            ),
        );
        warn_if(
            is_few(failed),
            WarningCode::DecryptionFailed,
            format!(
                "{failed} QUIC packets could not be decrypted with the keys of their connection: damaged, forged, or \
                 not QUIC"
            ),
        );
        warn_if(
            is_few(header_only),
            WarningCode::PayloadCut,
            format!(
                "{header_only} QUIC packets were cut by the snap length, so their frames are not known, and the numbers of \
                 {header_only_without_number} are not either; capture whole packets (snap length 0)"
            ),
        );
        if few(self.unread.packets(), verified) > 0 {
            let words = self.unread.in_words(subject.sender, verified);
            let (unknown, malformed) = (self.unread.packets_with_unknown(), self.unread.packets_with_malformed());
            let code = if unknown > 0 { WarningCode::FramesUnknown } else { WarningCode::FramesMalformed };
            warn_if(unknown + malformed, code, words);
        }
        warn_if(
            self.resets,
            WarningCode::StatelessReset,
            format!(
                "{} packets end with the token of a stateless reset: the sender had lost the state of the connection",
                self.resets
            ),
        );
        warn_if(
            self.bad_retries,
            WarningCode::RetryNotGenuine,
            format!("{} Retry packets have a wrong integrity tag", self.bad_retries),
        );
    }
}
