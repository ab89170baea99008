//! `quiclab look`

use anyhow::{Context, Result};
use quiclab_pages::{
    folder,
    transfer::{
        page::{PageInputs, name_apart, no_server, place, transfer, window::Window},
        which::one_record,
    },
};
use quiclab_report::{profiles_in_words, render_look_html, verdicts_as_json, verdicts_in_words};
use quiclab_units::ShowPath;

use crate::{session::bounded_input, settings::LookSettings, terminal::output};

/// Writes the page of one transfer, or of two. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// Where a capture, a key log or a qlog cannot be read, has no packets, or the page cannot be written.
pub fn look(settings: &LookSettings) -> Result<u8> {
    let window = Window::new(settings.from, settings.to)?;
    let paths = settings.paths.iter().map(|path| one_record(path)).collect::<Result<Vec<_>>>()?;
    let mut transfers = Vec::new();
    let mut profiles = Vec::new();
    let mut was_cut = false;
    for (place, path) in paths.iter().enumerate() {
        let qlog = if place == 0 { settings.qlog.as_slice() } else { &[] };
        let (tap, port) = (settings.tap.as_deref(), settings.server_port);
        let read_keys = &|| bounded_input::read_key_logs(&settings.keys);
        let inputs = PageInputs { open: bounded_input::open, read_keys, qlog, tap, port, window };
        let seen = transfer(path, &inputs)?.with_context(|| no_server(path, window))?;
        was_cut |= seen.is_cut;
        for missing in &seen.missing_profiles {
            status!("quiclab: warning: {}: {missing}", seen.transfer.name);
        }
        profiles.push(seen.profiles);
        transfers.push(seen.transfer);
    }
    name_apart(&mut transfers, &paths);
    for transfer in &transfers {
        transfer.notes.iter().for_each(|note| status!("quiclab: warning: {}: {note}", transfer.name));
    }
    let page = match &settings.html {
        Some(page) => page.clone(),
        None => place(&paths)?,
    };
    let html = render_look_html(&transfers);
    folder::write_at(&page, html).context("the page cannot be written; hint: --html FILE writes it elsewhere")?;
    let verdicts = transfers.iter().zip(&profiles);
    let mut verdicts =
        verdicts.map(|(transfer, profiles)| (transfer.name.as_str(), &transfer.verdicts, profiles.as_slice()));
    output::print(&if settings.json {
        verdicts_as_json(&mut verdicts)
    } else {
        let in_words = |(name, verdicts, profiles): (&str, _, &_)| {
            verdicts_in_words(name, verdicts, output::terminal_width()) + &profiles_in_words(profiles)
        };
        verdicts.map(in_words).collect::<String>()
    })?;
    status!("the transfer over time: {}", page.shown());
    Ok(u8::from(was_cut))
}
