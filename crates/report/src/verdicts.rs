//! Verdicts, as the pages and the terminal show them.

use std::{collections::BTreeMap, fmt::Write as _};

use maud::{Markup, html};
use quiclab_metrics::{Evidence, Verdict, Verdicts, judge, verdict_rules};
use quiclab_units::shown;
use serde_json::json;

use crate::{
    groups::Group,
    markdown::text::escaped,
    profile::{Profiles, profiles_as_json},
    terminal::paragraph::paragraphs,
};

/// Above the numbers of a page. `page`: where packets are shown, empty for this page, `None`: nowhere;
/// `start_ns`: the sender's first packet on that page; `of`: the letter of the transfer on a page of two.
pub(crate) fn verdict_list(verdicts: &Verdicts, page: Option<&str>, start_ns: u64, of: Option<&str>) -> Markup {
    let of = of.map_or_else(String::new, |letter| format!("&of={letter}"));
    html! {
        section.verdicts aria-label="Verdicts" {
            @if verdicts.found.is_empty() { p { (no_rule_applies(verdicts)) } }
            ul {
                @for verdict in &verdicts.found {
                    li {
                        (verdict.text)
                        @if let (Some(at), Some(page)) = (verdict.at_ns, page) {
                            " " a href=(format!("{page}#time={:.6}{of}", (start_ns + at) as f64 / 1e9)) { "show" }
                        }
                        span.evidence { (evidence(verdict)) " " code { (verdict.rule) } }
                    }
                }
            }
            @if !verdicts.not_judged.is_empty() {
                details {
                    summary { "Rules that lack data: " (verdicts.not_judged.len()) }
                    ul { @for one in &verdicts.not_judged { li { code { (one.rule) } ": " (one.reason) } } }
                }
            }
        }
    }
}

/// What is said where no rule applies. Losses are not all that can be wrong, but a reader must not take silence for their absence.
fn no_rule_applies(verdicts: &Verdicts) -> String {
    match (verdicts.packets_lost, verdicts.packets_sent) {
        (Some(0), _) => "No rule applies, and no packet was lost.".to_owned(),
        (Some(lost), Some(sent)) => format!("No rule applies, though {lost} of {sent} packets were lost."),
        (Some(lost), None) => format!("No rule applies, though {lost} packets were lost."),
        (None, _) if verdicts.packets_dropped.is_some_and(|dropped| dropped > 0) => {
            let dropped = verdicts.packets_dropped.unwrap_or_default();
            format!("No rule applies, though the bottleneck dropped {dropped} packets.")
        }
        (None, _) => "No rule applies. Whether packets were lost is not known.".to_owned(),
    }
}

/// The numbers with their bounds: `cpu_busy_share 0.86 (from 0.6)`.
fn evidence(verdict: &Verdict) -> String {
    let mut text = String::new();
    for measured in &verdict.evidence {
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{} {}", measured.name, short(measured.value));
        if let Some(bound) = measured.bound {
            let _ = write!(text, " (from {})", short(bound));
        }
    }
    text
}

fn short(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Lines for the terminal: a heading, and each verdict with its evidence. `width`: columns of the terminal; `None` where the output is none.
pub fn verdicts_in_words(name: &str, verdicts: &Verdicts, width: Option<u16>) -> String {
    let mut text = format!("{}\n", shown(name));
    if verdicts.found.is_empty() {
        let _ = writeln!(text, "  {}", no_rule_applies(verdicts));
    }
    for verdict in &verdicts.found {
        let _ = writeln!(text, "  {}\n      {} [{}]", shown(&verdict.text), evidence(verdict), verdict.rule);
    }
    if !verdicts.not_judged.is_empty() {
        let rules: Vec<_> = verdicts.not_judged.iter().map(|one| one.rule).collect();
        let _ = writeln!(text, "  not judged for want of data: {}", rules.join(", "));
    }
    paragraphs(&text, width)
}

/// One JSON object: by transfer, what rules found and why others were not applied, and CPU time by function where that was sampled.
pub fn verdicts_as_json<'a>(transfers: impl Iterator<Item = (&'a str, &'a Verdicts, &'a Profiles)>) -> String {
    let one = |(name, verdicts, profiles): (&str, &Verdicts, &Profiles)| {
        let mut one = json!({ "name": name, "verdicts": verdicts });
        if !profiles.is_empty() {
            one["profiles"] = profiles_as_json(profiles);
        }
        one
    };
    let all: Vec<_> = transfers.map(one).collect();
    // Strings, numbers and vectors of them alone.
    let text = serde_json::to_string_pretty(&json!({ "schema": 1, "transfers": all }));
    text.expect("verdicts hold only what JSON can say") + "\n"
}

/// Number of verdicts up to which a report lists them by group. With more, it lists rules instead.
const MOST_BY_GROUP: usize = 12;

/// Above the numbers of a report: for each group of runs, the sentence of the first run that a rule applies to, and in how many.
pub(crate) fn verdicts_of_groups(groups: &[Group]) -> Markup {
    let all = of_groups(groups);
    html! {
        @if !all.is_empty() {
            section.verdicts {
                h2 { "In words" }
                @if all.len() <= MOST_BY_GROUP {
                    @for group in groups {
                        @let of_this = all.iter().filter(|(label, _)| *label == group.label);
                        @if groups.len() > 1 && of_this.clone().next().is_some() { p { strong { (group.label) } } }
                        ul { @for (_, one) in of_this { li { (in_a_report(one)) } } }
                    }
                } @else {
                    ul {
                        @for (rule, of_rule) in by_rule(&all) {
                            li {
                                details {
                                    summary {
                                        code { (rule) } " in " (of_rule.len()) " of " (groups.len()) " rows, such as "
                                        (of_rule[0].0) ": " (of_rule[0].1.verdict.text)
                                    }
                                    ul { @for (label, one) in of_rule { li { strong { (label) } ": " (in_a_report(one)) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn in_a_report(one: &GroupVerdict) -> Markup {
    html! {
        (one.verdict.text)
        @if let Some(link) = one.link() { " " a href=(link) { "show" } }
        span.evidence { (one.how_often()) (evidence(&one.verdict)) " " code { (one.verdict.rule) } }
    }
}

/// Lines of Markdown: a list; empty where no rule found anything.
pub(crate) fn verdicts_in_markdown(groups: &[Group]) -> Vec<String> {
    let all = of_groups(groups);
    let line = |label: &str, one: &GroupVerdict| {
        let label = if groups.len() > 1 { format!("**{}**: ", escaped(label)) } else { String::new() };
        format!("- {label}{} ({}`{}`)", escaped(&one.verdict.text), escaped(&one.how_often()), one.verdict.rule)
    };
    if all.len() <= MOST_BY_GROUP {
        return all.iter().map(|(label, one)| line(label, one)).collect();
    }
    let in_words = |(rule, of_rule): (&str, Vec<&(&str, GroupVerdict)>)| {
        let (label, one) = of_rule[0];
        let (count, of) = (of_rule.len(), groups.len());
        format!("- `{rule}` in {count} of {of} rows, such as **{}**: {}", escaped(label), escaped(&one.verdict.text))
    };
    by_rule(&all).into_iter().map(in_words).collect()
}

fn of_groups<'a>(groups: &'a [Group]) -> Vec<(&'a str, GroupVerdict)> {
    groups.iter().flat_map(|group| of_group(group).into_iter().map(|one| (group.label.as_str(), one))).collect()
}

/// The verdicts by rule, in the order of the rules.
fn by_rule<'a, 'b>(all: &'b [(&'a str, GroupVerdict)]) -> Vec<(&'static str, Vec<&'b (&'a str, GroupVerdict)>)> {
    let of = |rule| (rule, all.iter().filter(|(_, one)| one.verdict.rule == rule).collect::<Vec<_>>());
    verdict_rules().map(of).filter(|(_, found)| !found.is_empty()).collect()
}

/// A rule that applies to runs of a group.
pub(crate) struct GroupVerdict {
    /// The verdict on the first of the runs, with its numbers.
    pub verdict: Verdict,
    /// Number of that run among the repetitions.
    pub repetition: u32,
    /// Number of runs to which the rule applies.
    pub runs: usize,
    /// Number of runs to which the rule could be applied.
    pub judged: usize,
    /// Number of runs in the group.
    pub all: usize,
    /// The page with the packets of the first of the runs, and the time of its server's first packet there.
    page: Option<(String, u64)>,
}

impl GroupVerdict {
    /// Link to the place that shows the verdict.
    fn link(&self) -> Option<String> {
        let (page, start_ns) = self.page.as_ref()?;
        Some(match self.verdict.at_ns {
            Some(at) => format!("{page}#time={:.6}", (start_ns + at) as f64 / 1e9),
            None => page.clone(),
        })
    }

    /// `2 of 3 runs; numbers of repetition 1: `; nothing where there is one run. The numbers of a verdict are those of one run, and others
    /// on the same page are means over all.
    fn how_often(&self) -> String {
        let Self { repetition, runs, judged, all, .. } = self;
        match (*runs, *judged, *all) {
            (_, _, 1) => String::new(),
            (_, 1, _) => format!("repetition {repetition}, the only one of {all} that could be judged: "),
            (_, judged, _) if judged < *all => {
                format!(
                    "{runs} of the {judged} runs of {all} that could be judged; numbers of repetition {repetition}: "
                )
            }
            _ if runs == all => format!("all {all} runs; numbers of repetition {repetition}: "),
            _ => format!("{runs} of {all} runs; numbers of repetition {repetition}: "),
        }
    }
}

/// What rules say of the runs of a group, in the order of the rules.
pub(crate) fn of_group(group: &Group) -> Vec<GroupVerdict> {
    let mut found: Vec<GroupVerdict> = Vec::new();
    let mut not_judged: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &group.runs {
        let packets = run.packet_summary.as_ref().map(|packet_summary| &packet_summary.facts);
        let verdicts = judge(&Evidence { run: &run.metrics, packets });
        for one in verdicts.not_judged {
            *not_judged.entry(one.rule).or_default() += 1;
        }
        for verdict in verdicts.found {
            if let Some(known) = found.iter_mut().find(|known| known.verdict.rule == verdict.rule) {
                known.runs += 1;
                continue;
            }
            let page = run.packet_summary.as_ref().and_then(|it| Some((it.page.clone()?, it.server_start_ns)));
            let repetition = run.run.repetition;
            found.push(GroupVerdict { verdict, repetition, runs: 1, judged: 0, all: group.runs.len(), page });
        }
    }
    for one in &mut found {
        one.judged = one.all - not_judged.get(one.verdict.rule).copied().unwrap_or(0);
    }
    let order: Vec<_> = verdict_rules().collect();
    found.sort_by_key(|one| order.iter().position(|rule| *rule == one.verdict.rule));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(runs: usize, judged: usize, all: usize) -> String {
        let verdict = Verdict { rule: "slow_start_overflow", text: String::new(), evidence: Vec::new(), at_ns: None };
        GroupVerdict { verdict, repetition: 2, runs, judged, all, page: None }.how_often()
    }

    #[test]
    fn a_verdict_names_the_run_whose_numbers_it_has() {
        assert_eq!(one(1, 1, 1), "");
        assert_eq!(one(1, 1, 3), "repetition 2, the only one of 3 that could be judged: ");
        assert_eq!(one(3, 3, 3), "all 3 runs; numbers of repetition 2: ");
        assert_eq!(one(2, 3, 3), "2 of 3 runs; numbers of repetition 2: ");
        assert_eq!(one(2, 2, 3), "2 of the 2 runs of 3 that could be judged; numbers of repetition 2: ");
    }

    #[test]
    fn losses_are_told_where_no_rule_applies() {
        let said = |lost, sent| {
            let verdicts = Verdicts { packets_lost: lost, packets_sent: sent, ..Verdicts::default() };
            let page = verdict_list(&verdicts, None, 0, None).into_string();
            let words = verdicts_in_words("a", &verdicts, None);
            let sentence = words.lines().nth(1).unwrap().trim().to_owned();
            assert!(page.contains(&sentence), "{page}");
            sentence
        };
        assert_eq!(said(Some(206), Some(7902)), "No rule applies, though 206 of 7902 packets were lost.");
        assert_eq!(said(Some(0), Some(7902)), "No rule applies, and no packet was lost.");
        let tcp = Verdicts { packets_dropped: Some(11), ..Verdicts::default() };
        assert_eq!(no_rule_applies(&tcp), "No rule applies, though the bottleneck dropped 11 packets.");
        assert_eq!(said(None, Some(7902)), "No rule applies. Whether packets were lost is not known.");
    }
}
