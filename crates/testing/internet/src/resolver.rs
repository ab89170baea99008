//! A DNS server that knows the names of a description, and no others.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use hickory_proto::{
    op::{Message, MessageType, OpCode, ResponseCode},
    rr::{
        Name as DnsName, RData, Record, RecordType,
        rdata::{
            A, AAAA, HTTPS, SVCB,
            svcb::{Alpn, SvcParamKey, SvcParamValue},
        },
    },
};

use crate::{
    description::{Name, Resolution},
    error::StartError,
};

/// How long answers may be kept, in seconds.
const TTL_S: u32 = 300;
/// How often the thread looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The longest message without EDNS is 512 bytes; questions with it are hardly longer.
const MOST_BYTES: usize = 4096;

/// A running resolver. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Resolver {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

type Names = HashMap<String, Resolution>;

impl Resolver {
    /// Answers questions that come to `address` by UDP.
    pub(crate) fn start(address: SocketAddr, names: &[Name]) -> Result<Self, StartError> {
        let open = || {
            let socket = UdpSocket::bind(address)?;
            socket.set_read_timeout(Some(POLL_INTERVAL))?;
            Ok::<_, io::Error>(socket)
        };
        let socket = open().map_err(|why| StartError::kernel(format!("a resolver at {address}"), why))?;
        let names: Names = names.iter().map(|name| (name.name.to_ascii_lowercase(), name.resolution.clone())).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = Builder::new().name("internet-names".to_owned()).spawn({
            let stop = stop.clone();
            move || serve(&socket, &names, &stop)
        });
        let thread = Some(thread.map_err(|why| StartError::kernel("a thread", why))?);
        Ok(Self { thread, stop })
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, names: &Names, stop: &AtomicBool) {
    let mut buffer = [0; MOST_BYTES];
    while !stop.load(Ordering::Relaxed) {
        // A timeout, or an ICMP message of a client that has gone.
        let Ok((bytes, client)) = socket.recv_from(&mut buffer) else { continue };
        if let Some(answer) = answer(&buffer[..bytes], names) {
            // A client that is gone needs none.
            let _ = socket.send_to(&answer, client);
        }
    }
}

/// The answer to a message. `None` for what is no question, and names that nobody answers for.
fn answer(question: &[u8], names: &Names) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).ok()?;
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.recursion_available = true;
    answer.add_queries(question.queries.iter().cloned());
    let [query] = &question.queries[..] else {
        answer.metadata.response_code = ResponseCode::FormErr;
        return answer.to_vec().ok();
    };
    if question.metadata.op_code != OpCode::Query {
        answer.metadata.response_code = ResponseCode::NotImp;
        return answer.to_vec().ok();
    }
    let name = query.name().to_ascii();
    match names.get(&name.trim_end_matches('.').to_ascii_lowercase()) {
        None => answer.metadata.response_code = ResponseCode::NXDomain,
        Some(Resolution::ServerFailure) => answer.metadata.response_code = ResponseCode::ServFail,
        Some(Resolution::NoAnswer) => return None,
        Some(Resolution::Addresses { addresses, has_https_record }) => {
            answer.add_answers(records(query.name(), query.query_type(), addresses, *has_https_record));
        }
    }
    answer.to_vec().ok()
}

fn records(name: &DnsName, kind: RecordType, addresses: &[IpAddr], has_https_record: bool) -> Vec<Record> {
    let of = |data| Record::from_rdata(name.clone(), TTL_S, data);
    match kind {
        RecordType::A | RecordType::AAAA => {
            let data = addresses.iter().filter_map(|address| match (address, kind) {
                (IpAddr::V4(address), RecordType::A) => Some(RData::A(A(*address))),
                (IpAddr::V6(address), RecordType::AAAA) => Some(RData::AAAA(AAAA(*address))),
                _ => None,
            });
            data.map(of).collect()
        }
        RecordType::HTTPS if has_https_record => {
            let alpn = (SvcParamKey::Alpn, SvcParamValue::Alpn(Alpn(vec!["h3".to_owned()])));
            vec![of(RData::HTTPS(HTTPS(SVCB::new(1, DnsName::root(), vec![alpn]))))]
        }
        _ => Vec::new(),
    }
}
