use super::*;

fn stored(folder: &Path, questions: usize) -> Stored {
    let answered: Vec<(String, Vec<Option<String>>)> = (0..questions)
        .map(|number| {
            let answers = ["one", "two"].map(|who| Some(format!("{who} on {number}")));
            (format!("Question {number}?"), answers.to_vec())
        })
        .collect();
    let arena = Arena {
        version: VERSION,
        id: "a".into(),
        created_at: 0,
        program: "0".into(),
        file: "q.txt".into(),
        sha256: "0".into(),
        seed: 7,
        contestants: vec!["one".into(), "two".into()],
        pairs: Arena::draw(7, &answered),
    };
    save(folder, &arena).unwrap();
    Stored::read(folder.to_owned()).unwrap()
}

fn vote(pair: usize, choice: Choice) -> Vote {
    Vote {
        pair,
        choice,
        at: 0,
    }
}

#[test]
fn b01_the_order_is_drawn_by_the_seed_and_both_sides_occur() {
    let folder = tempfile::tempdir().unwrap();
    let stored = stored(folder.path(), 40);
    let left = stored
        .arena
        .pairs
        .iter()
        .filter(|pair| pair.left.contestant == 0)
        .count();
    assert!((10..=30).contains(&left), "{left}");
    for pair in &stored.arena.pairs {
        let name = ["one", "two"][pair.left.contestant];
        assert!(pair.left.text.starts_with(name));
        assert_ne!(pair.left.contestant, pair.right.contestant);
    }
    // A contestant without an answer takes no part in the question.
    let answered = [(
        "Q?".to_owned(),
        vec![Some("x".to_owned()), None, Some("y".to_owned())],
    )];
    assert_eq!(Arena::draw(1, &answered).len(), 1);
}

#[test]
fn b01_votes_are_kept_once_and_survive_a_cut_line() {
    let folder = tempfile::tempdir().unwrap();
    let before = stored(folder.path(), 3);
    before.vote(vote(1, Choice::Left)).unwrap();
    let read = || Stored::read(folder.path().to_owned()).unwrap();
    assert!(matches!(
        read().vote(vote(1, Choice::Right)),
        Err(VoteError::Voted)
    ));
    assert!(matches!(
        read().vote(vote(9, Choice::Left)),
        Err(VoteError::NoSuchPair)
    ));
    // Two processes at once: the first line counts.
    before.vote(vote(1, Choice::Right)).unwrap();
    let path = folder.path().join(VOTES);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"pair\":2,\"cho")).unwrap();
    let cut = read();
    assert_eq!(cut.votes, [vote(1, Choice::Left)]);
    assert_eq!(cut.next().unwrap().number, 2);
    cut.vote(vote(2, Choice::Tie)).unwrap();
    assert_eq!(read().votes.len(), 2);
    assert!(
        save(folder.path(), &cut.arena)
            .unwrap_err()
            .message()
            .contains("has votes already")
    );
}

#[test]
fn b01_a_standing_says_when_nothing_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = stored(folder.path(), 30);
    let nothing = stored.standing();
    assert!(!nothing.is_decided);
    assert_eq!(nothing.conclusion, "Not decided between one and two.");
    // The second contestant is preferred in 25 of 30.
    stored.votes = stored
        .arena
        .pairs
        .iter()
        .map(|pair| {
            let is_second_left = pair.left.contestant == 1;
            let prefers_second = pair.number > 5;
            vote(
                pair.number,
                if is_second_left == prefers_second {
                    Choice::Left
                } else {
                    Choice::Right
                },
            )
        })
        .collect();
    let found = stored.standing();
    assert!(found.is_decided);
    let two = &found.contestants[1];
    assert!((two.beats_first.unwrap() - 25.5 / 31.0).abs() < 1e-6);
    assert!(
        found
            .conclusion
            .starts_with("two is preferred to one in 82% (95% "),
        "{}",
        found.conclusion
    );
    assert!((two.strength.wins - 25.0).abs() < 1e-9);
}
