//! What a stack and its peer have in common.

use std::collections::BTreeSet;

use quiclab_experiment::{
    run::word,
    server_test_case,
    stack::{Role, StackManifest, TEST_CASES},
};

use super::checks::{HTTP, Pair, Stacks, Variables};

impl Stacks<'_> {
    /// The HTTP of every transfer that names none: what `--set` asks for, otherwise the default of the stack that is tried, otherwise the
    /// first that its peer claims too.
    ///
    /// # Errors
    /// The peer does not claim it, or no HTTP that both claim.
    pub fn http(&self) -> Result<String, String> {
        let asked = self.variables.iter().find(|(name, _)| name == HTTP).map(|(_, value)| value.clone());
        let usual = word(&self.own.default.http);
        let Some(peer) = self.peer else { return Ok(asked.unwrap_or(usual)) };
        let list = |stack: &StackManifest| stack.http.iter().map(word).collect::<Vec<_>>();
        let (own, theirs) = (list(self.own), list(peer));
        if let Some(asked) = asked {
            return if theirs.contains(&asked) {
                Ok(asked)
            } else {
                Err(format!("--set: found {HTTP}={asked}; {} claims {}", peer.name, theirs.join(", ")))
            };
        }
        let mut candidates = [usual].into_iter().chain(own.iter().cloned());
        candidates.find(|http| theirs.contains(http)).ok_or_else(|| {
            format!(
                "found no HTTP that both claim: {} claims {}, {} claims {}",
                self.own.name,
                own.join(", "),
                peer.name,
                theirs.join(", ")
            )
        })
    }

    /// Variables of the stack that is tried in every transfer that does not say otherwise.
    pub fn always(&self) -> Variables {
        let mut always: Variables = self.variables.iter().cloned().collect();
        if let Some(http) = self.http().ok().filter(|http| *http != word(&self.own.default.http)) {
            always.insert(HTTP.to_owned(), http);
        }
        always
    }

    /// Why there is no check of this kind: which stack does not claim the test case as which role.
    pub fn why_none(&self, kind: &str) -> String {
        let lacks = |stack: &StackManifest, role: Role| {
            let (claimed, case) = match role {
                Role::Server => (&stack.test_cases.server, server_test_case(kind)),
                Role::Client => (&stack.test_cases.client, kind),
            };
            (!claimed.contains(case)).then(|| format!("{} does not claim {case} as {}", stack.name, word(&role)))
        };
        let of = |pair: &Pair| {
            [lacks(self.server(*pair), Role::Server), lacks(self.client(*pair), Role::Client)].into_iter().flatten()
        };
        let found: BTreeSet<_> = match TEST_CASES.contains(&kind) {
            true => self.pairs().iter().flat_map(of).collect(),
            false => BTreeSet::new(),
        };
        match found.is_empty() {
            true => format!("{} does not claim {kind}", self.own.name),
            false => found.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    pub(super) fn usual_http(&self) -> String {
        self.http().unwrap_or_else(|_| word(&self.own.default.http))
    }
}

#[cfg(test)]
mod tests {
    use quiclab_experiment::{run::Http, stack::PERF};

    use super::{super::shipped::manifests, *};

    #[test]
    fn the_http_is_one_that_both_claim() {
        let all = manifests();
        let of = |own: &str, peer: Option<&str>, set: Option<&str>| {
            let variables: Vec<_> = set.iter().map(|http| (HTTP.to_owned(), (*http).to_owned())).collect();
            let stacks =
                Stacks { own: &all[own], is_bare: false, peer: peer.map(|name| &all[name]), variables: &variables };
            stacks.http().map(|http| (http, stacks.always()))
        };
        let with_http = |http: &str| Variables::from([(HTTP.to_owned(), http.to_owned())]);
        assert_eq!(word(&all["quinn"].default.http), "h3");
        assert_eq!(all["ngtcp2-1.25"].http, [Http::Hq]);
        assert_eq!(of("quinn", None, None), Ok(("h3".to_owned(), Variables::new())));
        assert_eq!(of("quinn", Some("ngtcp2"), None), Ok(("h3".to_owned(), Variables::new())));
        assert_eq!(of("quinn", Some("ngtcp2-1.25"), None), Ok(("hq".to_owned(), with_http("hq"))));
        assert_eq!(of("quinn", Some("quiche"), Some("hq")), Ok(("hq".to_owned(), with_http("hq"))));
        assert_eq!(
            of("quinn", Some("ngtcp2-1.25"), Some("h3")),
            Err("--set: found QUICLAB_HTTP=h3; ngtcp2-1.25 claims hq".to_owned())
        );
        let found = of("tcp-tls", Some("ngtcp2-1.25"), None).unwrap_err();
        assert_eq!(found, "found no HTTP that both claim: tcp-tls claims h2, ngtcp2-1.25 claims hq");
    }

    #[test]
    fn perf_is_tried_with_a_peer_of_another_http() {
        let all = manifests();
        let stacks = Stacks { own: &all["quinn"], is_bare: false, peer: Some(&all["ngtcp2-1.25"]), variables: &[] };
        let checks = stacks.checks();
        assert!(checks.iter().any(|check| check.kind == PERF));
        // Only what is not claimed is missing, and by whom is said.
        let stacks = Stacks { peer: Some(&all["nginx"]), ..stacks };
        assert!(!stacks.checks().iter().any(|check| check.kind == PERF));
        assert_eq!(stacks.why_none(PERF), "nginx does not claim perf as server");
        assert_eq!(stacks.why_none("certificate-delay"), "quinn does not claim certificate-delay");
    }
}
