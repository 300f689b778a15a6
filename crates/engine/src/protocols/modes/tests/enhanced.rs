//! Enhanced debates from end to end, against scripted seats. This file has the scripts; the tests are in files by topic.

use roundtable_core::bounded::Probability;
use roundtable_core::convergence::{Explanation, Status, Warning};
use roundtable_core::evidence::{EvidenceType, Level, Weights};
use roundtable_core::state::ClaimStatus;

use super::*;
use crate::journal::Keyed;
use crate::protocols::modes::enhanced::{self, EnhancedRules, EnhancedVerdict};

mod convergence;
mod escalation;
mod evidence;
mod overhead;
mod prompts;

fn enhanced_by(algorithm: &str, mode: &str, max_rounds: u32) -> Rules {
    let algorithm = Algorithm::load(&Data::built_in(), algorithm).unwrap();
    rules(mode, max_rounds).enhanced(EnhancedRules::new(algorithm))
}

fn enhanced_setup(mode: &str, seats: usize, max_rounds: u32) -> Setup {
    setup_of(
        &enhanced_by(algorithm::ENHANCED, mode, max_rounds),
        seats,
        Ability::Full,
    )
}

/// A valid reply with evidence, and critiques instead of objections.
fn reply_with_evidence(request: &Request, vote: &str, confidence: f64) -> Value {
    let mut reply = valid_reply(request, vote, confidence);
    let objects = text_of(request).contains("critical-objection round");
    // Nobody criticises a claim of its own.
    let claim = if seat_of(request) == "sentinel" {
        "C3"
    } else {
        "C1"
    };
    reply.as_object_mut().unwrap().remove("opposes");
    reply["backing"] = json!([
        { "of": "N1", "evidence": [{ "type": "EMPIRICAL", "source": "[1]" }], "confidence": 0.8 },
        { "of": "N2", "evidence": [{ "type": "LOGICAL", "source": "Bursts fill what is not buffered." }], "confidence": 0.5 },
    ]);
    reply["critiques"] = if objects {
        json!([{ "claim": claim, "grade": "HIGH", "counter": [{ "type": "EMPIRICAL", "source": "Log of another month" }],
                 "synthesis": "Only in some months.", "concession": null }])
    } else {
        json!([])
    };
    reply
}

/// Three seats that converge over three rounds.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a script may fail; this one does not"
)]
fn converging(request: &Request, _: usize) -> Result<String, ModelError> {
    if let Some(reply) = other_reply(request) {
        return Ok(reply);
    }
    let (seat, round) = (seat_of(request), round_of(request));
    let mut reply = reply_with_evidence(request, "MINOR", 0.75);
    let (position, option) = match (seat.as_str(), round) {
        ("sentinel", 1) => (
            "Wait until somebody has measured the load",
            "Wait and measure",
        ),
        ("builder", 1) => ("Put one queue before every writer", "Use a queue"),
        (_, 1) => ("Buy larger hardware instead", "Buy hardware"),
        ("sentinel", 2) => (
            "Put one queue before every writer once the load is known",
            "Use a queue",
        ),
        ("builder", 2) => (
            "Put one queue before every writer and watch it",
            "Use a queue",
        ),
        (_, 2) => ("Put larger hardware before every writer", "Buy hardware"),
        (_, _) => (
            "Put one queue before every writer and limit it",
            "Use a queue",
        ),
    };
    reply["position"] = json!(position);
    reply["debate_alignment"] = json!(option);
    if seat == "analyst" && round == 3 {
        reply["critiques"] = json!([{ "claim": "C1", "grade": "HIGH", "counter": [], "synthesis": null,
                                      "concession": "The log is plain." }]);
        reply["moved_by"] = json!(["C9"]);
    }
    if round > 1 {
        reply["references"] = json!([
            reply["references"][0],
            { "number": 2, "title": "Queueing theory, third edition", "url": null, "gist": "Bursts queue.", "kind": "citation" },
        ]);
        reply["backing"][1]["evidence"][0] = json!({ "type": "DOCUMENTED", "source": "[2]" });
    }
    Ok(reply.to_string())
}

/// All seats take the same position in round 1.
fn unanimous(request: &Request, before: usize) -> Result<String, ModelError> {
    let said = converging(request, before)?;
    if name(request) != "contribution" {
        return Ok(said);
    }
    let mut reply: Value = serde_json::from_str(&said).unwrap();
    reply["position"] = json!("Put one queue before every writer and limit it");
    reply["debate_alignment"] = json!("Use a queue");
    reply["moved_by"] = json!([]);
    Ok(reply.to_string())
}

fn enhancement(verdict: &Verdict) -> &EnhancedVerdict {
    verdict.enhanced.as_ref().unwrap()
}

fn debate_of(journal: &MemoryJournal) -> Debate {
    Debate::from_journal(&entries(journal)).unwrap()
}
