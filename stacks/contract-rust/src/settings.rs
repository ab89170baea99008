//! What the environment asks for, and what an endpoint answers: yes, or "not supported".

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use crate::{
    perf,
    request::Request,
    support::{Asked, SettingsError, Support},
    values::{Clock, Gso, GsoRate, Http, IpVersion, Pacing, Role, TestCase},
};

/// Everything an endpoint was asked to do. If the value exists, it can be done. `C` is what the stack calls its congestion
/// controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<C> {
    /// Which end it is.
    pub role: Role,
    /// What is to happen.
    pub test_case: TestCase,
    /// What the client fetches, in order. Empty for a server, never empty for a client.
    pub requests: Vec<Request>,
    /// What the client sends and asks for on each stream in [`TestCase::Perf`], which has one for each of `requests`. `None` in other test
    /// cases, and for a server.
    pub perf: Option<perf::Sizes>,
    /// How long the client goes on in [`TestCase::Perf`], from the handshake; `None`: until every response is there.
    pub perf_duration: Option<Duration>,
    /// What the client does in [`TestCase::Perf`]; [`perf::Load::Bulk`] in other test cases, and for a server.
    pub perf_load: perf::Load,
    /// Time from the beginning of an exchange to that of the next one with [`perf::Load::Periodic`]; `None` with every other load.
    pub perf_period: Option<Duration>,
    /// File that its latencies are written to at the end; `None`: they are not.
    pub perf_latencies: Option<PathBuf>,
    /// Where it is written down how far [`TestCase::Perf`] has come; `None`: nowhere.
    pub perf_progress: Option<perf::Progress>,
    /// Folder the server answers from.
    pub www: PathBuf,
    /// Folder the client stores bodies in, each under the last part of its URL's path.
    pub downloads: PathBuf,
    /// Folder of `cert.pem` (leaf first), `priv.key` and `ca.pem`.
    pub certs: PathBuf,
    /// Folder for logs; `None`: there are none.
    pub logs: Option<PathBuf>,
    /// File that TLS secrets are appended to; `None`: they are not.
    pub key_log: Option<PathBuf>,
    /// Folder of qlog files; `None`: none are written.
    pub qlog: Option<PathBuf>,
    /// How files are asked for.
    pub http: Http,
    /// Most requests that the client has open at the same time; `None`: as many as the server allows.
    pub streams: Option<usize>,
    /// Family of the addresses.
    pub ip: IpVersion,
    /// How long the server's certificate takes to come.
    pub certificate_delay: Duration,
    /// Congestion control.
    pub congestion_control: C,
    /// Segmentation offload.
    pub gso: Gso,
    /// Most packets in one system call; `None`: as many as the stack likes.
    pub gso_segments: Option<usize>,
    /// How the kernel is told the rate of a batch; `None` but with [`Gso::Paced`].
    pub gso_rate: Option<GsoRate>,
    /// Who spaces the packets.
    pub pacing: Pacing,
    /// The clock of send times.
    pub txtime_clock: Clock,
    /// True: send times are deadlines (SOF_TXTIME_DEADLINE_MODE).
    pub txtime_deadline: bool,
    /// Whether slow start may end by HyStart++; `None` leaves it to the stack.
    pub hystart: Option<bool>,
    /// UDP port the server listens on.
    pub port: u16,
}

impl<C: Copy> Settings<C> {
    /// Reads the endpoint contract from environment variables.
    ///
    /// # Errors
    /// [`SettingsError::NotSupported`] for whatever the stack cannot honour, [`SettingsError::Invalid`] for what cannot be
    /// understood.
    pub fn parse(
        support: &Support<C>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let asked = Asked::new(variables)?;
        let role = match asked.value("ROLE") {
            Some("server") => Role::Server,
            Some("client") => Role::Client,
            _ => return Err(asked.invalid("ROLE", "server or client")),
        };
        let test_cases = match role {
            Role::Server => support.server,
            Role::Client => support.client,
        };
        let test_case = asked.stated("TESTCASE", test_cases)?;
        let http = asked.choice("QUICLAB_HTTP", support.http)?;
        if test_case == TestCase::Http3 && http != Http::H3 {
            return Err(asked.refusal("QUICLAB_HTTP", "h3 with http3"));
        }
        let requests = match role {
            Role::Server => Vec::new(),
            Role::Client => Request::parse_all(asked.value("REQUESTS").unwrap_or_default(), test_case)?,
        };
        let port = asked.number("QUICLAB_PORT", "a port, 0 to 65535")?;
        let folder = |name, default: &str| PathBuf::from(asked.value(name).unwrap_or(default));
        let path = |name| asked.value(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut settings = Self {
            role,
            test_case,
            requests,
            perf: perf_sizes(&asked, role, test_case)?,
            perf_duration: perf_duration(&asked, role, test_case)?,
            perf_load: perf::Load::Bulk,
            perf_period: None,
            perf_latencies: None,
            perf_progress: perf_progress(&asked, test_case)?,
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            certs: folder("CERTS", "/certs"),
            logs: path("LOGS"),
            key_log: path("SSLKEYLOGFILE"),
            qlog: path("QLOGDIR"),
            http,
            streams: streams(&asked)?,
            ip: asked.choice("QUICLAB_IP", support.ip)?,
            certificate_delay: certificate_delay(&asked, support)?,
            congestion_control: asked.choice("QUICLAB_CCA", support.congestion_control)?.1,
            gso: asked.choice("QUICLAB_GSO", support.gso)?,
            gso_segments: gso_segments(&asked, support)?,
            gso_rate: None,
            pacing: asked.choice("QUICLAB_PACING", support.pacing)?,
            txtime_clock: asked.choice("QUICLAB_TXTIME_CLOCK", support.extras.txtime_clocks)?,
            txtime_deadline: false,
            hystart: asked
                .choice_or_none("QUICLAB_HYSTART", if support.extras.hystart { &[true, false] } else { &[] })?,
            port: port.unwrap_or(443),
        };
        (settings.perf_load, settings.perf_latencies) = perf_load(&asked, support, &settings)?;
        settings.perf_period = perf_period(&asked, &settings)?;
        settings.gso_rate = gso_rate(&asked, support, settings.gso)?;
        settings.txtime_deadline = txtime_deadline(&asked, settings.txtime_clock)?;
        (support.rules)(&mut settings, &asked)?;
        Ok(settings)
    }

    /// Starts to write down how far it has come, until the value is dropped; `None`: nobody asked for that.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn report_progress(&self) -> Result<Option<perf::Reporter>, SettingsError> {
        let reporter = self.perf_progress.as_ref().map(|progress| {
            perf::Reporter::start(progress).map_err(|error| SettingsError::Invalid {
                variable: PROGRESS,
                found: format!("{}: {error}", progress.path.display()),
                expected: "a file that can be written",
            })
        });
        reporter.transpose()
    }

    /// The requests of the client's first connection, and those of its second one: none, but in the test cases that take
    /// two connections.
    pub fn connections(&self) -> (&[Request], &[Request]) {
        let first = if self.test_case.takes_two_connections() { 1 } else { self.requests.len() };
        self.requests.split_at(first.min(self.requests.len()))
    }

    /// Host name of the client's server.
    pub fn host(&self) -> &str {
        self.requests.first().map_or("", |request| &request.host)
    }

    /// The address of the client's server: the first one of the family that was asked for.
    ///
    /// # Errors
    /// Where the host has none.
    pub fn resolve(&self) -> io::Result<SocketAddr> {
        match self.requests.first() {
            Some(request) => request.resolve(self.ip),
            None => Err(io::Error::other("REQUESTS: found no URL")),
        }
    }

    /// The address that the role binds its socket to: the server's port, or any port of a client.
    pub fn local(&self) -> SocketAddr {
        let port = match self.role {
            Role::Server => self.port,
            Role::Client => 0,
        };
        SocketAddr::new(self.ip.unspecified(), port)
    }
}

fn streams(asked: &Asked) -> Result<Option<usize>, SettingsError> {
    const EXPECTED: &str = "a whole number, at least 1";
    match asked.number("QUICLAB_STREAMS", EXPECTED)? {
        Some(0) => Err(asked.invalid("QUICLAB_STREAMS", EXPECTED)),
        streams => Ok(streams),
    }
}

fn perf_sizes(asked: &Asked, role: Role, test_case: TestCase) -> Result<Option<perf::Sizes>, SettingsError> {
    const REQUEST: &str = "QUICLAB_PERF_REQUEST";
    const RESPONSE: &str = "QUICLAB_PERF_RESPONSE";
    const EXPECTED: &str = "a whole number of bytes, for REQUEST at least 8";
    let [request, response] = [asked.number(REQUEST, EXPECTED)?, asked.number(RESPONSE, EXPECTED)?];
    if test_case != TestCase::Perf || role == Role::Server {
        let set = [REQUEST, RESPONSE].into_iter().find(|name| asked.value(name).is_some());
        return match set {
            Some(name) => Err(asked.refusal(name, "it for a client with TESTCASE=perf only")),
            None => Ok(None),
        };
    }
    let request = request.filter(|request| *request >= perf::HEAD).ok_or_else(|| asked.invalid(REQUEST, EXPECTED))?;
    let response = response.ok_or_else(|| asked.invalid(RESPONSE, EXPECTED))?;
    Ok(Some(perf::Sizes { request, response }))
}

const PROGRESS: &str = "QUICLAB_PERF_PROGRESS";

fn perf_duration(asked: &Asked, role: Role, test_case: TestCase) -> Result<Option<Duration>, SettingsError> {
    const NAME: &str = "QUICLAB_PERF_DURATION";
    const EXPECTED: &str = "milliseconds, a whole number, at least 1";
    if asked.value(NAME).is_some() && (test_case != TestCase::Perf || role == Role::Server) {
        return Err(asked.refusal(NAME, "it for a client with TESTCASE=perf only"));
    }
    match asked.number(NAME, EXPECTED)? {
        Some(0) => Err(asked.invalid(NAME, EXPECTED)),
        milliseconds => Ok(milliseconds.map(Duration::from_millis)),
    }
}

fn perf_load<C>(
    asked: &Asked,
    support: &Support<C>,
    settings: &Settings<C>,
) -> Result<(perf::Load, Option<PathBuf>), SettingsError> {
    const LOAD: &str = "QUICLAB_PERF_LOAD";
    const LATENCIES: &str = "QUICLAB_PERF_LATENCIES";
    if settings.perf.is_none() {
        let set = [LOAD, LATENCIES].into_iter().find(|name| asked.value(name).is_some());
        return match set {
            Some(name) => Err(asked.refusal(name, "it for a client with TESTCASE=perf only")),
            None => Ok((perf::Load::Bulk, None)),
        };
    }
    let load = asked.choice(LOAD, support.extras.perf_loads)?;
    let latencies = asked.value(LATENCIES).filter(|path| !path.is_empty()).map(PathBuf::from);
    if latencies.is_some() && !load.has_latencies() {
        return Err(asked.invalid(LATENCIES, "nothing, but with QUICLAB_PERF_LOAD=requests, periodic or handshakes"));
    }
    if load.needs_duration() && settings.perf_duration.is_none() {
        return Err(asked.invalid(LOAD, "bulk, bidirectional or periodic, or QUICLAB_PERF_DURATION beside it"));
    }
    Ok((load, latencies))
}

fn perf_period<C>(asked: &Asked, settings: &Settings<C>) -> Result<Option<Duration>, SettingsError> {
    const NAME: &str = "QUICLAB_PERF_PERIOD";
    const EXPECTED: &str = "microseconds, a whole number, at least 1, together with QUICLAB_PERF_LOAD=periodic";
    if asked.value(NAME).is_some() && settings.perf.is_none() {
        return Err(asked.refusal(NAME, "it for a client with TESTCASE=perf only"));
    }
    let period: Option<u32> = asked.number(NAME, EXPECTED)?;
    let is_periodic = settings.perf_load == perf::Load::Periodic;
    if period.is_some() != is_periodic || period == Some(0) {
        return Err(asked.invalid(NAME, EXPECTED));
    }
    if is_periodic && settings.streams.is_some() {
        return Err(
            asked.invalid("QUICLAB_STREAMS", "nothing with QUICLAB_PERF_LOAD=periodic, which waits for no response")
        );
    }
    Ok(period.map(|period| Duration::from_micros(period.into())))
}

fn perf_progress(asked: &Asked, test_case: TestCase) -> Result<Option<perf::Progress>, SettingsError> {
    const INTERVAL: &str = "QUICLAB_PERF_INTERVAL";
    const EXPECTED: &str = "milliseconds, a whole number, 10 to 60000, together with QUICLAB_PERF_PROGRESS";
    if let Some(name) = [PROGRESS, INTERVAL].into_iter().find(|name| asked.value(name).is_some())
        && test_case != TestCase::Perf
    {
        return Err(asked.refusal(name, "it with TESTCASE=perf only"));
    }
    let interval: Option<u64> = asked.number(INTERVAL, EXPECTED)?;
    let path = asked.value(PROGRESS).filter(|path| !path.is_empty()).map(PathBuf::from);
    if interval.is_some_and(|interval| path.is_none() || !(10..=60_000).contains(&interval)) {
        return Err(asked.invalid(INTERVAL, EXPECTED));
    }
    let interval = Duration::from_millis(interval.unwrap_or(1000));
    Ok(path.map(|path| perf::Progress { path, interval }))
}

fn gso_segments<C>(asked: &Asked, support: &Support<C>) -> Result<Option<usize>, SettingsError> {
    const EXPECTED: &str = "a whole number, at least 1";
    match asked.number("QUICLAB_GSO_SEGMENTS", EXPECTED)? {
        Some(0) => Err(asked.invalid("QUICLAB_GSO_SEGMENTS", EXPECTED)),
        Some(_) if !support.extras.gso_segments => Err(asked.refusal("QUICLAB_GSO_SEGMENTS", "no such setting")),
        segments => Ok(segments),
    }
}

fn gso_rate<C>(asked: &Asked, support: &Support<C>, gso: Gso) -> Result<Option<GsoRate>, SettingsError> {
    const NAME: &str = "QUICLAB_GSO_RATE";
    match gso {
        Gso::Paced => asked.choice(NAME, support.extras.gso_rates).map(Some),
        Gso::Off | Gso::On if asked.value(NAME).is_some() => Err(asked.refusal(NAME, "it with QUICLAB_GSO=paced only")),
        Gso::Off | Gso::On => Ok(None),
    }
}

fn txtime_deadline(asked: &Asked, clock: Clock) -> Result<bool, SettingsError> {
    const NAME: &str = "QUICLAB_TXTIME_DEADLINE";
    match asked.choice_or_none(NAME, &[true, false])? {
        Some(true) if clock != Clock::Tai => Err(asked.refusal(NAME, "off, or on with QUICLAB_TXTIME_CLOCK=tai")),
        deadline => Ok(deadline.unwrap_or(false)),
    }
}

fn certificate_delay<C>(asked: &Asked, support: &Support<C>) -> Result<Duration, SettingsError> {
    let expected = if support.certificate_delay { "milliseconds, a whole number" } else { "0" };
    let delay = asked.number("QUICLAB_CERT_DELAY", expected)?.map_or(Duration::ZERO, Duration::from_millis);
    if !delay.is_zero() && !support.certificate_delay {
        return Err(asked.refusal("QUICLAB_CERT_DELAY", expected));
    }
    Ok(delay)
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
