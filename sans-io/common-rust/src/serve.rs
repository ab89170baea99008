//! The loop of a program: an order in, an answer out.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    contract::Role,
    wire::{Answer, Order, Received},
};

/// A QUIC stack with files to fetch or to serve.
pub trait Endpoint {
    /// Takes what has arrived, and says what to send. `now_ns`: nanoseconds since the start of the run, never less than
    /// before.
    ///
    /// # Errors
    /// Where the endpoint fails, and with it the run.
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer>;
}

/// Answers orders until standard input ends. A client has to be done then.
///
/// # Errors
/// Those of the endpoint, bytes that are no orders, an answer beyond the limits, an end before a client is done.
pub fn serve(role: Role, endpoint: &mut impl Endpoint) -> Result<()> {
    let input = BufReader::with_capacity(256 * 1024, io::stdin().lock());
    // Not standard output itself, which looks for the ends of lines.
    let output = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    let is_done = exchange(endpoint, input, output)?;
    ensure!(is_done || role == Role::Server, "orders ended before all files were there");
    Ok(())
}

/// True where the last answer said that all is done.
fn exchange(endpoint: &mut impl Endpoint, mut input: impl Read, mut output: impl Write) -> Result<bool> {
    let mut is_done = false;
    let mut last_ns = 0;
    while let Some(bytes) = read_order(&mut input).context("reading an order")? {
        let order = Order::parse(&bytes).context("reading an order")?;
        ensure!(!is_done, "found an order after the last answer");
        ensure!(order.now_ns >= last_ns, "order: found {} ns after {last_ns} ns", order.now_ns);
        last_ns = order.now_ns;
        let answer = endpoint.handle(order.now_ns, order.datagrams)?;
        is_done = answer.is_done;
        output.write_all(&answer.to_bytes().context("writing an answer")?).context("writing an answer")?;
        output.flush().context("writing an answer")?;
    }
    Ok(is_done)
}

/// What follows the length; `None`: the input ends.
fn read_order(input: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut found = 0;
    while found < length.len() {
        match input.read(&mut length[found..]) {
            Ok(0) if found == 0 => return Ok(None),
            Ok(0) => bail!("the input ends within the length"),
            Ok(count) => found += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let expected = u32::from_le_bytes(length);
    // Grows with what comes: the length may be anything.
    let mut bytes = Vec::new();
    let found = input.take(expected.into()).read_to_end(&mut bytes)?;
    ensure!(found == expected as usize, "found {found} bytes, expected {expected}");
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Done when that many orders have come.
    struct Counter(usize);

    impl Endpoint for Counter {
        fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
            ensure!(datagrams.is_empty(), "found a datagram");
            self.0 -= 1;
            Ok(Answer { is_done: self.0 == 0, next: Some(now_ns + 1), buffers: Vec::new() })
        }
    }

    fn orders(times: &[u64]) -> Vec<u8> {
        times.iter().flat_map(|&now_ns| Order { now_ns, datagrams: Vec::new() }.to_bytes().unwrap()).collect()
    }

    fn run(input: &[u8], count: usize) -> (Result<bool>, Vec<u8>) {
        let mut output = Vec::new();
        (exchange(&mut Counter(count), input, &mut output), output)
    }

    #[test]
    fn each_order_has_one_answer() {
        let (outcome, output) = run(&orders(&[0, 5, 5]), 3);
        assert!(outcome.unwrap());
        let expected = [(false, 1), (false, 6), (true, 6)].map(|(is_done, next)| Answer {
            is_done,
            next: Some(next),
            buffers: Vec::new(),
        });
        assert_eq!(output, expected.map(|answer| answer.to_bytes().unwrap()).concat());
        assert!(!run(&orders(&[0]), 2).0.unwrap());
        assert!(!run(&[], 2).0.unwrap());
    }

    #[test]
    fn what_breaks_the_protocol_is_an_error() {
        let bytes = orders(&[1]);
        for end in 1..bytes.len() {
            assert!(run(&bytes[..end], 2).0.is_err(), "{end}");
        }
        assert!(run(&orders(&[1, 0]), 3).0.is_err(), "time goes back");
        assert!(run(&orders(&[1, 2]), 1).0.is_err(), "after the last answer");
        assert!(run(&[0xff; 100], 1).0.is_err());
        let datagram = Order { now_ns: 0, datagrams: vec![Received { ecn: 0, payload: vec![1] }] };
        assert_eq!(run(&datagram.to_bytes().unwrap(), 1).0.unwrap_err().to_string(), "found a datagram");
    }
}
