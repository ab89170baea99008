//! One netlink route socket: a request, and its answers.

use anyhow::{Context, Result, bail};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

/// A socket in the namespace it was opened in.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket in the calling thread's namespace.
    ///
    /// # Errors
    /// Where the kernel refuses one.
    pub fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE).context("netlink socket")?;
        socket.bind_auto().context("netlink bind")?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Asks for something to be made that is not there yet.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn create(&mut self, message: RouteNetlinkMessage) -> Result<()> {
        self.request(message, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Asks for something that is there to be replaced.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn replace(&mut self, message: RouteNetlinkMessage) -> Result<()> {
        self.request(message, NLM_F_ACK | NLM_F_REPLACE).map(drop)
    }

    /// Asks for something to be changed.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn change(&mut self, message: RouteNetlinkMessage) -> Result<()> {
        self.request(message, NLM_F_ACK).map(drop)
    }

    /// Asks for all there is of a kind.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn dump(&mut self, message: RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>> {
        self.request(message, NLM_F_DUMP)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = NLM_F_REQUEST | flags;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).context("netlink send")?;
        self.answers()
    }

    fn answers(&mut self) -> Result<Vec<RouteNetlinkMessage>> {
        let mut answers = Vec::new();
        loop {
            let (bytes, _) = self.socket.recv_from_full().context("netlink receive")?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).context("netlink answer")?;
                let length = (answer.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
                match answer.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => bail!(error.to_io()),
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(message) => answers.push(message),
                    _ => {}
                }
            }
        }
    }
}
