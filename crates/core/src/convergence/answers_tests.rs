use super::*;

fn answer(seat: &str, option: &str, vote: Vote) -> Answer {
    Answer {
        seat: seat.into(),
        option: (!option.is_empty()).then(|| option.into()),
        vote,
        stance: None,
        probability: None,
        position: format!("The seat {seat}{seat} holds this of it in words of its own."),
    }
}

fn kinds(agreement: &Agreement) -> Vec<&'static str> {
    let each = agreement.contradictions.iter().map(|kind| match kind {
        Contradiction::Options { .. } => "options",
        Contradiction::Votes { .. } => "votes",
        Contradiction::Stances { .. } => "stances",
        Contradiction::Probabilities { .. } => "probabilities",
        Contradiction::Words { .. } => "words",
    });
    each.collect()
}

#[test]
fn e19_each_kind_of_answer_can_contradict() {
    let alike = [
        answer("a", "Use a queue", Vote::Accept),
        answer("b", "use a QUEUE first", Vote::Minor),
        answer("c", "", Vote::Accept),
    ];
    let agreement = Agreement::of(&alike);
    assert_eq!(kinds(&agreement), Vec::<&str>::new());
    assert_eq!((agreement.option, agreement.vote), (Some(1.0), Some(1.0)));
    assert!(agreement.is_unanimous());

    let mut options = alike.clone();
    options[1].option = Some("Wait".into());
    assert_eq!(kinds(&Agreement::of(&options)), ["options"]);
    assert_eq!(Agreement::of(&options).option, Some(0.5));

    let mut votes = alike.clone();
    votes[2].vote = Vote::Blocker;
    assert_eq!(kinds(&Agreement::of(&votes)), ["votes"]);

    let mut stances = alike.clone();
    stances[0].stance = Some(Stance::Yes);
    stances[1].stance = Some(Stance::Neutral);
    assert_eq!(kinds(&Agreement::of(&stances)), Vec::<&str>::new());
    stances[1].stance = Some(Stance::No);
    assert_eq!(kinds(&Agreement::of(&stances)), ["stances"]);

    let mut chances = alike.clone();
    (chances[0].probability, chances[1].probability) = (Some(0.51), Some(0.5));
    assert_eq!(kinds(&Agreement::of(&chances)), Vec::<&str>::new());
    chances[1].probability = Some(0.49);
    assert_eq!(kinds(&Agreement::of(&chances)), ["probabilities"]);

    let mut words = alike;
    words[0].position = "We should move to the cloud now".into();
    words[1].position = "We should not move to the cloud now".into();
    assert_eq!(kinds(&Agreement::of(&words)), ["words"]);
}

#[test]
fn e19_no_answers_are_not_unanimous() {
    assert!(!Agreement::of(&[]).is_unanimous());
    assert!(!Agreement::of(&[answer("a", "", Vote::Accept)]).is_unanimous());
    assert_eq!(Agreement::of(&[]).lowest(), None);
}

#[test]
fn e19_options_are_compared_by_their_words() {
    assert!(same_option("Modular monolith", "modular monolith."));
    assert!(same_option("Modular monolith", "modular monolith with DDD"));
    assert!(!same_option("Use a queue", "Do not use a queue"));
    assert!(!same_option("Option A", "Option B"));
    assert!(!same_option("A", "A or B"));
    assert!(!same_option("Phase it in", "Phase it in 2030"));
    assert!(same_option("Use a queue", "A queue"));
    assert!(same_option("Yes", "Yes, with limits"));
    assert!(!same_option("Yes", "No"));
    assert!(!same_option("Close the plant", "Refuse to close the plant"));
    assert!(!same_option("adopt the plan", "not adopt the plan"));
    assert!(!same_option("REST", "GraphQL"));
}

#[test]
fn e19_a_reversed_answer_is_detected_despite_similar_wording() {
    let before = answer("a", "Use a queue", Vote::Accept);
    assert!(!changed_sides(&before, &before));
    assert!(changed_sides(&before, &answer("a", "Wait", Vote::Accept)));
    assert!(changed_sides(
        &before,
        &answer("a", "Use a queue", Vote::Blocker)
    ));
    assert!(!changed_sides(
        &before,
        &answer("a", "Use a queue", Vote::Minor)
    ));
    let mut crossed = before.clone();
    crossed.probability = Some(0.4);
    let mut likely = before.clone();
    likely.probability = Some(0.6);
    assert!(changed_sides(&crossed, &likely));
    let mut negated = before.clone();
    negated.position = "The seat aa holds this not of it in words of its own.".into();
    assert!(changed_sides(&before, &negated));
}

/// E-21: a seat that blocks is in the minority with any option.
#[test]
fn e21_the_majority_is_counted_from_answers_and_votes() {
    let all = [
        answer("a", "Queue it", Vote::Accept),
        answer("b", "queue it", Vote::Minor),
        answer("c", "Queue it", Vote::Blocker),
        answer("d", "Wait", Vote::Accept),
        answer("e", "", Vote::Accept),
    ];
    assert_eq!(
        majority(&all),
        Majority {
            option: Some("Queue it".into()),
            seats: vec!["a".into(), "b".into()],
            minority: vec![
                ("c".into(), Some("Queue it".into())),
                ("d".into(), Some("Wait".into())),
                ("e".into(), None)
            ],
        }
    );
    assert_eq!(majority(&[]).option, None);
}

/// E-22: opposites in words count where no typed answer is given.
#[test]
fn e22_opposites_in_words_contradict_without_a_typed_answer() {
    let said = |seat: &str, option: &str, position: &str| Answer {
        position: position.into(),
        ..answer(seat, option, Vote::Accept)
    };
    let (pro, contra) = ("We support the merger.", "We oppose the merger.");
    let untyped = [
        said("a", "", pro),
        said("b", "", contra),
        said("c", "", pro),
    ];
    assert_eq!(kinds(&Agreement::of(&untyped)), ["words"]);
    assert_eq!(majority(&untyped).seats, ["a", "c"]);
    assert!(changed_sides(&untyped[0], &said("a", "", contra)));
    // The same typed answer settles it.
    let typed = [said("a", "Phase it", pro), said("b", "Phase it", contra)];
    assert_eq!(kinds(&Agreement::of(&typed)), Vec::<&str>::new());
    let half = [said("a", "Phase it", pro), said("b", "", contra)];
    assert_eq!(kinds(&Agreement::of(&half)), ["words"]);
}

/// Nobody leads in a tie.
#[test]
fn e21_a_tie_has_no_leading_option() {
    let of = |options: &[&str]| {
        let each = options
            .iter()
            .map(|option| answer("a", option, Vote::Accept));
        leading_option(&each.collect::<Vec<_>>())
    };
    assert_eq!(
        of(&["Queue it", "queue it", "Wait"]).as_deref(),
        Some("Queue it")
    );
    assert_eq!(of(&["Queue it", "Wait"]), None);
    assert_eq!(of(&[""]), None);
}
