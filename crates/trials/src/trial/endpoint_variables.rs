//! The variables that each endpoint of a check gets.

use quiclab_experiment::{
    run::word,
    server_test_case,
    stack::{Role, StackManifest},
};

use super::checks::{HTTP, PERF_SIZES, SHARED, Variables};

/// Variables of the endpoint in a role, for a check with these `variables`. The stack that is tried (`is_own`) also gets those that it
/// `always` gets. Its own settings are nothing to its peer, except those that both sides must have.
pub fn endpoint_variables(
    own: &StackManifest,
    is_own: bool,
    role: Role,
    always: &Variables,
    variables: &Variables,
) -> Variables {
    let mut all = variables.clone();
    for (name, value) in always.iter().filter(|(name, _)| is_own || SHARED.contains(&name.as_str())) {
        all.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let is_size = |name: &str| PERF_SIZES.iter().any(|(size, _)| *size == name);
    if !is_own {
        all.retain(|name, _| !name.starts_with("QUICLAB_") || SHARED.contains(&name.as_str()) || is_size(name));
        all.entry(HTTP.to_owned()).or_insert_with(|| word(&own.default.http));
    }
    if role == Role::Server {
        all.retain(|name, _| !is_size(name));
        if let Some(case) = all.get_mut("TESTCASE") {
            *case = server_test_case(case).to_owned();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{super::shipped::manifests, *};

    #[test]
    fn a_peer_gets_the_http_of_the_stack_that_is_tried_and_not_its_other_settings() {
        let own = manifests().remove("quinn").unwrap();
        let variables = |all: &[(&str, &str)]| -> Variables {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let always = variables(&[(HTTP, "hq"), ("QUICLAB_CCA", "reno")]);
        let none = Variables::new();
        let of = |is_own, always, check: &Variables| endpoint_variables(&own, is_own, Role::Client, always, check);
        assert_eq!(of(false, &always, &none), variables(&[(HTTP, "hq")]));
        assert_eq!(of(true, &always, &none), always);
        assert_eq!(of(false, &none, &none), variables(&[(HTTP, "h3")]));
        assert_eq!(of(true, &none, &none), none);
        // A check that names one overrides both.
        let check = variables(&[(HTTP, "h3"), ("QUICLAB_GSO", "off")]);
        assert_eq!(of(false, &always, &check), variables(&[(HTTP, "h3")]));
        assert_eq!(of(true, &always, &check)[HTTP], "h3");
    }
}
