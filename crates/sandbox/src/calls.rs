//! System calls that are refused, and socket families that are not: one list for every foreign program.

use std::{collections::BTreeMap, io};

use libc::{c_long, *};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Bit that is set in the numbers of calls of the x32 interface of x86-64, which are its own. Elsewhere no call has such a number.
const X32: c_long = 0x4000_0000;
/// Calls that x32 has beside those of the other interface.
const X32_ONLY: std::ops::RangeInclusive<c_long> = 512..=547;

/// What a foreign program is for, and with that what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It speaks the protocol of sans-IO stacks: no sockets, no processes of its own, no other processes.
    WithoutSockets,
    /// It is the kernel of User-Mode Linux, with the processes in it: as [`WithoutSockets`](Self::WithoutSockets), but with processes of its own, and
    /// with pairs of sockets and files in memory, by which it talks to them.
    UserModeLinux,
    /// It is an endpoint of a network. `shares_files`: another endpoint has some of the same files. Neither can write them, but the locks of
    /// a file, its leases, and who opens it are the same for both, and would carry data past the network. `shares_network`: the sockets of
    /// this machine's own programs that have names without a path are within reach, so there is no `AF_UNIX` but for pairs.
    Endpoint {
        /// True where any file is the same for two endpoints, also a device.
        shares_files: bool,
        /// True where its network is that of this machine.
        shares_network: bool,
    },
}

/// Socket families of endpoints. Of others some are not part of a network namespace, such as `AF_VSOCK`, or are known for their faults.
const FAMILIES: [c_int; 5] = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET];
/// Socket families of an endpoint on this machine's own network.
const OF_MACHINES: &[c_int] = &[AF_INET, AF_INET6, AF_NETLINK];

/// Commands of `fcntl` by which a file tells others something.
const SIGNALLING: [c_int; 9] =
    [F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE, F_GETLEASE, F_NOTIFY];
/// `PACKET_QDISC_BYPASS` of linux/if_packet.h: such packets leave past the queue at which the sender's tap is.
const QDISC_BYPASS: u64 = 20;

/// What no foreign program may do.
const REFUSED: &[c_long] = &[
    // Keys belong to the user, not to a namespace.
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Its operations pass no filter.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    // Parts of the kernel with a long list of faults.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_open_by_handle_at,
    SYS_quotactl,
    // Namespaces and mounts.
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    // The machine.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_vhangup,
];

/// What a program without sockets has no use for.
const REFUSED_WITHOUT_SOCKETS: &[c_long] = &[
    // Processes: threads are started by `clone`, see below. Without `setsid` and `setpgid`, all stay in the group that is ended.
    SYS_setsid,
    SYS_setpgid,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_kcmp,
    // Networks.
    SYS_socket,
    SYS_socketpair,
    // Memory that no limit counts.
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
    // Watches of files are counted for the user.
    SYS_inotify_init1,
    // Files that are more than files.
    SYS_symlinkat,
    SYS_linkat,
    SYS_mknodat,
    SYS_name_to_handle_at,
    SYS_io_setup,
    SYS_personality,
    SYS_vmsplice,
];

/// What the kernel of User-Mode Linux needs of that. Links are not among it: what it leaves is read by whoever started it.
const OF_USER_MODE_LINUX: &[c_long] = &[SYS_socketpair, SYS_memfd_create, SYS_personality];

/// Calls that only x86-64 has; later architectures have only newer ones that do the same.
#[cfg(target_arch = "x86_64")]
mod of_x86 {
    use libc::*;

    pub const REFUSED: &[c_long] = &[SYS_modify_ldt, SYS_iopl, SYS_ioperm];
    pub const REFUSED_WITHOUT_SOCKETS: &[c_long] =
        &[SYS_fork, SYS_vfork, SYS_symlink, SYS_link, SYS_mknod, SYS_inotify_init];
    pub const WATCHING: &[c_long] = &[SYS_inotify_init];
    /// Starting processes.
    pub const STARTING: &[c_long] = &[SYS_fork, SYS_vfork];
}
#[cfg(not(target_arch = "x86_64"))]
mod of_x86 {
    pub const REFUSED: &[libc::c_long] = &[];
    pub const REFUSED_WITHOUT_SOCKETS: &[libc::c_long] = &[];
    pub const WATCHING: &[libc::c_long] = &[];
    pub const STARTING: &[libc::c_long] = &[];
}

/// Rules by the number of a call; without a rule, every such call.
type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// The filter, ready to be put in place.
///
/// What depends on a call's number alone costs next to nothing: the kernel keeps a table of the calls that are always allowed.
#[derive(Clone, Debug)]
pub struct Filter(Vec<BpfProgram>);

impl Filter {
    /// The filter for a program of this kind.
    ///
    /// # Errors
    /// On an architecture that seccomp does not know.
    pub fn of(program: Program) -> io::Result<Self> {
        let mut refused: Rules = calls(REFUSED.iter().chain(of_x86::REFUSED));
        if cfg!(target_arch = "x86_64") {
            refused.extend(X32_ONLY.map(|call| (call | X32, Vec::new())));
        }
        // Pushing characters into a terminal, which is that of the user.
        refused.insert(SYS_ioctl, vec![rule(&[(1, SeccompCmpOp::Eq, TIOCSTI)])?]);
        let mut filters = Vec::new();
        match program {
            Program::WithoutSockets => {
                refused.extend(calls(REFUSED_WITHOUT_SOCKETS.iter().chain(of_x86::REFUSED_WITHOUT_SOCKETS)));
                for call in both(SYS_clone) {
                    // What is not a thread.
                    refused.insert(call, vec![rule(&[(0, SeccompCmpOp::MaskedEq(CLONE_THREAD as u64), 0)])?]);
                }
                // `clone3` has its flags in memory, where a filter cannot look: as on a kernel that lacks it, libraries use the older one.
                filters.push(filter(calls([&SYS_clone3]), ENOSYS)?);
            }
            Program::UserModeLinux => {
                let needed = |call: &&c_long| OF_USER_MODE_LINUX.contains(call) || of_x86::STARTING.contains(call);
                let without_sockets = REFUSED_WITHOUT_SOCKETS.iter().chain(of_x86::REFUSED_WITHOUT_SOCKETS);
                refused.extend(calls(without_sockets.filter(|call| !needed(call))));
            }
            Program::Endpoint { shares_files, shares_network } => {
                for call in both(SYS_setsockopt) {
                    let bypass = [(1, SeccompCmpOp::Eq, SOL_PACKET as u64), (2, SeccompCmpOp::Eq, QDISC_BYPASS)];
                    refused.insert(call, vec![rule(&bypass)?]);
                }
                filters.push(other_families(if shares_network { OF_MACHINES } else { &FAMILIES })?);
                if shares_files {
                    filters.push(locks()?);
                    refused.extend(calls([SYS_inotify_init1].iter().chain(of_x86::WATCHING)));
                }
            }
        }
        filters.push(filter(refused, EPERM)?);
        Ok(Self(filters))
    }

    /// Filters the calls of this thread and of all that it starts. Makes system calls only, so it may be called between fork and exec.
    ///
    /// # Errors
    /// Where the kernel refuses the filter.
    pub fn enter(&self) -> io::Result<()> {
        for program in &self.0 {
            seccompiler::apply_filter(program).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }
}

/// Makes the filter by which other families than these fail as on a kernel that lacks them. Pairs of sockets can be of all of
/// [`FAMILIES`].
fn other_families(families: &[c_int]) -> io::Result<BpfProgram> {
    let mut rules = Rules::new();
    for (call, families) in [(SYS_socket, families), (SYS_socketpair, &FAMILIES)] {
        let others: Vec<_> = families.iter().map(|family| (0, SeccompCmpOp::Ne, *family as u64)).collect();
        for call in both(call) {
            rules.insert(call, vec![rule(&others)?]);
        }
    }
    filter(rules, EAFNOSUPPORT)
}

/// Makes the filter by which locks and leases of files fail as on a file system that has none.
fn locks() -> io::Result<BpfProgram> {
    let command = |command: c_int| rule(&[(1, SeccompCmpOp::Eq, command as u64)]);
    let commands = SIGNALLING.map(command).into_iter().collect::<io::Result<Vec<_>>>()?;
    let mut rules = calls([&SYS_flock]);
    rules.extend(both(SYS_fcntl).map(|call| (call, commands.clone())));
    filter(rules, ENOLCK)
}

/// Returns the numbers of a call in both interfaces of x86-64.
fn both(call: c_long) -> [c_long; 2] {
    [call, call | X32]
}

fn calls<'a>(calls: impl IntoIterator<Item = &'a c_long>) -> Rules {
    calls.into_iter().flat_map(|call| both(*call)).map(|call| (call, Vec::new())).collect()
}

/// Makes a rule that applies where each argument, given by its number, compares to its value in this way.
fn rule(arguments: &[(u8, SeccompCmpOp, u64)]) -> io::Result<SeccompRule> {
    let conditions = arguments.iter().map(|(argument, operation, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operation.clone(), *value).map_err(io::Error::other)
    });
    SeccompRule::new(conditions.collect::<io::Result<_>>()?).map_err(io::Error::other)
}

fn filter(rules: Rules, answer: i32) -> io::Result<BpfProgram> {
    TargetArch::try_from(std::env::consts::ARCH)
        .and_then(|arch| SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer as u32), arch))
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)
}

/// Asks the kernel whether it can filter system calls.
///
/// # Errors
/// Where it cannot, with the kernel's reason.
pub fn probe() -> io::Result<()> {
    let action = SECCOMP_RET_ERRNO;
    // SAFETY: the pointer is to a live value.
    match unsafe { syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
