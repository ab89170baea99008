//! A list of CPUs.

use std::fmt;

use toml::Value;

use super::value_parser::{Refused, ValueParser};

/// Largest number of a CPU, more than any machine has: a smaller number that this one lacks is found out when it is asked.
const LARGEST: u32 = 8191;

/// CPUs by the kernel's numbers, in order and each once; at least one. Shown as `0,2-5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// The numbers of the CPUs.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse().ok().filter(|number| *number <= LARGEST);
            let (first, last): (u32, u32) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            numbers.extend(first..=last);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(Self(numbers))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run.iter().map(u32::to_string).collect(),
        });
        formatter.write_str(&runs.collect::<Vec<_>>().join(","))
    }
}

/// A list such as `"0,2-5"`.
pub(crate) struct Cpus;

impl ValueParser for Cpus {
    type Value = CpuList;

    fn read(&self, value: &Value) -> Result<CpuList, Refused> {
        let list = value.as_str().and_then(CpuList::parse);
        list.ok_or_else(|| Refused::expected(value, "a list of CPUs such as \"0\" or \"0,2-5\""))
    }

    fn write(&self, value: &CpuList) -> Option<Value> {
        Some(Value::String(value.to_string()))
    }

    fn describe(&self) -> String {
        "list of CPUs such as \"0,2-5\"".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_mean_the_same_are_written_the_same() {
        for (text, expected) in [("3", "3"), ("0, 2-4,3", "0,2-4"), ("2,1", "1-2"), ("7-7", "7")] {
            let list = Cpus.read(&Value::String(text.to_owned())).unwrap();
            assert_eq!(list.to_string(), expected, "{text}");
            assert_eq!(Cpus.read(&Cpus.write(&list).unwrap()).unwrap(), list);
        }
    }

    #[test]
    fn what_is_no_list_of_cpus_is_refused() {
        for text in ["", "a", "1-", "3-1", "1,,2", "-1", "8192", "0-4000000000"] {
            let refused = Cpus.read(&Value::String(text.to_owned())).unwrap_err();
            assert!(refused.message.contains("expected a list of CPUs"), "{text}: {refused:?}");
        }
        assert!(Cpus.read(&Value::Integer(0)).is_err());
    }
}
