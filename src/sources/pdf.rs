//! Extracts the text of a PDF file, page by page. The parser runs in its own thread, so that a panic or an endless loop
//! becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use super::SourceError;

const TIMEOUT: Duration = Duration::from_secs(30);
/// For deeply nested files.
const STACK_SIZE: usize = 64 * 1024 * 1024;
const MAX_PAGES: usize = 5000;

pub(super) fn pages(bytes: &[u8]) -> Result<Vec<String>, SourceError> {
    let (sender, receiver) = mpsc::channel();
    let bytes = bytes.to_vec();
    let thread = std::thread::Builder::new()
        .name("pdf".to_owned())
        .stack_size(STACK_SIZE)
        .spawn(move || {
            let read = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
            let panicked = || SourceError::BrokenPdf("its structure is damaged".to_owned());
            // Fails if the receiver has timed out.
            let _ = sender.send(read.unwrap_or_else(|_| Err(panicked())));
        });
    thread.map_err(|error| SourceError::BrokenPdf(error.to_string()))?;
    receiver
        .recv_timeout(TIMEOUT)
        .unwrap_or_else(|_| Err(SourceError::BrokenPdf("it takes too long".to_owned())))
}

fn read(bytes: &[u8]) -> Result<Vec<String>, SourceError> {
    let broken = |error: lopdf::Error| SourceError::BrokenPdf(error.to_string());
    let document = lopdf::Document::load_mem(bytes).map_err(broken)?;
    if document.is_encrypted() {
        return Err(SourceError::BrokenPdf("it is encrypted".to_owned()));
    }
    let numbers = document.get_pages().into_keys().take(MAX_PAGES);
    // An unreadable page counts as empty, to keep the others.
    let pages: Vec<String> = numbers
        .map(|number| document.extract_text(&[number]).unwrap_or_default())
        .map(|text| {
            text.chars()
                .filter(|c| !c.is_control() || c.is_whitespace())
                .collect()
        })
        .collect();
    if pages.iter().all(|page: &String| page.trim().is_empty()) {
        return Err(SourceError::NoTextInPdf);
    }
    Ok(pages)
}
