//! The verdict of a dialectic.

use roundtable_core::format::counted;
use roundtable_core::issues::{Issue, Severity};

use crate::event::Entry;
use crate::protocols::dialectic::debate::Debate;
use crate::protocols::dialectic::replies::Change;
use crate::protocols::dialectic::verdict;
use crate::protocols::verdict_header::{badge, draft_badge, header, title_of};
use crate::report::{
    Badge, BadgeKind, Dissent, Fact, Tone, Verdict, VerdictAnswer, VerdictChange, VerdictConfidence,
};

/// The latest proposal and the issues that are open against it.
pub(super) fn draft(entries: &[Entry], debate: &Debate) -> Verdict {
    let verdict = header(entries);
    let Some(answer) = debate.latest_answer() else {
        return verdict;
    };
    let open = debate.ledger().open();
    let number = debate.proposals();
    let (text, tone) = match (open.as_slice(), debate.ledger().all()) {
        (_, []) => (format!("Draft {number}, not challenged yet"), Tone::Quiet),
        ([], all) => {
            let all = counted(all.len(), "objection");
            (format!("Draft {number}: {all}, all settled"), Tone::Good)
        }
        (open, _) => {
            let text = format!("Draft {number}, under attack: {}", by_severity(open));
            (text, tone_of(open))
        }
    };
    Verdict {
        badge: draft_badge(&verdict, &text, tone),
        answer: Some(VerdictAnswer::new(answer).draft()),
        dissent: dissent(entries, &open),
        ..verdict
    }
}

/// `stopped` says why the rounds ended.
pub(super) fn verdict(entries: &[Entry], result: &verdict::Verdict, stopped: &str) -> Verdict {
    let verdict = header(entries);
    let open = result.issues.open();
    let full = result.final_answer.as_deref();
    let text = result.answer.as_deref();
    let answer = full.zip(text);
    Verdict {
        badge: if answer.is_some() {
            challenge(result, &open)
        } else {
            verdict.badge
        },
        answer: answer.map(|(full, text)| VerdictAnswer::with_text(full, text)),
        confidence: confidence(result),
        changed: result.worth.changed.map(|change| changed(result, change)),
        dissent: dissent(entries, &open),
        caveats: result.caveats.clone(),
        figures: result
            .auto_score
            .iter()
            .map(|auto| {
                let score = format!("{:.1} of 10", auto.score.value());
                Fact::new("Judge's score", score)
            })
            .collect(),
        ending: Some(stopped.to_owned()),
        ..verdict
    }
}

fn challenge(result: &verdict::Verdict, open: &[&Issue]) -> Badge {
    let badge = badge(result.scrutiny.as_ref());
    if badge.kind != BadgeKind::Contested || open.is_empty() {
        return badge;
    }
    let all = counted(result.issues.all().len(), "objection");
    let text = format!("Challenged: {all}, open: {}", by_severity(open));
    Badge::new(BadgeKind::Contested, text, tone_of(open))
}

fn confidence(result: &verdict::Verdict) -> Option<VerdictConfidence> {
    let value = result.confidence?;
    let share = f64::from(value.value()) / 10.0;
    let confidence = VerdictConfidence::new(share, format!("{value} of 10"))
        .because(result.confidence_reason.as_deref());
    Some(match result.confidence_stated {
        Some(stated) if value < stated => confidence.lowered_from(&format!("{stated} of 10")),
        Some(_) | None => confidence,
    })
}

fn changed(result: &verdict::Verdict, change: Change) -> VerdictChange {
    let word = match change {
        Change::Unchanged => "Unchanged",
        Change::Refined => "Refined",
        Change::Reversed => "Reversed",
    };
    let reason = result.worth.change_reason.as_deref().unwrap_or_default();
    let text = match reason.trim() {
        "" => word.to_owned(),
        reason => format!("{word}: {reason}"),
    };
    let blind = result.worth.first.as_ref();
    VerdictChange::new(change == Change::Reversed, text)
        .compared_with(blind.map(|first| first.answer.as_str()))
}

/// The open issues, the most severe first.
fn dissent(entries: &[Entry], open: &[&Issue]) -> Vec<Dissent> {
    let title = title_of(entries, "skeptic");
    let dissent = open.iter().map(|issue| {
        let finding = &issue.finding;
        let position = format!("{} ({})", finding.problem.trim(), finding.severity.name());
        let reason = Some(finding.why_it_matters.as_str());
        Dissent::new("skeptic", title.clone(), &position, reason)
    });
    dissent.collect()
}

/// `1 critical, 2 minor`
fn by_severity(open: &[&Issue]) -> String {
    let counts = Severity::ALL.into_iter().filter_map(|severity| {
        let of = open
            .iter()
            .filter(|issue| issue.finding.severity == severity);
        let count = of.count();
        (count > 0).then(|| format!("{count} {}", severity.name()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn tone_of(open: &[&Issue]) -> Tone {
    let is_critical = |issue: &&Issue| issue.finding.severity == Severity::Critical;
    if open.iter().any(is_critical) {
        Tone::Critical
    } else {
        Tone::Caution
    }
}
