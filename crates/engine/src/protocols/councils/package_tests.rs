use super::*;

fn given(kind: Kind, name: &str, text: &str) -> Given {
    Given {
        kind,
        name: name.into(),
        text: text.into(),
    }
}

/// T-13: text, transcript and metadata are one package; the statistics cover written and spoken text only.
#[test]
fn t13_several_files_are_one_package() {
    let spoken = "one two three four five ".repeat(20);
    let subtitles = format!("WEBVTT\n\n1\n00:00:01.000 --> 00:00:04.000\n{spoken}\n");
    let package = Package::new(
        "clip".into(),
        &[
            given(Kind::Transcript, "clip.vtt", &subtitles),
            given(Kind::Metadata, "clip.json", "{\"views\": 12}"),
        ],
        10_000,
    );
    let kinds: Vec<_> = package.parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [Kind::Transcript, Kind::Metadata]);
    let Forensics::Measured(statistics) = &package.forensics else {
        panic!("there are a hundred words");
    };
    assert_eq!(statistics.words, 100, "no numbers, no times, no metadata");
    assert_eq!(package.left_out(), [] as [String; 0]);
}

/// T-13: a long text keeps its beginning and end and says what is left out; the statistics are of the whole text.
#[test]
fn t13_a_long_text_is_cut_and_the_cut_is_reported() {
    let words: Vec<String> = (0..150_000).map(|number| format!("w{number}")).collect();
    let text = words.join(" ");
    assert!(text.len() > 1_000_000);
    let limit = 20_000;
    let package = Package::new("book".into(), &[given(Kind::Text, "book.md", &text)], limit);
    let part = &package.parts[0];
    assert!(
        tokens::count(&part.text) <= limit,
        "{}",
        tokens::count(&part.text)
    );
    assert!(tokens::count(&part.text) > limit / 2);
    assert!(part.text.starts_with("w0 w1 w2 ") && part.text.ends_with(" w149998 w149999"));
    let left_out = part.left_out.unwrap();
    assert_eq!(left_out.of_words, 150_000);
    let judged = words_in(&part.text) - 8;
    assert_eq!(judged, left_out.of_words - left_out.words);
    assert!(
        part.text
            .contains(&format!("[… {} words are left out here …]", left_out.words))
    );
    assert_eq!(
        package.left_out(),
        [format!(
            "book.md: {judged} of 150000 words are judged, from its beginning and its end; the {} words between them are left out.",
            left_out.words
        )]
    );
    let Forensics::Measured(statistics) = &package.forensics else {
        panic!("there are enough words");
    };
    assert_eq!(statistics.words, 150_000);
}

fn words_in(text: &str) -> usize {
    text.split_whitespace().count()
}

/// A script without spaces is cut between characters, never inside one.
#[test]
fn t13_a_text_without_spaces_is_cut_between_characters() {
    let text = "今日は天気がとても良いので友達と公園へ行きました。".repeat(400);
    let package = Package::new("x".into(), &[given(Kind::Text, "x.md", &text)], 1000);
    assert!(package.parts[0].left_out.is_some());
    assert!(package.parts[0].text.chars().count() < 2000);
}
