//! A record of either kind of workload.

use std::path::Path;

use quiclab_experiment::{AnyRun, run::Versions};
use quiclab_metrics::{RunMetrics, Warning};

use crate::{
    ModelsMetrics, ModelsObserved, ModelsRecord, Observed, Record, RecordError, RunFile, record::check_is_record,
};

/// A complete record, whatever its workload.
#[derive(Clone, Debug)]
pub enum AnyRecord {
    /// The record of a transfer between stacks.
    Transfer(Box<Record>),
    /// The record of flows of models.
    Models(Box<ModelsRecord>),
}

/// What was seen of a run.
#[derive(Clone, Debug)]
pub enum Seen {
    /// What was seen of a transfer; its metrics follow from the capture.
    Transfer(Box<Observed>),
    /// What was seen of flows of models, with what was measured of them; nothing was measured of a run that failed.
    Models(ModelsObserved, Box<ModelsMetrics>),
}

/// The metrics of a run.
#[derive(Clone, Debug)]
pub enum Measured {
    /// The metrics of a transfer between stacks.
    Transfer(Box<RunMetrics>),
    /// The metrics of flows of models.
    Models(Box<ModelsMetrics>),
}

impl AnyRecord {
    /// Reads the record in `folder`, as [`Record::load`] and [`ModelsRecord::load`] do.
    ///
    /// # Errors
    /// As there.
    pub fn load(folder: &Path) -> Result<Self, RecordError> {
        check_is_record(folder)?;
        Ok(match RunFile::kind_in(folder)?.as_str() {
            AnyRun::MODELS => Self::Models(Box::new(ModelsRecord::load(folder)?)),
            _ => Self::Transfer(Box::new(Record::load(folder)?)),
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Transfer(record) => &record.folder,
            Self::Models(record) => &record.folder,
        }
    }

    /// The run's identity.
    pub fn id(&self) -> &str {
        match self {
            Self::Transfer(record) => &record.run.id,
            Self::Models(record) => &record.run.id,
        }
    }

    /// The run.
    pub fn run(&self) -> AnyRun {
        match self {
            Self::Transfer(record) => record.run.run.clone().into(),
            Self::Models(record) => record.run.run.clone().into(),
        }
    }

    /// What it was made with.
    pub fn versions(&self) -> &Versions {
        match self {
            Self::Transfer(record) => &record.run.versions,
            Self::Models(record) => &record.run.versions,
        }
    }

    /// Its metrics.
    pub fn measured(&self) -> Measured {
        match self {
            Self::Transfer(record) => Measured::Transfer(Box::new(record.metrics.clone())),
            Self::Models(record) => Measured::Models(Box::new(record.metrics.clone())),
        }
    }
}

impl Measured {
    /// What to look at before trusting them.
    pub fn warnings(&self) -> &[Warning] {
        match self {
            Self::Transfer(measured) => &measured.warnings,
            Self::Models(measured) => &measured.warnings,
        }
    }

    /// The metrics of a transfer; `None` of models.
    pub fn of_transfer(&self) -> Option<&RunMetrics> {
        match self {
            Self::Transfer(measured) => Some(measured),
            Self::Models(_) => None,
        }
    }
}
