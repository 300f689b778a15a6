use super::*;

/// E-21: the three algorithms, as data.
#[test]
fn e21_the_algorithms_are_built_in() {
    let data = Data::built_in();
    assert_eq!(
        Algorithm::names(&data).unwrap(),
        [DEFAULT, ENHANCED, "security_first_veto"]
    );
    let all = Algorithm::names(&data).unwrap();
    let rules = all.iter().map(|name| {
        let it = Algorithm::load(&data, name).unwrap();
        (it.evidence, it.ends_by, it.veto, it.majority.is_some())
    });
    assert_eq!(
        rules.collect::<Vec<_>>(),
        [
            (Evidence::Optional, EndsBy::Votes, Veto::None, true),
            (Evidence::Required, EndsBy::Convergence, Veto::None, false),
            (Evidence::Optional, EndsBy::Votes, Veto::Security, false),
        ]
    );
}

/// E-21: unanimity is HIGH, all but one MEDIUM, otherwise LOW and a person decides.
#[test]
fn e21_the_majority_rule_sets_the_confidence() {
    let rule = Algorithm::load(&Data::built_in(), DEFAULT)
        .unwrap()
        .majority
        .unwrap();
    let table = [
        (4, 0, Count::Carried(Level::High)),
        (3, 1, Count::Carried(Level::Medium)),
        (2, 1, Count::Carried(Level::Medium)),
        (2, 2, Count::Open(Level::Low)),
        (6, 2, Count::Open(Level::Low)),
        (1, 1, Count::Open(Level::Low)),
        (0, 0, Count::Open(Level::Low)),
    ];
    for (majority, minority, expected) in table {
        assert_eq!(
            rule.count(majority, minority),
            expected,
            "{majority} to {minority}"
        );
    }
}

#[test]
fn e21_an_unknown_or_invalid_algorithm_is_refused() {
    let error = Algorithm::load(&Data::built_in(), "democratic_minority").unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown algorithm 'democratic_minority'; did you mean 'democratic_majority'?"
    );
    let folder = tempfile::tempdir().unwrap();
    let algorithms = folder.path().join("algorithms");
    std::fs::create_dir_all(&algorithms).unwrap();
    std::fs::write(
        algorithms.join("mine.toml"),
        "name = \"mine\"\nsummary = \"\"\nevidence = \"maybe\"\n",
    )
    .unwrap();
    let error = Algorithm::load(&Data::with_folder(folder.path().into()), "mine").unwrap_err();
    assert!(error.to_string().contains("mine.toml:3:"), "{error}");
}
