//! How a stage declares its settings: a struct, from whose fields follow reading, writing and the reference.

use toml::{Table, Value};

/// One setting of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingDeclaration {
    /// Its key.
    pub key: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it is, in one line.
    pub text: &'static str,
    /// What it is where a file does not say, as TOML; `None` where a file must say, or where it may be left out and then does nothing.
    pub default: Option<String>,
    /// Whether a file may leave it out.
    pub is_optional: bool,
}

/// A kind of stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageDeclaration {
    /// The value of its key `stage`.
    pub stage: &'static str,
    /// The key that tells its variants apart, and the value for this one; `None` where there is only one.
    pub variant: Option<(&'static str, &'static str)>,
    /// What it does, in a line or two.
    pub text: &'static str,
    /// Its settings.
    pub settings: Vec<SettingDeclaration>,
}

/// What the settings of a stage can do.
pub trait Declared: Sized {
    /// Its declaration.
    fn declaration() -> StageDeclaration;

    /// Takes its settings out of a table, of which nothing else is looked at.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    fn take(table: &mut Table) -> Result<Self, String>;

    /// Puts its settings into a table.
    fn put(&self, table: &mut Table);
}

/// Takes a setting out of a table.
pub(crate) fn take<T: super::value::SettingValue>(
    table: &mut Table,
    key: &str,
    default: Option<T>,
    takes: &str,
) -> Result<T, String> {
    match table.remove(key) {
        Some(value) => T::read(&value).map_err(|message| format!("{key}: {message}")),
        None => default.or_else(T::missing).ok_or_else(|| format!("{key}: missing, expected {takes}")),
    }
}

/// Puts a setting into a table, unless it is one that is left out.
pub(crate) fn put<T: super::value::SettingValue>(table: &mut Table, key: &str, value: &T) {
    if let Some(value) = value.write() {
        table.insert(key.to_owned(), value);
    }
}

/// A default as TOML.
pub(crate) fn default_text<T: super::value::SettingValue>(default: Option<T>) -> Option<String> {
    default.as_ref().and_then(T::write).as_ref().map(super::value::shown)
}

/// The variant of a stage in a table.
pub(crate) fn variant<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// Declares the settings of a stage: `NAME: "stage", variant = "value" { field: Type = default, }`.
macro_rules! stage_settings {
    (
        $(#[doc = $text:literal])+
        $name:ident: $stage:literal $(, $variant:ident = $word:literal)? {
            $($(#[doc = $field_text:literal])+ $field:ident: $type:ty $(= $default:expr)?,)*
        }
    ) => {
        $(#[doc = $text])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $field_text])+ pub $field: $type,)*
        }

        impl $crate::spec::declare::Declared for $name {
            fn declaration() -> $crate::spec::declare::StageDeclaration {
                use $crate::spec::{declare::{SettingDeclaration, StageDeclaration, default_text}, value::SettingValue};
                #[allow(unused_mut, unused_assignments, reason = "not every stage has variants")]
                let mut variant = None;
                $(variant = Some((stringify!($variant), $word));)?
                StageDeclaration {
                    stage: $stage,
                    variant,
                    text: concat!($($text),+).trim_ascii(),
                    settings: vec![$({
                        #[allow(unused_mut, unused_assignments, reason = "not every setting has a default")]
                        let mut default: Option<$type> = None;
                        $(default = Some($default);)?
                        SettingDeclaration {
                            key: stringify!($field),
                            takes: <$type as SettingValue>::TAKES,
                            text: concat!($($field_text),+).trim_ascii(),
                            is_optional: default.is_some() || <$type as SettingValue>::missing().is_some(),
                            default: default_text(default),
                        }
                    }),*],
                }
            }

            fn take(table: &mut toml::Table) -> Result<Self, String> {
                use $crate::spec::value::SettingValue;
                Ok(Self {$(
                    $field: {
                        #[allow(unused_mut, unused_assignments, reason = "not every setting has a default")]
                        let mut default: Option<$type> = None;
                        $(default = Some($default);)?
                        $crate::spec::declare::take(table, stringify!($field), default, <$type as SettingValue>::TAKES)?
                    },
                )*})
            }

            fn put(&self, table: &mut toml::Table) {
                $($crate::spec::declare::put(table, stringify!($field), &self.$field);)*
            }
        }
    };
}
pub(crate) use stage_settings;
