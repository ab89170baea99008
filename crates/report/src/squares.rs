//! A picture that fits into a comment, where neither SVG nor links to files of a build are shown: coloured squares, as text.

use std::fmt::Write as _;

use quiclab_units::shown;

use crate::figures::train_mix::Mix;

/// Squares of a row: what a comment of GitHub or GitLab shows on one line, beside a name.
const WIDTH: usize = 30;
/// Squares by class of lengths, in the order of the figure of the same numbers: cold colours for what counts as paced, warm ones for
/// bursts.
const SQUARES: [char; 6] = ['\u{1f7ea}', '\u{1f7e6}', '\u{1f7e9}', '\u{1f7e8}', '\u{1f7e7}', '\u{1f7e5}'];

/// A row of squares for each name; nothing where none has packets.
pub(crate) fn picture(rows: &[(&str, Option<Mix>)]) -> String {
    let mut text = String::new();
    for (name, mix) in rows {
        if let Some(mix) = mix {
            // A name at the start of a line could end the block.
            let _ = writeln!(text, "{} {}", row(mix), shown(name));
        }
    }
    if text.is_empty() {
        return text;
    }
    let [one, two, five, ten, twenty, more] = SQUARES;
    format!(
        "\nPackets by the length of their train: {one} 1, {two} 2, {five} 3 to 5, {ten} 6 to 10, {twenty} 11 to 20, {more} more. A square is \
         1/{WIDTH} of them; a length that has fewer still gets one.\n\n```text\n{text}```\n"
    )
}

/// Every class that has packets gets a square, and the rest is shared out by the largest remainders.
fn row(mix: &Mix) -> String {
    let least = mix.map(|share| usize::from(share > 0.0));
    let free = (WIDTH - least.iter().sum::<usize>()) as f64;
    // What a class has beyond its first square.
    let beyond = mix.map(|share| (share - 1.0 / WIDTH as f64).max(0.0));
    let total: f64 = beyond.iter().sum();
    let wanted = beyond.map(|share| if total > 0.0 { share / total * free } else { 0.0 });
    let mut counts: Vec<usize> = wanted.iter().zip(least).map(|(wanted, least)| *wanted as usize + least).collect();
    let mut by_remainder: Vec<usize> = (0..mix.len()).collect();
    by_remainder.sort_by(|one, other| wanted[*other].fract().total_cmp(&wanted[*one].fract()).then(one.cmp(other)));
    let missing = WIDTH - counts.iter().sum::<usize>();
    by_remainder.into_iter().take(missing).for_each(|class| counts[class] += 1);
    SQUARES.iter().zip(counts).flat_map(|(square, count)| std::iter::repeat_n(*square, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(mix: Mix) -> Vec<usize> {
        let row = row(&mix);
        assert_eq!(row.chars().count(), WIDTH, "{row}");
        SQUARES.iter().map(|square| row.chars().filter(|other| other == square).count()).collect()
    }

    #[test]
    fn a_row_has_as_many_squares_as_there_are_packets_of_each_length() {
        assert_eq!(counts([0.5, 0.3, 0.2, 0.0, 0.0, 0.0]), [15, 9, 6, 0, 0, 0]);
        assert_eq!(counts([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), [0, 0, 0, 0, 0, 30]);
        // Rare bursts are seen too, at the cost of the most frequent length.
        assert_eq!(counts([0.0, 0.998, 0.0, 0.0, 0.001, 0.001]), [0, 28, 0, 0, 1, 1]);
        assert_eq!(counts([1.0 / 6.0; 6]), [5; 6]);
        assert_eq!(counts([0.96, 0.008, 0.008, 0.008, 0.008, 0.008]), [25, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn a_picture_has_a_row_for_each_side_that_has_packets() {
        let paced = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let text = picture(&[("A\n```", Some(paced)), ("B", None)]);
        let block: Vec<_> = text.lines().skip_while(|line| *line != "```text").skip(1).collect();
        assert!(block.len() == 2 && block[1] == "```" && block[0].contains(" A"), "{text}");
        assert_eq!(picture(&[("A", None)]), "");
    }
}
