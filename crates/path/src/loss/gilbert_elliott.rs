//! The channel of losses in bursts (Gilbert 1960, Elliott 1963).

use crate::probability::Probability;

/// The four probabilities of the model, all per packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of a change from good to bad.
    pub to_bad: Probability,
    /// Probability of a change from bad to good.
    pub to_good: Probability,
    /// Probability of a loss while the channel is good.
    pub loss_in_good: Probability,
    /// Probability of a loss while the channel is bad.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// The share of packets that are lost in the long run; `None` where the channel stays in the state in which it begins.
    pub fn mean_loss(&self) -> Option<f64> {
        let (to_bad, to_good) = (self.to_bad.get(), self.to_good.get());
        let bad = to_bad / (to_bad + to_good);
        bad.is_finite().then(|| bad * self.loss_in_bad.get() + (1.0 - bad) * self.loss_in_good.get())
    }
}
