//! The table of a report, which the terminal, Markdown and the page show each in its own form.

use quiclab_experiment::Published;

use crate::{
    columns::Column,
    groups::{Group, name_alone, other_builds},
    notes::tells_clients,
};

/// A row for each group of runs, below it one for what was published of it, and at the end what was published of something else.
pub(crate) struct ResultsTable<'a> {
    /// Whether the rows of runs say whose client it was.
    pub tells_clients: bool,
    /// The columns behind the name, the client and the number of runs.
    pub columns: Vec<&'static Column>,
    /// The rows, from the top.
    pub rows: Vec<ResultsRow<'a>>,
}

/// One row.
pub(crate) struct ResultsRow<'a> {
    /// What it is about.
    pub of: RowOf<'a>,
    /// A cell for each column.
    pub cells: Vec<String>,
}

/// What a row is about.
pub(crate) enum RowOf<'a> {
    /// The runs of a group.
    Runs(&'a Group<'a>),
    /// What was published of a group.
    Published(&'a Group<'a>, &'a Published),
    /// What was published of something that was not run.
    Alone(&'a Published),
}

impl<'a> ResultsTable<'a> {
    /// The table of these groups, and of what was published of none of them.
    pub fn of(
        groups: &'a [Group<'a>],
        alone: &[&'a Published],
        columns: impl Iterator<Item = &'static Column>,
    ) -> Self {
        let columns: Vec<&'static Column> = columns.collect();
        let row = |of: RowOf<'a>| ResultsRow { cells: columns.iter().map(|column| of.cell(column)).collect(), of };
        let mut rows = Vec::new();
        for group in groups {
            rows.push(row(RowOf::Runs(group)));
            rows.extend(group.published.map(|published| row(RowOf::Published(group, published))));
        }
        rows.extend(alone.iter().map(|published| row(RowOf::Alone(published))));
        Self { tells_clients: tells_clients(groups), columns, rows }
    }

    /// What stands above the columns.
    pub fn headings(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.heading)
    }
}

impl RowOf<'_> {
    fn cell(&self, column: &Column) -> String {
        match self {
            Self::Runs(group) => column.cell(group.summary(column).as_ref()),
            Self::Published(_, published) | Self::Alone(published) => {
                column.published(published.values.get(column.metric).copied())
            }
        }
    }

    /// What stands at the beginning of the row.
    pub fn name(&self) -> String {
        match self {
            Self::Runs(group) => group.label.clone(),
            Self::Published(group, published) => {
                let stacks = other_builds(published, group.settings);
                match stacks.is_empty() {
                    true => "published".to_owned(),
                    false => format!("published of {}", stacks.into_iter().collect::<Vec<_>>().join(", ")),
                }
            }
            Self::Alone(published) => name_alone(published),
        }
    }

    /// Where published values come from.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Runs(_) => None,
            Self::Published(_, published) | Self::Alone(published) => published.source.as_deref(),
        }
    }

    /// A line that says where published values come from. `published` is that word, as the line has to begin.
    pub fn source_line(&self, published: &str) -> Option<String> {
        let source = self.source()?;
        Some(match self {
            Self::Published(group, _) => format!("{published}, {}: {source}", group.label),
            _ => format!("{}: {source}", self.name()),
        })
    }

    /// Whether it is about something that was not run.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Alone(_))
    }
}
