//! What the CPU time of both ends goes to, beside what the machine can do at best.

use super::{super::scene::Scene, goodput};
use crate::{
    bars::{Bars, plot},
    columns::{Column, column_of},
    groups::Group,
    input::MachineLimits,
    plot::Figure,
};

/// The ends of a transfer, whose responses the server sends: names, and metrics of their CPU time and of the kernel's share of it.
const ENDS: [(&str, &str, &str); 2] = [
    ("server", "server_cpu_s_per_gb", "server_kernel_cpu_share"),
    ("client", "client_cpu_s_per_gb", "client_kernel_cpu_share"),
];

pub(crate) fn draw(scene: &Scene) -> Option<Figure> {
    let goodput = goodput(scene.groups);
    let mut bars = Vec::new();
    for group in scene.groups {
        for (end, (name, cpu, kernel)) in ENDS.into_iter().enumerate() {
            // Seconds per gigabyte are nanoseconds per byte.
            let (Some(whole), kernel) = (mean(group, column_of(cpu)), mean(group, column_of(kernel))) else { continue };
            let share = reached(group, goodput, scene.machine).filter(|_| end == 0);
            let share = share.map_or(String::new(), |share| format!(", {:.0} % of the best", 100.0 * share));
            let cryptography = scene.machine.map(|machine| machine.cryptography[end]);
            bars.push((format!("{}, {name}{share}", group.label), parts(whole, kernel, cryptography)));
        }
    }
    if bars.is_empty() {
        return None;
    }
    let mut caption = "CPU time of both endpoints, mean over the runs".to_owned();
    if let Some(machine) = scene.machine {
        for (end, name) in ["best QUIC, server", "best QUIC, client"].into_iter().enumerate() {
            let best = [(CRYPTOGRAPHY, machine.cryptography[end]), (KERNEL, machine.sockets[end])];
            bars.push((name.to_owned(), best.map(|(part, size)| (part.to_owned(), size)).to_vec()));
        }
        caption += &format!(
            ". The last two bars: what packets of {} bytes cost on this machine without any stack. With a core for each end QUIC could \
             carry {:.2} Gbit/s at most; beside a server's name is the share of that which the goodput reached. Cryptography takes at least \
             what the cheapest cipher costs",
            machine.packet_bytes,
            machine.best_bits_per_second() / 1e9
        );
    }
    let bars = Bars { title: String::new(), x: "CPU time, ns per byte".to_owned(), bars };
    Some(Figure {
        id: "cpu-time".to_owned(),
        title: "What CPU time goes to".to_owned(),
        caption: caption + ".",
        plot: plot(&bars),
    })
}

const CRYPTOGRAPHY: &str = "cryptography at least";
const KERNEL: &str = "kernel";

/// An end's time for each byte and what is known of it.
fn parts(whole: f64, kernel_share: Option<f64>, cryptography: Option<f64>) -> Vec<(String, f64)> {
    let Some(share) = kernel_share else { return vec![("not split".to_owned(), whole)] };
    let (kernel, user) = (whole * share, whole * (1.0 - share));
    let parts = match cryptography {
        // The stack cannot have needed more than all of its time.
        Some(least) => {
            vec![(CRYPTOGRAPHY, least.min(user)), (KERNEL, kernel), ("the stack", (user - least).max(0.0))]
        }
        None => vec![(KERNEL, kernel), ("the stack and cryptography", user)],
    };
    parts.into_iter().map(|(name, size)| (name.to_owned(), size)).collect()
}

/// The share of the best possible that a group reached.
fn reached(group: &Group, goodput: &Column, machine: Option<MachineLimits>) -> Option<f64> {
    Some(mean(group, goodput)? / machine?.best_bits_per_second())
}

fn mean(group: &Group, column: &Column) -> Option<f64> {
    Some(group.summary(column)?.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let sizes = |parts: Vec<(String, f64)>| parts.into_iter().map(|(_, size)| size).collect::<Vec<_>>();
        assert_eq!(sizes(parts(4.0, Some(0.5), Some(0.5))), [0.5, 2.0, 1.5]);
        assert_eq!(sizes(parts(4.0, Some(0.75), Some(2.0))), [1.0, 3.0, 0.0], "less than the cipher alone");
        assert_eq!(sizes(parts(4.0, Some(0.25), None)), [1.0, 3.0]);
        assert_eq!(sizes(parts(4.0, None, Some(0.5))), [4.0]);
    }

    #[test]
    fn the_best_is_that_of_the_slower_end() {
        let machine = MachineLimits { packet_bytes: 1452, cryptography: [0.5, 0.5], sockets: [1.5, 0.5] };
        assert_eq!(machine.best_bits_per_second(), 4e9);
    }
}
