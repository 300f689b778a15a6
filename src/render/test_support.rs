//! Sample data for tests: a journal with every kind of turn, and a report with every kind of block.

use std::sync::Arc;

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::cast::Cast;
use roundtable_engine::data::Data;
use roundtable_engine::event::{
    Call, End, Entry, Event, FailedStep, FinishedStep, Seated, Setup, Spent, State,
};
use roundtable_engine::model::Ability;
use roundtable_engine::report::{
    Badge, BadgeKind, Bar, Block, Cell, Chart, Dot, DotRow, Fact, Line, NextAction, Position,
    Report, Scale, Section, Table, Threshold, Tone, Unit, Verdict, VerdictAnswer, VerdictChange,
    VerdictConfidence, VerdictUsage,
};
use roundtable_engine::table::Budget;
use roundtable_engine::transcript::Transcript;
use serde_json::json;

pub(crate) const ID: &str = "3f2a9c1e-0000-4000-8000-000000000001";
const START: u64 = 1_794_812_520_000;

pub(crate) fn setup() -> Setup {
    let cast = Cast::load(&Data::built_in(), "dialectic").unwrap();
    let models = [
        "lab:qwen3-32b",
        "lab:llama-3.3-70b",
        "lab:qwen3-32b",
        "lab:small",
    ];
    Setup {
        protocol: "dialectic".into(),
        question: "Should a five-person team pick REST or GraphQL for an eight-week dashboard?"
            .into(),
        seed: 7,
        seats: cast
            .seats
            .into_iter()
            .zip(models)
            .map(|(seat, model)| Seated::new(seat, model, Ability::Full))
            .collect(),
        rules: json!({ "min_rounds": 2, "max_rounds": 4 }),
        budget: Budget::default(),
        embedder: None,
        program: "0.1.0".into(),
        notices: Vec::new(),
        depth: roundtable_engine::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

fn call(step: &str, seat: &str, round: u32, at: u64) -> Call {
    Call {
        step: step.into(),
        seat: seat.into(),
        round,
        model: "lab:qwen3-32b".into(),
        request: String::new(),
        started_at: START + at,
        spent: Spent {
            usage: Usage {
                input: 1200,
                output: 412,
                cached: 800,
            },
            calls: 1,
            tool_turns: 0,
            retries: u32::from(round == 2),
            latency_ms: 6100,
            cost: Money::from_dollars(0.0052),
            estimated: false,
        },
    }
}

fn said(step: &str, seat: &str, round: u32, at: u64, text: &str) -> Event {
    Event::StepFinished(Arc::new(FinishedStep {
        call: call(step, seat, round, at),
        reply: json!({}),
        text: text.into(),
        remarks: if round == 2 && seat == "proposer" {
            vec!["S4 was left without an answer.".into()]
        } else {
            Vec::new()
        },
        withheld: Vec::new(),
        instead_of: None,
        rescued_by: None,
        reused: false,
        notices: Vec::new(),
    }))
}

fn numbered(events: Vec<Event>) -> Vec<Entry> {
    (1..)
        .zip(events)
        .map(|(seq, event)| Entry {
            seq,
            at: START + seq * 7000,
            event,
        })
        .collect()
}

/// A debate that ended: two rounds and an absent seat.
pub(crate) fn journal(state: State) -> Vec<Entry> {
    let mut events = running_events();
    events.push(said(
        "synthesis/synthesizer/synthesise",
        "synthesizer",
        2,
        30_000,
        "Use **REST** with an OpenAPI description.",
    ));
    events.push(Event::StepFailed(Arc::new(FailedStep {
        call: call("score/judge/mark", "judge", 2, 40_000),
        reason: "the server closed the connection <before> it answered".into(),
        said: None,
    })));
    events.push(Event::Ended(Arc::new(End {
        state,
        reason: (state != State::Complete).then(|| "score/judge/mark: no answer".into()),
        result: Some(json!({ "stop_reason": "round_cap" })),
    })));
    numbered(events)
}

/// A debate in the middle of its second round.
pub(crate) fn running() -> Vec<Entry> {
    numbered(running_events())
}

fn running_events() -> Vec<Event> {
    vec![
        Event::Opened(Arc::new(setup())),
        Event::RoundStarted {
            round: 1,
            name: "opening".into(),
        },
        said(
            "r1/proposer/propose",
            "proposer",
            1,
            0,
            "**REST**, because the team knows it.\n\n1. Two of five have shipped it.\n2. The filters are known.",
        ),
        said(
            "r1/skeptic/criticise",
            "skeptic",
            1,
            8000,
            include_str!("hostile.md"),
        ),
        Event::RoundStarted {
            round: 2,
            name: "refinement".into(),
        },
        said(
            "r2/proposer/revise",
            "proposer",
            2,
            16_000,
            "REST with one batched read endpoint designed in from the start. I accept S1 and S3; I defend S2.",
        ),
    ]
}

pub(crate) fn transcript(entries: &[Entry]) -> Transcript {
    Transcript::of(ID, entries).unwrap()
}

/// A report with all blocks, chart types and tones.
pub(crate) fn report() -> Report {
    Report {
        verdict: Some(verdict()),
        answer: Some(
            "Use **REST** with an OpenAPI description for the first release, with one batched read endpoint.\n\n\
             ## Confidence: 7/10\n\nThe query patterns are measured on one month only."
                .into(),
        ),
        facts: vec![
            Fact::new("Confidence", "7 of 10"),
            Fact::new("Open", "1 critical, 1 minor").toned(Tone::Critical),
            Fact::new("Changed", "the debate reversed it").toned(Tone::Caution),
        ],
        sections: vec![
            Section::main(
                "Ending",
                vec![
                    note("Ended after round 2: the round cap.", Tone::Plain),
                    note("No answer from the judge (score): the reply was empty.", Tone::Caution),
                    Block::Text {
                        markdown: "The first answer was *GraphQL*.".into(),
                    },
                ],
            ),
            Section::main("Forecast", vec![Block::Chart(forecast())]),
            Section::main("Convergence", vec![Block::Chart(convergence())]),
            Section::main("Score card", vec![Block::Chart(scores()), opposed()]),
            Section::side("Issues", vec![Block::Table(issues())]),
            Section::side("Quality by round", vec![Block::Chart(quality())]),
        ],
        ..Report::default()
    }
}

fn note(text: &str, tone: Tone) -> Block {
    Block::Note {
        text: text.into(),
        tone,
    }
}

fn opposed() -> Block {
    let position = |role: &str, stand: &str, markdown: &str| Position {
        role: role.into(),
        stand: stand.into(),
        markdown: markdown.into(),
    };
    Block::Opposed {
        positions: vec![
            position(
                "proposer",
                "38",
                "The format **peaked** in spring; what is left of it is habit.",
            ),
            position(
                "skeptic",
                "74",
                "Three of the five largest channels took it up this month. <b>Look</b>.",
            ),
        ],
    }
}

fn issues() -> Table {
    let row = |id: &str, severity: &str, status: &str, what: &str, tone| {
        vec![
            Cell::new(id),
            Cell::new(severity).toned(tone),
            Cell::new(status).toned(tone),
            Cell::new(what),
        ]
    };
    Table::new("Issues", &["id", "severity", "status", "what"])
        .row(row(
            "S2",
            "critical",
            "unresolved",
            "Query patterns of the front end are still assumed.",
            Tone::Critical,
        ))
        .row(row(
            "S4",
            "major",
            "unresolved",
            "No migration path is named.",
            Tone::Caution,
        ))
        .row(row(
            "S5",
            "minor",
            "unresolved",
            "Caching is left out.",
            Tone::Quiet,
        ))
        .row(row(
            "S1",
            "critical",
            "resolved",
            "The learning curve was asserted, not counted <i>.",
            Tone::Good,
        ))
}

const SHARES: Scale = Scale {
    from: 0.0,
    to: 1.0,
    unit: Unit::Percent,
};

pub(crate) fn forecast() -> Chart {
    let roles = ["proposer", "skeptic", "synthesizer", "judge", "historian"];
    let row = |label: &str, line: f64, values: [f64; 5]| DotRow {
        label: label.into(),
        line: Some(line),
        dots: roles
            .iter()
            .zip(values)
            .map(|(role, value)| Dot {
                role: (*role).into(),
                value,
            })
            .collect(),
        remark: None,
    };
    Chart::Dots {
        title: "Probability of each outcome".into(),
        scale: SHARES,
        rows: vec![
            row("Above 3%", 0.46, [0.62, 0.31, 0.44, 0.38, 0.47]),
            row("2 to 3%", 0.39, [0.30, 0.41, 0.36, 0.47, 0.39]),
            row("Below 2%", 0.15, [0.08, 0.28, 0.15, 0.15, 0.15]),
        ],
    }
}

pub(crate) fn convergence() -> Chart {
    let line = |label: &str, values: [Option<f64>; 3]| Line {
        label: label.into(),
        role: None,
        values: values.to_vec(),
    };
    let threshold = |label: &str, value| Threshold {
        label: label.into(),
        value,
    };
    Chart::Lines {
        title: "Text measures with their thresholds, and agreement on the answer itself".into(),
        scale: Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Decimals(2),
        },
        rounds: vec!["R1".into(), "R2".into(), "R3".into()],
        lines: vec![
            line("Similarity", [Some(0.38), Some(0.67), Some(0.84)]),
            line("Evidence", [Some(0.0), Some(0.2), Some(0.5)]),
            line("Shift", [None, Some(0.38), Some(0.12)]),
            line("Typed agreement", [Some(0.33), Some(0.67), Some(0.85)]),
        ],
        thresholds: vec![
            threshold("consensus 0.80", 0.8),
            threshold("evidence 0.60", 0.6),
        ],
    }
}

pub(crate) fn scores() -> Chart {
    let row = |label: &str, line: f64, values: &[f64], remark: Option<Cell>| DotRow {
        label: label.into(),
        line: Some(line),
        dots: ["proposer", "skeptic", "judge"]
            .iter()
            .zip(values)
            .map(|(role, value)| Dot {
                role: (*role).into(),
                value: *value,
            })
            .collect(),
        remark,
    };
    Chart::Dots {
        title: "Each judge is a dot, the consensus a line".into(),
        scale: Scale {
            from: 0.0,
            to: 100.0,
            unit: Unit::Decimals(0),
        },
        rows: vec![
            row("Hook", 72.0, &[72.0], None),
            row("Emotion", 70.0, &[65.0, 78.0, 70.0], None),
            row(
                "Production",
                81.0,
                &[81.0, 79.0, 84.0],
                Some(Cell::new("agreed").toned(Tone::Good)),
            ),
            row(
                "Trend",
                57.0,
                &[38.0, 74.0, 61.0],
                Some(Cell::new("36 apart").toned(Tone::Critical)),
            ),
        ],
    }
}

fn quality() -> Chart {
    Chart::Lines {
        title: "The skeptic's mark by round".into(),
        scale: Scale {
            from: 0.0,
            to: 10.0,
            unit: Unit::Decimals(0),
        },
        rounds: vec!["R1".into(), "R2".into()],
        lines: vec![Line {
            label: "mark".into(),
            role: Some("skeptic".into()),
            values: vec![Some(5.0), Some(7.0)],
        }],
        thresholds: vec![Threshold {
            label: "ready at 8".into(),
            value: 8.0,
        }],
    }
}

pub(crate) fn bars() -> Chart {
    let bar = |label: &str, value, role: Option<&str>| Bar {
        label: label.into(),
        value,
        role: role.map(str::to_owned),
    };
    Chart::Bars {
        title: "Tokens by seat".into(),
        unit: "tokens".into(),
        bars: vec![
            bar("Proposer", 3224.0, Some("proposer")),
            bar("Skeptic", 1612.5, Some("skeptic")),
            bar(
                "A <very> long name of a seat that has to be cut to fit",
                0.0,
                None,
            ),
        ],
    }
}

pub(crate) fn verdict() -> Verdict {
    Verdict {
        state: State::Complete,
        badge: Badge::new(
            BadgeKind::Challenged,
            "Challenged: 4 objections, 4 settled",
            Tone::Good,
        ),
        answer: Some(VerdictAnswer::new(
            "Build it on REST, one aggregate endpoint per screen; review after two quarters. Permissions stay on routes, \
             four shared screens carry 70% of the traffic, and a gateway can be added later.",
        )),
        confidence: Some(
            VerdictConfidence::new(0.7, "7 of 10")
                .because(Some("figures can be checked; the effort is a guess")),
        ),
        changed: Some(VerdictChange::new(
            false,
            "Refined: argues for 4 of 11 screens, with a switch condition",
        )),
        dissent: Vec::new(),
        caveats: vec![
            "mobile needs unknown until March".into(),
            "staging log of one month".into(),
        ],
        figures: vec![Fact::new("Judge's score", "7.8 of 10")],
        ending: Some("Stopped after round 3 of 5: the skeptic called it ready.".into()),
        failures: Vec::new(),
        rounds: 3,
        usage: VerdictUsage {
            calls: 8,
            input_tokens: 10_380,
            output_tokens: 1_000,
            cost: None,
            duration_ms: 10_000,
        },
        actions: vec![NextAction::Read],
    }
}
