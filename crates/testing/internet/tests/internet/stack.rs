//! quinn as a server with a certificate of any length that comes late, and as a client.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig, TransportConfig,
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use rustls::{
    crypto::ring::{default_provider, sign::any_supported_type},
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::runtime::{Builder, Runtime};

use crate::support::with_room;

/// What the certificate is for.
pub const NAME: &str = "server.example";

/// Servers of other stacks speak it, too.
const ALPN: &[u8] = b"hq-interop";

/// How a server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Bytes that the certificate has, at least.
    pub certificate_bytes: usize,
    /// Time until the certificate is there.
    pub certificate_delay: Duration,
    /// Whether it asks for a token first.
    pub sends_retry: bool,
}

/// A server that runs until the process ends.
pub struct Server {
    pub address: SocketAddr,
    certificate: CertificateDer<'static>,
}

#[derive(Debug)]
struct Late {
    key: Arc<CertifiedKey>,
    delay: Duration,
}

impl ResolvesServerCert for Late {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        thread::sleep(self.delay);
        Some(self.key.clone())
    }
}

pub fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

impl Server {
    pub fn start(manner: Manner) -> Self {
        let filler = (0..manner.certificate_bytes / 100).map(|number| format!("{number:0>60}.{:x<30}.example", ""));
        let names: Vec<_> = [NAME.to_owned()].into_iter().chain(filler).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let key = CertifiedKey::new(vec![certificate.clone()], any_supported_type(&key).unwrap());
        let resolver = Late { key: Arc::new(key), delay: manner.certificate_delay };
        let mut tls = rustls::ServerConfig::builder_with_provider(default_provider().into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            runtime(1).block_on(async {
                let endpoint = endpoint("127.0.0.1:0", Some(config));
                sender.send(endpoint.local_addr().unwrap()).unwrap();
                while let Some(incoming) = endpoint.accept().await {
                    if manner.sends_retry && !incoming.remote_address_validated() {
                        incoming.retry().unwrap();
                        continue;
                    }
                    tokio::spawn(async move {
                        if let Ok(connection) = incoming.await {
                            connection.closed().await;
                        }
                    });
                }
            });
        });
        Self { address: receiver.recv().unwrap(), certificate }
    }

    /// What a client needs to trust it.
    pub fn client_config(&self) -> ClientConfig {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let mut tls = rustls::ClientConfig::builder_with_provider(default_provider().into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(Some(Duration::from_secs(3).try_into().unwrap()));
        config.transport_config(Arc::new(transport));
        config
    }
}

/// A socket of a client. In the runtime.
pub fn client_endpoint() -> Endpoint {
    endpoint("[::]:0", None)
}

fn endpoint(address: &str, config: Option<ServerConfig>) -> Endpoint {
    let socket = with_room(UdpSocket::bind(address).unwrap());
    Endpoint::new(EndpointConfig::default(), config, socket, Arc::new(quinn::TokioRuntime)).unwrap()
}

/// One handshake, and how long it took.
pub async fn handshake(
    endpoint: &Endpoint,
    config: ClientConfig,
    address: &str,
) -> (Result<Connection, ConnectionError>, Duration) {
    let address = match address.parse().unwrap() {
        IpAddr::V4(address) => IpAddr::V6(address.to_ipv6_mapped()),
        address => address,
    };
    let began = Instant::now();
    let result = endpoint.connect_with(config, SocketAddr::new(address, 443), NAME).unwrap().await;
    (result, began.elapsed())
}
