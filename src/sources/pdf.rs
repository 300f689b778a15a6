//! The text of a PDF file, page by page. Whatever a file does to its reader, a panic or work without end, stays in a thread of
//! its own, and is told as a file that cannot be read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use super::Unusable;

/// A file that takes longer is made to.
const LONGEST: Duration = Duration::from_secs(30);
/// Files nest deeply, by mistake or on purpose.
const STACK: usize = 64 * 1024 * 1024;
const MOST_PAGES: usize = 5000;

pub(super) fn pages(bytes: &[u8]) -> Result<Vec<String>, Unusable> {
    let (done, waiting) = mpsc::channel();
    let bytes = bytes.to_vec();
    let reader = std::thread::Builder::new()
        .name("pdf".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let read = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
            let panicked = || Unusable::BrokenPdf("its structure is damaged".to_owned());
            // Nobody waits any more: it took too long.
            let _ = done.send(read.unwrap_or_else(|_| Err(panicked())));
        });
    reader.map_err(|error| Unusable::BrokenPdf(error.to_string()))?;
    waiting
        .recv_timeout(LONGEST)
        .unwrap_or_else(|_| Err(Unusable::BrokenPdf("it takes too long".to_owned())))
}

fn read(bytes: &[u8]) -> Result<Vec<String>, Unusable> {
    let broken = |error: lopdf::Error| Unusable::BrokenPdf(error.to_string());
    let document = lopdf::Document::load_mem(bytes).map_err(broken)?;
    if document.is_encrypted() {
        return Err(Unusable::BrokenPdf("it is encrypted".to_owned()));
    }
    let numbers = document.get_pages().into_keys().take(MOST_PAGES);
    // A page that cannot be read is empty; the others are worth having.
    let pages: Vec<String> = numbers
        .map(|number| document.extract_text(&[number]).unwrap_or_default())
        .map(|text| {
            text.chars()
                .filter(|c| !c.is_control() || c.is_whitespace())
                .collect()
        })
        .collect();
    if pages.iter().all(|page: &String| page.trim().is_empty()) {
        return Err(Unusable::NoTextInPdf);
    }
    Ok(pages)
}
