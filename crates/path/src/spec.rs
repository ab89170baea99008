//! Stages as data: what an experiment file lists for each direction of a path, and a run stores.
//!
//! A stage declares its settings beside its code ([`declare`]) and is a line in the list of [`StageSettings`] here. Reading, writing,
//! the reference page, the pipeline ([`build`]) and the kernel's queueing disciplines ([`kernel`]) follow from that. Read first:
//! [`StageSpec`], then [`read_list`].

pub mod build;
pub mod declare;
pub mod kernel;
pub mod kind;
pub mod part;
pub mod reference;
pub mod value;

use quiclab_units::Duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use toml::{Table, Value};

use self::{
    build::check_order,
    declare::{Declared, variant},
    part::Part,
};
pub use self::{
    declare::{SettingDeclaration, StageDeclaration},
    kernel::Kernel,
    kind::StageKind,
    value::{PacketNumbers, SettingValue},
};
use crate::{content::Payload, random::Random};

/// One stage of one direction of a path. Written as a table: `stage`, `name`, and its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSpec {
    /// Unique within its direction: letters, digits, `-` and `_`, beginning with a letter. The stream of its random numbers and its
    /// counters have this name.
    pub name: String,
    /// What it does.
    pub settings: StageSettings,
}

/// Lists the stages.
macro_rules! stages {
    ($($variant:ident($type:path),)+) => {
        /// The settings of a stage, by its kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum StageSettings {
            $(
                #[allow(missing_docs, reason = "the type inside says it")]
                $variant($type),
            )+
        }

        /// Every kind of stage, in the order of the reference.
        pub fn declarations() -> Vec<StageDeclaration> {
            vec![$(<$type>::declaration()),+]
        }

        impl StageSettings {
            /// The declaration of its kind.
            pub fn declaration(&self) -> StageDeclaration {
                match self {
                    $(Self::$variant(_) => <$type>::declaration(),)+
                }
            }

            fn take(index: usize, table: &mut Table) -> Result<Self, String> {
                let readers: &[fn(&mut Table) -> Result<Self, String>] =
                    &[$(|table| <$type>::take(table).map(Self::$variant)),+];
                readers[index](table)
            }

            fn check(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(settings) => settings.check(),)+
                }
            }

            fn put(&self, table: &mut Table) {
                match self {
                    $(Self::$variant(settings) => settings.put(table),)+
                }
            }

            pub(crate) fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
                match self {
                    $(Self::$variant(settings) => settings.part(random),)+
                }
            }

            /// What the kernel's queueing disciplines make of it.
            pub fn kernel(&self) -> Kernel {
                match self {
                    $(Self::$variant(settings) => settings.kernel(),)+
                }
            }

            /// Whether it changes bytes, which only whoever forwards real packets can do.
            pub fn changes_bytes(&self) -> bool {
                match self {
                    $(Self::$variant(settings) => settings.changes_bytes(),)+
                }
            }

            /// Longest time that it can hold a packet while nothing waits for a rate.
            pub fn longest_delay(&self) -> Duration {
                match self {
                    $(Self::$variant(settings) => settings.longest_delay(),)+
                }
            }
        }
    };
}

stages! {
    Rate(crate::token_bucket::RateSettings),
    RateTrace(crate::rate_trace::RateTraceSettings),
    Delay(crate::delay::DelaySettings),
    DelayTrace(crate::delay_trace::DelayTraceSettings),
    UniformJitter(crate::jitter::UniformSettings),
    ExponentialJitter(crate::jitter::ExponentialSettings),
    NormalJitter(crate::jitter::NormalSettings),
    NetemQueue(crate::queue::netem::NetemSettings),
    DropTail(crate::queue::drop_tail::DropTailSettings),
    DropHead(crate::queue::drop_head::DropHeadSettings),
    Red(crate::queue::red::RedStageSettings),
    CoDel(crate::queue::codel::CoDelStageSettings),
    FqCoDel(crate::queue::fq_codel::FqCoDelStageSettings),
    Pie(crate::queue::pie::PieStageSettings),
    IndependentLoss(crate::loss::independent::IndependentLossSettings),
    LimitedLoss(crate::loss::limited::LimitedLossSettings),
    BurstLoss(crate::loss::burst::BurstLossSettings),
    ListedLoss(crate::loss::list::ListedLossSettings),
    RuleLoss(crate::loss::rule::RuleLossSettings),
    ContentLoss(crate::loss::content::ContentLossSettings),
    Reorder(crate::reorder::ReorderSettings),
    Duplicate(crate::duplicate::DuplicateSettings),
    BitErrors(crate::bit_errors::BitErrorSettings),
    Corrupt(crate::corrupt::CorruptSettings),
    Rebind(crate::rebind::RebindSettings),
}

/// Its numbers are finite, so each equals itself.
impl Eq for StageSpec {}

impl StageSpec {
    /// A stage from its table; without a name it is called by its kind.
    ///
    /// # Errors
    /// What is wrong with which key.
    pub fn read(table: &Table) -> Result<Self, String> {
        let mut table = table.clone();
        let kinds = declarations();
        let index = kind_of(&kinds, &table)?;
        let kind = &kinds[index];
        table.remove("stage");
        if let Some((key, _)) = kind.variant {
            table.remove(key);
        }
        let name = match table.remove("name") {
            None => kind.stage.to_owned(),
            Some(Value::String(name)) if is_name(&name) => name,
            Some(other) => {
                let expected = "letters, digits, '-' and '_', beginning with a letter";
                return Err(format!("name: {}", value::unexpected(&other, expected)));
            }
        };
        let settings = StageSettings::take(index, &mut table)?;
        if let Some(key) = table.keys().next() {
            let keys: Vec<_> = kind.settings.iter().map(|setting| setting.key).collect();
            return Err(format!("{key}: unknown key; {} takes {}", kind.title(), keys.join(", ")));
        }
        // What does not go together shows where the stage is built.
        settings.check()?;
        settings.part::<()>(Random::new(0, "check"))?;
        Ok(Self { name, settings })
    }

    /// The stage as a table, with every setting that has a value.
    pub fn write(&self) -> Table {
        let kind = self.settings.declaration();
        let mut table = Table::new();
        table.insert("stage".to_owned(), Value::String(kind.stage.to_owned()));
        table.insert("name".to_owned(), Value::String(self.name.clone()));
        if let Some((key, word)) = kind.variant {
            table.insert(key.to_owned(), Value::String(word.to_owned()));
        }
        self.settings.put(&mut table);
        table
    }
}

impl StageDeclaration {
    /// Stage and variant, such as `stage = "loss" with model = "burst"`.
    pub fn title(&self) -> String {
        let variant = self.variant.map(|(key, word)| format!(" with {key} = {word:?}")).unwrap_or_default();
        format!("stage = {:?}{variant}", self.stage)
    }
}

/// The place of a table's kind among all.
fn kind_of(kinds: &[StageDeclaration], table: &Table) -> Result<usize, String> {
    let found = match table.get("stage") {
        Some(Value::String(stage)) => stage.as_str(),
        Some(other) => {
            return Err(format!("stage: {}", value::unexpected(other, &names(kinds.iter().map(|kind| kind.stage)))));
        }
        None => return Err(format!("stage: missing, expected {}", names(kinds.iter().map(|kind| kind.stage)))),
    };
    let of_stage: Vec<_> = kinds.iter().enumerate().filter(|(_, kind)| kind.stage == found).collect();
    let Some((index, kind)) = of_stage.first() else {
        return Err(format!("stage: found {found:?}, expected {}", names(kinds.iter().map(|kind| kind.stage))));
    };
    let Some((key, _)) = kind.variant else { return Ok(*index) };
    let expected = || names(of_stage.iter().filter_map(|(_, kind)| kind.variant.map(|(_, word)| word)));
    match variant(table, key) {
        Some(word) => of_stage
            .iter()
            .find(|(_, kind)| kind.variant.is_some_and(|(_, known)| known == word))
            .map(|(index, _)| *index)
            .ok_or_else(|| format!("{key}: found {word:?}, expected {}", expected())),
        None => Err(format!("{key}: missing, expected {}", expected())),
    }
}

/// `one of "a", "b"`, each once.
fn names<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<String> = Vec::new();
    for word in words.map(|word| format!("{word:?}")) {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    format!("one of {}", all.join(", "))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

/// One direction of a path from the tables of a file, the first stage first. Stages without a name are called by their kind, with a
/// number from the second one on: `loss`, `loss-2`.
///
/// # Errors
/// Which stage, and what is wrong with it.
pub fn read_list(tables: &[Table]) -> Result<Vec<StageSpec>, String> {
    let mut stages: Vec<StageSpec> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let place = match table.get("name").or_else(|| table.get("stage")).and_then(Value::as_str) {
            Some(name) => format!("stage {} ({name})", index + 1),
            None => format!("stage {}", index + 1),
        };
        let mut stage = StageSpec::read(table).map_err(|message| format!("{place}: {message}"))?;
        let is_taken = |name: &str| stages.iter().any(|other| other.name == name);
        if is_taken(&stage.name) && table.contains_key("name") {
            return Err(format!("{place}: name: found {:?} a second time, expected another name", stage.name));
        }
        let free = (2..).map(|number| format!("{}-{number}", stage.name)).find(|name| !is_taken(name));
        if let (true, Some(free)) = (is_taken(&stage.name), free) {
            stage.name = free;
        }
        stages.push(stage);
    }
    check_order(&stages)?;
    Ok(stages)
}

/// One direction of a path as tables.
pub fn write_list(stages: &[StageSpec]) -> Vec<Table> {
    stages.iter().map(StageSpec::write).collect()
}

/// Whether a stage asks what packets hold, so that somebody has to read them before they enter.
pub fn needs_content(stages: &[StageSpec]) -> bool {
    stages.iter().any(|stage| matches!(stage.settings, StageSettings::ContentLoss(_)))
}

/// Whether a stage treats packets one by one, so that somebody has to cut super-packets (many packets in one frame) before they enter.
/// Where none does, all packets of a super-packet leave together, as they came.
pub fn needs_packets(stages: &[StageSpec]) -> bool {
    !stages.iter().all(|stage| matches!(stage.settings, StageSettings::Delay(_) | StageSettings::DelayTrace(_)))
}

/// An upper bound for the time that a packet spends on one direction of a path while nothing waits for a rate.
pub fn longest_delay(stages: &[StageSpec]) -> Duration {
    stages.iter().fold(Duration::ZERO, |sum, stage| sum + stage.settings.longest_delay())
}

/// The delay that every packet has in one direction of a path.
pub fn constant_delay(stages: &[StageSpec]) -> Duration {
    stages.iter().fold(Duration::ZERO, |sum, stage| match &stage.settings {
        StageSettings::Delay(settings) => sum + settings.delay,
        StageSettings::NetemQueue(settings) => sum + settings.delay,
        _ => sum,
    })
}

impl Serialize for StageSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StageSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Table::deserialize(deserializer)?;
        if !table.contains_key("name") {
            return Err(D::Error::custom("name: missing in a stage"));
        }
        Self::read(&table).map_err(D::Error::custom)
    }
}
