//! Pages of the documentation for a terminal: headings, lists and tables that fit its width, without the marks of Markdown.

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use textwrap::WordSplitter;

/// Lines that are longer are hard to read.
const MOST_COLUMNS: usize = 100;
/// Columns of a level of lists, and of code.
const STEP: usize = 2;

const CODE: Style = AnsiColor::Cyan.on_default();
const LINK: Style = Style::new().underline();
const STRONG: Style = Style::new().bold();
const EMPHASIS: Style = Style::new().italic();

/// Returns the text of a page in lines of at most `columns`, with the codes of colours and bold letters. Lines of code stay as long as they are.
pub fn rendered(markdown: &str, columns: usize) -> String {
    let mut page = Rendering { columns: columns.min(MOST_COLUMNS), ..Rendering::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        page.on_event(event);
    }
    page.text.trim_end().to_owned() + "\n"
}

/// The mark of the next item of a list.
enum Marker {
    Bullet,
    Number(u64),
}

#[derive(Default)]
struct Rendering {
    columns: usize,
    text: String,
    /// The paragraph, heading or cell that is being read.
    inline: String,
    /// Styles that are open, the innermost last.
    styles: Vec<Style>,
    /// Lists that are open, the innermost last.
    lists: Vec<Marker>,
    /// The mark of an item that has not been written yet.
    mark: Option<String>,
    is_code: bool,
    /// The table that is being read, without colours: its cells are measured.
    table: Option<Table>,
    row: Vec<String>,
}

impl Rendering {
    fn on_event(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) => self.inline += &text,
            Event::Code(code) => self.styled(CODE, &code),
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => self.block(&"\u{2500}".repeat(self.columns)),
            // Comments say where a table comes from; the documentation has nothing else of HTML.
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::CodeBlock(_) => {
                self.flush();
                self.is_code = true;
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first.map_or(Marker::Bullet, Marker::Number));
            }
            Tag::Item => {
                self.mark = Some(match self.lists.last_mut() {
                    Some(Marker::Number(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "\u{2022} ".to_owned(),
                });
            }
            Tag::Table(_) => self.table = Some(self.empty_table()),
            Tag::Heading { .. } | Tag::Strong => self.begin(STRONG),
            Tag::Emphasis => self.begin(EMPHASIS),
            Tag::Link { .. } => self.begin(LINK),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::Heading(_) => {
                self.finish();
                self.flush();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Link => self.finish(),
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.space();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.space();
                }
            }
            TagEnd::TableCell => self.row.push(std::mem::take(&mut self.inline)),
            TagEnd::TableHead => {
                let row = std::mem::take(&mut self.row);
                self.table.iter_mut().for_each(|table| _ = table.set_header(row.clone()));
            }
            TagEnd::TableRow => {
                let row = std::mem::take(&mut self.row);
                self.table.iter_mut().for_each(|table| _ = table.add_row(row.clone()));
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.block(&table.to_string());
                }
            }
            _ => {}
        }
    }

    fn empty_table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.columns).unwrap_or(u16::MAX));
        table
    }

    fn begin(&mut self, style: Style) {
        self.styles.push(style);
        if self.table.is_none() {
            self.inline += &style.to_string();
        }
    }

    /// Ends the innermost style. A terminal ends all of them at once, so those around it begin again.
    fn finish(&mut self) {
        let Some(style) = self.styles.pop() else { return };
        if self.table.is_none() {
            self.inline += &format!("{style:#}");
            self.inline.extend(self.styles.iter().map(Style::to_string));
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.begin(style);
        self.inline += text;
        self.finish();
    }

    fn code(&mut self, text: &str) {
        let indent = " ".repeat(STEP * (self.lists.len() + 1));
        for line in text.lines() {
            self.text += &format!("{indent}{CODE}{line}{CODE:#}\n");
        }
    }

    /// Writes the paragraph, heading or item that was read.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.inline);
        if text.trim().is_empty() {
            return;
        }
        let depth = self.lists.len().saturating_sub(1) * STEP;
        let mark = self.mark.take();
        let is_item = !self.lists.is_empty();
        let hanging = if is_item { depth + STEP } else { 0 };
        let first = match &mark {
            Some(mark) => format!("{}{mark}", " ".repeat(depth)),
            None => " ".repeat(hanging),
        };
        let rest = " ".repeat(hanging.max(mark.as_ref().map_or(0, |mark| depth + mark.chars().count())));
        let options = textwrap::Options::new(self.columns)
            .word_splitter(WordSplitter::NoHyphenation)
            .break_words(false)
            .initial_indent(&first)
            .subsequent_indent(&rest);
        self.text += &textwrap::fill(&text, options);
        self.text.push('\n');
        if !is_item {
            self.text.push('\n');
        }
    }

    fn block(&mut self, text: &str) {
        self.text += text;
        self.text += "\n\n";
    }

    /// Ends with one empty line.
    fn space(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help_pages::PAGES;

    fn plain(markdown: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&rendered(markdown, columns)).to_string()
    }

    #[test]
    fn marks_become_layout() {
        let markdown = "# A *long* title\n\nSome `code` and\n[a link](other.md), **bold**.\n\n- one\n  goes on\n- two\n  1. deep\n\nEnd.\n";
        let expected =
            "A long title\n\nSome code and a link, bold.\n\n\u{2022} one goes on\n\u{2022} two\n  1. deep\n\nEnd.\n";
        assert_eq!(plain(markdown, 80), expected);
        let text = rendered(markdown, 80);
        assert!(text.contains(&format!("{CODE}code{CODE:#}")) && text.starts_with(&STRONG.to_string()), "{text:?}");
        // The text behind the inner style is still bold.
        assert!(text.contains(&format!("{EMPHASIS}long{EMPHASIS:#}{STRONG} title{STRONG:#}")), "{text:?}");
    }

    #[test]
    fn long_lines_are_broken_at_words_and_code_is_not() {
        let text = plain("- one two three four five six\n\n```sh\none two three four five six\n```\n", 14);
        assert_eq!(text, "\u{2022} one two\n  three four\n  five six\n\n  one two three four five six\n");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let text = plain("| key | what |\n|---|---|\n| `a` | several words in a cell |\n", 24);
        assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
        assert!(
            text.contains(" key ") && text.contains("several") && !text.contains('|') && !text.contains('`'),
            "{text}"
        );
    }

    #[test]
    fn every_page_is_rendered_with_all_its_words() {
        for page in PAGES {
            let text = plain(&page.shown(), 80);
            // Where links lead is left out, and so are the languages of code.
            let source = page.shown();
            let parts = source.split("](").enumerate();
            let source: String =
                parts.map(|(place, part)| if place == 0 { part } else { after_address(part) }).collect();
            let count = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).count();
            let (found, expected) = (count(&text), count(&source));
            assert!(found <= expected && found * 100 >= expected * 95, "{}: {found} of {expected}", page.name());
            let prose = text.lines().filter(|line| !line.starts_with("  ") && !line.contains("http"));
            let long: Vec<_> = prose.filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{}: {long:?}", page.name());
        }
    }

    fn after_address(part: &str) -> &str {
        part.split_once(')').map_or(part, |(_, rest)| rest)
    }
}
