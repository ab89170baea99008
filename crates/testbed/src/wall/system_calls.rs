//! System calls that a program without sockets has no use for: they fail with EPERM.

use std::{collections::BTreeMap, io};

use libc::{c_long, *};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Of the x32 interface of x86-64, whose calls have numbers of their own: this bit is set in them. Elsewhere no call has such a number.
const X32: c_long = 0x4000_0000;
/// Calls that x32 has beside those of the other interface.
const X32_ONLY: std::ops::RangeInclusive<c_long> = 512..=547;

/// What is refused.
const REFUSED: &[c_long] = &[
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
    // Files that are more than files.
    SYS_symlinkat,
    SYS_linkat,
    SYS_mknodat,
    SYS_fanotify_init,
    SYS_name_to_handle_at,
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
    // Parts of the kernel with a long list of faults.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_setup,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
    SYS_vmsplice,
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

/// Calls that only x86-64 has; later architectures have only newer ones that do the same.
#[cfg(target_arch = "x86_64")]
const REFUSED_OF_X86: &[c_long] =
    &[SYS_fork, SYS_vfork, SYS_symlink, SYS_link, SYS_mknod, SYS_modify_ldt, SYS_iopl, SYS_ioperm];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OF_X86: &[c_long] = &[];

/// The filter, ready to be put in place.
pub(super) struct Filter {
    refused: BpfProgram,
    /// Calls that this kernel is said not to have, so that libraries use older ones.
    unknown: BpfProgram,
}

impl Filter {
    pub(super) fn new() -> io::Result<Self> {
        let number = |call: &c_long| [*call, *call | X32];
        let mut refused: BTreeMap<_, _> =
            REFUSED.iter().chain(REFUSED_OF_X86).flat_map(number).map(|call| (call, Vec::new())).collect();
        if cfg!(target_arch = "x86_64") {
            refused.extend(X32_ONLY.map(|call| (call | X32, Vec::new())));
        }
        for call in number(&SYS_clone) {
            // What is not a thread.
            let thread = SeccompCmpOp::MaskedEq(CLONE_THREAD as u64);
            refused.insert(call, vec![rule(0, thread, 0)?]);
        }
        // Pushing characters into a terminal, which is that of the user.
        refused.insert(SYS_ioctl, vec![rule(1, SeccompCmpOp::Eq, TIOCSTI)?]);
        // `clone3` has its flags in memory, where a filter cannot look.
        let unknown = number(&SYS_clone3).map(|call| (call, Vec::new()));
        Ok(Self { refused: filter(refused, EPERM)?, unknown: filter(unknown.into(), ENOSYS)? })
    }

    /// From here on.
    pub(super) fn enter(&self) -> io::Result<()> {
        for program in [&self.unknown, &self.refused] {
            seccompiler::apply_filter(program).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition =
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).map_err(io::Error::other)?;
    SeccompRule::new(vec![condition]).map_err(io::Error::other)
}

fn filter(rules: BTreeMap<c_long, Vec<SeccompRule>>, answer: i32) -> io::Result<BpfProgram> {
    TargetArch::try_from(std::env::consts::ARCH)
        .and_then(|arch| SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer as u32), arch))
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)
}

/// Whether this kernel filters at all.
pub(super) fn probe() -> io::Result<()> {
    let action = SECCOMP_RET_ERRNO;
    // SAFETY: the pointer is to a live value.
    match unsafe { syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
