//! Which TLS records a TCP segment shows without keys.

/// The record header of RFC 8446 section 5.1: type, legacy version, length.
const HEADER_BYTES: usize = 5;
/// Longest `length` a record may carry: 2^14 + 256, RFC 8446 section 5.2 (TLS 1.2 allows 2^14 + 2048, RFC 5246 section 6.2.3).
const MAXIMUM_RECORD_BYTES: usize = (1 << 14) + 2048;

/// `ContentType` of RFC 8446 section 5.1. In TLS 1.3 everything encrypted claims to be application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TlsContentType {
    /// 20
    ChangeCipherSpec = 20,
    /// 21
    Alert = 21,
    /// 22
    Handshake = 22,
    /// 23
    ApplicationData = 23,
}

/// The set of record types that begin in one TCP segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TlsRecords {
    /// Type of the record the segment begins with.
    pub first: TlsContentType,
    /// Bit (type − 20) for each type seen.
    bits: u8,
}

impl TlsRecords {
    /// Whether a record of this type begins in the captured part of the segment.
    pub fn contains(self, content_type: TlsContentType) -> bool {
        self.bits & bit(content_type) != 0
    }

    /// Walks the records of a segment that begins with one. `None` when it does not.
    pub(crate) fn parse(captured_payload: &[u8]) -> Option<TlsRecords> {
        let (first, mut length) = record_header(captured_payload)?;
        let mut bits = bit(first);
        let mut rest = captured_payload;
        while let Some(next) = rest.get(HEADER_BYTES + length..) {
            let Some((content_type, next_length)) = record_header(next) else {
                break;
            };
            bits |= bit(content_type);
            length = next_length;
            rest = next;
        }
        Some(TlsRecords { first, bits })
    }
}

impl std::fmt::Debug for TlsRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use TlsContentType::{Alert, ApplicationData, ChangeCipherSpec, Handshake};
        let all = [ChangeCipherSpec, Alert, Handshake, ApplicationData];
        f.debug_set().entries(all.into_iter().filter(|kind| self.contains(*kind))).finish()
    }
}

fn bit(content_type: TlsContentType) -> u8 {
    1 << (content_type as u8 - 20)
}

fn record_header(bytes: &[u8]) -> Option<(TlsContentType, usize)> {
    let &[kind, 3, minor, high, low, ..] = bytes else {
        return None;
    };
    let content_type = match kind {
        20 => TlsContentType::ChangeCipherSpec,
        21 => TlsContentType::Alert,
        22 => TlsContentType::Handshake,
        23 => TlsContentType::ApplicationData,
        _ => return None,
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    (minor <= 4 && (1..=MAXIMUM_RECORD_BYTES).contains(&length)).then_some((content_type, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_behind_change_cipher_spec_is_seen() {
        let mut payload = vec![20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 53];
        payload.extend([0xab; 53]);
        let records = TlsRecords::parse(&payload).unwrap();
        assert_eq!(records.first, TlsContentType::ChangeCipherSpec);
        assert!(records.contains(TlsContentType::ApplicationData));
        assert!(!records.contains(TlsContentType::Handshake));
    }

    #[test]
    fn every_record_of_a_segment_is_seen() {
        let mut payload = vec![22, 3, 3, 0, 2, 0, 0, 23, 3, 3, 0, 7];
        payload.extend([0; 7]);
        payload.extend([21, 3, 3, 0, 2, 1, 0]);
        let records = TlsRecords::parse(&payload).unwrap();
        assert!(records.contains(TlsContentType::Alert));
        assert!(!records.contains(TlsContentType::ChangeCipherSpec));
    }

    #[test]
    fn the_version_of_tls_1_3_passes_and_one_beyond_does_not() {
        assert!(TlsRecords::parse(&[23, 3, 4, 0, 9]).is_some());
        assert!(TlsRecords::parse(&[23, 3, 5, 0, 9]).is_none());
    }

    #[test]
    fn a_record_cut_by_the_snap_length_still_counts() {
        assert!(TlsRecords::parse(&[23, 3, 3, 0x40, 0x11, 0]).unwrap().contains(TlsContentType::ApplicationData));
    }

    #[test]
    fn the_middle_of_a_record_is_no_record() {
        assert_eq!(TlsRecords::parse(&[0x5f, 3, 3, 0, 20]), None);
        assert_eq!(TlsRecords::parse(&[23, 3, 3]), None);
        assert_eq!(TlsRecords::parse(&[]), None);
    }

    #[test]
    fn the_longest_record_passes_and_one_more_does_not() {
        let [high, low] = u16::to_be_bytes((1 << 14) + 2048);
        assert!(TlsRecords::parse(&[23, 3, 3, high, low]).is_some());
        let [high, low] = u16::to_be_bytes((1 << 14) + 2049);
        assert!(TlsRecords::parse(&[23, 3, 3, high, low]).is_none());
    }
}
