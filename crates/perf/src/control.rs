//! The connection over which a client asks a server on another machine for its counters: TCP, a JSON object in each line, the
//! port the same as that of QUIC. The server answers each line with one.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use quiclab_units::shown;

use crate::Sample;

/// Version of what is said. Another one is refused.
pub const VERSION: u32 = 1;

/// Longest line, in bytes: a certificate is in one of them.
const LONGEST_LINE: usize = 64 << 10;

/// Longest reason of the other end that is shown, in characters.
const LONGEST_REASON: usize = 200;

/// How long the other end may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Question {
    /// First of all.
    Hello {
        /// See [`VERSION`].
        version: u32,
    },
    /// A test begins. The answer is a [`Sample`], as to the next one.
    Start,
    /// How far has it come?
    Sample,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Answer to `Hello`.
    Hello {
        /// Name and version of the stack.
        stack: String,
        /// PEM of the authority that signed the server's certificate.
        authority: String,
    },
    /// Answer to `Start` and `Sample`.
    Sample {
        /// The server's.
        sample: Box<Sample>,
    },
    /// Refusal instead of an answer.
    Refused {
        /// Why.
        why: String,
    },
}

/// The other end does not do as it should.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The other end cannot be reached, or went away.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other end sent something else.
    #[error("found {found:?}, expected a line of quiclab perf, version {VERSION}")]
    Foreign {
        /// The beginning of it.
        found: String,
    },
    /// The other end refuses: why, in its words and one line.
    #[error("the server says: {0}")]
    Refused(String),
}

/// Lines of foreign bytes.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Takes what came; returns the first whole line.
    ///
    /// # Errors
    /// A line that is too long.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, ControlError> {
        self.0.extend_from_slice(bytes);
        if let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<_> = self.0.drain(..=end).collect();
            line.pop();
            return Ok(Some(line));
        }
        if self.0.len() > LONGEST_LINE { Err(foreign(&self.0)) } else { Ok(None) }
    }
}

/// What a line says.
///
/// # Errors
/// Where it is not such a line.
pub fn parse<T: for<'a> Deserialize<'a>>(line: &[u8]) -> Result<T, ControlError> {
    serde_json::from_slice(line).map_err(|_| foreign(line))
}

/// A line that says it.
pub fn line<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

fn foreign(bytes: &[u8]) -> ControlError {
    ControlError::Foreign { found: String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned() }
}

/// What the other end gives as its reason, in one line, which is quoted as its own.
pub(crate) fn refused(why: &str) -> ControlError {
    let beginning: String = why.chars().take(LONGEST_REASON).collect();
    ControlError::Refused(shown(&beginning).into_owned())
}

/// A connection to a server, over which each line is answered by one.
#[derive(Debug)]
pub(crate) struct Talk {
    stream: TcpStream,
    lines: Lines,
    timeout: Duration,
}

impl Talk {
    /// Connects.
    pub(crate) fn open(server: SocketAddr) -> Result<Self, ControlError> {
        Self::open_within(server, TIMEOUT)
    }

    /// Connects to an end that may take so long for an answer.
    fn open_within(server: SocketAddr, timeout: Duration) -> Result<Self, ControlError> {
        let stream = TcpStream::connect_timeout(&server, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, lines: Lines::default(), timeout })
    }

    /// Says something, and waits for the answer.
    pub(crate) fn ask<A: for<'a> Deserialize<'a>>(&mut self, question: &impl Serialize) -> Result<A, ControlError> {
        self.stream.write_all(&line(question))?;
        let mut buffer = [0; 4096];
        let mut length = 0;
        let begin = Instant::now();
        loop {
            if let Some(line) = self.lines.take(&buffer[..length])? {
                return parse(&line);
            }
            // However slowly the other end says something, it has to be a whole line in time.
            if begin.elapsed() > self.timeout {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            length = self.stream.read(&mut buffer)?;
            if length == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

/// The client's end.
#[derive(Debug)]
pub struct Control(Talk);

impl Control {
    /// Connects and says hello. Returns the name of the server's stack and the PEM of its authority.
    ///
    /// # Errors
    /// Where nobody is there, or somebody else, or the server tests with another client.
    pub fn connect(server: SocketAddr) -> Result<(Self, String, String), ControlError> {
        let mut control = Self(Talk::open(server)?);
        match control.ask(&Question::Hello { version: VERSION })? {
            Answer::Hello { stack, authority } => Ok((control, shown(&stack).into_owned(), authority)),
            other => Err(foreign(&line(&other))),
        }
    }

    /// The server's counters, from the beginning of a test where `starts`.
    ///
    /// # Errors
    /// Where the server does not answer.
    pub fn sample(&mut self, starts: bool) -> Result<Sample, ControlError> {
        match self.ask(if starts { &Question::Start } else { &Question::Sample })? {
            Answer::Sample { sample } => Ok(*sample),
            other => Err(foreign(&line(&other))),
        }
    }

    fn ask(&mut self, question: &Question) -> Result<Answer, ControlError> {
        match self.0.ask(question)? {
            Answer::Refused { why } => Err(refused(&why)),
            answer => Ok(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    fn answering(answers: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                let mut byte = [0];
                while stream.read(&mut byte).unwrap() == 1 && byte != *b"\n" {}
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn a_server_is_asked_and_answers() {
        let server = answering(&[
            "{\"answer\":\"hello\",\"stack\":\"x 1\",\"authority\":\"pem\"}\n",
            "{\"answer\":\"refused\",\"why\":\"busy\"}\n",
        ]);
        let (mut control, stack, authority) = Control::connect(server).unwrap();
        assert_eq!((&stack[..], &authority[..]), ("x 1", "pem"));
        assert_eq!(control.sample(true).unwrap_err().to_string(), "the server says: busy");
        assert!(matches!(control.sample(false).unwrap_err(), ControlError::Io(_)));
    }

    #[test]
    fn a_reason_is_one_short_line_and_no_message_of_ours() {
        let server = answering(&["{\"answer\":\"refused\",\"why\":\"no\\nquiclab: all tests passed\\u001b[2J\"}\n"]);
        let error = Control::connect(server).unwrap_err().to_string();
        assert_eq!(error, "the server says: no\\nquiclab: all tests passed\\u001b[2J");
        assert!(refused(&"x".repeat(100_000)).to_string().len() < 300);
    }

    #[test]
    fn a_server_that_says_a_byte_now_and_then_does_not_hold_a_client() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Until the client has gone.
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut talk = Talk::open_within(server, Duration::from_millis(200)).unwrap();
        let Err(ControlError::Io(error)) = talk.ask::<Answer>(&Question::Start) else { panic!("an answer") };
        // The socket has its own name for it.
        assert!([io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&error.kind()), "{error}");
    }

    #[test]
    fn somebody_else_is_recognised() {
        let error = Control::connect(answering(&["HTTP/1.1 400 Bad Request\r\n"])).unwrap_err();
        assert!(
            error.to_string().contains("found \"HTTP/1.1 400 Bad Request\\r\", expected a line of quiclab perf"),
            "{error}"
        );
        let mut lines = Lines::default();
        assert!(lines.take(&[b'x'; LONGEST_LINE]).unwrap().is_none());
        assert!(lines.take(b"y").is_err());
    }

    #[test]
    fn every_message_survives_its_line() {
        for question in [Question::Hello { version: 1 }, Question::Start, Question::Sample] {
            assert_eq!(parse::<Question>(line(&question).strip_suffix(b"\n").unwrap()).unwrap(), question);
        }
        let answer = Answer::Sample { sample: Box::default() };
        assert_eq!(parse::<Answer>(line(&answer).strip_suffix(b"\n").unwrap()).unwrap(), answer);
    }
}
