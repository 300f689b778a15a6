//! Resolves the references of a reply if the user gave sources (M-15): a passage by its id, a calculation, or another work.
//! Passages are looked up and calculations repeated, so a reply cannot cite what does not exist.

use roundtable_core::calculator;
use roundtable_core::citations::{EvidenceKind, Reference};
use roundtable_core::sources::Sources;
use roundtable_core::state::Moves;
use roundtable_core::wording::one_line;

use crate::tokens;
use crate::tools::CALCULATION;

/// The excerpt of a passage that the state keeps.
const MAX_GIST_TOKENS: u64 = 40;

/// The moves with resolved references, and the titles of references that refer to nothing and were removed.
pub(super) fn resolved(mut moves: Moves, sources: &Sources) -> (Moves, Vec<String>) {
    let mut unknown = Vec::new();
    if sources.is_empty() {
        return (moves, unknown);
    }
    let references = std::mem::take(&mut moves.references);
    for reference in references {
        match resolve(reference, sources) {
            Ok(reference) => moves.references.push(reference),
            Err(title) => unknown.push(title),
        }
    }
    (moves, unknown)
}

fn resolve(reference: Reference, sources: &Sources) -> Result<Reference, String> {
    let title = one_line(&reference.title);
    if let Some(passage) = sources.passage(&title) {
        return Ok(Reference {
            title: passage.id.clone(),
            url: None,
            gist: tokens::shorten(&one_line(&passage.text), MAX_GIST_TOKENS),
            kind: EvidenceKind::ToolOutput,
            ..reference
        });
    }
    if let Some(expression) = calculation(&title) {
        let value = calculator::evaluate(expression).map_err(|_| title.clone())?;
        return Ok(Reference {
            title: format!(
                "{CALCULATION} {} = {}",
                expression.trim(),
                calculator::format_number(value)
            ),
            url: None,
            kind: EvidenceKind::Calculation,
            ..reference
        });
    }
    let source = sources.named(&title);
    let is_unknown_passage = source.is_some_and(|source| {
        let rest = title.get(source.name.len()..).unwrap_or_default();
        rest.contains(':')
    });
    match reference.kind {
        EvidenceKind::Citation if !is_unknown_passage => Ok(reference),
        // Every result of a tool has an id or an expression; this one has neither.
        EvidenceKind::Citation | EvidenceKind::ToolOutput | EvidenceKind::Calculation => Err(title),
    }
}

/// The expression of `calc: 30 * 12`, with or without a result after it.
fn calculation(title: &str) -> Option<&str> {
    let head = title.get(..CALCULATION.len())?;
    let rest = &title[CALCULATION.len()..];
    let expression = rest.split('=').next().unwrap_or(rest);
    head.eq_ignore_ascii_case(CALCULATION).then_some(expression)
}

#[cfg(test)]
#[path = "references_tests.rs"]
mod tests;
