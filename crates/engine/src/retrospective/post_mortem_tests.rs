use roundtable_core::evidence::Weights;
use roundtable_core::learning::{Audit, Change, HalfLife, Knowledge, learn, record};

use super::*;
use crate::retrospective::{AssessmentFile, LearningUpdates, RecordFile, knowledge_report, report};

const RECORD: &str = include_str!("../../fixtures/dashboard/record.yaml");
const ASSESSMENT: &str = include_str!("../../fixtures/dashboard/assessment.yaml");
/// 2024-12-16, the day after the eighth week.
const ASSESSED: Millis = 1_734_307_200_000;

fn domain() -> Domain {
    Domain::new("API Design").unwrap()
}

fn read(record: &str, assessment: &str) -> Result<PostMortem, Vec<PostMortemError>> {
    let record = serde_saphyr::from_str::<RecordFile>(record)
        .unwrap()
        .debate_record;
    let file: AssessmentFile = serde_saphyr::from_str(assessment).unwrap();
    let decided = "2024-10-21".parse().unwrap();
    let timeline = Timeline::new(decided, file.timeline().to_vec());
    PostMortem::new(record, timeline, file.assessment().unwrap().clone(), false)
}

fn dashboard() -> PostMortem {
    read(RECORD, ASSESSMENT).unwrap()
}

fn errors(record: &str, assessment: &str) -> Vec<String> {
    let errors = read(record, assessment).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

fn learned(audit: &mut Vec<Audit>, lesson: Lesson) -> (LearningUpdates, Knowledge) {
    let at = lesson.at;
    let change = learn(audit, lesson).unwrap();
    let entry = record(
        audit,
        domain(),
        change,
        "a post-mortem".into(),
        HalfLife::default(),
        at,
    );
    audit.push(entry.clone());
    let known = Knowledge::from_audit(audit, &domain(), HalfLife::default(), at);
    (LearningUpdates::of(&entry, &known).unwrap(), known)
}

/// E-14: all evidence of the design's record, without duplicates. Items without a mark of their own get that of their type.
#[test]
fn e14_all_evidence_is_marked() {
    let items: Vec<_> = dashboard()
        .evidence
        .iter()
        .map(|item| {
            let mark = item.mark.map_or("", Mark::name);
            (
                item.kind.name(),
                item.citation.clone(),
                item.round,
                item.agents.len(),
                mark,
            )
        })
        .collect();
    insta::assert_debug_snapshot!(items);
}

/// E-15
#[test]
fn e15_the_designs_project_as_a_lesson() {
    insta::assert_json_snapshot!(dashboard().lesson(domain(), ASSESSED));
}

/// E-14, E-15: record, eight weeks of tracking, assessment, report with every section, updates.
#[test]
fn e14_the_designs_example_end_to_end() {
    let post_mortem = dashboard();
    let mut audit = Vec::new();
    let (updates, known) = learned(&mut audit, post_mortem.lesson(domain(), ASSESSED));
    let report = report(&post_mortem, Some((&updates, &known)));
    let titles: Vec<&str> = report
        .sections
        .iter()
        .map(|section| section.title.as_str())
        .collect();
    assert_eq!(
        titles,
        [
            "Debate metrics",
            "Since the decision",
            "Evidence performance",
            "Agent performance",
            "What went right",
            "What went wrong",
            "Lessons learned",
            "System updates applied",
            "Projected impact on future debates",
        ]
    );
    insta::assert_json_snapshot!(report);
    insta::assert_json_snapshot!(updates);
}

/// E-16: three projects like the design's lead to the weights that the design shows after three.
#[test]
fn e16_three_projects_like_the_designs_give_its_weights() {
    let mut audit = Vec::new();
    for number in 0..3_u64 {
        let lesson = Lesson {
            project: format!("project {number}"),
            ..dashboard().lesson(domain(), ASSESSED + number * 7 * 86_400_000)
        };
        learned(&mut audit, lesson);
    }
    let now = audit[2].at;
    let known = Knowledge::from_audit(&audit, &domain(), HalfLife::default(), now);
    let weights: Weights = known.learned().unwrap().weights;
    let shown = [EvidenceType::Precedent, EvidenceType::Logical]
        .map(|kind| format!("{:.2}", weights.of(kind).value()));
    assert_eq!(shown, ["0.75", "0.58"]);
    insta::assert_json_snapshot!(knowledge_report(
        &audit,
        &domain(),
        HalfLife::default(),
        now
    ));
}

/// E-15: an agent without evidence that was assessed has no score.
#[test]
fn e15_agents_without_a_verdict_are_judged_by_their_evidence() {
    let mut post_mortem = dashboard();
    post_mortem.assessment.agents.clear();
    let score = |post_mortem: &PostMortem| post_mortem.score("GPT-4");
    // The survey, the learning curve and the tooling were right; the timeline was half right.
    let held = Probability::new(3.5 / 4.0).unwrap();
    assert_eq!(
        score(&post_mortem),
        Some(AgentScore::Evidence { held, pieces: 4 })
    );
    for item in &mut post_mortem.evidence {
        item.mark = None;
    }
    assert_eq!(score(&post_mortem), None);
    assert!(post_mortem.lesson(domain(), ASSESSED).rounds.is_empty());
}

#[test]
fn e15_a_type_without_a_verdict_is_judged_by_its_evidence() {
    let without = ASSESSMENT
        .lines()
        .filter(|line| !line.contains("evidence_type_accuracy"));
    let without = without.collect::<Vec<_>>().join("\n");
    let lesson = read(RECORD, &without).unwrap().lesson(domain(), ASSESSED);
    let held: Vec<_> = lesson
        .evidence
        .iter()
        .map(|seen| (seen.kind.name(), seen.held.value(), seen.why.as_str()))
        .collect();
    assert_eq!(
        held,
        [
            ("DOCUMENTED", 1.0, "3 of 3 pieces held"),
            ("EMPIRICAL", 1.0, "2 of 2 pieces held"),
            ("PRECEDENT", 1.0, "2 of 2 pieces held"),
            ("LOGICAL", 0.75, "1 of 2 pieces held"),
        ]
    );
}

/// Requirements that come up late point to a missing skill, whether the assessor names it or not.
#[test]
fn e15_late_requirements_ask_for_a_skill() {
    let mut post_mortem = dashboard();
    let named = post_mortem.lesson(domain(), ASSESSED).skills;
    assert_eq!(named.len(), 2);
    assert_eq!(
        named[0].evidence,
        [
            "week 3: Frontend requests flexible filtering",
            "week 6: Frontend requests batch loading"
        ]
    );
    post_mortem.assessment.skills.clear();
    let found = post_mortem.lesson(domain(), ASSESSED).skills;
    assert_eq!(
        (found.len(), found[0].skill.as_str()),
        (1, "Requirements Validation Expert")
    );
    post_mortem.timeline = Timeline::new(post_mortem.timeline.decided(), Vec::new());
    assert!(post_mortem.lesson(domain(), ASSESSED).skills.is_empty());
}

#[test]
fn e14_all_mismatches_with_the_record_are_reported_together() {
    let wrong = ASSESSMENT
        .replace(
            "citation: \"Learning curve\"",
            "citation: \"Learning curves\"",
        )
        .replace("citation: \"8-week timeline\"", "citation: \"GitHub\"")
        .replace("agent: \"GPT-4\"", "agent: \"GPT-5\"")
        .replace("agent: \"Gemini-Pro\"", "agent: \"Claude-Sonnet-3.5\"");
    assert_eq!(
        errors(RECORD, &wrong),
        [
            "unknown citation 'Learning curves'; did you mean 'Learning curve: est. 2-3 weeks'? To mark evidence that was not cited in the debate, add its 'type'",
            "the citation 'GitHub' is ambiguous; it matches: GitHub API v4 uses GraphQL; GitHub: 40% reduction in mobile data",
            "unknown agent 'GPT-5'; did you mean 'GPT-4'?",
            "the agent 'Claude-Sonnet-3.5' is assessed twice",
        ]
    );
    let twice = ASSESSMENT.replace(
        "citation: \"8-week timeline\"",
        "citation: \"learning curve\"",
    );
    assert_eq!(errors(RECORD, &twice), ["'learning curve' is marked twice"]);
}

#[test]
fn e14_evidence_that_was_not_cited_can_be_marked_with_its_type() {
    let more = ASSESSMENT.replace(
        "    agents:\n",
        "      - citation: \"Query pattern analysis\"\n        type: LOGICAL\n        mark: incomplete\n\n    agents:\n",
    );
    let evidence = read(RECORD, &more).unwrap().evidence;
    let last = evidence.last().unwrap();
    assert_eq!(
        (last.citation.as_str(), last.round, last.mark),
        ("Query pattern analysis", None, Some(Mark::Incomplete))
    );
}

#[test]
fn e14_a_debate_without_a_decision_cannot_be_assessed() {
    let mut record = serde_saphyr::from_str::<RecordFile>(RECORD)
        .unwrap()
        .debate_record;
    record.final_consensus = None;
    let timeline = Timeline::new("2024-10-21".parse().unwrap(), Vec::new());
    let assessment = dashboard().assessment;
    let rejected = PostMortem::new(record, timeline, assessment, false);
    assert_eq!(rejected, Err(vec![PostMortemError::Undecided]));
}

#[test]
fn e15_only_lessons_have_updates() {
    let mut audit = Vec::new();
    learned(&mut audit, dashboard().lesson(domain(), ASSESSED));
    let entry = record(
        &audit,
        domain(),
        Change::Reset,
        "start over".into(),
        HalfLife::default(),
        ASSESSED,
    );
    let known = Knowledge::from_audit(&[], &domain(), HalfLife::default(), ASSESSED);
    assert_eq!(LearningUpdates::of(&entry, &known), None);
}

#[test]
fn e14_a_report_without_learning_says_so() {
    let report = report(&dashboard(), None);
    let last = serde_json::to_string(&report.sections[7..]).unwrap();
    assert!(last.contains("No learning updates were applied."), "{last}");
    assert!(
        last.contains("None, because no learning updates were applied."),
        "{last}"
    );
}

/// The design's record with three claims: two that share evidence, and a guess.
fn record_with_claims() -> String {
    let claims = "  claims:
    - {id: C1, claim: The team is fast with REST, agent: GPT-4, round: 1, evidence: [{type: EMPIRICAL, citation: \"Team survey: 5/5 engineers have REST exp, 0/5 GraphQL\"}]}
    - {id: C2, claim: Nobody needs filters, agent: GPT-4, round: 2, evidence: [{type: EMPIRICAL, citation: \"Team survey: 5/5 engineers have REST exp, 0/5 GraphQL\"}, {type: LOGICAL, citation: \"Learning curve: est. 2-3 weeks\"}]}
    - {id: C3, claim: Mobile will not matter, agent: Gemini-Pro, round: 2}

  final_consensus:";
    RECORD.replacen("  final_consensus:", claims, 1)
}

fn marks(assessment: &str) -> Vec<(String, Option<Mark>, Option<String>)> {
    let items = read(&record_with_claims(), assessment).unwrap().evidence;
    let of_claims = items.into_iter().filter(|item| !item.claims.is_empty());
    of_claims
        .map(|item| (item.claims.join(" "), item.mark, item.note))
        .collect()
}

/// E-14: marks of claims apply to their evidence. Different marks combine to `incomplete`; a mark of the item itself takes
/// precedence; a marked guess becomes an item.
#[test]
fn e14_evidence_is_marked_by_the_ids_of_claims() {
    let given = |evidence: &str| {
        format!("post_mortem_assessment:\n  decision_accuracy: 0.5\n  evidence:\n{evidence}")
    };
    let found = marks(&given(
        "    - {claim: C1, mark: validated, note: they were}\n    - {claim: \"[c2]\", mark: refuted, note: they did}\n    - {claim: C3, mark: refuted}\n",
    ));
    let note = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (
                "C1 C2".to_owned(),
                Some(Mark::Incomplete),
                note("C1: they were; C2: they did")
            ),
            ("C2".to_owned(), Some(Mark::Refuted), note("C2: they did")),
            ("C3".to_owned(), Some(Mark::Refuted), None),
        ]
    );
    let found = marks(&given(
        "    - {claim: C2, mark: refuted}\n    - {citation: Team survey, mark: validated}\n",
    ));
    assert_eq!(
        found,
        [
            ("C1 C2".to_owned(), Some(Mark::Validated), None),
            ("C2".to_owned(), Some(Mark::Refuted), None),
        ]
    );
    let held = marks(&given(
        "    - {claim: C1, mark: dismissed_but_relevant}\n    - {claim: C2, mark: validated}\n",
    ));
    assert_eq!(held[0].1, Some(Mark::Validated));
}

/// E-15: a marked guess counts for the speculative type and for its agent.
#[test]
fn e15_marked_guesses_count_as_speculative_evidence() {
    let text = "post_mortem_assessment:\n  decision_accuracy: 0.5\n  evidence:\n    - {claim: C3, mark: validated}\n";
    let lesson = read(&record_with_claims(), text)
        .unwrap()
        .lesson(domain(), ASSESSED);
    let seen: Vec<_> = lesson
        .evidence
        .iter()
        .map(|seen| (seen.kind, seen.held.value(), seen.pieces))
        .collect();
    assert_eq!(seen, [(EvidenceType::Speculative, 1.0, 1)]);
    let agents: Vec<_> = lesson
        .agents
        .iter()
        .map(|seen| seen.agent.as_str())
        .collect();
    assert_eq!(agents, ["Gemini-Pro"]);
}

#[test]
fn e14_marks_of_unknown_and_repeated_claims_are_rejected() {
    let text = "post_mortem_assessment:\n  decision_accuracy: 0.5\n  evidence:\n    - {claim: C9, mark: validated}\n    - {claim: C1, mark: validated}\n    - {claim: c1, mark: refuted}\n";
    assert_eq!(
        errors(&record_with_claims(), text),
        [
            "unknown claim 'C9'; known claims: C1, C2, C3",
            "'C1' is marked twice"
        ]
    );
    assert_eq!(
        errors(RECORD, text)[0],
        "unknown claim 'C9': the record has no claims; mark evidence by its citation"
    );
}
