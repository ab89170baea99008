//! The pages of documentation that are part of the program, which `quiclab help` shows and shells complete.

/// A page: its path below docs/ and its text.
pub struct Page {
    /// The path below docs/.
    pub path: &'static str,
    /// The Markdown of the page.
    pub text: &'static str,
}

macro_rules! pages {
    ($($path:literal),* $(,)?) => {
        &[$(Page { path: $path, text: include_str!(concat!("../../../docs/", $path)) }),*]
    };
}

/// All concepts, references and guides, in order.
pub const PAGES: &[Page] = pages![
    "concepts/architecture.md",
    "concepts/auditor.md",
    "concepts/bursts.md",
    "concepts/forwarder.md",
    "concepts/hosts-testbed.md",
    "concepts/netns-testbed.md",
    "concepts/noise.md",
    "concepts/paced-gso.md",
    "concepts/simulator.md",
    "concepts/stacks-in-the-simulator.md",
    "concepts/trust.md",
    "concepts/uml-testbed.md",
    "concepts/virtual-testbed.md",
    "reference/ab.md",
    "reference/agent.md",
    "reference/analyze.md",
    "reference/campaign.md",
    "reference/cli.md",
    "reference/dependencies.md",
    "reference/endpoint-contract.md",
    "reference/experiment-file.md",
    "reference/frames.md",
    "reference/hosts-file.md",
    "reference/interop.md",
    "reference/look.md",
    "reference/losses.md",
    "reference/metrics.md",
    "reference/packets.md",
    "reference/path.md",
    "reference/perform.md",
    "reference/python.md",
    "reference/record.md",
    "reference/refine.md",
    "reference/report.md",
    "reference/rfc-coverage.md",
    "reference/runs.md",
    "reference/sans-io-endpoint.md",
    "reference/scan-lists.md",
    "reference/scan.md",
    "reference/scenario-file.md",
    "reference/trace.md",
    "reference/verdicts.md",
    "guides/add-a-stack.md",
    "guides/analyze-a-capture.md",
    "guides/bundles.md",
    "guides/cache.md",
    "guides/ci-action.md",
    "guides/ci-examples.md",
    "guides/from-python.md",
    "guides/how-fast-is-my-stack.md",
    "guides/install.md",
    "guides/instant-ack.md",
    "guides/interop-runner-images.md",
    "guides/laptop-to-slurm.md",
    "guides/regression-gate.md",
    "guides/scan-a-cdn.md",
    "guides/three-machines.md",
    "guides/to-kubernetes.md",
    "guides/tutorial.md",
    "performance.md",
];

impl Page {
    /// The path without the file extension.
    pub fn name(&self) -> &'static str {
        self.path.trim_end_matches(".md")
    }

    /// The last part of the path, without the file extension.
    pub fn topic(&self) -> &'static str {
        self.name().rsplit('/').next().unwrap_or_default()
    }

    /// The text without lines that are comments, which say where a table comes from, and the empty lines behind them.
    pub fn shown(&self) -> String {
        let (mut text, mut after_comment) = (String::new(), false);
        for line in self.text.lines() {
            let is_comment = line.starts_with("<!--") && line.ends_with("-->");
            if !(is_comment || after_comment && line.is_empty()) {
                text += line;
                text.push('\n');
            }
            after_comment = is_comment;
        }
        text
    }

    /// The first heading of the page.
    pub fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
    }
}
