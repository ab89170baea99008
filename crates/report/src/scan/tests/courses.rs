use super::*;

/// Groups asked at hours of a week, from a place.
fn asked(hour: u64, group: &str, row: ScanReportRow) -> ScanReportRow {
    let group = Some(group.to_owned());
    ScanReportRow { time_ns: 19_941 * DAY_NS + hour * HOUR_NS + 1, group, place: Some("Hamburg".to_owned()), ..row }
}

#[test]
fn medians_quartiles_and_shares_are_by_hour_and_group() {
    let mut rows = Vec::new();
    for (hour, offset) in [(5, 0.0), (6, 10.0), (9, 20.0)] {
        for ms in 1..=5 {
            rows.push(asked(hour, "unpopular", instant("Cloudflare", "own.example", offset + f64::from(ms))));
        }
        // Three of four are cached.
        rows.extend((0..3).map(|_| asked(hour, "popular", coalesced("Cloudflare", "discord.com"))));
        rows.push(asked(hour, "popular", instant("Cloudflare", "discord.com", 2.0)));
    }
    rows.push(ScanReportRow { first_answer: Some("silent".to_owned()), ..rows[0].clone() });
    let week = part(&report(&rows), "Figures 9 and 15");
    let leads = traces(&week, "scan-fig15-lead-1");
    let named = |traces: &[Trace], name: &str| points_of(traces.iter().find(|it| it.name == name).unwrap());
    // A gap of two hours interrupts the line.
    let expected = [(5.0, Some(3.0)), (6.0, Some(13.0)), (6.0, None), (9.0, Some(23.0))];
    assert_eq!(named(&leads, "unpopular"), expected);
    let areas: Vec<_> = leads
        .iter()
        .filter_map(|trace| match &trace.content {
            Content::Area(corners) => Some(corners.iter().map(|(_, y)| *y).collect::<Vec<_>>()),
            _ => None,
        })
        .collect();
    assert_eq!(areas[1], [2.0, 12.0, 14.0, 4.0]);
    let shares = traces(&week, "scan-fig15-coalesced-1");
    let [popular, unpopular] = ["popular", "unpopular"]
        .map(|name| named(&shares, name).into_iter().map(|(_, share)| share).collect::<Vec<_>>());
    assert_eq!(popular, [Some(0.75), Some(0.75), None, Some(0.75)]);
    assert_eq!(unpopular, [Some(0.0), Some(0.0), None, Some(0.0)]);
    // The request is 10 ms before the first acknowledgment.
    let requests = traces(&week, "scan-fig15-requests-1");
    assert_eq!(points_of(&requests[1])[0].1, Some(10.0 + 2.5));
    assert_eq!(points_of(&requests[2])[0].1, Some(10.0));
    let figure = &week.figures[0];
    assert_eq!(figure.plot.x.title, "hours since 2024-08-06 00:00 UTC");
    assert!(figure.caption.contains("Rows: 27 of 28. Left out: 1 without an acknowledgment"), "{}", figure.caption);
    let said = "Answers from this place: 18 of 27 are used, 9 are left out: answers of another kind";
    assert!(figure.caption.contains(said), "{}", figure.caption);
    let popular = week.tables[0].lines.iter().find(|line| line.cells[0] == "popular").unwrap();
    assert_eq!(popular.cells, ["popular", "12", "75.0", "3", "2", "2", "2"]);
}

#[test]
fn names_that_were_asked_often_stand_beside_the_published_ones() {
    let mut rows: Vec<_> = (0..9).map(|_| asked(0, "popular", coalesced("Cloudflare", "Discord.com"))).collect();
    rows.push(ScanReportRow { first_answer: Some("ack_alone".to_owned()), ..rows[0].clone() });
    rows.extend((0..9).map(|_| asked(0, "popular", coalesced("Cloudflare", "docker.com"))));
    let week = part(&report(&rows), "Figures 9 and 15");
    assert_eq!(line(&week, 0, "Discord.com").cells, ["10", "90.0", "10.0", "91.9"]);
    assert!(week.tables[0].lines.len() == 1, "nine answers are too few");
    assert!(week.figures.is_empty() && week.paragraphs[0].contains("are of one hour"), "{:?}", week.paragraphs);
}

#[test]
fn long_times_have_long_steps() {
    let hours = [0, 24 * 41 + 15, 24 * 41 + 16].map(|hour| asked(hour, "a", instant("x", "y", 1.0)));
    let clock = |rows: &[ScanReportRow]| {
        let week = part(&report(rows), "Figures 9 and 15");
        week.figures[0].caption.clone()
    };
    assert!(clock(&[hours[0].clone(), hours[1].clone()]).contains("Steps of an hour."), "999 hours");
    assert!(clock(&[hours[0].clone(), hours[2].clone()]).contains("Steps of a day."), "1000 hours");
    // A clock that was never set, and the last instant that fits.
    let ends = [1, u64::MAX].map(|time_ns| ScanReportRow { time_ns, ..hours[0].clone() });
    assert!(clock(&ends).contains("Steps of 365 days."));
}

#[test]
fn ranks_are_groups_where_there_is_no_group() {
    let row = |rank: u64, group: &str| {
        let row = asked(rank % 2, group, instant("x", "y", 1.0));
        ScanReportRow { rank: Some(rank), ..row }
    };
    let rows = [row(1000, ""), row(1001, ""), row(2, "mine"), ScanReportRow { rank: None, ..row(3, "") }];
    let week = part(&report(&rows), "Figures 9 and 15");
    let groups: Vec<_> = week.tables[0].lines.iter().map(|line| &line.cells[0][..]).collect();
    assert_eq!(groups, ["mine", "ranks above 1000", "ranks up to 1000", "no group"]);
}
