//! The fields of a response that are kept, and no more of them than a scan of many such servers has memory for.

use crate::answer::HttpAnswer;
use crate::settings::HttpSettings;

/// Bytes of the value of one field that are kept: ordinary ones have some hundred.
const MOST_VALUE_BYTES: usize = 1024;
/// Fields that are kept of those that were asked for, and bytes of their values together.
const MOST_FIELDS: usize = 32;
const MOST_FIELDS_BYTES: usize = 4096;

/// Fields, as they come.
#[derive(Default)]
pub struct Fields {
    server: Option<Value>,
    alt_svc: Option<Value>,
    headers: Vec<(String, String)>,
    headers_cut: Cut,
}

/// A value, of which the beginning is kept.
#[derive(Default)]
struct Value {
    text: String,
    cut: Cut,
}

/// Bytes that there were, and those that are kept.
#[derive(Clone, Copy, Default)]
struct Cut {
    all: usize,
    kept: usize,
}

impl Value {
    fn push(&mut self, value: &[u8]) {
        let kept = &value[..value.len().min(MOST_VALUE_BYTES - self.cut.kept)];
        self.text.push_str(&String::from_utf8_lossy(kept));
        self.cut.all += value.len();
        self.cut.kept += kept.len();
    }
}

impl Fields {
    /// One more.
    pub fn add(&mut self, name: &[u8], value: &[u8], settings: &HttpSettings) {
        match name {
            b"server" => self.server.insert(Value::default()).push(value),
            b"alt-svc" => match &mut self.alt_svc {
                // RFC 9110 section 5.3.
                Some(joined) => [&b", "[..], value].iter().for_each(|part| joined.push(part)),
                none => none.insert(Value::default()).push(value),
            },
            _ => {}
        }
        let wanted = settings.headers.iter().find(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name));
        if let Some(wanted) = wanted {
            self.add_wanted(wanted, value);
        }
    }

    fn add_wanted(&mut self, name: &str, value: &[u8]) {
        self.headers_cut.all += value.len();
        if self.headers.len() == MOST_FIELDS {
            return;
        }
        let room = MOST_VALUE_BYTES.min(MOST_FIELDS_BYTES - self.headers_cut.kept);
        let kept = &value[..value.len().min(room)];
        self.headers_cut.kept += kept.len();
        self.headers.push((name.to_owned(), String::from_utf8_lossy(kept).into_owned()));
    }

    /// Makes the answer, without a status.
    pub fn into_answer(self) -> HttpAnswer {
        let of = |value: &Option<Value>| value.as_ref().map_or(Cut::default(), |value| value.cut);
        let cuts = [("server", of(&self.server)), ("alt-svc", of(&self.alt_svc)), ("headers", self.headers_cut)];
        let cuts: Vec<_> = cuts
            .iter()
            .filter(|(_, cut)| cut.kept < cut.all)
            .map(|(what, cut)| format!("{what} ({} of {} bytes)", cut.kept, cut.all))
            .collect();
        HttpAnswer {
            status: 0,
            server: self.server.map(|value| value.text),
            alt_svc: self.alt_svc.map(|value| value.text),
            headers: self.headers,
            cut: (!cuts.is_empty()).then(|| format!("HTTP/3: only the beginning was kept of {}", cuts.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &[u8])]) -> HttpAnswer {
        let settings = HttpSettings { headers: vec!["cf-ray".into()], ..HttpSettings::default() };
        let mut read = Fields::default();
        fields.iter().for_each(|(name, value)| read.add(name.as_bytes(), value, &settings));
        read.into_answer()
    }

    #[test]
    fn a_value_is_whole_up_to_its_bound_and_cut_behind_it() {
        for (bytes, cut) in [(1024, None), (1025, Some("(1024 of 1025 bytes)"))] {
            let value = vec![b'x'; bytes];
            for name in ["server", "alt-svc", "cf-ray"] {
                let answer = read(&[(name, &value)]);
                let texts = [answer.server.as_deref(), answer.alt_svc.as_deref()];
                let headers = answer.headers.iter().map(|(_, value)| Some(value.as_str()));
                let kept: Vec<_> = texts.into_iter().chain(headers).flatten().collect();
                assert_eq!(kept, ["x".repeat(1024)], "{name}");
                let said = answer.cut.as_deref();
                assert_eq!(said.is_some(), cut.is_some(), "{name}: {said:?}");
                assert!(cut.is_none_or(|cut| said.is_some_and(|said| said.contains(cut))), "{name}: {said:?}");
            }
        }
    }

    #[test]
    fn many_fields_take_no_more_than_few() {
        let long = [b'a'; 2000];
        let answer = read(&[("alt-svc", &long[..]); 50]);
        assert_eq!(answer.alt_svc.map(|it| it.len()), Some(1024));
        assert!(answer.cut.is_some_and(|it| it.contains("alt-svc (1024 of 100098 bytes)")));
        let answer = read(&[("cf-ray", &long[..]); 50]);
        assert_eq!(answer.headers.iter().map(|(_, value)| value.len()).sum::<usize>(), 4096);
        let answer = read(&[("cf-ray", &b"1-FRA"[..]); 50]);
        assert_eq!(answer.headers.len(), 32);
        assert!(answer.cut.is_some_and(|it| it.contains("headers (160 of 250 bytes)")));
        assert_eq!(read(&[("alt-svc", b"a"), ("alt-svc", b"b")]).alt_svc.as_deref(), Some("a, b"));
        assert_eq!(read(&[("server", b"a"), ("server", b"b")]).server.as_deref(), Some("b"));
        assert_eq!(read(&[("cf-ray", b"")]).cut, None);
    }

    #[test]
    fn bytes_that_are_no_text_take_three_each_at_most() {
        let answer = read(&[("server", &[0xff; 5000])]);
        assert_eq!(answer.server.map(|it| it.len()), Some(3 * 1024));
    }
}
