//! The path, described once.

use crate::settings::{
    draft::Draft,
    stages::{INCLUDE, LISTS, SCENARIO},
};

impl Draft {
    /// Checks that the path is described once, and makes the changes of single stages.
    ///
    /// # Errors
    /// The key to blame, and what is wrong.
    pub(crate) fn settle_path(&mut self) -> Result<(), (&'static str, String)> {
        const TO_CLIENT: &[&str] =
            &["path.rate", "path.burst", "path.delay_to_client", "path.queue_limit_packets", "path.queue_bdp"];
        const CROSS_TRAFFIC: &[&str] =
            &["path.cross_traffic", "path.cross_rate", "path.cross_datagram", "path.cross_start"];
        const TO_SERVER: &[&str] = &["path.delay_to_server", "path.return_limit_packets", "path.drops_to_server"];
        let path = &self.settings.path;
        if self.names_path(INCLUDE) && self.names_path(SCENARIO) {
            return Err((SCENARIO, format!("found a value in addition to {INCLUDE}; expected one of the two")));
        }
        let has_cross_traffic =
            path.scenario.as_deref().is_some_and(|text| text.trim_start().contains("-cross-traffic"));
        if let Some(key) = CROSS_TRAFFIC.iter().find(|key| has_cross_traffic && self.is_given(key)) {
            let message =
                format!("found a value in addition to {SCENARIO}, which has cross traffic; expected one of the two");
            return Err((key, message));
        }
        for (list, value, short_form) in
            [(LISTS[0], &path.to_client, TO_CLIENT), (LISTS[1], &path.to_server, TO_SERVER)]
        {
            if let Some(source) = [INCLUDE, SCENARIO].into_iter().find(|source| self.names_path(source))
                && self.is_given(list)
            {
                return Err((list, format!("found a value in addition to {source}; expected one of the two")));
            }
            let Some(key) = short_form.iter().find(|key| self.is_given(key)) else { continue };
            if !value.is_bottleneck() {
                let source = [INCLUDE, SCENARIO].into_iter().find(|source| self.names_path(source));
                let source = source.filter(|_| !self.is_given(list)).unwrap_or(list);
                let message = format!(
                    "found a value in addition to {source}; expected one of the two, because this key is part of a \
                     short form of {list}"
                );
                return Err((key, message));
            }
        }
        for change in std::mem::take(&mut self.stage_changes) {
            change.apply(&mut self.settings)?;
        }
        Ok(())
    }

    /// Whether this key, of a file or of a scenario, says what the lists are.
    fn names_path(&self, source: &str) -> bool {
        let name = if source == INCLUDE { &self.settings.path.include } else { &self.settings.path.scenario };
        name.is_some()
    }
}
