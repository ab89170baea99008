//! What both ends say over the connection beside the datagrams: as in [`control`](crate::control), a JSON object in each line.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::Arrivals;
use crate::control::{ControlError, Talk, VERSION, refused};

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdpTest {
    /// Number of the test, in every datagram.
    pub number: u64,
    /// Whether the server sends.
    pub server_sends: bool,
    /// Bytes of a datagram's UDP payload.
    pub length: u16,
    /// Bits of UDP payload in a second; 0: as many as the sender can.
    pub bits_per_second: u64,
    /// How long the test lasts, in nanoseconds.
    pub nanoseconds: u64,
}

/// What a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum UdpQuestion {
    /// First of all.
    Hello {
        /// See [`VERSION`].
        version: u32,
        /// True: of plain UDP.
        #[serde(default)]
        udp: bool,
    },
    /// A test begins. If the server sends, it does so when a datagram of the test has come from this client.
    Begin(UdpTest),
    /// How far has it come?
    Reading,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum UdpAnswer {
    /// Answer to `Hello` and `Begin`.
    Ready,
    /// Answer to `Reading`.
    Reading(UdpReading),
    /// Refusal instead of an answer.
    Refused {
        /// Why.
        why: String,
    },
}

/// An end at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UdpReading {
    /// Datagrams that it has sent.
    pub sent: u64,
    /// Datagrams that its socket did not take, because a buffer of the kernel was full.
    pub unsent: u64,
    /// Whether it sends no more.
    pub is_over: bool,
    /// What it has received.
    pub arrivals: Arrivals,
    /// Datagrams that its socket dropped because its buffer was full; `None`: the kernel does not say.
    pub socket_drops: Option<u64>,
}

/// The client's end.
#[derive(Debug)]
pub struct Connection(Talk);

impl Connection {
    /// Connects and says hello.
    ///
    /// # Errors
    /// Where nobody is there, or somebody else, or a server of a stack.
    pub fn open(server: SocketAddr) -> Result<Self, ControlError> {
        let mut connection = Self(Talk::open(server)?);
        connection.ask(&UdpQuestion::Hello { version: VERSION, udp: true })?;
        Ok(connection)
    }

    /// Asks, and returns the answer.
    ///
    /// # Errors
    /// Where the server refuses, or does not answer.
    pub fn ask(&mut self, question: &UdpQuestion) -> Result<UdpAnswer, ControlError> {
        match self.0.ask(question)? {
            UdpAnswer::Refused { why } => Err(refused(&why)),
            answer => Ok(answer),
        }
    }

    /// How far the server has come.
    ///
    /// # Errors
    /// Where it does not answer that.
    pub fn reading(&mut self) -> Result<UdpReading, ControlError> {
        match self.ask(&UdpQuestion::Reading)? {
            UdpAnswer::Reading(reading) => Ok(reading),
            other => Err(ControlError::Foreign { found: format!("{other:?}") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Answer, Question, line, parse};

    #[test]
    fn a_server_of_a_stack_knows_the_hello_and_answers_with_another_one() {
        let hello = line(&UdpQuestion::Hello { version: VERSION, udp: true });
        assert_eq!(parse::<Question>(hello.trim_ascii_end()).unwrap(), Question::Hello { version: VERSION });
        let answer = line(&Answer::Hello { stack: "x".to_owned(), authority: String::new() });
        assert!(matches!(parse::<UdpAnswer>(answer.trim_ascii_end()), Err(ControlError::Foreign { .. })));
        let hello = line(&Question::Hello { version: VERSION });
        let found = parse::<UdpQuestion>(hello.trim_ascii_end()).unwrap();
        assert_eq!(found, UdpQuestion::Hello { version: VERSION, udp: false });
    }
}
