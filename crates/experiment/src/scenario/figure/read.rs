//! Reads `[[figure]]` tables.

use toml::{Spanned, de::DeValue};

use crate::{
    error::ExperimentError,
    expect::Compared,
    reader::{Reader, Table},
    scenario::measured::{MetricName, Quantity},
    value::{inline, plain},
};

use super::{Compare, FigureKind, FigureSpec, GROUPS, TIME};

const KEYS: &str = "a table has title, caption, kind, x, by, y, logarithmic, cumulative, compare, x_label, y_label, \
                    x_range and y_range";

impl Reader<'_> {
    pub(in crate::scenario) fn figure(&self, row: &Spanned<DeValue>) -> Result<FigureSpec, ExperimentError> {
        let table = self.table(row, "figure")?;
        let missing = |key: &str, what: &str| self.error(row, format!("figure.{key}: missing; expected {what}"), None);
        let mut figure = FigureSpec::over_time(String::new(), Vec::new());
        for (key, value) in table.iter() {
            match key.get_ref().as_ref() {
                "title" => figure.title = self.figure_text(value, "title")?,
                "caption" => figure.caption = Some(self.figure_text(value, "caption")?),
                "kind" => figure.kind = self.figure_kind(value)?,
                "x" => figure.x = self.figure_text(value, "x")?,
                "by" => figure.by = Some(self.figure_text(value, "by")?),
                "y" => figure.y = self.names(value)?,
                "logarithmic" => figure.logarithmic = self.truth(value, "figure.logarithmic")?,
                "cumulative" => figure.cumulative = self.truth(value, "figure.cumulative")?,
                "compare" => figure.compare = Some(self.compare(value)?),
                "x_label" => figure.x_label = Some(self.figure_text(value, "x_label")?),
                "y_label" => figure.y_label = Some(self.figure_text(value, "y_label")?),
                "x_range" => figure.x_range = Some(self.range(value, "x_range")?),
                "y_range" => figure.y_range = Some(self.range(value, "y_range")?),
                other => {
                    let message = format!("figure.{other}: found a key that does not exist");
                    return Err(self.error(key, message, Some(KEYS.to_owned())));
                }
            }
        }
        if !self.kind.has_series && !table.contains_key("x") {
            return Err(missing("x", "the key of a setting"));
        }
        if figure.title.is_empty() {
            return Err(missing("title", "a text"));
        }
        if figure.y.is_empty() {
            return Err(missing("y", "the name of a metric, or a list of them"));
        }
        self.check_axes(&figure, table, row)?;
        self.check_units(&figure, table, row)?;
        Ok(figure)
    }

    /// Axes name settings, and what a figure is goes with what it shows.
    fn check_axes(&self, figure: &FigureSpec, table: &Table, row: &Spanned<DeValue>) -> Result<(), ExperimentError> {
        let refused = |key: &str, message: &str| {
            let at = table.get(key).unwrap_or(row);
            Err(self.error(at, format!("figure.{key}: {message}"), None))
        };
        if figure.x == TIME && !self.kind.has_series {
            return refused("x", "found \"time\", expected the key of a setting: transfers have no series over time");
        }
        if figure.x != TIME && !self.kind.knows(&figure.x) {
            let time = if self.kind.has_series { "\"time\" or " } else { "" };
            return refused("x", &format!("found {:?}, expected {time}the key of a setting", figure.x));
        }
        match (figure.kind, &figure.by) {
            (FigureKind::Curves, Some(_)) => {
                return refused("by", "found in a figure of curves; expected kind = \"grid\"");
            }
            (FigureKind::Grid, None) => return refused("by", "missing; a grid needs the key of a second setting"),
            (FigureKind::Grid, Some(by)) if !self.kind.knows(by) => {
                return refused("by", &format!("found {by:?}, expected the key of a setting"));
            }
            (FigureKind::Grid, Some(by)) if *by == figure.x => {
                return refused("by", "found the same setting as in x, expected another one");
            }
            (FigureKind::Grid, _) if figure.x == TIME => {
                return refused("x", "missing or \"time\"; a grid needs the key of a setting");
            }
            (FigureKind::Grid, _) if figure.y.len() > 1 => {
                return refused("y", "found several metrics, expected one in a grid");
            }
            (FigureKind::Grid, _) if figure.logarithmic => {
                return refused("logarithmic", "found true in a grid, whose cells all have the same size");
            }
            (FigureKind::Grid, _) if figure.x_range.is_some() => {
                return refused("x_range", "found in a grid, which shows all of its cells");
            }
            _ => {}
        }
        if figure.logarithmic && figure.x_range.is_some_and(|(from, _)| from <= 0.0) {
            return refused(
                "x_range",
                "found a range that begins at 0 or below, expected more than 0 on a logarithmic axis",
            );
        }
        if figure.cumulative && figure.x != TIME {
            return refused("cumulative", "found true without x = \"time\"; only series over time can be cumulative");
        }
        let axes = [Some(&figure.x), figure.by.as_ref()];
        if let Some(compare) = &figure.compare
            && axes.contains(&Some(&compare.setting))
        {
            return refused("compare", "found the setting of an axis, expected another one");
        }
        Ok(())
    }

    /// Everything on one axis has one unit.
    fn check_units(&self, figure: &FigureSpec, table: &Table, row: &Spanned<DeValue>) -> Result<(), ExperimentError> {
        let at = table.get("y").unwrap_or(row);
        let quantity = |name: &String| MetricName::new(name).quantity();
        let is_ratio = figure.compare.as_ref().is_some_and(|compare| compare.how == Compared::Ratio);
        if let Some(other) = figure.y.iter().find(|name| !is_ratio && quantity(name) != quantity(&figure.y[0])) {
            let first = &figure.y[0];
            let message = format!(
                "figure.y: found {first:?} ({}) and {other:?} ({}), expected metrics with the same unit on one axis",
                quantity(first).unit_in_words(),
                quantity(other).unit_in_words()
            );
            return Err(self.error(at, message, Some("write a [[figure]] for each".to_owned())));
        }
        let has_sum = |name: &&String| matches!(quantity(name), Quantity::Rate) || is_count_of_intervals(name);
        if let Some(other) = figure.y.iter().find(|name| figure.cumulative && !has_sum(name)) {
            let message = format!(
                "figure.cumulative: found true with {other:?}, which is neither a rate nor a count; expected goodput, \
                 drops or marks"
            );
            return Err(self.error(table.get("cumulative").unwrap_or(row), message, None));
        }
        Ok(())
    }

    fn figure_text(&self, value: &Spanned<DeValue>, key: &str) -> Result<String, ExperimentError> {
        let found = plain(value);
        let message = || format!("figure.{key}: found {}, expected a string", inline(&found));
        found.as_str().map(str::to_owned).ok_or_else(|| self.error(value, message(), None))
    }

    fn figure_kind(&self, value: &Spanned<DeValue>) -> Result<FigureKind, ExperimentError> {
        let found = plain(value);
        let message = || format!("figure.kind: found {}, expected \"curves\" or \"grid\"", inline(&found));
        found.clone().try_into().map_err(|_| self.error(value, message(), None))
    }

    /// `{ setting = ..., of = ..., with = ..., as = ... }`
    fn compare(&self, value: &Spanned<DeValue>) -> Result<Compare, ExperimentError> {
        const KEYS: [&str; 4] = ["setting", "of", "with", "as"];
        let table = self.table(value, "figure.compare")?;
        if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let message = format!("figure.compare.{}: found a key that does not exist", key.get_ref());
            return Err(self.error(key, message, Some("expected setting, of, with and as".to_owned())));
        }
        let get = |key: &str| {
            let message = format!("figure.compare.{key}: missing; expected setting, of, with and as");
            table.get(key).ok_or_else(|| self.error(value, message, None))
        };
        let setting = self.figure_text(get("setting")?, "compare.setting")?;
        let how = plain(get("as")?);
        let how = how.clone().try_into().map_err(|_| {
            let message = format!("figure.compare.as: found {}, expected \"difference\" or \"ratio\"", inline(&how));
            self.error(table.get("as").unwrap_or(value), message, None)
        })?;
        let side = |key: &str| {
            let side = get(key)?;
            if setting == GROUPS && self.kind.has_series {
                return self.figure_text(side, &format!("compare.{key}"));
            }
            let at = table.get("setting").unwrap_or(value);
            self.assignment(&setting, at, side).map(|assignment| assignment.text())
        };
        let (of, with) = (side("of")?, side("with")?);
        if of == with {
            let message = format!("figure.compare: found {of:?} twice, expected two values");
            return Err(self.error(value, message, None));
        }
        Ok(Compare { setting, of, with, how })
    }

    /// `[from, to]`
    fn range(&self, value: &Spanned<DeValue>, key: &str) -> Result<(f64, f64), ExperimentError> {
        let name = format!("figure.{key}");
        let message = || format!("{name}: found {}, expected two numbers, the smaller first", inline(&plain(value)));
        let ends = value.get_ref().as_array().filter(|ends| ends.len() == 2);
        let ends = ends.ok_or_else(|| self.error(value, message(), None))?;
        let (from, to) = (self.number(&ends[0], &name)?, self.number(&ends[1], &name)?);
        if from < to { Ok((from, to)) } else { Err(self.error(value, message(), None)) }
    }

    /// A text, or a list of texts.
    fn names(&self, value: &Spanned<DeValue>) -> Result<Vec<String>, ExperimentError> {
        let found = plain(value);
        let message =
            || format!("figure.y: found {}, expected the name of a metric, or a list of them", inline(&found));
        match &found {
            toml::Value::String(name) => Ok(vec![name.clone()]),
            toml::Value::Array(names) => {
                let texts = names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                texts.ok_or_else(|| self.error(value, message(), None))
            }
            _ => Err(self.error(value, message(), None)),
        }
    }
}

/// Series that count what happened in each interval.
fn is_count_of_intervals(name: &str) -> bool {
    ["drops_packets", "marks_packets"].contains(&name)
}
