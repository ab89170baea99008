//! From the stages of a path to the queueing disciplines of the guest.
//!
//! A discipline that shapes has its queue inside of it, and netem hands packets on to what is inside of it. So packets pass `netem { tbf {
//! netem } }` from the outside in, except for the bucket, which takes them out of its own child. Constant delays change the order of nothing, so they
//! stand outermost, wherever they are in the list.

use std::collections::BTreeMap;

use quiclab_agent_protocol::network::{BurstLoss, Discipline, Netem};
use quiclab_experiment::run::{Forwarder, Settings};
use quiclab_path::{
    probability::Probability,
    spec::{Kernel, StageSettings, StageSpec},
};

/// A netem that never is full.
const UNLIMITED_PACKETS: u32 = i32::MAX as u32;
/// Tells the kernel to make a token bucket whose own queue nobody uses, because a child replaces it.
const REPLACED_BYTES: u32 = 1;
/// Most numbers in a list: the kernel keeps them in a hash map, whose memory it takes at once.
const MOST_LISTED_PACKETS: usize = 4096;

/// One direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// The disciplines, the outermost first, each with the name of its stage.
    pub disciplines: Vec<(String, Discipline)>,
    /// Packets to drop before they reach the disciplines, and the name of the stage; empty without one.
    pub drops: Vec<u32>,
    /// The name of the stage that lists them.
    pub drops_name: Option<String>,
}

/// Who moves packets through the stages of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathBackend {
    /// The kernel, by these disciplines towards the client and towards the server.
    Kernel([Direction; 2]),
    /// The agent, in user space.
    User {
        /// Why not the kernel.
        why: String,
    },
}

/// Who moves packets in a run with these settings, where the kernel has every discipline.
///
/// # Errors
/// As [`compile`], where the settings ask for the kernel.
pub fn choose(settings: &Settings) -> Result<PathBackend, String> {
    choose_with(settings, &compile)
}

/// The same on a machine whose kernel does what `compile` says.
///
/// # Errors
/// Those of `compile`, where the settings ask for the kernel.
pub fn choose_with(
    settings: &Settings,
    compile: &dyn Fn(&Settings) -> Result<[Direction; 2], String>,
) -> Result<PathBackend, String> {
    check_rebind(settings)?;
    match settings.path.forwarder {
        Forwarder::Kernel => compile(settings).map(PathBackend::Kernel),
        Forwarder::User => Ok(PathBackend::User { why: "the run has path.forwarder = \"user\"".to_owned() }),
        Forwarder::Auto => Ok(match compile(settings) {
            Ok(directions) => PathBackend::Kernel(directions),
            Err(message) => PathBackend::User { why: message.lines().next().unwrap_or_default().to_owned() },
        }),
    }
}

/// An address translator sees both directions.
fn check_rebind(settings: &Settings) -> Result<(), String> {
    let of = |stages: Vec<StageSpec>| -> Vec<StageSettings> {
        let settings = stages.into_iter().map(|stage| stage.settings);
        settings.filter(|settings| matches!(settings, StageSettings::Rebind(_))).collect()
    };
    let [to_client, to_server] = [of(settings.stages_to_client()), of(settings.stages_to_server())];
    if to_client != to_server || to_client.len() > 1 {
        return Err(format!(
            "path: found {} stages \"rebind\" in to_client and {} in to_server, expected none, or one in each with the same settings",
            to_client.len(),
            to_server.len()
        ));
    }
    Ok(())
}

/// Lets packets leave towards the server in slots, where the forwarder has done everything else.
pub fn batches_behind_forwarder(settings: &Settings) -> Vec<(String, Discipline)> {
    let slot_ns = Some(settings.hosts.receive_coalescing.as_nanos()).filter(|slot_ns| *slot_ns > 0);
    let slots = slot_ns.map(|_| Discipline::Netem(Netem { slot_ns, ..unlimited() }));
    slots.into_iter().map(|slots| (COALESCING.to_owned(), slots)).collect()
}

/// What the discipline is called that lets packets leave in slots.
const COALESCING: &str = "receive_coalescing";

/// The disciplines towards the client and towards the server.
///
/// # Errors
/// The list, the name of the stage, and why the kernel does not do exactly what it asks for.
pub fn compile(settings: &Settings) -> Result<[Direction; 2], String> {
    let to_client = direction("path.to_client", &settings.stages_to_client())?;
    if let Some(name) = &to_client.drops_name {
        return Err(refusal("path.to_client", name, "it drops packets by their number towards the server only"));
    }
    let mut to_server = direction("path.to_server", &settings.stages_to_server())?;
    let slot_ns = settings.hosts.receive_coalescing.as_nanos();
    if slot_ns > 0 {
        if to_server.disciplines.is_empty() {
            let line = Netem { limit_packets: UNLIMITED_PACKETS, ..Netem::default() };
            to_server.disciplines.push((COALESCING.to_owned(), Discipline::Netem(line)));
        }
        batch(&mut to_server, slot_ns)?;
    }
    Ok([to_client, to_server])
}

/// Lets packets leave the last netem in slots, so that what comes to the server comes in batches.
///
/// A rate takes packets out of the disciplines inside of it, so these cannot batch what leaves the rate. Packets that a netem lets
/// overtake others go to the head of its queue, and do not wait for a slot.
fn batch(to_server: &mut Direction, slot_ns: u64) -> Result<(), String> {
    let refuse = |name: &str, why: &str| Err(refusal("path.to_server", name, why));
    let is_rate = |one: &Discipline| match one {
        Discipline::Netem(netem) => netem.rate_bytes_per_second.is_some(),
        _ => true,
    };
    if let Some((name, _)) = to_server.disciplines.iter().find(|(_, one)| is_rate(one)) {
        return refuse(name, "it has no place for hosts.receive_coalescing behind a rate");
    }
    match to_server.disciplines.last_mut() {
        Some((name, Discipline::Netem(netem))) if netem.at_once.is_some() => {
            refuse(name, "packets that overtake others do not wait for hosts.receive_coalescing")
        }
        Some((_, Discipline::Netem(netem))) => {
            netem.slot_ns = Some(slot_ns);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The names of the stages of a path, for what the kernel counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageNames {
    /// Name of the stage of each discipline towards the client, the outermost first.
    pub to_client: Vec<String>,
    /// Name of the stage of each discipline towards the server.
    pub to_server: Vec<String>,
    /// Name of the stage of the list of packets that are dropped.
    pub drops: Option<String>,
    /// Why the stages of a direction (`to_client`, `to_server`) drop packets, where that is by chance.
    pub chances: BTreeMap<(&'static str, String), &'static str>,
    /// Names of all stages of both directions, in the order in which packets pass them.
    pub order: Vec<String>,
    /// Why the agent moves packets in user space; `None` where the kernel does.
    pub why_in_user_space: Option<String>,
}

impl StageNames {
    /// Names the stages of the path of a run.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn of(settings: &Settings) -> Result<Self, String> {
        Ok(Self::by(settings, choose(settings)?))
    }

    /// Names the stages of the path of a run whose packets are moved in this way.
    pub fn by(settings: &Settings, way: PathBackend) -> Self {
        let ([to_client, to_server], why_in_user_space) = match way {
            PathBackend::Kernel(directions) => (directions, None),
            PathBackend::User { why } => {
                let disciplines = batches_behind_forwarder(settings);
                ([Direction::default(), Direction { disciplines, ..Direction::default() }], Some(why))
            }
        };
        let both = [("to_client", &to_client), ("to_server", &to_server)];
        let chances = both.into_iter().flat_map(|(key, direction)| {
            let by_chance = |(name, one): &(String, Discipline)| match one {
                Discipline::Netem(Netem { loss: Some(_), .. }) => Some(((key, name.clone()), "random_loss")),
                Discipline::Netem(Netem { burst_loss: Some(_), .. }) => Some(((key, name.clone()), "burst_loss")),
                _ => None,
            };
            direction.disciplines.iter().filter_map(by_chance).collect::<Vec<_>>()
        });
        let chances = chances.collect();
        let names = |direction: Vec<(String, Discipline)>| direction.into_iter().map(|(name, _)| name).collect();
        let [one, other] = [settings.stages_to_client(), settings.stages_to_server()];
        Self {
            why_in_user_space,
            order: one.into_iter().chain(other).map(|stage| stage.name).collect(),
            chances,
            to_client: names(to_client.disciplines),
            to_server: names(to_server.disciplines),
            drops: to_server.drops_name,
        }
    }
}

fn refusal(list: &str, name: &str, why: &str) -> String {
    format!(
        "{list}: stage {name:?}: the kernel of the virtual machine does not do exactly this: {why}\nhint: path.forwarder = \"auto\", or --testbed \
         sim"
    )
}

fn direction(list: &str, stages: &[StageSpec]) -> Result<Direction, String> {
    let mut made = Direction::default();
    let mut delay: Option<(&str, u64)> = None;
    // The queue that waits for its rate.
    let mut queue: Option<(&str, Kernel)> = None;
    // The stage behind which nothing else can stand.
    let mut last: Option<&str> = None;
    for (index, stage) in stages.iter().enumerate() {
        let name = stage.name.as_str();
        let refuse = |why: &str| refusal(list, name, why);
        let kernel = stage.settings.kernel();
        let is_rate = matches!(kernel, Kernel::Bucket { .. } | Kernel::Link { .. });
        if let Some((line, Kernel::DelayLine { delay, limit_packets })) = queue.take_if(|_| !is_rate) {
            made.push_netem(line, Netem { delay_ns: delay.as_nanos(), limit_packets, ..Netem::default() });
            last = Some(line);
        }
        match kernel {
            Kernel::Refused(why) => return Err(refuse(&why)),
            Kernel::Delay(length) => {
                let (first, sum) = delay.unwrap_or((name, 0));
                delay = Some((first, sum + length.as_nanos()));
                continue;
            }
            Kernel::Drops(numbers) => {
                let is_first =
                    stages[..index].iter().all(|before| matches!(before.settings.kernel(), Kernel::Delay(_)));
                if !is_first {
                    return Err(refuse("it counts packets where they enter the path; expected the list first"));
                }
                if numbers.len() > MOST_LISTED_PACKETS {
                    return Err(refuse(&format!("it drops at most {MOST_LISTED_PACKETS} packets by their number")));
                }
                made.drops = numbers;
                made.drops_name = Some(name.to_owned());
                continue;
            }
            _ => {}
        }
        if let Some(last) = last {
            return Err(refuse(&format!("it has nothing behind {last:?}; expected this stage before it")));
        }
        match kernel {
            Kernel::Jitter { mean } => {
                let mean = mean.as_nanos();
                made.push_netem(name, Netem { delay_ns: mean, jitter_ns: Some(mean), ..unlimited() });
            }
            Kernel::Loss(probability) => {
                made.push_netem(name, Netem { loss: Some(share(probability)), ..unlimited() });
            }
            Kernel::BurstLoss(channel) => {
                let burst_loss = BurstLoss {
                    to_bad: share(channel.to_bad),
                    to_good: share(channel.to_good),
                    pass_in_bad: u32::MAX - share(channel.loss_in_bad),
                    loss_in_good: share(channel.loss_in_good),
                };
                made.push_netem(name, Netem { burst_loss: Some(burst_loss), ..unlimited() });
            }
            Kernel::Duplicate(probability) => {
                if !made.disciplines.is_empty() {
                    return Err(refuse("copies begin anew at the first stage; expected this stage first"));
                }
                made.push_netem(name, Netem { duplicate: Some(share(probability)), ..unlimited() });
            }
            Kernel::Reorder { held_back, hold } => {
                let at_once = Some(u32::MAX - share(held_back));
                made.push_netem(name, Netem { delay_ns: hold.as_nanos(), at_once, ..unlimited() });
                last = Some(name);
            }
            Kernel::DelayLine { .. } | Kernel::Fifo { .. } => queue = Some((name, kernel)),
            Kernel::Bucket { rate_bytes_per_second, burst_bytes } => {
                let bucket = Discipline::Tbf { rate_bytes_per_second, burst_bytes, limit_bytes: REPLACED_BYTES };
                made.disciplines.push((name.to_owned(), bucket));
                match queue.take() {
                    Some((line, Kernel::DelayLine { delay, limit_packets })) => {
                        made.push_netem(line, Netem { delay_ns: delay.as_nanos(), limit_packets, ..Netem::default() });
                    }
                    Some((fifo, Kernel::Fifo { waiting_packets })) => {
                        let limit_packets =
                            held(waiting_packets).ok_or_else(|| refuse("its queues hold less than 2^32 packets"))?;
                        made.disciplines.push((fifo.to_owned(), Discipline::Pfifo { limit_packets }));
                    }
                    _ => return Err(refuse("it has no queue")),
                }
                last = Some(name);
            }
            Kernel::Link { rate_bytes_per_second } => {
                let Some((_, Kernel::Fifo { waiting_packets })) = queue.take() else {
                    return Err(refuse("without a burst it has queues with discipline = \"drop_tail\" only"));
                };
                let limit_packets =
                    held(waiting_packets).ok_or_else(|| refuse("its queues hold less than 2^32 packets"))?;
                let rate_bytes_per_second = Some(rate_bytes_per_second);
                made.push_netem(name, Netem { rate_bytes_per_second, limit_packets, ..Netem::default() });
                last = Some(name);
            }
            Kernel::Delay(_) | Kernel::Drops(_) | Kernel::Refused(_) => {}
        }
    }
    if let Some((line, Kernel::DelayLine { delay, limit_packets })) = queue {
        made.push_netem(line, Netem { delay_ns: delay.as_nanos(), limit_packets, ..Netem::default() });
    }
    if let Some((name, delay_ns)) = delay {
        made.delay(name, delay_ns);
    }
    let copies =
        |(_, one): &&(String, Discipline)| matches!(one, Discipline::Netem(netem) if netem.duplicate.is_some());
    let netems = made.disciplines.iter().filter(|(_, one)| matches!(one, Discipline::Netem(_))).count();
    match made.disciplines.iter().find(copies) {
        Some((name, _)) if netems > 1 => Err(refusal(list, name, "a netem that copies packets stands alone")),
        _ => Ok(made),
    }
}

impl Direction {
    fn push_netem(&mut self, name: &str, netem: Netem) {
        self.disciplines.push((name.to_owned(), Discipline::Netem(netem)));
    }

    /// Every packet waits so long, before all else.
    fn delay(&mut self, name: &str, delay_ns: u64) {
        match self.disciplines.first_mut() {
            // Room for any number of packets, and no packet goes without the delay. A netem with a rate counts the time that a packet
            // waits for the rate as a part of its delay.
            Some((_, Discipline::Netem(netem)))
                if netem.limit_packets == UNLIMITED_PACKETS
                    && netem.at_once.is_none()
                    && netem.rate_bytes_per_second.is_none() =>
            {
                netem.delay_ns += delay_ns;
            }
            _ => {
                let line = Discipline::Netem(Netem { delay_ns, ..unlimited() });
                self.disciplines.insert(0, (name.to_owned(), line));
            }
        }
    }
}

fn unlimited() -> Netem {
    Netem { limit_packets: UNLIMITED_PACKETS, ..Netem::default() }
}

/// What the kernel calls the room of a queue: with the packet that waits for tokens, or is being sent.
fn held(waiting_packets: u64) -> Option<u32> {
    u32::try_from(waiting_packets).ok()?.checked_add(1)
}

/// A probability as a share of `u32::MAX`.
fn share(probability: Probability) -> u32 {
    (probability.get() * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests;
