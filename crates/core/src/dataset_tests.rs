use super::*;

fn candidate(question: &str, auto_score: f64) -> Candidate {
    Candidate {
        question: question.into(),
        answer: "x".repeat(100),
        rounds: 3,
        auto_score: Some(auto_score),
        user_rating: None,
        created_at: 0,
    }
}

/// P-08: the minimum score of 8, the minimum rounds and the length limits, each on both sides.
#[test]
fn p08_only_good_debates_are_kept() {
    let filter = Filter {
        min_rounds: 3,
        ..Filter::default()
    };
    let short = Candidate {
        answer: "x".repeat(39),
        ..candidate("short", 9.0)
    };
    let hasty = Candidate {
        rounds: 2,
        ..candidate("hasty", 9.0)
    };
    let unscored = Candidate {
        auto_score: None,
        ..candidate("unscored", 0.0)
    };
    let candidates = [
        candidate("at the mark", 8.0),
        candidate("below the mark", 7.9),
        short,
        hasty,
        unscored,
    ];
    assert_eq!(select(&candidates, &filter), [0]);
}

#[test]
fn p08_a_user_rating_overrides_the_automatic_score() {
    let praised = Candidate {
        user_rating: Some(9.0),
        ..candidate("praised", 3.0)
    };
    let panned = Candidate {
        user_rating: Some(2.0),
        ..candidate("panned", 9.5)
    };
    assert_eq!(select(&[praised, panned], &Filter::default()), [0]);
}

/// P-08: the best is kept, and of equally good ones the newest.
#[test]
fn p08_repeated_questions_are_kept_once() {
    let newer = Candidate {
        created_at: 5,
        ..candidate("is it  RAINING", 9.0)
    };
    let candidates = [
        candidate("Is it raining?", 9.0),
        newer,
        candidate("Is it raining!", 8.5),
        candidate("Is it snowing?", 8.0),
    ];
    assert_eq!(select(&candidates, &Filter::default()), [1, 3]);
}
