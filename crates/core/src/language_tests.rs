use proptest::prelude::*;

use super::*;

#[test]
fn m03_languages_are_detected_by_stop_words_or_script() {
    let texts = [
        (
            "Should our town close its main street to cars?",
            Some(Language::English),
        ),
        (
            "Wir sollten die Straße nicht für Autos sperren, aber die Parkplätze werden teurer.",
            Some(Language::German),
        ),
        (
            "Il ne faut pas fermer la rue, mais nous devons réduire le trafic dans le centre.",
            Some(Language::French),
        ),
        (
            "No se debe cerrar la calle, pero el tráfico es un problema para los vecinos.",
            Some(Language::Spanish),
        ),
        (
            "Non si deve chiudere la strada, ma il traffico è un problema per gli abitanti della zona.",
            Some(Language::Italian),
        ),
        (
            "Não se deve fechar a rua, mas o trânsito é um problema para os moradores do bairro.",
            Some(Language::Portuguese),
        ),
        (
            "We moeten de straat niet sluiten, maar het verkeer is een probleem voor de buurt.",
            Some(Language::Dutch),
        ),
        ("Улицу закрывать не следует.", Some(Language::Cyrillic)),
        ("Δεν πρέπει να κλείσει ο δρόμος.", Some(Language::Greek)),
        ("通りを閉鎖すべきではない。", Some(Language::Japanese)),
        ("不应该封闭这条街。", Some(Language::Chinese)),
        ("거리를 막아서는 안 된다.", Some(Language::Korean)),
        ("لا ينبغي إغلاق الشارع.", Some(Language::Arabic)),
        ("Queue?", None),
        ("", None),
        ("12 345 %", None),
        ("PostgreSQL MongoDB Redis Kafka", None),
    ];
    let told: Vec<_> = texts.iter().map(|(text, _)| (*text, of(text))).collect();
    assert_eq!(told, texts);
}

/// M-03: one stop word is not enough, two are without competition, three against fewer; a tie is uncertain.
#[test]
fn m03_an_uncertain_language_is_none() {
    assert_eq!(of("the queue"), None);
    assert_eq!(of("Should we use a queue?"), Some(Language::English));
    assert_eq!(of("the queue and das"), None);
    assert_eq!(of("the queue and our das"), Some(Language::English));
    assert_eq!(of("the and of der und das"), None);
    assert_eq!(of("the and of der und"), Some(Language::English));
}

/// M-03: single foreign words do not change the detected language.
#[test]
fn m03_only_answers_in_another_language_differ() {
    let question = "Should our town close its main street to cars?";
    let english = "We should close it: the ‘Fußgängerzone’ of the next town is a success, and it is not the only one.";
    let german = "Wir sollten sie sperren: die Fußgängerzone ist ein Erfolg und nicht der einzige.";
    assert_eq!(differs(question, english), None);
    assert_eq!(
        differs(question, german),
        Some((Language::English, Language::German))
    );
    assert_eq!(differs("Queue?", german), None);
    assert_eq!(differs(question, "0.7"), None);
}

proptest! {
    #[test]
    fn m03_arbitrary_text_never_panics(text in ".{0,400}", other in ".{0,400}") {
        prop_assert_eq!(differs(&text, &text), None);
        let there = differs(&text, &other);
        let back = differs(&other, &text).map(|(first, second)| (second, first));
        prop_assert_eq!(there, back);
    }
}

#[test]
fn no_stop_word_is_longer_than_the_lookup_limit() {
    let longest = LANGUAGES_OF.keys().map(|word| word.len()).max();
    assert!(longest <= Some(MAX_WORD_BYTES), "{longest:?}");
}
