//! Bytes of handshake messages and streams.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{ContentFrame, PacketForm};

/// A range of the bytes that an endpoint has to bring to its peer. Written `initial crypto 0..1182`, `stream 0 0..52`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Data {
    /// What the bytes belong to.
    pub kind: DataKind,
    /// Offset of the first byte.
    pub from: u64,
    /// Offset behind the last byte.
    pub to: u64,
}

/// What bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataKind {
    /// The CRYPTO stream of a packet number space.
    Crypto(PacketForm),
    /// The stream with this ID.
    Stream(u64),
}

impl Data {
    /// What a frame of a packet of this form carries.
    pub fn of(form: PacketForm, frame: &ContentFrame) -> Option<Self> {
        match *frame {
            ContentFrame::Crypto { offset, length } => {
                Some(Self { kind: DataKind::Crypto(form), from: offset, to: offset.saturating_add(length) })
            }
            ContentFrame::Stream { id, offset, length, .. } => {
                Some(Self { kind: DataKind::Stream(id), from: offset, to: offset.saturating_add(length) })
            }
            _ => None,
        }
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Crypto(form) => write!(f, "{} crypto", form.name()),
            Self::Stream(id) => write!(f, "stream {id}"),
        }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}..{}", self.kind, self.from, self.to)
    }
}

impl From<Data> for String {
    fn from(data: Data) -> Self {
        data.to_string()
    }
}

/// A text that is no [`Data`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {0:?}, expected data such as \"initial crypto 0..1182\" or \"stream 0 0..52\"")]
pub struct NotData(String);

impl FromStr for Data {
    type Err = NotData;

    fn from_str(text: &str) -> Result<Self, NotData> {
        let parse = || {
            let (kind, range) = text.rsplit_once(' ')?;
            let (from, to) = range.split_once("..")?;
            let kind = match kind.split_once(' ')? {
                ("stream", id) => DataKind::Stream(id.parse().ok()?),
                ("initial", "crypto") => DataKind::Crypto(PacketForm::Initial),
                ("handshake", "crypto") => DataKind::Crypto(PacketForm::Handshake),
                ("1-rtt", "crypto") => DataKind::Crypto(PacketForm::OneRtt),
                _ => return None,
            };
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(Self { kind, from, to })
        };
        parse().ok_or_else(|| NotData(text.to_owned()))
    }
}

impl TryFrom<String> for Data {
    type Error = NotData;

    fn try_from(text: String) -> Result<Self, NotData> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_read_as_it_is_written() {
        for text in ["initial crypto 0..1182", "handshake crypto 5..9", "1-rtt crypto 0..0", "stream 4 10..20"] {
            assert_eq!(text.parse::<Data>().unwrap().to_string(), text);
        }
        for text in ["crypto 0..1", "stream 0 9..5", "initial crypto 0", "stream x 0..1", ""] {
            assert!(text.parse::<Data>().is_err(), "{text}");
        }
    }
}
