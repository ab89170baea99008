//! Values of a TOML file.

use toml::{Spanned, Value, de::DeValue};

/// A value without its places.
pub(crate) fn plain(value: &Spanned<DeValue>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            // One that does not fit was refused when the file was parsed.
            parsed.map_or_else(|_| Value::String(number.to_string()), Value::Integer)
        }
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::String(number.to_string()), Value::Float)
        }
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(values) => Value::Array(values.iter().map(plain).collect()),
        DeValue::Table(table) => {
            Value::Table(table.iter().map(|(key, value)| (key.get_ref().to_string(), plain(value))).collect())
        }
    }
}

/// A value as TOML on one line, a string without its quotes.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| inline(value), str::to_owned)
}

/// A value as [`text_of`] writes it, except that 1 and 1.0 are the same number.
pub(crate) fn shown(value: &Value) -> String {
    value.as_float().map_or_else(|| text_of(value), |number| number.to_string())
}

/// A value as TOML on one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
