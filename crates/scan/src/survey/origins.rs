//! Who runs an address, from the user's tables.

use std::{io::BufReader, path::Path};

use anyhow::{Context, Result};
use quiclab_units::ShowPath;

use super::{hooks::SurveyHooks, row::ScanRow, settings::OriginSettings};
use crate::origin::{Cdns, Table, airport};

/// Peers of a routing table that must see an origin.
const FEWEST_PEERS: u32 = 10;

/// Tables that rows are completed from.
pub struct Origins {
    table: Table,
    cdns: Cdns,
}

impl Origins {
    /// Reads the tables.
    ///
    /// # Errors
    /// Where one of them cannot be read.
    pub fn read(settings: &OriginSettings, hooks: &dyn SurveyHooks) -> Result<Self> {
        // Tables may come through a pipe, and nothing is under way yet.
        let _reading = hooks.reading();
        let open = |path: &Path| hooks.open(path).with_context(|| format!("{}: cannot be opened", path.shown()));
        let mut table = Table::new();
        for path in &settings.prefixes {
            let added = table.add(open(path)?, FEWEST_PEERS).with_context(|| path.shown().to_string())?;
            if added.unreadable_records > 0 {
                hooks.status(&format!(
                    "warning: {}: {} records could not be read",
                    path.shown(),
                    added.unreadable_records
                ));
            }
        }
        let cdns = match &settings.cdns {
            Some(path) => Cdns::read(BufReader::new(open(path)?)).with_context(|| path.shown().to_string())?,
            None => Cdns::of_the_study(),
        };
        Ok(Origins { table, cdns })
    }

    /// Completes a row.
    pub fn complete(&self, row: &mut ScanRow) {
        if let Some(origin) = row.server.and_then(|server| self.table.origin(server.ip())) {
            let numbers: Vec<String> = origin.asns.iter().map(u32::to_string).collect();
            row.origin_as = Some(numbers.join("_"));
            row.cdn = self.cdns.of(origin.asns).map(str::to_owned);
        }
        let place = |(name, value): &(String, String)| airport(name, value.as_bytes());
        row.location = row.http_headers.iter().find_map(place).map(|place| place.to_string());
    }
}
