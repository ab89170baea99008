//! The page.

use maud::{Markup, html};
use quiclab_units::shown;

use super::{
    published::STUDY,
    report::ScanReport,
    rows::label,
    section::{Line, Section, Table},
};
use crate::page::{page, picture};

/// The page. It needs no network.
pub fn render_scan_html(report: &ScanReport) -> String {
    let body = html! {
        h1 { (label(&report.title)) }
        p.lead {
            "Answers to QUIC handshakes \u{b7} after " cite { (STUDY) }
            " \u{b7} made by " code { (shown(&report.command)) }
        }
        @for note in &report.notes { p.note { (shown(note)) } }
        @for part in report.sections() { (section(&part)) }
    };
    page(&label(&report.title), &body)
}

fn section(section: &Section) -> Markup {
    html! {
        section.sender {
            h2 { (section.title) }
            @for paragraph in &section.paragraphs { p.note { (paragraph) } }
            @for figure in &section.figures { (picture(figure)) }
            @for one in &section.tables { (table(one)) }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for heading in &table.headings { th { (heading) } } } }
                tbody { @for one in &table.lines { (line(one)) } }
            }
        }
    }
}

fn line(line: &Line) -> Markup {
    html! {
        tr.published[line.is_published] {
            th { (line.name) }
            @for cell in &line.cells { td { (cell) } }
        }
    }
}
