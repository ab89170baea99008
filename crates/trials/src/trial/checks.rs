//! What `quiclab stacks try` asks of a stack.

use std::collections::BTreeMap;

use quiclab_experiment::{
    run::{Certificate, CertificateKey, Http, IpVersion, word},
    server_test_case,
    stack::{CertificateDelay, PERF, Role, StackManifest, TEST_CASES},
};

use crate::{claims, refusals};

/// The first check: where it fails, the others are not tried.
pub const TRANSFER: &str = "transfer";
/// How long the server's certificate takes, in milliseconds.
pub const CERTIFICATE_DELAY_MS: u64 = 300;
/// Variables of a client of `perf`: bytes that it sends and asks for.
pub const PERF_SIZES: [(&str, &str); 2] = [("QUICLAB_PERF_REQUEST", "100000"), ("QUICLAB_PERF_RESPONSE", "1000000")];
/// Kinds of checks that are no test cases.
const KINDS: &[&str] = &[
    TRANSFER,
    "settings",
    "ip",
    "multiplexing",
    "streams",
    "large-certificate",
    "rsa-certificate",
    "certificate-delay",
    "patience",
    "refusals",
];
/// The variable that says which HTTP is spoken.
pub const HTTP: &str = "QUICLAB_HTTP";
/// Settings that both sides must have.
pub const SHARED: &[&str] = &[HTTP, "QUICLAB_IP"];
/// Settings of a stack that its manifest has lists of.
const SETTINGS: &[&str] = &["QUICLAB_CCA", "QUICLAB_GSO", "QUICLAB_PACING", HTTP];
/// What a program without a manifest is said to have, and what cannot be asked for.
const BY_ITSELF: &str = "default";

/// Variables of a check, by name.
pub type Variables = BTreeMap<String, String>;

/// The stacks of a try.
pub struct Stacks<'a> {
    /// The one that is tried.
    pub own: &'a StackManifest,
    /// True where nothing is known of it: it may answer 127 to everything but a transfer.
    pub is_bare: bool,
    /// The one that takes the other role, if it is another one.
    pub peer: Option<&'a StackManifest>,
    /// Variables of the stack that is tried in every transfer, instead of its defaults.
    pub variables: &'a [(String, String)],
}

/// Which stack takes which role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Whether the server is the stack that is tried.
    pub own_server: bool,
    /// Whether the client is.
    pub own_client: bool,
}

/// Something to ask.
#[derive(Clone, Debug)]
pub struct Check {
    /// What `--case` takes.
    pub kind: String,
    /// Name that no other check of the try has, and that is safe in a file system.
    pub name: String,
    /// What holds, as a sentence.
    pub sentence: String,
    /// How it is found out.
    pub question: Question,
}

/// How a check is made.
#[derive(Clone, Debug)]
pub enum Question {
    /// The files arrive; the stack that is tried may also answer 127 in these roles.
    Transfer(Pair, Variables, Vec<Role>),
    /// A file arrives over this IP version alone.
    Ip(Pair, IpVersion, &'static str),
    /// A late certificate makes a small file late.
    Delay(Pair),
    /// The client exits with 1.
    Fails(Pair, Variables),
    /// The client waits for a server that comes later.
    LateServer(Pair),
    /// The client exits with 1 when its server is killed.
    DyingServer(Pair),
    /// This role exits with 127.
    Refusal(Role, Variables),
    /// The client exits with 1 where there is no server.
    NoServer,
}

/// Names that `--case` takes.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().chain(TEST_CASES.iter().filter(|case| **case != TRANSFER)).copied()
}

impl Stacks<'_> {
    /// Pairs; none where a role is missing.
    pub fn pairs(&self) -> Vec<Pair> {
        let Some(peer) = self.peer else {
            let both = self.own.has(Role::Server) && self.own.has(Role::Client);
            return both.then_some(Pair { own_server: true, own_client: true }).into_iter().collect();
        };
        let mut pairs = Vec::new();
        if self.own.has(Role::Server) && peer.has(Role::Client) {
            pairs.push(Pair { own_server: true, own_client: false });
        }
        if self.own.has(Role::Client) && peer.has(Role::Server) {
            pairs.push(Pair { own_server: false, own_client: true });
        }
        pairs
    }

    /// Everything to ask, the plain transfers first.
    pub fn checks(&self) -> Vec<Check> {
        let pairs = self.pairs();
        let mut checks = Vec::new();
        for pair in &pairs {
            let sentence = "a file arrives complete, and the client logs its TLS secrets";
            self.add(
                &mut checks,
                *pair,
                TRANSFER,
                "transfer",
                sentence,
                Question::Transfer(*pair, Variables::new(), vec![]),
            );
        }
        for pair in pairs {
            self.add_settings(&mut checks, pair);
            self.add_transfers(&mut checks, pair);
            self.add_patience(&mut checks, pair);
        }
        self.add_refusals(&mut checks);
        checks
    }

    fn add(&self, checks: &mut Vec<Check>, pair: Pair, kind: &str, name: &str, sentence: &str, question: Question) {
        let (name, sentence) = match self.peer {
            None => (name.to_owned(), sentence.to_owned()),
            Some(peer) => {
                let other = if pair.own_server { Role::Client } else { Role::Server };
                let with = format!("{name}-{}-{}", word(&other), peer.name);
                (with, format!("{sentence} ({} as {})", peer.name, word(&other)))
            }
        };
        checks.push(Check { kind: kind.to_owned(), name: folder_name(&name), sentence, question });
    }

    pub(super) fn server(&self, pair: Pair) -> &StackManifest {
        if pair.own_server { self.own } else { self.peer.unwrap_or(self.own) }
    }

    pub(super) fn client(&self, pair: Pair) -> &StackManifest {
        if pair.own_client { self.own } else { self.peer.unwrap_or(self.own) }
    }

    /// True where both sides can have this value, if both must.
    fn can(&self, pair: Pair, variable: &str, value: &str) -> bool {
        let claims = |manifest| refusals::claimed(manifest, variable).contains(value);
        !SHARED.contains(&variable) || (claims(self.server(pair)) && claims(self.client(pair)))
    }

    /// The roles in which the stack that is tried may refuse what it is not known to do.
    fn may_refuse(&self, pair: Pair, certain: bool) -> Vec<Role> {
        let own = [(pair.own_server, Role::Server), (pair.own_client, Role::Client)];
        own.into_iter().filter(|(is_own, _)| *is_own && (!certain || self.is_bare)).map(|(_, role)| role).collect()
    }

    /// Values may be refused beside the other defaults, where they do not go with them.
    fn add_settings(&self, checks: &mut Vec<Check>, pair: Pair) {
        let default = &self.own.default;
        let http = self.usual_http();
        for variable in SETTINGS {
            let usual = match *variable {
                "QUICLAB_CCA" => default.congestion_control.clone(),
                "QUICLAB_GSO" => word(&default.gso),
                "QUICLAB_PACING" => word(&default.pacing),
                _ => http.clone(),
            };
            for value in refusals::claimed(self.own, variable).into_iter().filter(|value| value != BY_ITSELF) {
                if !self.can(pair, variable, &value) {
                    continue;
                }
                let is_set = self.variables.iter().any(|(name, _)| name == variable);
                let refusing = self.may_refuse(pair, value == usual && !is_set);
                let variables = Variables::from([((*variable).to_owned(), value.clone())]);
                let mut sentence = format!("{variable}={value} is accepted");
                if !refusing.is_empty() {
                    sentence.push_str(", or refused in combination with the other defaults");
                }
                let name = format!("settings-{variable}-{value}");
                self.add(checks, pair, "settings", &name, &sentence, Question::Transfer(pair, variables, refusing));
            }
        }
    }

    fn add_transfers(&self, checks: &mut Vec<Check>, pair: Pair) {
        for ip in [IpVersion::V4, IpVersion::V6] {
            let (number, hosts) = match ip {
                IpVersion::V4 => ("4", ["server4", "server46"]),
                IpVersion::V6 => ("6", ["server6", "server46"]),
            };
            for host in hosts.into_iter().filter(|_| self.can(pair, "QUICLAB_IP", number)) {
                let sentence = format!("{host} is reached over IPv{number}");
                self.add(checks, pair, "ip", &format!("ip-{number}-{host}"), &sentence, Question::Ip(pair, ip, host));
            }
        }
        let certain = self.may_refuse(pair, true);
        let usual_http = self.usual_http();
        for http in [Http::H3, Http::Hq, Http::H2].map(|http| word(&http)) {
            if !self.can(pair, "QUICLAB_HTTP", &http) {
                continue;
            }
            let with_http = |key: &str, value: &str| {
                Variables::from([(key.to_owned(), value.to_owned()), ("QUICLAB_HTTP".to_owned(), http.clone())])
            };
            let speaks = |case: &str| match case {
                "http3" => http == "h3",
                // It is neither version of HTTP.
                PERF => http == usual_http,
                _ => true,
            };
            for case in TEST_CASES.iter().filter(|case| speaks(case)) {
                let serves = self.server(pair).test_cases.server.contains(server_test_case(case));
                if serves && self.client(pair).test_cases.client.contains(*case) {
                    let sentence = format!("TESTCASE={case} works over {http}");
                    let mut variables = with_http("TESTCASE", case);
                    if *case == PERF {
                        variables.extend(PERF_SIZES.map(|(name, bytes)| (name.to_owned(), bytes.to_owned())));
                    }
                    let question = Question::Transfer(pair, variables, certain.clone());
                    self.add(checks, pair, case, &format!("case-{case}-{http}"), &sentence, question);
                }
            }
            let many = with_http("REQUESTS", MANY);
            let sentence = format!("200 small files arrive over {http}");
            let question = Question::Transfer(pair, many.clone(), certain.clone());
            self.add(checks, pair, "multiplexing", &format!("multiplexing-{http}"), &sentence, question);
            if pair.own_client {
                let few = many.into_iter().chain([("QUICLAB_STREAMS".to_owned(), "10".to_owned())]).collect();
                let sentence = format!("200 small files arrive over {http}, ten at a time, or the client refuses");
                let question = Question::Transfer(pair, few, vec![Role::Client]);
                self.add(checks, pair, "streams", &format!("streams-{http}"), &sentence, question);
            }
        }
        for (name, folder, sentence) in [
            ("large-certificate", LARGE_CERTIFICATES, "a certificate chain of 9 kB is accepted"),
            ("rsa-certificate", RSA_CERTIFICATES, "a certificate with an RSA key of 2048 bits is accepted"),
        ] {
            let certificates = Variables::from([("CERTS".to_owned(), folder.to_owned())]);
            let question = Question::Transfer(pair, certificates, certain.clone());
            self.add(checks, pair, name, name, sentence, question);
        }
        if self.server(pair).certificate_delay != CertificateDelay::None && !self.is_bare {
            let sentence = format!("a certificate that takes {CERTIFICATE_DELAY_MS} ms delays the transfer");
            self.add(checks, pair, "certificate-delay", "certificate-delay", &sentence, Question::Delay(pair));
        }
    }

    fn add_patience(&self, checks: &mut Vec<Check>, pair: Pair) {
        let absent = Variables::from([("REQUESTS".to_owned(), ABSENT.to_owned())]);
        for (name, sentence, question) in [
            ("absent-file", "the client fails if the server does not have the file", Question::Fails(pair, absent)),
            ("late-server", "a client that is started before its server waits for it", Question::LateServer(pair)),
            ("dying-server", "the client fails when its server is killed", Question::DyingServer(pair)),
        ] {
            self.add(checks, pair, "patience", name, sentence, question);
        }
    }

    fn add_refusals(&self, checks: &mut Vec<Check>) {
        let unclaimed = refusals::unclaimed(self.own);
        for role in &self.own.roles {
            let cases = match role {
                Role::Server => &self.own.test_cases.server,
                Role::Client => &self.own.test_cases.client,
            };
            // A server is told "transfer" in a key update.
            let asked = TEST_CASES.iter().filter(|case| *role == Role::Client || server_test_case(case) == **case);
            let cases =
                asked.filter(|case| !cases.contains(**case)).map(|case| ("TESTCASE".to_owned(), (*case).to_owned()));
            for (variable, value) in unclaimed.iter().cloned().chain(cases) {
                if *role == Role::Client && refusals::OF_SERVERS.contains(&variable.as_str()) {
                    continue;
                }
                checks.push(Check {
                    kind: "refusals".to_owned(),
                    name: folder_name(&format!("refuses-{}-{variable}-{value}", word(role))),
                    sentence: format!("the {} refuses {variable}={value}", word(role)),
                    question: Question::Refusal(*role, Variables::from([(variable, value)])),
                });
            }
        }
        if self.own.has(Role::Client) {
            checks.push(Check {
                kind: "patience".to_owned(),
                name: "no-server".to_owned(),
                sentence: "the client fails if there is no server".to_owned(),
                question: Question::NoServer,
            });
        }
    }
}

/// The name of a check, which is in the value of LOGS: a wrapper that looks for `QUICLAB_` in all that it is told must not find it there.
fn folder_name(name: &str) -> String {
    claims::file_name(&name.replace("QUICLAB_", ""))
}

/// Value of REQUESTS that stands for 200 small files.
pub const MANY: &str = "many";
/// Value of REQUESTS that stands for a file that is not there.
pub const ABSENT: &str = "absent";
/// Values of CERTS, which stand for folders, with the chain and the server's key of each. The first is the usual one.
pub const CERTIFICATES: [(&str, Certificate, CertificateKey); 3] = [
    ("certs", Certificate::Small, CertificateKey::EcdsaP256),
    (LARGE_CERTIFICATES, Certificate::Large, CertificateKey::EcdsaP256),
    (RSA_CERTIFICATES, Certificate::Small, CertificateKey::Rsa2048),
];
const LARGE_CERTIFICATES: &str = "large";
const RSA_CERTIFICATES: &str = "rsa";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::shipped::manifests, *};

    #[test]
    fn every_check_has_a_name_of_its_own_and_a_known_kind() {
        let all = manifests();
        let known: BTreeSet<_> = kinds().collect();
        for own in all.values() {
            for peer in [None, Some(&all["ngtcp2"])] {
                let checks = Stacks { own, is_bare: false, peer, variables: &[] }.checks();
                let names: BTreeSet<_> = checks.iter().map(|check| &check.name).collect();
                assert_eq!(names.len(), checks.len(), "{}", own.name);
                assert!(checks.iter().all(|check| known.contains(check.kind.as_str())), "{}", own.name);
                assert!(checks.iter().all(|check| !check.name.contains("QUICLAB_")), "{}", own.name);
            }
        }
    }

    #[test]
    fn a_single_role_needs_a_peer() {
        let all = manifests();
        let of = |peer| Stacks { own: &all["nginx"], is_bare: false, peer, variables: &[] }.pairs();
        assert!(of(None).is_empty());
        assert_eq!(of(Some(&all["ngtcp2"])), [Pair { own_server: true, own_client: false }]);
    }

    #[test]
    fn claimed_test_cases_are_tried_and_the_others_must_be_refused() {
        let all = manifests();
        let own = &all["quinn"];
        let checks = Stacks { own, is_bare: false, peer: None, variables: &[] }.checks();
        let has = |name: &str| checks.iter().any(|check| check.name == name);
        assert!(own.test_cases.server.contains("retry") && !own.test_cases.server.contains("v2"));
        assert!(has("case-retry-hq") && !has("case-v2-hq"));
        assert!(has("refuses-server-TESTCASE-v2") && !has("refuses-server-TESTCASE-retry"));
        // The server is never told so, and quinn's client does it.
        assert!(has("case-keyupdate-h3") && !has("refuses-server-TESTCASE-keyupdate"));
        assert!(has("case-http3-h3") && !has("case-http3-hq"));
    }

    #[test]
    fn a_bare_program_may_refuse_everything_but_a_transfer() {
        let mut own = manifests().remove("quinn").unwrap();
        own.certificate_delay = CertificateDelay::Wait;
        let stacks = Stacks { own: &own, is_bare: true, peer: None, variables: &[] };
        for check in stacks.checks() {
            match check.question {
                Question::Transfer(.., refusing) => {
                    assert_eq!(
                        refusing.is_empty(),
                        check.kind == TRANSFER && check.name == "transfer",
                        "{}",
                        check.name
                    );
                }
                Question::Delay(_) => panic!("a late certificate cannot be told apart from a refusal"),
                _ => {}
            }
        }
    }
}
