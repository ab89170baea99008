//! What the paths of two runs lost, byte by byte.

use std::fmt::Write as _;

use quiclab_content::{Difference, Lost};
use quiclab_path::content::{Direction, data_of_words};
use quiclab_record::{PathSeen, Record};
use serde_json::{Value, json};

/// Most lines that are shown; more are only counted.
const MOST_SHOWN: usize = 20;

/// What both runs lost.
pub struct Losses {
    /// `None` where packets were dropped and the record does not list them.
    lost: [Option<Lost>; 2],
}

impl Losses {
    /// Reads what the runs of two records lost.
    pub fn of(records: &[Record; 2]) -> Self {
        let [one, other] = records;
        Self { lost: [one, other].map(|record| lost(&record.observed.path)) }
    }

    /// The bytes that were not lost equally often; `None` where that is not known.
    fn differences(&self) -> Option<Vec<Difference>> {
        let [Some(one), Some(other)] = &self.lost else { return None };
        Some(one.differences(other))
    }

    /// The losses for people; nothing where no record lists anything that was lost.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.lost.iter().all(|lost| lost.as_ref().is_none_or(|lost| lost.is_empty() && lost.unread() == 0)) {
            return text;
        }
        text.push_str("\nCRYPTO and STREAM bytes that the path lost\n");
        for (letter, lost) in ["A", "B"].into_iter().zip(&self.lost) {
            let lines = lost.as_ref().map(Lost::lines);
            match &lines {
                None => {
                    let _ = writeln!(text, "{letter}  unknown: the record does not list what was dropped");
                }
                Some(lines) if lines.is_empty() => {
                    let _ = writeln!(text, "{letter}  none");
                }
                Some(lines) => shown(&mut text, letter, lines),
            }
            if let Some(unread) = lost.as_ref().map(Lost::unread).filter(|unread| *unread > 0) {
                let _ = writeln!(text, "{letter}  and what {unread} more datagrams held, which could not be read");
            }
        }
        match self.differences() {
            None => {}
            Some(differences) if differences.is_empty() => text.push_str("both lost the same bytes\n"),
            Some(differences) => {
                text.push_str("they did not lose the same bytes\n");
                shown(&mut text, ">", &differences.iter().map(Difference::to_string).collect::<Vec<_>>());
            }
        }
        text
    }

    /// The losses for programs.
    pub fn json(&self) -> Value {
        let lost = |lost: &Option<Lost>| {
            lost.as_ref().map(|lost| json!({ "bytes": lost.lines(), "datagrams_not_read": lost.unread() }))
        };
        let differences = self.differences();
        let differences: Option<Vec<String>> = differences.map(|all| all.iter().map(Difference::to_string).collect());
        json!({ "one": lost(&self.lost[0]), "other": lost(&self.lost[1]), "differences": differences })
    }
}

fn shown(text: &mut String, letter: &str, lines: &[String]) {
    for line in lines.iter().take(MOST_SHOWN) {
        let _ = writeln!(text, "{letter}  {line}");
    }
    if let Some(more) = lines.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "{letter}  and {more} more");
    }
}

/// What a path lost; `None` where packets were dropped and the record does not list them.
pub fn lost(path: &PathSeen) -> Option<Lost> {
    let drops: u64 = path.to_client.iter().chain(&path.to_server).map(|stage| stage.drops.values().sum::<u64>()).sum();
    if path.dropped.is_empty() && drops > 0 {
        return None;
    }
    let listed = path.dropped.iter().map(|drop| {
        let direction =
            if drop.direction == Direction::ToClient.name() { Direction::ToClient } else { Direction::ToServer };
        let (data, is_read) = drop.held.as_deref().map_or((Vec::new(), false), data_of_words);
        (direction, data, is_read)
    });
    let not_listed = (0..path.dropped_not_listed).map(|_| (Direction::ToClient, Vec::new(), false));
    Some(Lost::of(listed.chain(not_listed)))
}

#[cfg(test)]
mod tests {
    use quiclab_record::{DropSeen, StageSeen};
    use quiclab_units::Duration;

    use super::*;

    fn path(held: &[Option<&str>]) -> PathSeen {
        let drop = |held: &Option<&str>| DropSeen {
            time: Duration::default(),
            direction: "to_server".to_owned(),
            stage: "loss".to_owned(),
            cause: "content".to_owned(),
            packet: 1,
            bytes: 1,
            connection: Some(1),
            datagram: Some(1),
            held: held.map(str::to_owned),
        };
        let mut stage = StageSeen::new("loss", "content_loss");
        stage.drops.insert("content".to_owned(), held.len() as u64);
        PathSeen { to_server: vec![stage], dropped: held.iter().map(drop).collect(), ..PathSeen::default() }
    }

    fn losses(one: &PathSeen, other: &PathSeen) -> Losses {
        Losses { lost: [lost(one), lost(other)] }
    }

    #[test]
    fn the_same_bytes_in_other_datagrams_are_the_same_loss() {
        let one =
            path(&[Some("client datagram 2: Initial 1 [ACK 0], Handshake 0 [CRYPTO 0..36], 1-RTT 0 [STREAM 0 0..20]")]);
        let other = path(&[
            Some("client datagram 2: Initial 1 [ACK 0]"),
            Some("client datagram 3: Handshake 0 [CRYPTO 0..36]"),
            Some("client datagram 4: 1-RTT 0 [STREAM 0 0..20]"),
        ]);
        let both = losses(&one, &other);
        assert_eq!(
            both.text(),
            "\nCRYPTO and STREAM bytes that the path lost\nA  client handshake crypto 0..36\nA  client stream 0 \
             0..20\nB  client handshake crypto 0..36\nB  client stream 0 0..20\nboth lost the same bytes\n"
        );
        let whole = losses(&one, &path(&[]));
        assert!(
            whole
                .text()
                .contains("B  none\nthey did not lose the same bytes\n>  client handshake crypto 0..36: lost once")
        );
        assert_eq!(losses(&path(&[]), &path(&[])).text(), "");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut unlisted = path(&[Some("")]);
        unlisted.dropped.clear();
        let both = losses(&path(&[None]), &unlisted);
        assert!(
            both.text().contains("A  none\nA  and what 1 more datagrams held, which could not be read\nB  unknown"),
            "{}",
            both.text()
        );
        assert_eq!(both.json()["differences"], Value::Null);
    }
}
