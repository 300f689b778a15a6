use std::time::Instant;

use lopdf::{Dictionary, Object, Stream, dictionary};

use super::*;

fn child(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A page whose content is this many blanks, compressed to a thousandth.
fn bomb(blanks: usize) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let mut content = Stream::new(Dictionary::new(), vec![b' '; blanks]);
    content.compress().unwrap();
    let content = document.add_object(content);
    let pages = document.new_object_id();
    let page = document.add_object(dictionary! {
        "Type" => "Page", "Parent" => pages, "Contents" => content,
    });
    document.objects.insert(
        pages,
        Object::Dictionary(
            dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 },
        ),
    );
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn m15_a_page_is_not_expanded_beyond_the_limit() {
    let bytes = bomb(1_000_000);
    assert!(bytes.len() < 5_000, "{}", bytes.len());
    assert!(read(&bytes, 2_000_000).is_ok());
    let error = read(&bytes, 100_000).unwrap_err();
    assert!(error.contains("expands to more than"), "{error}");
}

#[cfg(unix)]
#[test]
fn m15_a_reader_that_hangs_or_dies_is_an_error() {
    let started = Instant::now();
    let hangs = ask(
        child("cat > /dev/null; sleep 60"),
        b"%PDF-",
        Duration::from_millis(200),
    );
    assert_eq!(
        hangs,
        Err(SourceError::BrokenPdf("it takes too long".into()))
    );
    assert!(started.elapsed() < Duration::from_secs(50));
    for script in [
        "kill -9 $$",
        "cat > /dev/null; echo no",
        "echo '{\"Ok\":[\"a'",
    ] {
        let answer = ask(child(script), &vec![b'x'; 500_000], TIMEOUT);
        assert!(
            matches!(&answer, Err(SourceError::BrokenPdf(why)) if why.contains("too much memory")),
            "{script}: {answer:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn m15_the_answer_of_the_reader_is_used() {
    let answer = ask(
        child("cat > /dev/null; echo '{\"Ok\":[\"a\",\"\"]}'"),
        b"%PDF-",
        TIMEOUT,
    );
    assert_eq!(answer, Ok(vec!["a".to_owned(), String::new()]));
    let error = ask(child("echo '{\"Err\":\"it is encrypted\"}'"), b"", TIMEOUT);
    assert_eq!(error, Err(SourceError::BrokenPdf("it is encrypted".into())));
}
