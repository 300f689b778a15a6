//! M-15: sources of all formats.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

/// A PDF file with these pages and a valid cross-reference table.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len())
        .map(|index| format!("{} 0 R", 4 + index * 2))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            pages.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (index, text) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            5 + index * 2
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        write!(file, "{number} 0 obj\n{object}\nendobj\n").unwrap();
    }
    let table = file.len();
    let count = objects.len() + 1;
    write!(file, "xref\n0 {count}\n0000000000 65535 f \n").unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    let trailer = format!("<< /Size {count} /Root 1 0 R >>");
    write!(file, "trailer\n{trailer}\nstartxref\n{table}\n%%EOF\n").unwrap();
    file.into_bytes()
}

fn passages(name: &str, bytes: &[u8]) -> Result<Vec<(String, String)>, SourceError> {
    let mut sources = Sources::new(pdf::pages_here);
    sources.add(name, bytes)?;
    let passages = sources.list.remove(0).passages;
    Ok(passages
        .into_iter()
        .map(|passage| (passage.id, passage.text))
        .collect())
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "compared with the result of reading"
)]
fn one(id: &str, text: &str) -> Result<Vec<(String, String)>, SourceError> {
    Ok(vec![(id.to_owned(), text.to_owned())])
}

#[test]
fn m15_markdown_text_html_csv_and_pdf_are_read() {
    assert_eq!(
        one("plan.md:1-3", "# Plan\n\nGo."),
        passages("plan.md", b"\xef\xbb\xbf# Plan\n\nGo.\n")
    );
    assert_eq!(
        one("old.txt:1", "caf\u{e9}"),
        passages("old.txt", b"caf\xe9")
    );
    assert_eq!(
        one("wide.txt:1", "hé"),
        passages("wide.txt", b"\xff\xfeh\0\xe9\0")
    );
    assert_eq!(
        one(
            "calls.csv:r2-3",
            "month: May; calls: 310\nmonth: June, July; calls: 4"
        ),
        passages("calls.csv", b"month,calls\nMay,310\n\"June, July\",4\n,\n")
    );
    assert_eq!(
        one("a.csv:r2", "x: 1; y: 2; 3"),
        passages("a.csv", b"x;y\n1;2;3\n")
    );
    let pages = passages("r.pdf", &pdf(&["The tide rises.", "", "Twice a day."]));
    assert_eq!(
        Ok(vec![
            ("r.pdf:p1".to_owned(), "The tide rises.".to_owned()),
            ("r.pdf:p3".to_owned(), "Twice a day.".to_owned())
        ]),
        pages
    );
}

#[test]
fn m15_html_is_converted_to_text_without_scripts() {
    let page = "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><!-- <p>no --><h2 class='a > b'>Fees</h2>\n\
                <script>if (a</b) steal()</script><p>The fee is 3&nbsp;&euro; &amp; &#x41;&bogus; more,\nfor a < b.</p>\
                <ul><li>one<li>two</ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\
                <svg><text>no</text></svg><p>End";
    assert_eq!(
        one(
            "p.html:1-11",
            "## Fees\n\nThe fee is 3 € & A&bogus; more, for a < b.\n\n- one\n- two\n\na | b\n1 | 2\n\nEnd"
        ),
        passages("p.html", page.as_bytes())
    );
}

/// Quadratic time would take minutes here.
#[test]
fn m15_unclosed_html_takes_linear_time() {
    let page = format!("<p>a</p><script>{}", "</".repeat(400_000));
    assert_eq!(one("p.html:1", "a"), passages("p.html", page.as_bytes()));
}

/// M-15: hostile pages take time in proportion to their length, and keep what is before the hostile part.
#[test]
fn m15_hostile_html_takes_linear_time() {
    for (hostile, expected) in [
        ("<", "a<<<"),
        ("<p", "a"),
        ("<div>", "a"),
        ("<!--", "a"),
        ("<a href=\"", "a"),
        ("</", "a"),
        ("&", "a&&&"),
        ("&#", "a&#&#"),
        ("<svg></", "a"),
    ] {
        let page = format!("<p>a</p>{}", hostile.repeat(1_000_000 / hostile.len()));
        let read = passages("p.html", page.as_bytes()).unwrap();
        let text: String = read.into_iter().map(|(_, text)| text).collect();
        let text: String = text.split_whitespace().collect();
        assert!(text.starts_with(expected), "{hostile}");
    }
}

/// M-15: a heading is repeated in every row, so a long one would turn 1 MB into 137 GB.
#[test]
fn m15_a_table_cannot_grow_without_limit() {
    let wide = format!("{}\n{}", "h".repeat(512 * 1024), "a\n".repeat(200));
    let read = passages("w.csv", wide.as_bytes()).unwrap();
    let first = read[0].1.lines().next().unwrap().to_owned();
    assert_eq!(first, format!("{}: a", "h".repeat(200)));
    let bomb = format!("{}\n{}", "h".repeat(512 * 1024), "a\n".repeat(262_144));
    assert_eq!(
        passages("b.csv", bomb.as_bytes()),
        Err(SourceError::TooLong)
    );
    // One row of very many cells.
    let headings = vec!["h".repeat(200); 20_000].join(",");
    let row = vec!["a"; 20_000].join(",");
    assert_eq!(
        passages("r.csv", format!("{headings}\n{row}").as_bytes()),
        Err(SourceError::TooLong)
    );
}

#[test]
fn m15_the_characters_of_a_table_are_counted_exactly() {
    let rows = |limit| csv::rows("h\nab\n", limit);
    assert_eq!(rows(5), Ok(vec![(2, "h: ab".to_owned())]));
    assert_eq!(rows(4), Err(SourceError::TooLong));
}

/// M-15: a request cannot have the server parse a PDF under any name.
#[test]
fn m15_a_pdf_in_a_request_is_refused() {
    for (name, text) in [("a.pdf", "%PDF-1.7 x"), ("a.md", " \n%PDF-1.4")] {
        let faults = texts([(name, text)]).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0]
                .message
                .ends_with("which is not read here; pass its text"),
            "{faults:?}"
        );
    }
    assert!(texts([("a.pdf", "plain text")]).is_ok());
}

#[cfg(unix)]
#[test]
fn m15_devices_are_not_read() {
    let error = read_files(&["/dev/zero".into()], pdf::pages_here).unwrap_err();
    let message = &error.faults()[0].message;
    assert!(
        message.ends_with("it is a device or a pipe, not a file"),
        "{message}"
    );
}

#[test]
fn m15_errors_give_the_reason() {
    assert_eq!(Err(SourceError::Empty), passages("a.txt", b" \n\n"));
    assert_eq!(Err(SourceError::Empty), passages("a.csv", b"x,y\n"));
    assert_eq!(
        Err(SourceError::Binary),
        passages("a.png", b"\x89PNG\r\n\x1a\n\0\0\0")
    );
    assert_eq!(
        Err(SourceError::NoTextInPdf),
        passages("a.pdf", &pdf(&[""]))
    );
    assert!(matches!(
        passages("a.pdf", b"%PDF-1.7 nonsense"),
        Err(SourceError::BrokenPdf(_))
    ));
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.md");
    let huge = folder.path().join("huge.txt");
    std::fs::File::create(&huge)
        .unwrap()
        .set_len(MAX_BYTES + 1)
        .unwrap();
    let paths = [folder.path().to_path_buf(), missing, huge];
    let error = read_files(&paths, pdf::pages_here).unwrap_err();
    let faults: Vec<&str> = error
        .faults()
        .iter()
        .map(|fault| fault.message.as_str())
        .collect();
    assert_eq!(3, faults.len());
    assert!(
        faults[0].ends_with("is a folder; pass the files in it"),
        "{faults:?}"
    );
    assert!(
        faults[1].contains("missing.md cannot be read: "),
        "{faults:?}"
    );
    assert!(
        faults[2].ends_with("is larger than 20 MB; pass only the relevant part"),
        "{faults:?}"
    );
}

#[test]
fn m15_names_are_unique_and_safe_in_ids() {
    let mut sources = Sources::new(pdf::pages_here);
    for name in ["plan.md", "Plan.md", "a:b\"<c>.md", "", "x\ny.md"] {
        sources.add(name, b"text").unwrap();
    }
    let names: Vec<&str> = sources
        .list
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    assert_eq!(
        vec!["plan.md", "Plan (2).md", "a_b__c_.md", "source", "x_y.md"],
        names
    );
}

#[test]
fn m15_number_and_size_of_sources_are_limited() {
    let texts_of = |count: usize, length: usize| {
        let text = "word ".repeat(length / 5);
        let names: Vec<String> = (0..count).map(|number| format!("{number}.txt")).collect();
        texts(names.iter().map(|name| (name.as_str(), text.as_str()))).map(|list| list.len())
    };
    assert_eq!(Ok(MAX_SOURCES), texts_of(MAX_SOURCES, 10));
    assert!(texts_of(MAX_SOURCES + 1, 10).is_err());
    assert!(texts_of(2, MAX_CHARACTERS / 2 - 5000).is_ok());
    assert!(texts_of(2, MAX_CHARACTERS / 2 + 10_000).is_err());
}

proptest! {
    #[test]
    fn m15_no_bytes_cause_a_panic(name in "[a-z]{0,3}\\.(md|html|csv|pdf|txt)", bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = passages(&name, &bytes);
    }

    #[test]
    fn m15_no_html_causes_a_panic(page in "(<|>|/|&|;|#|x|script|p|\"|'|=|!--|--|é| ){0,80}") {
        let _ = passages("p.html", page.as_bytes());
    }

    #[test]
    fn m15_a_damaged_pdf_is_an_error_or_text(at in 9_usize..700, byte in any::<u8>()) {
        let mut file = pdf(&["The tide rises.", "Twice a day."]);
        let at = at.min(file.len() - 1);
        file[at] = byte;
        let _ = passages("d.pdf", &file);
    }
}
