//! System calls of the endpoints by number, counted in the kernel: a program at the trace point `sys_enter`, which looks who the caller is. Where
//! this agent is root, each endpoint's users are nobody else's on the machine.

use std::{
    collections::BTreeMap,
    os::fd::{OwnedFd, RawFd},
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_agent_protocol::activity::{Sampling, Subject};

use super::{
    Watched,
    recorder::{Recorder, TrackId},
};
use crate::{
    bpf::{
        ADD, ADD_IMMEDIATE, ADD_WORD_IMMEDIATE, ATOMIC, ATOMIC_ADD, CALL, CounterMap, EXIT, HELPER_GET_CURRENT_UID_GID,
        HELPER_MAP_LOOKUP_ELEM, JUMP_IF_AT_MOST, JUMP_IF_EQUAL, LOAD, MOVE, MOVE_IMMEDIATE, PROG_TYPE_RAW_TRACEPOINT,
        R0, R1, R2, R6, R10, SHIFT_LEFT_IMMEDIATE, SHIFT_RIGHT_IMMEDIATE, STORE_IMMEDIATE, attach_to_tracepoint,
        instruction, load, map_address,
    },
    jail::Users,
};

/// What is missing where they cannot be counted.
pub const NAME: &str = "system_calls";
/// Calls have smaller numbers; others are counted as the last one.
const NUMBERS: usize = 512;
const COUNTERS: &[&str] = &["calls"];

/// A running count.
pub struct SystemCalls {
    counters: CounterMap<NUMBERS>,
    _attached: OwnedFd,
    roles: Vec<Counted>,
}

struct Counted {
    role: &'static str,
    /// Numbers at the first sample, and at the last; `None` before the first.
    span: Option<([u64; NUMBERS], [u64; NUMBERS])>,
    track: Option<TrackId>,
}

impl SystemCalls {
    /// Counts from now on.
    ///
    /// # Errors
    /// Where the run does not ask for it; without `CAP_BPF` and `CAP_PERFMON` on the machine itself, which ordinary users lack.
    pub fn count(sampling: Sampling, watched: &[Watched]) -> Result<Self> {
        ensure!(sampling.system_calls, "tap.system_calls is false");
        let counters = CounterMap::create(watched.len())
            .context("the kernel loads eBPF programs for root only; run quiclab as root to count system calls")?;
        let Some(first) = watched.iter().map(|one| one.sandbox.owner()).collect::<Option<Vec<u32>>>() else {
            bail!("the endpoints' users are those of this user; run quiclab as root to count system calls");
        };
        let program = load(PROG_TYPE_RAW_TRACEPOINT, &program(counters.descriptor(), &first))
            .context("loading the program that counts system calls")?;
        let attached = attach_to_tracepoint(c"sys_enter", &program).context("the trace point sys_enter")?;
        let roles = watched.iter().map(|one| Counted { role: one.role, span: None, track: None }).collect();
        Ok(Self { counters, _attached: attached, roles })
    }

    /// Adds what is counted now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn sample(&mut self, recorder: &mut Recorder) -> Result<()> {
        for (place, one) in (0..).zip(&mut self.roles) {
            let now = self.counters.values(place).context("reading the counters of system calls")?;
            let track = one.track.get_or_insert_with(|| recorder.begin(one.role, Subject::SystemCalls, COUNTERS));
            recorder.push(*track, &[now.iter().sum()]);
            one.span = Some((one.span.map_or(now, |(first, _)| first), now));
        }
        Ok(())
    }

    /// Counts the calls between the first sample and the last, by role and by number.
    pub fn by_number(&self) -> BTreeMap<String, BTreeMap<u32, u64>> {
        let of_span = |(first, last): &([u64; NUMBERS], [u64; NUMBERS])| {
            let counts = (0..).zip(first.iter().zip(last).map(|(first, last)| last - first));
            counts.filter(|(_, count)| *count > 0).collect()
        };
        self.roles.iter().filter_map(|one| Some((one.role.to_owned(), of_span(one.span.as_ref()?)))).collect()
    }
}

/// Adds 1 to the number of the call in the entry of the first of these groups of users that the caller belongs to; `first` has the first user
/// of each.
fn program(counters: RawFd, first: &[u32]) -> Vec<u64> {
    /// Room for a key on the stack.
    const KEY: i16 = -8;
    /// Instructions of the part that looks at one group.
    const LOOK: i16 = 4;
    let mut all = vec![
        // `struct bpf_raw_tracepoint_args`: the caller's registers, the number of the call.
        instruction(LOAD, R6, R1, 8, 0),
        instruction(CALL, R0, R0, 0, HELPER_GET_CURRENT_UID_GID),
        // The user is in the lower half.
        instruction(SHIFT_LEFT_IMMEDIATE, R0, R0, 0, 32),
        instruction(SHIFT_RIGHT_IMMEDIATE, R0, R0, 0, 32),
    ];
    for (place, one) in (0..).zip(first) {
        all.push(instruction(MOVE, R1, R0, 0, 0));
        // In 32 bits, where a user before the first becomes a large number.
        all.push(instruction(ADD_WORD_IMMEDIATE, R1, R0, 0, one.wrapping_neg() as i32));
        all.push(instruction(STORE_IMMEDIATE, R10, R0, KEY, i32::from(place)));
        // Behind all looks stand the two instructions of a caller that is in none of them.
        let behind = (first.len() as i16 - 1 - place) * LOOK + 2;
        all.push(instruction(JUMP_IF_AT_MOST, R1, R0, behind, Users::NUMBER as i32 - 1));
    }
    all.push(instruction(MOVE_IMMEDIATE, R0, R0, 0, 0));
    all.push(instruction(EXIT, R0, R0, 0, 0));
    all.push(instruction(MOVE, R2, R10, 0, 0));
    all.push(instruction(ADD_IMMEDIATE, R2, R0, 0, i32::from(KEY)));
    all.extend(map_address(R1, counters));
    all.extend([
        instruction(CALL, R0, R0, 0, HELPER_MAP_LOOKUP_ELEM),
        instruction(JUMP_IF_EQUAL, R0, R0, 6, 0),
        instruction(JUMP_IF_AT_MOST, R6, R0, 1, NUMBERS as i32 - 1),
        instruction(MOVE_IMMEDIATE, R6, R0, 0, NUMBERS as i32 - 1),
        instruction(SHIFT_LEFT_IMMEDIATE, R6, R0, 0, 3),
        instruction(ADD, R0, R6, 0, 0),
        instruction(MOVE_IMMEDIATE, R1, R0, 0, 1),
        instruction(ATOMIC, R0, R1, 0, ATOMIC_ADD),
        instruction(MOVE_IMMEDIATE, R0, R0, 0, 0),
        instruction(EXIT, R0, R0, 0, 0),
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_leads_to_where_its_case_goes_on() {
        let all = program(3, &[0x7000_0000, 0x7001_0000]);
        let code = |at: usize| all[at] as u8;
        let target = |at: &usize| at + 1 + usize::from((all[*at] >> 16) as u16);
        let looks: Vec<usize> = (0..all.len()).filter(|at| code(*at) == JUMP_IF_AT_MOST).collect();
        let found = looks[1] + 3;
        assert_eq!([target(&looks[0]), target(&looks[1])], [found, found]);
        let lookup = (0..all.len()).find(|at| code(*at) == JUMP_IF_EQUAL).unwrap();
        assert_eq!(target(&lookup), all.len() - 2);
        assert_eq!((code(found - 1), code(all.len() - 1)), (EXIT, EXIT));
    }
}
