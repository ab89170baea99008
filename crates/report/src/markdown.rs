//! The table as Markdown, for a README.

pub(crate) mod text;

use std::fmt::Write as _;

use crate::{
    columns::{COLUMNS, main_columns},
    figures::train_mix::mix_if_any,
    groups::{self, published_alone},
    input::ReportInput,
    markdown::text::escaped,
    notes::{notes, tells_clients},
    ranking::{CRITERIA, rankings},
    results_table::{ResultsTable, RowOf},
    squares::picture,
    verdicts::verdicts_in_markdown,
    warning_groups::{of_runs, warning_groups},
};

/// Title, table, warnings and failures.
pub fn render_markdown(input: &ReportInput) -> String {
    let groups = groups::all(input);
    let mut text =
        format!("# {}\n\n{}\n\n    {}\n\n", escaped(&input.experiment), escaped(&input.title), input.command);
    for ranking in rankings(input, &groups) {
        let headings: Vec<_> = CRITERIA.iter().map(|criterion| criterion.heading).collect();
        let _ =
            writeln!(text, "Ranking: {}\n\n| | mean place | {} | most bursts by |", ranking.path, headings.join(" | "));
        let _ = writeln!(text, "|---|--:|{}---|", "--:|".repeat(CRITERIA.len()));
        for row in &ranking.rows {
            let cells: Vec<_> =
                CRITERIA.iter().zip(row.places).map(|(criterion, place)| criterion.cell(place)).collect();
            let cause = row.cause_cell();
            let _ =
                writeln!(text, "| {} | {:.2} | {} | {cause} |", escaped(&row.label), row.mean_place, cells.join(" | "));
        }
        text.push('\n');
    }
    let words = verdicts_in_markdown(&groups);
    if !words.is_empty() {
        let _ = writeln!(text, "{}\n", words.join("\n"));
    }
    let alone = published_alone(input, &groups);
    let results = ResultsTable::of(&groups, &alone, main_columns());
    let headings: Vec<_> = results.headings().collect();
    let (heading, line, empty) = if results.tells_clients { (" client |", "---|", " |") } else { ("", "", "") };
    let _ = writeln!(text, "| |{heading} runs | {} |", headings.join(" | "));
    let _ = writeln!(text, "|---|{line}--:|{}", "--:|".repeat(headings.len()));
    for row in &results.rows {
        let (name, cells) = (escaped(&row.of.name()), row.cells.join(" | "));
        let _ = match row.of {
            RowOf::Runs(group) => {
                let client = &group.settings.stack.client;
                let client = if results.tells_clients { format!(" {} |", escaped(client)) } else { String::new() };
                writeln!(text, "| {name} |{client} {} | {cells} |", group.runs.len())
            }
            RowOf::Published(..) | RowOf::Alone(_) => writeln!(text, "| *{name}* |{empty} | {cells} |"),
        };
    }
    text.push_str("\nMean \u{b1} standard deviation over the runs.\n");
    for note in notes(&groups) {
        let _ = writeln!(text, "\nNote: {}", escaped(&note));
    }
    let sources = |is_alone: bool| {
        let rows = results.rows.iter().filter(move |row| row.of.is_alone() == is_alone);
        rows.filter_map(|row| row.of.source_line("Published"))
    };
    for line in sources(false) {
        let _ = writeln!(text, "\n{}", escaped(&line));
    }
    for (group, warning) in warning_groups(&groups).iter().flat_map(|warning_groups| &warning_groups.rows) {
        let of = of_runs(group, warning);
        let _ = writeln!(text, "\nWarning, {}{of}: {}", escaped(&group.label), escaped(&warning.message));
    }
    for line in sources(true) {
        let _ = writeln!(text, "\n{}", escaped(&line));
    }
    for failure in &input.failures {
        let _ =
            writeln!(text, "\nFailed: {}: {}", escaped(&failure.folder), escaped(&failure.message.replace('\n', " ")));
    }
    text
}

/// Numbers of the short table, by metric: how smooth, how bursty, at what cost, how fast.
const BRIEF: [&str; 4] = ["train_share_of_packets_le_5", "train_max_packets", "drops_packets", "goodput_wire_bps"];

/// GitHub and GitLab take no longer comment (GitLab takes a million characters).
const MOST_IN_A_COMMENT: usize = 65_536;
/// Characters left for the note that something was left out, and for what others write around the comment.
const RESERVE: usize = 1_500;
/// Part of a comment's length that verdicts and notes take at most.
const MOST_IN_WORDS: usize = 20_000;

/// A table of five columns, for a pull request: the rows' names, with the client where that says something, and four numbers; then a
/// picture of their trains, and verdicts. It fits into a comment.
pub fn render_markdown_brief(input: &ReportInput) -> String {
    let groups = groups::all(input);
    let columns: Vec<_> =
        BRIEF.iter().filter_map(|name| COLUMNS.iter().find(|column| column.metric == *name)).collect();
    let tells_clients = tells_clients(&groups);
    let headings: Vec<_> = columns.iter().map(|column| column.heading).collect();
    let mut text = format!("| {} | {} |\n", escaped(&input.experiment), headings.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(columns.len()));
    // What the numbers mean comes before rows that have no room.
    let mut words = String::new();
    let mut more = 0;
    for line in verdicts_in_markdown(&groups) {
        more += usize::from(!push_if_it_fits(&mut words, &format!("{line}\n"), MOST_IN_WORDS));
    }
    for note in notes(&groups) {
        more += usize::from(!push_if_it_fits(&mut words, &format!("\nNote: {}\n", escaped(&note)), MOST_IN_WORDS));
    }
    let room = MOST_IN_A_COMMENT - RESERVE - words.len();
    let mut left_out = 0;
    for group in &groups {
        let client = &group.settings.stack.client;
        let client = if tells_clients { format!(" (client: {client})") } else { String::new() };
        let cells: Vec<_> = columns.iter().map(|column| column.cell(group.summary(column).as_ref())).collect();
        let row = format!("| {} | {} |\n", escaped(&format!("{}{client}", group.label)), cells.join(" | "));
        left_out += usize::from(!push_if_it_fits(&mut text, &row, room));
    }
    let mixes: Vec<_> = groups.iter().map(|group| (&group.label[..], mix_if_any(group))).collect();
    more += usize::from(!push_if_it_fits(&mut text, &picture(&mixes), room));
    if !words.is_empty() {
        let _ = write!(text, "\n{words}");
    }
    if left_out + more > 0 {
        let _ = writeln!(
            text,
            "\nLeft out, because a comment has no room for it: rows: {left_out}, verdicts, notes and pictures: {more}."
        );
    }
    let warnings: usize = groups.iter().map(|group| group.warnings().len()).sum();
    if warnings + input.failures.len() > 0 {
        let _ = writeln!(text, "\nIn the full report: warnings: {warnings}, failed runs: {}.", input.failures.len());
    }
    text
}

/// False where the text would become longer than `most`.
fn push_if_it_fits(text: &mut String, line: &str, most: usize) -> bool {
    let fits = text.len() + line.len() <= most;
    if fits {
        text.push_str(line);
    }
    fits
}
