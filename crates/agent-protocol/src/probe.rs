//! What the agent finds that this machine's kernel can do: the answer of its life `probe`.

use serde::{Deserialize, Serialize};

/// What works in the namespaces that the agent makes for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Whether the agent needed a user namespace, because it is not root.
    pub is_in_user_namespace: bool,
    /// Queueing disciplines that the kernel does not have, by its own names for them.
    pub missing_disciplines: Vec<String>,
}
