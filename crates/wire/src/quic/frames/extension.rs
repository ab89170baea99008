//! Frames of extensions that are deployed or have a public document: docs/reference/frames.md lists them with their sources.

use std::net::{IpAddr, SocketAddr};

use super::super::connection_id::ConnectionId;
use super::super::fields::Fields;
use super::{Ack, parse_ack};

/// TIME_STAMP, draft-huitema-quic-ts: 757.
const TIME_STAMP: u64 = 0x2f5;
/// RESET_STREAM_AT, draft-ietf-quic-reliable-stream-reset; msquic sends it by an earlier number.
const RESET_STREAM_AT: u64 = 0x24;
const RESET_STREAM_AT_OF_MSQUIC: u64 = 0x21;
/// IMMEDIATE_ACK before draft 05 of draft-ietf-quic-ack-frequency, still sent by mvfst and older picoquic.
const EARLIER_IMMEDIATE_ACK: u64 = 0xac;
/// draft-ietf-quic-multipath-21.
const PATH_ACK: u64 = 0x3e;
const PATH_ACK_ECN: u64 = 0x3f;
const PATH_ABANDON: u64 = 0x3e75;
const PATH_STATUS_BACKUP: u64 = 0x3e76;
const PATH_STATUS_AVAILABLE: u64 = 0x3e77;
const PATH_NEW_CONNECTION_ID: u64 = 0x3e78;
const PATH_RETIRE_CONNECTION_ID: u64 = 0x3e79;
const MAX_PATH_ID: u64 = 0x3e7a;
const PATHS_BLOCKED: u64 = 0x3e7b;
const PATH_CIDS_BLOCKED: u64 = 0x3e7c;
/// Numbers of its earlier drafts, of frames whose layout stayed the same. PATH_ABANDON (0x15228c05) had a reason phrase in some of
/// them, so that it cannot be read without knowing the draft.
const EARLIER_PATH_ACK: u64 = 0x1522_8c00;
const EARLIER_PATH_ACK_ECN: u64 = 0x1522_8c01;
const EARLIER_PATH_STATUS_BACKUP: u64 = 0x1522_8c07;
const EARLIER_PATH_STATUS_AVAILABLE: u64 = 0x1522_8c08;
const EARLIER_PATH_NEW_CONNECTION_ID: u64 = 0x1522_8c09;
const EARLIER_PATH_RETIRE_CONNECTION_ID: u64 = 0x1522_8c0a;
const EARLIER_MAX_PATH_ID: u64 = 0x1522_8c0b;
/// OBSERVED_ADDRESS, draft-ietf-quic-address-discovery.
const OBSERVED_ADDRESS_V4: u64 = 0x9f_81a6;
const OBSERVED_ADDRESS_V6: u64 = 0x9f_81a7;
/// NAT traversal of noq, after draft-seemann-quic-nat-traversal.
const ADD_ADDRESS_V4: u64 = 0x3d_7f90;
const ADD_ADDRESS_V6: u64 = 0x3d_7f91;
const REACH_OUT_V4: u64 = 0x3d_7f92;
const REACH_OUT_V6: u64 = 0x3d_7f93;
const REMOVE_ADDRESS: u64 = 0x3d_7f94;
/// s2n-quic's own.
const DC_STATELESS_RESET_TOKENS: u64 = 0xdc_0000;
const MTU_PROBING_COMPLETE: u64 = 0xdc_0002;

/// Every type that is read here. A test holds it to [`ExtensionFrame::parse`].
const KNOWN_TYPES: [u64; 30] = [
    TIME_STAMP,
    RESET_STREAM_AT,
    RESET_STREAM_AT_OF_MSQUIC,
    EARLIER_IMMEDIATE_ACK,
    PATH_ACK,
    PATH_ACK_ECN,
    PATH_ABANDON,
    PATH_STATUS_BACKUP,
    PATH_STATUS_AVAILABLE,
    PATH_NEW_CONNECTION_ID,
    PATH_RETIRE_CONNECTION_ID,
    MAX_PATH_ID,
    PATHS_BLOCKED,
    PATH_CIDS_BLOCKED,
    EARLIER_PATH_ACK,
    EARLIER_PATH_ACK_ECN,
    EARLIER_PATH_STATUS_BACKUP,
    EARLIER_PATH_STATUS_AVAILABLE,
    EARLIER_PATH_NEW_CONNECTION_ID,
    EARLIER_PATH_RETIRE_CONNECTION_ID,
    EARLIER_MAX_PATH_ID,
    OBSERVED_ADDRESS_V4,
    OBSERVED_ADDRESS_V6,
    ADD_ADDRESS_V4,
    ADD_ADDRESS_V6,
    REACH_OUT_V4,
    REACH_OUT_V6,
    REMOVE_ADDRESS,
    DC_STATELESS_RESET_TOKENS,
    MTU_PROBING_COMPLETE,
];

/// One frame of an extension. Where a frame has had several type numbers, its current one is reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionFrame {
    /// TIME_STAMP
    TimeStamp {
        /// The time as in the frame; shift by the sender's `ack_delay_exponent` for µs since an epoch of its own.
        time_stamp: u64,
    },
    /// RESET_STREAM_AT
    ResetStreamAt {
        /// Stream ID.
        stream: u64,
        /// Application error code.
        error: u64,
        /// Final size of the stream.
        final_size: u64,
        /// Bytes of the stream that are still delivered.
        reliable_size: u64,
    },
    /// PATH_ACK: an ACK of the packets of one path.
    PathAck {
        /// Path ID.
        path: u64,
        /// What it acknowledges there.
        ack: Ack,
    },
    /// PATH_ABANDON
    PathAbandon {
        /// Path ID.
        path: u64,
        /// Error code.
        error: u64,
    },
    /// PATH_STATUS_BACKUP or PATH_STATUS_AVAILABLE
    PathStatus {
        /// Path ID.
        path: u64,
        /// Sequence number of the status.
        sequence: u64,
        /// Whether the path is to be used like any other.
        is_available: bool,
    },
    /// PATH_NEW_CONNECTION_ID
    PathNewConnectionId {
        /// Path ID.
        path: u64,
        /// Sequence number of the connection ID on that path.
        sequence: u64,
        /// IDs of the path with smaller sequence numbers are to be retired.
        retire_prior_to: u64,
        /// The ID.
        connection_id: ConnectionId,
        /// Token of a stateless reset for it.
        reset_token: [u8; 16],
    },
    /// PATH_RETIRE_CONNECTION_ID
    PathRetireConnectionId {
        /// Path ID.
        path: u64,
        /// Sequence number of the ID.
        sequence: u64,
    },
    /// MAX_PATH_ID
    MaxPathId {
        /// Largest path ID that the peer may use.
        maximum: u64,
    },
    /// PATHS_BLOCKED
    PathsBlocked {
        /// Largest path ID that its sender may use.
        maximum: u64,
    },
    /// PATH_CIDS_BLOCKED
    PathCidsBlocked {
        /// Path ID.
        path: u64,
        /// Sequence number of the connection ID that its sender waits for.
        sequence: u64,
    },
    /// OBSERVED_ADDRESS
    ObservedAddress {
        /// Sequence number of the report.
        sequence: u64,
        /// The peer's address as its sender sees it.
        address: SocketAddr,
    },
    /// ADD_ADDRESS
    AddAddress {
        /// Sequence number of the address.
        sequence: u64,
        /// An address at which its sender may be reached.
        address: SocketAddr,
    },
    /// REACH_OUT
    ReachOut {
        /// Round of probing.
        round: u64,
        /// The address to probe.
        address: SocketAddr,
    },
    /// REMOVE_ADDRESS
    RemoveAddress {
        /// Sequence number of the address.
        sequence: u64,
    },
    /// DC_STATELESS_RESET_TOKENS
    DcStatelessResetTokens {
        /// How many tokens.
        count: u64,
    },
    /// MTU_PROBING_COMPLETE
    MtuProbingComplete {
        /// The MTU that was confirmed, in bytes.
        mtu: u16,
    },
    /// IMMEDIATE_ACK by the number of early drafts
    EarlierImmediateAck,
}

impl ExtensionFrame {
    /// Whether [`parse`](Self::parse) has a layout for it.
    pub(super) fn is_known_type(frame_type: u64) -> bool {
        KNOWN_TYPES.contains(&frame_type)
    }

    /// The frame behind its type. `None` where the type is unknown or the frame is cut.
    pub(super) fn parse(frame_type: u64, fields: &mut Fields) -> Option<Self> {
        let integer = |fields: &mut Fields| fields.take_variable_length_integer();
        Some(match frame_type {
            TIME_STAMP => ExtensionFrame::TimeStamp { time_stamp: integer(fields)? },
            RESET_STREAM_AT | RESET_STREAM_AT_OF_MSQUIC => ExtensionFrame::ResetStreamAt {
                stream: integer(fields)?,
                error: integer(fields)?,
                final_size: integer(fields)?,
                reliable_size: integer(fields)?,
            },
            EARLIER_IMMEDIATE_ACK => ExtensionFrame::EarlierImmediateAck,
            PATH_ACK | EARLIER_PATH_ACK => {
                ExtensionFrame::PathAck { path: integer(fields)?, ack: parse_ack(false, fields)? }
            }
            PATH_ACK_ECN | EARLIER_PATH_ACK_ECN => {
                ExtensionFrame::PathAck { path: integer(fields)?, ack: parse_ack(true, fields)? }
            }
            PATH_ABANDON => ExtensionFrame::PathAbandon { path: integer(fields)?, error: integer(fields)? },
            PATH_STATUS_BACKUP | EARLIER_PATH_STATUS_BACKUP => {
                ExtensionFrame::PathStatus { path: integer(fields)?, sequence: integer(fields)?, is_available: false }
            }
            PATH_STATUS_AVAILABLE | EARLIER_PATH_STATUS_AVAILABLE => {
                ExtensionFrame::PathStatus { path: integer(fields)?, sequence: integer(fields)?, is_available: true }
            }
            PATH_NEW_CONNECTION_ID | EARLIER_PATH_NEW_CONNECTION_ID => ExtensionFrame::PathNewConnectionId {
                path: integer(fields)?,
                sequence: integer(fields)?,
                retire_prior_to: integer(fields)?,
                connection_id: ConnectionId::new(fields.take_with_length_byte()?)?,
                reset_token: fields.take(16)?.try_into().ok()?,
            },
            PATH_RETIRE_CONNECTION_ID | EARLIER_PATH_RETIRE_CONNECTION_ID => {
                ExtensionFrame::PathRetireConnectionId { path: integer(fields)?, sequence: integer(fields)? }
            }
            MAX_PATH_ID | EARLIER_MAX_PATH_ID => ExtensionFrame::MaxPathId { maximum: integer(fields)? },
            PATHS_BLOCKED => ExtensionFrame::PathsBlocked { maximum: integer(fields)? },
            PATH_CIDS_BLOCKED => ExtensionFrame::PathCidsBlocked { path: integer(fields)?, sequence: integer(fields)? },
            OBSERVED_ADDRESS_V4 | OBSERVED_ADDRESS_V6 => ExtensionFrame::ObservedAddress {
                sequence: integer(fields)?,
                address: parse_address(frame_type == OBSERVED_ADDRESS_V6, fields)?,
            },
            ADD_ADDRESS_V4 | ADD_ADDRESS_V6 => ExtensionFrame::AddAddress {
                sequence: integer(fields)?,
                address: parse_address(frame_type == ADD_ADDRESS_V6, fields)?,
            },
            REACH_OUT_V4 | REACH_OUT_V6 => ExtensionFrame::ReachOut {
                round: integer(fields)?,
                address: parse_address(frame_type == REACH_OUT_V6, fields)?,
            },
            REMOVE_ADDRESS => ExtensionFrame::RemoveAddress { sequence: integer(fields)? },
            DC_STATELESS_RESET_TOKENS => {
                let count = integer(fields)?;
                fields.take_u64(count.checked_mul(16)?)?;
                ExtensionFrame::DcStatelessResetTokens { count }
            }
            MTU_PROBING_COMPLETE => ExtensionFrame::MtuProbingComplete { mtu: fields.u16()? },
            _ => return None,
        })
    }

    /// Its type number, the current one where it has had several.
    pub fn frame_type(&self) -> u64 {
        match self {
            ExtensionFrame::TimeStamp { .. } => TIME_STAMP,
            ExtensionFrame::ResetStreamAt { .. } => RESET_STREAM_AT,
            ExtensionFrame::PathAck { ack, .. } => PATH_ACK + u64::from(ack.ecn.is_some()),
            ExtensionFrame::PathAbandon { .. } => PATH_ABANDON,
            ExtensionFrame::PathStatus { is_available, .. } => PATH_STATUS_BACKUP + u64::from(*is_available),
            ExtensionFrame::PathNewConnectionId { .. } => PATH_NEW_CONNECTION_ID,
            ExtensionFrame::PathRetireConnectionId { .. } => PATH_RETIRE_CONNECTION_ID,
            ExtensionFrame::MaxPathId { .. } => MAX_PATH_ID,
            ExtensionFrame::PathsBlocked { .. } => PATHS_BLOCKED,
            ExtensionFrame::PathCidsBlocked { .. } => PATH_CIDS_BLOCKED,
            ExtensionFrame::ObservedAddress { address, .. } => OBSERVED_ADDRESS_V4 + u64::from(address.is_ipv6()),
            ExtensionFrame::AddAddress { address, .. } => ADD_ADDRESS_V4 + u64::from(address.is_ipv6()),
            ExtensionFrame::ReachOut { address, .. } => REACH_OUT_V4 + u64::from(address.is_ipv6()),
            ExtensionFrame::RemoveAddress { .. } => REMOVE_ADDRESS,
            ExtensionFrame::DcStatelessResetTokens { .. } => DC_STATELESS_RESET_TOKENS,
            ExtensionFrame::MtuProbingComplete { .. } => MTU_PROBING_COMPLETE,
            ExtensionFrame::EarlierImmediateAck => EARLIER_IMMEDIATE_ACK,
        }
    }

    /// The document's name in lower case.
    pub fn name(&self) -> &'static str {
        match self {
            ExtensionFrame::TimeStamp { .. } => "time_stamp",
            ExtensionFrame::ResetStreamAt { .. } => "reset_stream_at",
            ExtensionFrame::PathAck { .. } => "path_ack",
            ExtensionFrame::PathAbandon { .. } => "path_abandon",
            ExtensionFrame::PathStatus { is_available: true, .. } => "path_status_available",
            ExtensionFrame::PathStatus { is_available: false, .. } => "path_status_backup",
            ExtensionFrame::PathNewConnectionId { .. } => "path_new_connection_id",
            ExtensionFrame::PathRetireConnectionId { .. } => "path_retire_connection_id",
            ExtensionFrame::MaxPathId { .. } => "max_path_id",
            ExtensionFrame::PathsBlocked { .. } => "paths_blocked",
            ExtensionFrame::PathCidsBlocked { .. } => "path_cids_blocked",
            ExtensionFrame::ObservedAddress { .. } => "observed_address",
            ExtensionFrame::AddAddress { .. } => "add_address",
            ExtensionFrame::ReachOut { .. } => "reach_out",
            ExtensionFrame::RemoveAddress { .. } => "remove_address",
            ExtensionFrame::DcStatelessResetTokens { .. } => "dc_stateless_reset_tokens",
            ExtensionFrame::MtuProbingComplete { .. } => "mtu_probing_complete",
            ExtensionFrame::EarlierImmediateAck => "immediate_ack",
        }
    }

    /// TIME_STAMP (draft-huitema-quic-ts section 3) and PATH_ACK (draft-ietf-quic-multipath, "Frames") are not.
    pub fn is_ack_eliciting(&self) -> bool {
        !matches!(self, ExtensionFrame::TimeStamp { .. } | ExtensionFrame::PathAck { .. })
    }
}

fn parse_address(is_v6: bool, fields: &mut Fields) -> Option<SocketAddr> {
    let address = if is_v6 {
        IpAddr::from(<[u8; 16]>::try_from(fields.take(16)?).ok()?)
    } else {
        IpAddr::from(<[u8; 4]>::try_from(fields.take(4)?).ok()?)
    };
    Some(SocketAddr::new(address, fields.u16()?))
}

#[cfg(test)]
mod tests;
