//! The loop of a program: an order in, an answer out.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    contract::Role,
    random::{self, Seed},
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

    /// Called once, when no order follows.
    ///
    /// # Errors
    /// Where the endpoint cannot store what it has to.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The time in an order that starts the endpoint anew.
const ANEW: u64 = u64::MAX;

/// Answers orders until standard input ends. A client has to be done then.
///
/// # Errors
/// Those of the endpoint, bytes that are no orders, an answer beyond the limits, an end before a client is done, the order that starts an endpoint
/// anew.
pub fn serve(role: Role, endpoint: &mut impl Endpoint) -> Result<()> {
    let input = BufReader::with_capacity(256 * 1024, io::stdin().lock());
    let output = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    match exchange(endpoint, input, output)? {
        End::Input { is_done } => ensure!(is_done || role == Role::Server, "orders ended before all files were there"),
        End::Anew => bail!("found the order that starts an endpoint anew, which this one cannot do"),
    }
    Ok(())
}

/// The same for endpoints that can be started anew. `make` makes the endpoint, and another one with another seed whenever an order says so.
///
/// # Errors
/// As of [`serve`], but for that order.
pub fn serve_each<E: Endpoint>(role: Role, seed: &Seed, mut make: impl FnMut(&Seed) -> Result<E>) -> Result<()> {
    let mut input = BufReader::with_capacity(256 * 1024, io::stdin().lock());
    // Not standard output itself, which looks for the ends of lines.
    let mut output = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    let mut seed = seed.clone();
    for number in 1.. {
        let mut endpoint = make(&seed)?;
        let end = exchange(&mut endpoint, &mut input, &mut output)?;
        endpoint.finish()?;
        match end {
            End::Input { is_done } => {
                ensure!(is_done || role == Role::Server, "orders ended before all files were there");
                break;
            }
            End::Anew => {
                drop(endpoint);
                seed = seed.next(number);
                random::begin(&seed);
                output.write_all(&Answer::default().to_bytes()?).context("writing an answer")?;
                output.flush().context("writing an answer")?;
            }
        }
    }
    Ok(())
}

/// How an exchange of orders and answers ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The input ends; whether the last answer said that all is done.
    Input { is_done: bool },
    /// An order, which is not answered yet, starts the endpoint anew.
    Anew,
}

fn exchange(endpoint: &mut impl Endpoint, mut input: impl Read, mut output: impl Write) -> Result<End> {
    let mut is_done = false;
    let mut last_ns = 0;
    while let Some(bytes) = read_order(&mut input).context("reading an order")? {
        let order = Order::parse(&bytes).context("reading an order")?;
        if order.now_ns == ANEW && order.datagrams.is_empty() {
            return Ok(End::Anew);
        }
        ensure!(!is_done, "found an order after the last answer");
        ensure!(order.now_ns >= last_ns, "order: found {} ns after {last_ns} ns", order.now_ns);
        last_ns = order.now_ns;
        let answer = endpoint.handle(order.now_ns, order.datagrams)?;
        is_done = answer.is_done;
        output.write_all(&answer.to_bytes().context("writing an answer")?).context("writing an answer")?;
        output.flush().context("writing an answer")?;
    }
    Ok(End::Input { is_done })
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
        let end = exchange(&mut Counter(count), input, &mut output);
        (end.map(|end| end == End::Input { is_done: true }), output)
    }

    #[test]
    fn an_order_at_the_end_of_time_starts_anew_even_behind_the_last_answer() {
        let bytes = orders(&[5, ANEW, 0]);
        let mut input = &bytes[..];
        assert_eq!(exchange(&mut Counter(1), &mut input, Vec::new()).unwrap(), End::Anew);
        assert_eq!(exchange(&mut Counter(2), &mut input, Vec::new()).unwrap(), End::Input { is_done: false });
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
