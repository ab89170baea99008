//! The largest value of recent times.

/// A windowed maximum filter: values that a later and larger one hides are forgotten at once, the others when they are too old.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMaximum {
    /// Times, rising, and values, falling.
    values: Vec<(u64, f64)>,
}

impl WindowedMaximum {
    /// The largest value; 0 of none.
    pub(crate) fn get(&self) -> f64 {
        self.values.first().map_or(0.0, |(_, value)| *value)
    }

    /// Takes in a value, and forgets those that are more than `age` older. Nothing is forgotten without a new value.
    pub(crate) fn update(&mut self, time: u64, value: f64, age: u64) {
        self.values.retain(|(_, other)| *other > value);
        self.values.push((time, value));
        let oldest = time.saturating_sub(age);
        let expired = self.values.iter().take_while(|(time, _)| *time < oldest).count();
        self.values.drain(..expired);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition, for values that rise, fall and repeat.
    #[test]
    fn it_is_the_largest_of_the_values_that_are_not_too_old() {
        let values: Vec<f64> = (0_u64..500).map(|number| ((number * 7919) % 101) as f64).collect();
        for age in [0, 1, 2, 10] {
            let mut filter = WindowedMaximum::default();
            for (time, value) in values.iter().enumerate() {
                filter.update(time as u64, *value, age);
                let first = time.saturating_sub(age as usize);
                let expected = values[first..=time].iter().copied().fold(0.0, f64::max);
                assert_eq!(filter.get(), expected, "at {time}, {age} back");
            }
        }
        assert_eq!(WindowedMaximum::default().get(), 0.0);
    }
}
