//! What the hosts did, as the page of a run shows it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::run_page::RunPage;

/// System calls that are named for each endpoint; the others are summed up.
const MOST_CALLS: usize = 12;

/// What the curves do not say; nothing where nothing was sampled.
pub(crate) fn of_run(page: &RunPage) -> Markup {
    let Some(host) = &page.host else { return html! {} };
    html! {
        h2 { "What the hosts did" }
        p.note {
            "CPU, context switches, system calls and drops are counted in steps of " (format!("{:.0} ms", host.step_ns as f64 / 1e6))
            " while the client lives. A thread's line is its share of one core. The time of cores includes other programs; the kernel \
             counts it in hundredths of a second."
            @if host.threads_left_out > 0 { " " (host.threads_left_out) " threads that used less are not drawn." }
        }
        @if !host.calls_by_name.is_empty() {
            details {
                summary { "System calls by name" }
                div.wide {
                    table {
                        thead { tr { th {} th { "call" } th { "times" } } }
                        tbody {
                            @for (role, calls) in &host.calls_by_name {
                                @for (name, count) in most_frequent(calls) { tr { th { (role) } td { code { (name) } } td { (count) } } }
                            }
                        }
                    }
                }
            }
        }
        @if !host.missing.is_empty() {
            details {
                summary { "What could not be counted, and why" }
                ul { @for (what, reason) in &host.missing { li { code { (what) } ": " (reason) } } }
            }
        }
    }
}

/// The calls that were made most, and the sum of the others.
fn most_frequent(calls: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = calls.iter().map(|(name, count)| (name.clone(), *count)).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = all.split_off(all.len().min(MOST_CALLS));
    if !others.is_empty() {
        let sum = others.iter().map(|(_, count)| count).sum();
        all.push((format!("{} others", others.len()), sum));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_calls_come_first_and_the_others_are_summed_up() {
        let calls: BTreeMap<String, u64> = (0..20).map(|number| (format!("call{number:02}"), 100 + number)).collect();
        let shown = most_frequent(&calls);
        assert_eq!(shown.len(), MOST_CALLS + 1);
        assert_eq!(shown[0], ("call19".to_owned(), 119));
        assert_eq!(shown[MOST_CALLS].0, "8 others");
        assert_eq!(shown.iter().map(|(_, count)| count).sum::<u64>(), calls.values().sum::<u64>());
    }
}
