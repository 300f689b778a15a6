use super::*;
use crate::scripted::Words;

fn text(content: &str) -> Text {
    Text {
        name: "mine.toml".into(),
        origin: Origin::File("templates/mine.toml".into()),
        content: content.into(),
    }
}

/// P-02: at least 24 templates are built in, each with all its parts.
#[test]
fn p02_the_built_in_library_is_large_and_complete() {
    let library = Library::load(&Data::built_in()).unwrap();
    assert!(library.all().len() >= 24, "{}", library.all().len());
    for LibraryEntry { template, .. } in library.all() {
        assert!(template.steps.len() >= 3, "{}", template.id);
        assert!(!template.pitfalls.is_empty(), "{}", template.id);
        assert!(template.example.len() > 100, "{}", template.id);
    }
}

/// P-02: a template is found by its own example questions, the best first.
#[tokio::test]
async fn p02_a_templates_own_questions_find_it() {
    let library = Library::load(&Data::built_in()).unwrap();
    let wanted = &library.all()[5].template;
    let all_questions = wanted.questions.join(" ");
    let found = library
        .search(&all_questions, 3, &Words, &Scale::identity())
        .await
        .unwrap();
    assert_eq!(found[0].id, wanted.id);
    assert_eq!(found.len(), 3);
    assert!(found[0].similarity.raw >= found[1].similarity.raw);
}

/// P-02: a user's file has one template or several.
#[test]
fn p02_users_files_hold_one_template_or_many() {
    let one =
        "id = \"a\"\nname = \"A\"\nwhen = \"w\"\nsteps = [\"s\"]\npitfalls = []\nexample = \"\"\n";
    let many = format!(
        "[[template]]\n{one}\n[[template]]\n{}",
        one.replace("\"a\"", "\"b\"")
    );
    assert_eq!(parse(&text(one)).unwrap().len(), 1);
    assert_eq!(parse(&text(&many)).unwrap().len(), 2);
    let error = parse(&text(&one.replace("id = \"a\"", "id = \"A b\"")))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("templates/mine.toml") && error.contains("'A b'"),
        "{error}"
    );
}

/// C-16: the embedded embedder has a built-in scale; an embedder without a file has the identity.
#[test]
fn c16_each_embedder_has_its_own_scale() {
    let data = Data::built_in();
    let minilm = scale_of(&data, "local:all-MiniLM-L6-v2").unwrap();
    for (raw, expected) in [(0.19, 0.38), (0.34, 0.67), (0.53, 0.84)] {
        assert!((minilm.read(raw).scaled - expected).abs() < 1e-9);
    }
    assert_eq!(
        scale_of(&data, "lab:unheard-of").unwrap(),
        Scale::identity()
    );
}
