//! How a setting is declared: once, as a field of its section.
//!
//! [`section!`] makes of each section a type whose fields are its settings, and the list of their [`Setting`]s. Parsing, resolution, labels, the
//! identity of a run, the text of a dry run, the reference, completion and errors follow from that list. What is left is the place where a testbed
//! uses the value.

use toml::Value;

use super::value_parser::Refused;

/// One setting of a `D`, which a file fills in, and of an `S`, which is resolved.
pub(crate) struct Setting<D, S> {
    /// Dotted key.
    pub(crate) key: &'static str,
    /// Keys that it had in earlier versions, the latest first. They are still understood.
    pub(crate) formerly: &'static [&'static str],
    /// What it is, for the reference; Markdown.
    pub(crate) what: &'static [&'static str],
    /// What it takes, in words.
    pub(crate) takes: fn() -> String,
    /// The words that it takes, if it takes any.
    pub(crate) words: fn() -> Vec<&'static str>,
    /// Its value where a file does not say; `None` where that depends on other settings.
    pub(crate) default: fn() -> Option<Value>,
    /// What the reference says instead of the default.
    pub(crate) default_said: Option<&'static str>,
    /// The value that stands for what versions did that did not have this setting yet: it is left out of a run's identity, so that adding a
    /// setting changes no identities.
    pub(crate) neutral: Option<fn() -> Option<Value>>,
    /// The only testbeds that have it, with ", " between them, where that does not follow from its section.
    pub(crate) only_on: Option<&'static str>,
    /// Values that a single testbed has: the value's text, and the testbed.
    pub(crate) values_on: &'static [(&'static str, &'static str)],
    /// The variable of the endpoints that it sets.
    pub(crate) variable: Option<Variable>,
    /// Puts a value in.
    pub(crate) read: fn(&mut D, &Value) -> Result<(), Refused>,
    /// Puts the default in.
    pub(crate) reset: fn(&mut D),
    /// Its value as a file would have it; `None` where it has no meaning beside the other settings.
    pub(crate) value: fn(&S) -> Option<Value>,
    /// True where its value follows from that of others, so that nobody needs to be told.
    pub(crate) is_implied: fn(&S) -> bool,
}

/// A variable of an endpoint's environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// Who gets it.
    pub(crate) of: Side,
    /// The text of the value for which it is not set.
    pub(crate) except: Option<&'static str>,
}

/// Which endpoints get a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Both.
    Both,
    /// The server, and a client of the same stack. Another stack's client is left at its own defaults.
    Sender,
    /// The server alone.
    Server,
    /// The client alone.
    Client,
}

/// Declares a section: a type, its default, and the list of its settings.
///
/// After the field, its type and its default stand, in this order:
/// - `takes KIND`: what a file may write, with its range (`value_parser.rs`);
/// - `default_said TEXT`: what the reference says of the default, where that depends on something;
/// - `neutral VALUE`: what earlier versions did, which had no such setting ([`Setting::neutral`]);
/// - `formerly [KEY, ...]`: former keys, the latest first;
/// - `sets VARIABLE of Side except TEXT`: the variable of the endpoints;
/// - `on "TESTBED, ..."`: the only testbeds that have it; sections that are named after a testbed need no such word;
/// - `values_on [(TEXT, TESTBED), ...]`: values that a single testbed has;
/// - `when CONDITION`: other settings beside which it has a meaning;
/// - `implied CONDITION`: others from which its value follows.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident as $section:ident {
            $(
                $(#[doc = $what:literal])+
                $field:ident: $type:ty = $default:expr, takes $takes:expr
                $(, default_said $said:literal)?
                $(, neutral $neutral:expr)?
                $(, formerly [$($former:literal),+])?
                $(, sets $variable:literal of $side:ident $(except $except:literal)?)?
                $(, on $only:literal)?
                $(, values_on [$($of:expr),+])?
                $(, when $when:expr)?
                $(, implied $implied:expr)?
                ;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $what])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $name {
            /// Its settings, in the order of the reference.
            pub(crate) const SETTINGS: &'static [$crate::settings::declaration::Setting<Draft, Settings>] = &[$(
                $crate::settings::declaration::Setting {
                    key: concat!(stringify!($section), ".", stringify!($field)),
                    formerly: &[$($($former),+)?],
                    what: &[$($what),+],
                    takes: || $crate::settings::value_parser::ValueParser::describe(&$takes),
                    words: || $crate::settings::value_parser::ValueParser::words(&$takes),
                    default: || $crate::settings::value_parser::ValueParser::write(&$takes, &$default),
                    default_said: $crate::settings::declaration::optional!($($said)?),
                    neutral: $crate::settings::declaration::optional!($(|| {
                        $crate::settings::value_parser::ValueParser::write(&$takes, &$neutral)
                    })?),
                    only_on: $crate::settings::declaration::optional!($($only)?),
                    values_on: &[$($($of),+)?],
                    variable: $crate::settings::declaration::optional!($($crate::settings::declaration::Variable {
                        name: $variable,
                        of: $crate::settings::declaration::Side::$side,
                        except: $crate::settings::declaration::optional!($($except)?),
                    })?),
                    read: |draft, value| {
                        draft.settings.$section.$field = $crate::settings::value_parser::ValueParser::read(&$takes, value)?;
                        Ok(())
                    },
                    reset: |draft| draft.settings.$section.$field = $default,
                    value: |settings| {
                        $(
                            let has_meaning: fn(&Settings) -> bool = $when;
                            if !has_meaning(settings) {
                                return None;
                            }
                        )?
                        $crate::settings::value_parser::ValueParser::write(&$takes, &settings.$section.$field)
                    },
                    is_implied: $crate::settings::declaration::either!($($implied)?; |_| false),
                },
            )+];
        }
    };
}

/// `None` of nothing, `Some` of an expression.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// The first expression, if there is one, or else the second.
macro_rules! either {
    (; $other:expr) => {
        $other
    };
    ($value:expr; $other:expr) => {
        $value
    };
}

pub(crate) use {either, optional, section};
