//! Keys of Initial packets: from which connection ID they come.

use super::connection_id::ConnectionId;
use super::header::LongHeader;
use super::keys::{Keys, NotOpened, Opened, ProtectedPacket, open};
use super::packet_number::Numbers;
use super::protection::initial_secret;
use crate::role::Role;

/// Connection IDs from which Initial keys may come: one, one more for each Retry. More is an attack on the reader.
const MAXIMUM_IDS: usize = 4;

/// The Initial keys of one connection.
#[derive(Default)]
pub(super) struct InitialKeys {
    ids: Vec<ConnectionId>,
    /// The keys of each sender by version and ID, from the second packet on that was opened with this ID.
    keys: Vec<(u32, ConnectionId, [Option<Keys>; 2])>,
    /// Whether a packet was decrypted with the keys of the last of `ids`, so that they are those of cut packets too.
    is_proven: bool,
}

impl InitialKeys {
    /// RFC 9001 section 5.2: after a Retry both ends have other keys.
    pub(super) fn on_retry(&mut self) {
        self.is_proven = false;
    }

    /// Removes the protection of a packet.
    pub(super) fn open(
        &mut self,
        sender: Role,
        header: &LongHeader,
        packet: &ProtectedPacket,
        numbers: Numbers,
        scratch: &mut Vec<u8>,
    ) -> Result<Opened, NotOpened> {
        let own = ConnectionId::new(header.destination_connection_id);
        // The newest first: behind a Retry it is the right one. A client's first packets name theirs themselves.
        let mut ids: Vec<ConnectionId> = self.ids.iter().rev().copied().collect();
        if sender == Role::Client
            && let Some(own) = own
            && !ids.contains(&own)
        {
            ids.push(own);
        }
        let mut result = Err(NotOpened::NoKeys);
        for id in ids {
            let known = self.keys.iter().position(|(version, of, _)| (*version, *of) == (header.version, id));
            let kept = known.and_then(|place| self.keys[place].2[sender as usize].as_ref());
            let made = match kept {
                Some(_) => None,
                None => initial_secret(header.version, id.as_bytes(), sender).and_then(Keys::of),
            };
            let Some(keys) = kept.or(made.as_ref()) else { continue };
            let opened = open(&keys.header, &keys.packet, packet, numbers, scratch);
            let is_open = opened.is_ok();
            if is_open
                && let Some(place) = known
                && made.is_some()
            {
                self.keys[place].2[sender as usize] = made;
            } else if is_open && made.is_some() && self.keys.len() < 2 * MAXIMUM_IDS {
                let is_known = self.ids.contains(&id);
                // They take most of a connection's memory, and of a scan no second packet comes.
                if is_known || self.ids.len() == MAXIMUM_IDS {
                    let mut both = [None, None];
                    both[sender as usize] = made;
                    self.keys.push((header.version, id, both));
                } else {
                    self.ids.reserve_exact(1);
                    self.ids.push(id);
                }
            }
            if let Ok(Opened::Whole { .. }) = opened {
                self.prove(id);
            }
            result = opened;
            if is_open {
                break;
            }
        }
        match result {
            Ok(Opened::Cut(_)) if !self.is_proven => Ok(Opened::Cut(None)),
            result => result,
        }
    }

    /// Its keys have decrypted a packet: they are tried first from now on.
    fn prove(&mut self, id: ConnectionId) {
        if self.is_proven && self.ids.last() == Some(&id) {
            return;
        }
        if let Some(place) = self.ids.iter().position(|known| *known == id) {
            self.ids[place..].rotate_left(1);
            self.is_proven = true;
        }
    }
}
