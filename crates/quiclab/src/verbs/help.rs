//! `quiclab help`: a verb, or a page of the documentation, which is part of the program.

use std::{
    fmt::Write as _,
    io::{IsTerminal, Write as _},
    process::{Command, Stdio},
};

use anyhow::{Result, bail};

use crate::{
    cli,
    help_pages::{PAGES, Page},
    terminal::{markdown::rendered, output},
};

/// Explains what is asked for, through a pager where it is read on a terminal.
///
/// # Errors
/// Where there is no such verb and no such page.
pub fn help(words: &[String]) -> Result<u8> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match &words[..] {
        [] => overview(),
        words => match verb(words) {
            Some(text) => text,
            // A pipe gets the page as it is written.
            None => match (topic(&words.join("-"))?, output::terminal_width()) {
                (page, Some(columns)) => with_colours_if_wanted(rendered(&page, usize::from(columns))),
                (page, None) => page,
            },
        },
    };
    show(&text)?;
    Ok(0)
}

/// The verbs, and the topics.
fn overview() -> String {
    let mut text = format!("{}\nTopics (quiclab help TOPIC):\n", cli::command().render_long_help());
    for page in PAGES {
        let _ = writeln!(text, "  {:34} {}", page.name(), page.title());
    }
    text
}

/// The help of a verb, or of a verb below it, with the pages that have its name.
fn verb(words: &[&str]) -> Option<String> {
    let mut root = cli::command();
    root.build();
    let mut command = &mut root;
    for word in words {
        command = command.find_subcommand_mut(word)?;
    }
    let mut text = command.render_long_help().to_string();
    for page in PAGES.iter().filter(|page| page.topic() == words.join("-")) {
        let _ = write!(text, "\nPage: quiclab help {}\n", page.name());
    }
    Some(text)
}

/// The page of that name.
fn topic(word: &str) -> Result<String> {
    let asked = word.trim_end_matches(".md").trim_start_matches("docs/").to_lowercase();
    let found: Vec<_> = PAGES.iter().filter(|page| page.name() == asked || page.topic() == asked).collect();
    if let [page] = found[..] {
        return Ok(page.shown());
    }
    let mentions = |page: &&Page| page.text.to_lowercase().contains(&asked.replace('-', " "));
    let near: Vec<_> =
        if found.is_empty() { PAGES.iter().filter(mentions).map(Page::name).collect() } else { Vec::new() };
    let names = if near.is_empty() { PAGES.iter().map(Page::name).collect() } else { near };
    let what = if names.len() == PAGES.len() { "one of" } else { "a verb or a page; these mention it:" };
    bail!("help: found {asked:?}, expected {what} {}\nhint: quiclab help lists verbs and topics", names.join(", "))
}

/// The text without codes of colours where NO_COLOR is set or the terminal has none.
fn with_colours_if_wanted(text: String) -> String {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}

/// Prints a text, on a terminal through `$PAGER` or less.
fn show(text: &str) -> Result<()> {
    if std::io::stdout().is_terminal() {
        let pager = std::env::var("PAGER").ok().filter(|pager| !pager.is_empty()).unwrap_or("less -FRX".to_owned());
        let child = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        if let Ok(mut child) = child {
            // Whoever leaves the pager early has read enough.
            let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
            if child.wait().is_ok_and(|status| status.success()) {
                return Ok(());
            }
        }
    }
    output::print(text)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_page_of_concepts_references_and_guides_is_a_topic() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut there = BTreeSet::from(["performance.md".to_owned()]);
        for folder in ["concepts", "reference", "guides"] {
            let entries = fs::read_dir(docs.join(folder)).unwrap().flatten();
            let names = entries.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap()));
            there.extend(names.filter(|name| name.ends_with(".md")));
        }
        let listed: BTreeSet<_> = PAGES.iter().map(|page| page.path.to_owned()).collect();
        assert_eq!(listed, there, "PAGES in help_pages.rs must list the pages of docs/");
        let topics: BTreeSet<_> = PAGES.iter().map(Page::topic).collect();
        assert_eq!(topics.len(), PAGES.len(), "two pages of one name");
        assert!(PAGES.iter().all(|page| !page.title().is_empty()));
    }

    #[test]
    fn verbs_come_first_and_name_the_page_of_their_name() {
        let text = verb(&["scan"]).unwrap();
        assert!(text.contains("Usage: quiclab scan") && text.contains("quiclab help reference/scan"), "{text}");
        assert!(verb(&["stacks", "list"]).unwrap().contains("quiclab stacks list"));
        assert!(verb(&["metrics"]).is_none());
    }

    #[test]
    fn topics_are_found_by_name_and_by_path() {
        let page = topic("metrics").unwrap();
        assert_eq!(page, topic("reference/metrics").unwrap());
        assert_eq!(page, topic("docs/reference/metrics.md").unwrap());
        assert!(page.starts_with("# "));
        assert!(topic("reference/scan").unwrap().starts_with("# "));
    }

    #[test]
    fn comments_in_a_page_are_not_shown() {
        let page = topic("performance").unwrap();
        assert!(page.contains("\n| transfer | runs |") && !page.contains("<!--"), "{page}");
        assert!(!page.contains("\n\n\n"), "{page}");
    }

    #[test]
    fn an_unknown_topic_names_pages_that_have_the_word() {
        let error = topic("pacer").unwrap_err().to_string();
        assert!(error.contains("these mention it:") && error.contains("hint: quiclab help"), "{error}");
        assert!(topic("xyzzy").unwrap_err().to_string().contains("reference/metrics"));
    }

    #[test]
    fn the_overview_lists_topics() {
        let text = overview();
        assert!(text.contains("concepts/bursts") && text.contains("  run "), "{text}");
    }
}
