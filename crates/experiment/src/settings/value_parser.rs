//! What a setting takes: how a value is read from a file, written back, and described in the reference.

use quiclab_units::{ByteCount, Duration, Rate};
use toml::Value;

use crate::{error::nearest_word, reading::quantity, value::inline};

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What was found, and what was expected.
    pub(crate) message: String,
    /// A way for the user to avoid the refusal.
    pub(crate) hint: Option<String>,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self { message, hint: None }
    }
}

impl Refused {
    /// A value that is none of what `expected` says.
    pub(crate) fn expected(found: &Value, expected: &str) -> Self {
        format!("found {}, expected {expected}", inline(found)).into()
    }

    /// Adds a hint where the value is near one of the `words` that are allowed.
    pub(crate) fn with_words(mut self, found: &Value, words: &[&str]) -> Self {
        let near = found.as_str().and_then(|text| nearest_word(text, words.iter().copied()));
        self.hint = self.hint.or(near.map(|near| format!("did you mean {near:?}?")));
        self
    }
}

/// What a setting takes.
pub(crate) trait ValueParser {
    /// The type of its values.
    type Value;

    /// Reads a value.
    ///
    /// # Errors
    /// A value that is not allowed.
    fn read(&self, value: &Value) -> Result<Self::Value, Refused>;

    /// The value as a file would have it; `None` where it is left open.
    fn write(&self, value: &Self::Value) -> Option<Value>;

    /// Kind and range of the values in words, for the reference.
    fn describe(&self) -> String;

    /// The words that it takes, for completion.
    fn words(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// A parser of these values and of `word`, which stands for none.
    fn or(self, word: &'static str) -> Or<Self>
    where
        Self: Sized,
    {
        Or { word, other: self }
    }

    /// A parser of these values for a setting that depends on others where a file says nothing, and may be without meaning.
    fn open(self) -> Open<Self>
    where
        Self: Sized,
    {
        Open(self)
    }
}

/// A quantity with a unit: whole numbers of a base unit.
pub(crate) trait Unit: Copy + std::fmt::Display + std::str::FromStr<Err: std::fmt::Display> {
    const NAME: &'static str;
    fn base(self) -> u64;
}

impl Unit for Duration {
    const NAME: &'static str = "time";
    fn base(self) -> u64 {
        self.as_nanos()
    }
}

impl Unit for ByteCount {
    const NAME: &'static str = "size";
    fn base(self) -> u64 {
        self.as_bytes()
    }
}

impl Unit for Rate {
    const NAME: &'static str = "rate";
    fn base(self) -> u64 {
        self.as_bits_per_second()
    }
}

/// A quantity within a range.
pub(crate) struct Quantity<T> {
    least: Option<T>,
    most: Option<T>,
    is_positive: bool,
    /// Base units of which it is a whole number, and how that is said.
    step: Option<(u64, &'static str)>,
    reason: Option<&'static str>,
}

/// Any time.
pub(crate) const fn time() -> Quantity<Duration> {
    Quantity::any()
}

/// Any number of bytes.
pub(crate) const fn size() -> Quantity<ByteCount> {
    Quantity::any()
}

/// Any rate.
pub(crate) const fn rate() -> Quantity<Rate> {
    Quantity::any()
}

impl<T: Copy> Quantity<T> {
    const fn any() -> Self {
        Self { least: None, most: None, is_positive: false, step: None, reason: None }
    }

    /// A parser of the quantity that refuses 0.
    pub(crate) const fn positive(self) -> Self {
        Self { is_positive: true, ..self }
    }

    /// A parser that refuses less than `least`.
    pub(crate) const fn at_least(self, least: T) -> Self {
        Self { least: Some(least), ..self }
    }

    /// A parser that refuses more than `most`.
    pub(crate) const fn at_most(self, most: T) -> Self {
        Self { most: Some(most), ..self }
    }

    /// A whole number of so many base units, which `said` names.
    pub(crate) const fn whole(self, step: u64, said: &'static str) -> Self {
        Self { step: Some((step, said)), ..self }
    }

    /// Why there is a limit, for the error.
    pub(crate) const fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }
}

impl<T: Unit> Quantity<T> {
    /// The range in words; empty for any value.
    fn range(&self) -> String {
        let limits = match (&self.least, &self.most) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) if self.is_positive => Some(format!("more than 0, at most {most}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => self.is_positive.then(|| "more than 0".to_owned()),
        };
        let step = self.step.map(|(_, said)| said.to_owned());
        limits.into_iter().chain(step).collect::<Vec<_>>().join(", ")
    }
}

impl<T: Unit> ValueParser for Quantity<T> {
    type Value = T;

    fn read(&self, value: &Value) -> Result<T, Refused> {
        let parsed: T = quantity(value)?;
        let base = parsed.base();
        let is_allowed = self.least.is_none_or(|least| base >= least.base())
            && self.most.is_none_or(|most| base <= most.base())
            && (base > 0 || !self.is_positive)
            && self.step.is_none_or(|(step, _)| base.is_multiple_of(step));
        if is_allowed {
            return Ok(parsed);
        }
        let reason = self.reason.map(|reason| format!(", because {reason}")).unwrap_or_default();
        Err(Refused::expected(value, &format!("{}{reason}", self.range())))
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(Value::String(value.to_string()))
    }

    fn describe(&self) -> String {
        match self.range() {
            range if range.is_empty() => T::NAME.to_owned(),
            range => format!("{}, {range}", T::NAME),
        }
    }
}

/// A whole number from 1.
pub(crate) struct Count {
    least: u32,
    most: u32,
    only_powers_of_two: bool,
}

/// A whole number from 1 to 2^32 - 1.
pub(crate) const fn count() -> Count {
    Count { least: 1, most: u32::MAX, only_powers_of_two: false }
}

impl Count {
    /// A parser that refuses more than `most`.
    pub(crate) const fn at_most(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// A parser that refuses less than `least`.
    pub(crate) const fn at_least(self, least: u32) -> Self {
        Self { least, ..self }
    }

    /// A power of two.
    pub(crate) const fn power_of_two(self) -> Self {
        Self { only_powers_of_two: true, ..self }
    }

    fn range(&self) -> String {
        let what = if self.only_powers_of_two { "a power of two" } else { "a whole number" };
        format!("{what} from {} to {}", self.least, self.most)
    }
}

impl ValueParser for Count {
    type Value = u32;

    fn read(&self, value: &Value) -> Result<u32, Refused> {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        let is_allowed = |number: &u32| {
            (self.least..=self.most).contains(number) && (number.is_power_of_two() || !self.only_powers_of_two)
        };
        number.filter(is_allowed).ok_or_else(|| Refused::expected(value, &self.range()))
    }

    fn write(&self, value: &u32) -> Option<Value> {
        Some(Value::Integer(i64::from(*value)))
    }

    fn describe(&self) -> String {
        match (self.most, self.only_powers_of_two) {
            (_, true) => self.range(),
            (u32::MAX, false) if self.least == 1 => "count".to_owned(),
            (most, false) if self.least > 1 => format!("count, {} to {most}", self.least),
            (most, false) => format!("count, at most {most}"),
        }
    }
}

/// True or false.
pub(crate) struct Flag;

impl ValueParser for Flag {
    type Value = bool;

    fn read(&self, value: &Value) -> Result<bool, Refused> {
        value.as_bool().ok_or_else(|| Refused::expected(value, "true or false"))
    }

    fn write(&self, value: &bool) -> Option<Value> {
        Some(Value::Boolean(*value))
    }

    fn describe(&self) -> String {
        "true or false".to_owned()
    }

    fn words(&self) -> Vec<&'static str> {
        vec!["true", "false"]
    }
}

/// Any text; what it should be, such as `the name of a stack`.
pub(crate) struct Text(pub(crate) &'static str);

impl ValueParser for Text {
    type Value = String;

    fn read(&self, value: &Value) -> Result<String, Refused> {
        value.as_str().map(str::to_owned).ok_or_else(|| Refused::expected(value, self.0))
    }

    fn write(&self, value: &String) -> Option<Value> {
        Some(Value::String(value.clone()))
    }

    fn describe(&self) -> String {
        "text".to_owned()
    }
}

/// One of some texts.
pub(crate) struct OneOf(pub(crate) &'static [&'static str]);

impl ValueParser for OneOf {
    type Value = String;

    fn read(&self, value: &Value) -> Result<String, Refused> {
        let found = value.as_str().filter(|text| self.0.contains(text));
        let refused = || Refused::expected(value, &self.describe()).with_words(value, self.0);
        found.map(str::to_owned).ok_or_else(refused)
    }

    fn write(&self, value: &String) -> Option<Value> {
        Some(Value::String(value.clone()))
    }

    fn describe(&self) -> String {
        one_of(self.0)
    }

    fn words(&self) -> Vec<&'static str> {
        self.0.to_vec()
    }
}

/// A type whose values are words.
pub trait Word: Copy + PartialEq + 'static {
    /// Every value with its word.
    const ALL: &'static [(&'static str, Self)];

    /// The word of this value.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// One of the words of a type.
pub(crate) struct Words<T>(std::marker::PhantomData<T>);

/// One of the words of a type.
pub(crate) const fn word<T: Word>() -> Words<T> {
    Words(std::marker::PhantomData)
}

impl<T: Word> ValueParser for Words<T> {
    type Value = T;

    fn read(&self, value: &Value) -> Result<T, Refused> {
        let found = T::ALL.iter().find(|(word, _)| value.as_str() == Some(word));
        let refused = || Refused::expected(value, &self.describe()).with_words(value, &self.words());
        found.map(|(_, value)| *value).ok_or_else(refused)
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(Value::String(value.word().to_owned()))
    }

    fn describe(&self) -> String {
        one_of(&self.words())
    }

    fn words(&self) -> Vec<&'static str> {
        T::ALL.iter().map(|(word, _)| *word).collect()
    }
}

/// The values of another parser, or a word for none.
pub(crate) struct Or<K> {
    word: &'static str,
    other: K,
}

impl<K: ValueParser> ValueParser for Or<K> {
    type Value = Option<K::Value>;

    fn read(&self, value: &Value) -> Result<Self::Value, Refused> {
        if value.as_str() == Some(self.word) {
            return Ok(None);
        }
        self.other.read(value).map(Some).map_err(|refused| {
            let message = format!("{}, or {:?}", refused.message, self.word);
            Refused { message, hint: refused.hint }.with_words(value, &[self.word])
        })
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value.as_ref().map_or_else(|| Some(Value::String(self.word.to_owned())), |value| self.other.write(value))
    }

    fn describe(&self) -> String {
        format!("{}, or {:?}", self.other.describe(), self.word)
    }

    fn words(&self) -> Vec<&'static str> {
        self.other.words().into_iter().chain([self.word]).collect()
    }
}

/// The values of another parser; a setting without a value is left open, or has no meaning.
pub(crate) struct Open<K>(K);

impl<K: ValueParser> ValueParser for Open<K> {
    type Value = Option<K::Value>;

    fn read(&self, value: &Value) -> Result<Self::Value, Refused> {
        self.0.read(value).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn words(&self) -> Vec<&'static str> {
        self.0.words()
    }
}

/// Numbers of packets, counted from 1, in rising order.
pub(crate) struct PacketNumbers {
    /// The largest one.
    pub(crate) most: u32,
}

impl ValueParser for PacketNumbers {
    type Value = Vec<u32>;

    fn read(&self, value: &Value) -> Result<Vec<u32>, Refused> {
        let what = format!("a list of packet numbers from 1 to {}, each greater than the previous one", self.most);
        let list = value.as_array().ok_or_else(|| Refused::expected(value, &what))?;
        let one = count().at_most(self.most);
        let numbers: Option<Vec<u32>> = list.iter().map(|number| one.read(number).ok()).collect();
        let rises = |numbers: &Vec<u32>| numbers.windows(2).all(|pair| pair[0] < pair[1]);
        numbers.filter(rises).ok_or_else(|| Refused::expected(value, &what))
    }

    fn write(&self, value: &Vec<u32>) -> Option<Value> {
        Some(Value::Array(value.iter().map(|number| Value::Integer(i64::from(*number))).collect()))
    }

    fn describe(&self) -> String {
        format!("list of counts, rising, at most {}", self.most)
    }
}

/// A number from 0.001 to 1000 with at most three decimal places, in thousandths.
pub(crate) struct Thousandths;

impl ValueParser for Thousandths {
    type Value = u32;

    fn read(&self, value: &Value) -> Result<u32, Refused> {
        let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
        let thousandths = number.map(|number| number * 1000.0).filter(|number| (1.0..=1e6).contains(number));
        // A number with three decimal places is nearer to a whole number of thousandths than this, whatever its binary form.
        let is_whole = |number: &f64| (number - number.round()).abs() < 1e-6;
        let whole = thousandths.filter(is_whole).map(|number| number.round() as u32);
        whole.ok_or_else(|| Refused::expected(value, "a number from 0.001 to 1000 with at most three decimal places"))
    }

    fn write(&self, value: &u32) -> Option<Value> {
        Some(Value::Float(f64::from(*value) / 1000.0))
    }

    fn describe(&self) -> String {
        "number from 0.001 to 1000, at most three decimal places".to_owned()
    }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("one of {}", quoted.join(", "))
}

/// Declares a type whose values are words: how a file, a record and an endpoint's variable write them.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[doc = $what:literal])+ $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $what])+ #[serde(rename = $word)] $value,)+
        }

        impl $crate::settings::value_parser::Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];
        }
    };
}

pub(crate) use words;
