//! Landlock: which files a process may use, on a kernel that refuses namespaces too.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::{DEVICES, SYSTEM, VisibleFiles, existing};

/// The newest rules that are asked for; an older kernel has fewer.
const NEWEST: ABI = ABI::V6;

/// The rules, ready to be put in place.
pub(super) struct Rules(RulesetCreated);

impl Rules {
    pub(super) fn new(visible: &VisibleFiles) -> io::Result<Self> {
        let links =
            AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock | AccessFs::MakeChar | AccessFs::MakeBlock;
        let mut own = AccessFs::from_all(NEWEST) & !(links | AccessFs::Execute | AccessFs::IoctlDev);
        if visible.executes_own() {
            own |= AccessFs::Execute;
        }
        let system = existing(SYSTEM).chain(visible.readable.iter().map(AsRef::as_ref));
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
            .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        let all = system
            .map(|path| (path, AccessFs::from_read(NEWEST)))
            .chain(existing(DEVICES).map(|path| (path, AccessFs::ReadFile | AccessFs::WriteFile)))
            .chain([(visible.own.as_path(), own)]);
        for (path, access) in all {
            rules = allow(rules, path, access)?;
        }
        Ok(Self(rules))
    }

    /// Applies the rules to this thread, and to all that it starts, from here on.
    pub(super) fn enter(self) -> io::Result<()> {
        self.0.restrict_self().map(|_| ()).map_err(|_| io::Error::last_os_error())
    }
}

fn allow(rules: RulesetCreated, path: &std::path::Path, access: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    // What is for folders alone is refused for a file.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    let opened = PathFd::new(path).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error: RulesetError| io::Error::other(error))
}

/// Whether this kernel has it.
pub(super) fn probe() -> io::Result<()> {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    let none = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, LANDLOCK_CREATE_RULESET_VERSION) };
    if version > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
