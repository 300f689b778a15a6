//! The token overhead over a plain debate.

use super::*;

/// A model that reports no usage, so that tokens are counted locally.
struct Counted(Arc<Scripted>);

impl Model for Counted {
    fn stream(&self, request: Request) -> Deltas {
        let deltas = self.0.stream(request);
        Box::pin(deltas.filter(|delta| {
            let is_usage = matches!(delta, Ok(crate::model::Delta::Usage(_)));
            std::future::ready(!is_usage)
        }))
    }
}

async fn counted(setup: Setup, model: &Arc<Scripted>) -> (Verdict, u64) {
    let mut deps = deps_for(&setup, model, Arc::<MemoryJournal>::default());
    for seat_model in deps.seat_models.values_mut() {
        seat_model.model = Arc::new(Counted(Arc::clone(model)));
    }
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let verdict = verdict_of(&play(&table, &Modes).await.unwrap());
    (verdict, table.spent().usage.total())
}

/// E-17: the estimate for a plain debate is within 3% of a plain debate with the same texts.
#[tokio::test]
async fn e17_the_overhead_over_a_plain_debate_is_measured() {
    let unsure = changed(converging, |_, _, reply| reply["confidence"] = json!(0.65));
    let (verdict, total) = counted(enhanced_setup("collaborative", 3, 3), &unsure).await;
    let overhead = enhancement(&verdict).overhead;
    assert_eq!((overhead.total_tokens, overhead.round_tokens), (total, 0));
    assert_eq!(
        overhead.plain_tokens + overhead.prompt_tokens + overhead.reply_tokens,
        total
    );
    assert!(overhead.embedded_tokens > 0);
    let bare = changed(converging, |_, _, reply| {
        reply["confidence"] = json!(0.65);
        if reply["references"][1].is_object() {
            reply["claims"][1]["citations"] = json!("[2]");
        }
        let reply = reply.as_object_mut().unwrap();
        reply.remove("backing");
        reply.remove("critiques");
        reply.insert("opposes".into(), json!([]));
    });
    let (plain, used) = counted(setup("collaborative", 3, 3), &bare).await;
    assert_eq!((plain.total_rounds, plain.enhanced.is_some()), (3, false));
    let off = overhead.plain_tokens.abs_diff(used);
    assert!(
        off * 100 <= used * 3,
        "{} expected, {used} used",
        overhead.plain_tokens
    );

    // If the votes had ended a plain debate in round 1, all later rounds are overhead.
    let (verdict, _) = counted(
        enhanced_setup("collaborative", 3, 5),
        &changed(converging, |_, _, reply| {
            reply["debate_alignment"] = json!("Use a queue");
        }),
    )
    .await;
    let overhead = enhancement(&verdict).overhead;
    assert!(
        overhead.round_tokens > overhead.prompt_tokens,
        "{overhead:?}"
    );
    assert_eq!(
        overhead.plain_tokens + overhead.added(),
        overhead.total_tokens
    );
}

/// E-17: a majority ends a plain debate, so rounds after it are overhead.
#[tokio::test]
async fn e17_rounds_after_a_majority_are_overhead() {
    let votes = |_: &Request, _: usize, reply: &mut Value| {
        reply["vote"] = json!("ACCEPT");
        reply["confidence"] = json!(0.75);
    };
    let (verdict, total) = counted(
        enhanced_setup("collaborative", 3, 5),
        &changed(converging, votes),
    )
    .await;
    assert_eq!(verdict.total_rounds, 3);
    let overhead = enhancement(&verdict).overhead;
    assert!(overhead.round_tokens > 0, "{overhead:?}");
    // The third round is a third of the calls of the seats.
    let share = overhead.round_tokens * 100 / total;
    assert!((25..=45).contains(&share), "{share}%");
    let (plain, _) = counted(
        setup("collaborative", 3, 5),
        &changed(converging, move |request, before, reply| {
            votes(request, before, reply);
            let reply = reply.as_object_mut().unwrap();
            reply.remove("backing");
            reply.remove("critiques");
            reply.insert("opposes".into(), json!([]));
        }),
    )
    .await;
    assert_eq!(
        (plain.stop_reason.as_str(), plain.total_rounds),
        ("majority", 2)
    );
}

/// E-17: the footer says that the overhead has rounds that votes would have spared, and only then.
#[tokio::test]
async fn e17_the_footer_says_what_the_overhead_contains() {
    let fact = async |script: &Arc<Scripted>| {
        let (verdict, _) = counted(enhanced_setup("collaborative", 3, 3), script).await;
        let facts = enhanced::facts(&verdict).into_iter();
        let mut overhead = facts.filter(|fact| fact.name == "Token overhead");
        overhead.next().unwrap().value
    };
    let spared = ", with rounds that votes would have spared";
    let agreed = changed(converging, |_, _, reply| {
        reply["debate_alignment"] = json!("Use a queue");
    });
    assert!(fact(&agreed).await.ends_with(spared));
    let unsure = changed(converging, |_, _, reply| reply["confidence"] = json!(0.65));
    let unsure = fact(&unsure).await;
    assert!(
        unsure.starts_with('+') && !unsure.contains(spared),
        "{unsure}"
    );
}
