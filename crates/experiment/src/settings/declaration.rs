//! How a setting is declared: once, as a field of its section.
//!
//! [`section!`] makes of each section a type whose fields are its settings, and the list of their [`Declaration`]s. Parsing, resolution, labels,
//! the identity of a run, the text of a dry run, the reference, completion and errors follow from that list. What is left is the place where a
//! testbed uses the value.

use toml::Value;

use super::value_parser::Refused;
use crate::{testbed_name::TestbedName, value::text_of};

/// Sections that belong to the testbed of their name. The others hold everywhere.
const TESTBED_SECTIONS: [&[TestbedName]; 2] = [&[TestbedName::Vm], &[TestbedName::Sim]];

/// One setting of a `D`, which a file fills in, and of an `S`, which is resolved.
pub(crate) struct Declaration<D, S> {
    /// Dotted key.
    pub(crate) key: &'static str,
    /// Keys that it had in earlier versions, the latest first. They are still understood.
    pub(crate) formerly: &'static [&'static str],
    /// What the setting is, for the reference; Markdown.
    pub(crate) what: &'static [&'static str],
    /// The values that the setting takes, in words.
    pub(crate) takes: fn() -> String,
    /// The words that it takes, if it takes any.
    pub(crate) words: fn() -> Vec<&'static str>,
    /// The value where a file does not say; `None` where that depends on other settings.
    pub(crate) default: fn() -> Option<Value>,
    /// What the reference says instead of the default.
    pub(crate) default_said: Option<&'static str>,
    /// The value that stands for what versions did that did not have this setting yet: it is left out of a run's identity, so that adding a
    /// setting changes no identities.
    pub(crate) neutral: Option<fn() -> Option<Value>>,
    /// The only testbeds that have it, where that does not follow from its section.
    pub(crate) only_on: Option<&'static [TestbedName]>,
    /// Values that not every testbed has: the value's text, and the testbeds.
    pub(crate) values_on: &'static [(&'static str, &'static [TestbedName])],
    /// The variable of the endpoints that it sets.
    pub(crate) variable: Option<Variable>,
    /// Puts a value into the draft.
    pub(crate) read: fn(&mut D, &Value) -> Result<(), Refused>,
    /// Puts the default into the draft.
    pub(crate) reset: fn(&mut D),
    /// The value as a file would have it; `None` where it has no meaning beside the other settings.
    pub(crate) value: fn(&S) -> Option<Value>,
    /// True where the value follows from that of others, so that nobody needs to read it.
    pub(crate) is_implied: fn(&S) -> bool,
}

impl<D, S> Declaration<D, S> {
    /// Returns the name of the section that the setting belongs to.
    pub(crate) fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }

    /// What the setting is, on one line.
    pub(crate) fn about(&self) -> String {
        self.what.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }

    /// The only testbeds that have it; `None` for one that holds everywhere.
    pub(crate) fn testbeds(&self) -> Option<&'static [TestbedName]> {
        self.only_on.or_else(|| TESTBED_SECTIONS.into_iter().find(|names| names[0].as_str() == self.section()))
    }

    /// The only testbeds that can do what the value asks for.
    pub(crate) fn needed_testbeds(&self, settings: &S) -> Option<&'static [TestbedName]> {
        let value = (self.value)(settings)?;
        if Some(&value) == (self.default)().as_ref() {
            return None;
        }
        let text = text_of(&value);
        let of_value = self.values_on.iter().find(|(own, _)| *own == text).map(|(_, testbeds)| *testbeds);
        self.testbeds().or(of_value)
    }

    /// The value as a file would have it, without quotes; quantities in their largest whole unit.
    pub(crate) fn text(&self, settings: &S) -> Option<String> {
        (self.value)(settings).as_ref().map(text_of)
    }
}

/// Settings that have a section of this type among others.
pub(crate) trait Contains<Section> {
    /// The section.
    fn section(&self) -> &Section;

    /// The section, to be filled in.
    fn section_mut(&mut self) -> &mut Section;
}

/// A section, and what it says of its settings to a `D` and an `S` that contain it.
pub(crate) trait Section<D: 'static, S: 'static> {
    /// The settings of the section, in the order of the reference.
    const SETTINGS: &'static [Declaration<D, S>];
}

/// A variable of an endpoint's environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// The name of the variable.
    pub(crate) name: &'static str,
    /// The endpoints that get the variable.
    pub(crate) of: Side,
    /// The text of the value for which it is not set.
    pub(crate) except: Option<&'static str>,
}

/// Which endpoints get a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Both endpoints.
    Both,
    /// The measured sender, and its peer if that has the same stack. Another stack is left at its own defaults.
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
/// - `neutral VALUE`: what earlier versions did, which had no such setting ([`Declaration::neutral`]);
/// - `formerly [KEY, ...]`: former keys, the latest first;
/// - `sets VARIABLE of Side except TEXT`: the variable of the endpoints;
/// - `on [TESTBED, ...]`: the only testbeds that have it; sections that are named after a testbed need no such word;
/// - `values_on [(TEXT, [TESTBED, ...]), ...]`: values that not every testbed has;
/// - `when CONDITION`: other settings of the section beside which it has a meaning;
/// - `implied by SECTION: CONDITION`: settings of that section from which its value follows.
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
                $(, on [$($only:ident),+])?
                $(, values_on [$(($of:literal, [$($of_testbed:ident),+])),+])?
                $(, when $when:expr)?
                $(, implied by $other:ty: $implied:expr)?
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

        impl<D, S> $crate::settings::declaration::Section<D, S> for $name
        where
            D: $crate::settings::declaration::Contains<$name> + 'static,
            S: $crate::settings::declaration::Contains<$name> + 'static
                $($(+ $crate::settings::declaration::Contains<$other>)?)+,
        {
            const SETTINGS: &'static [$crate::settings::declaration::Declaration<D, S>] = &[$(
                $crate::settings::declaration::Declaration {
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
                    only_on: $crate::settings::declaration::optional!($(&[$($crate::TestbedName::$only),+])?),
                    values_on: &[$($(($of, &[$($crate::TestbedName::$of_testbed),+])),+)?],
                    variable: $crate::settings::declaration::optional!($($crate::settings::declaration::Variable {
                        name: $variable,
                        of: $crate::settings::declaration::Side::$side,
                        except: $crate::settings::declaration::optional!($($except)?),
                    })?),
                    read: |draft, value| {
                        let section: &mut $name = $crate::settings::declaration::Contains::section_mut(draft);
                        section.$field = $crate::settings::value_parser::ValueParser::read(&$takes, value)?;
                        Ok(())
                    },
                    reset: |draft| {
                        let section: &mut $name = $crate::settings::declaration::Contains::section_mut(draft);
                        section.$field = $default;
                    },
                    value: |settings| {
                        let section: &$name = $crate::settings::declaration::Contains::section(settings);
                        $(
                            let has_meaning: fn(&$name) -> bool = $when;
                            if !has_meaning(section) {
                                return None;
                            }
                        )?
                        $crate::settings::value_parser::ValueParser::write(&$takes, &section.$field)
                    },
                    is_implied: $crate::settings::declaration::either!($(|settings| {
                        let is_implied: fn(&$other) -> bool = $implied;
                        is_implied($crate::settings::declaration::Contains::section(settings))
                    })?; |_| false),
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

/// Says in which fields settings have their sections.
macro_rules! contains {
    ($settings:ty { $($section:ident: $type:ty),+ $(,)? }) => {
        $(impl $crate::settings::declaration::Contains<$type> for $settings {
            fn section(&self) -> &$type {
                &self.$section
            }

            fn section_mut(&mut self) -> &mut $type {
                &mut self.$section
            }
        })+
    };
}

pub(crate) use {contains, either, optional, section};
