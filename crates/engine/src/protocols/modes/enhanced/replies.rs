//! The evidence part of a reply, and how it is read. Reading is lenient: an unknown type or an invalid confidence costs that piece
//! of evidence, not the whole turn. Doc comments of the reply types are part of the schemas that are sent to models.

use std::borrow::Cow;

use roundtable_core::bounded::Confidence;
use roundtable_core::citations;
use roundtable_core::evidence::{
    Answer, Cited, Critique, EvidenceType, Flag, Grounds, Heard, Ledger, Said, Standing, Stated,
    Strength,
};
use roundtable_core::state::{
    DebateState, Ground, Moves, NewClaim, Objection, Registered, normal_id,
};
use roundtable_core::wording::{normal, one_line};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::protocols::modes::Contribution;

/// What one claim rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Backing {
    /// N1, N2 … for your new claims in their order, or the id of a claim on the table.
    #[schemars(length(min = 1, max = 12))]
    pub of: String,
    #[serde(default)]
    #[schemars(length(max = 4))]
    pub evidence: Vec<EvidencePiece>,
    /// How sure you are of this claim, from 0 to 1.
    #[serde(default, skip_serializing_if = "RawConfidence::is_missing")]
    pub confidence: RawConfidence,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct EvidencePiece {
    #[serde(
        rename = "type",
        default,
        skip_serializing_if = "RawEvidenceType::is_missing"
    )]
    pub kind: RawEvidenceType,
    /// A number of your references such as [1], an id such as E2, or the exact citation; for LOGICAL, the reasons.
    #[serde(default)]
    #[schemars(length(max = 300))]
    pub source: String,
}

/// A critique in four steps: the claim, its grade, counter-evidence, synthesis or concession.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CritiqueReply {
    /// The id of the claim.
    #[schemars(length(min = 1, max = 12))]
    pub claim: String,
    /// How strong its evidence is: HIGH, MEDIUM or LOW.
    #[serde(default, skip_serializing_if = "RawStrength::is_missing")]
    pub grade: RawStrength,
    /// Counter-evidence of the same or a stronger type; none where you concede.
    #[serde(default)]
    #[schemars(length(max = 3))]
    pub counter: Vec<EvidencePiece>,
    /// What follows from both views together.
    #[serde(default)]
    #[schemars(length(max = 300))]
    pub synthesis: Option<String>,
    /// Why you concede the point; null where you do not.
    #[serde(default)]
    #[schemars(length(max = 300))]
    pub concession: Option<String>,
}

impl Backing {
    /// One line of the turn's text.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}: {} (confidence {})",
            self.of,
            join(&self.evidence),
            display(&self.confidence.0)
        )
    }
}

impl CritiqueReply {
    pub(crate) fn concedes(&self) -> bool {
        let text = self.concession.as_deref().unwrap_or_default();
        !text.trim().is_empty()
    }

    /// All texts that may contain a citation.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let counter = self.counter.iter_mut().map(|piece| &mut piece.source);
        counter
            .chain(&mut self.synthesis)
            .chain(&mut self.concession)
    }

    /// One line of the turn's text.
    pub(crate) fn line(&self) -> String {
        let mut parts = vec![format!("{} graded {}", self.claim, display(&self.grade.0))];
        if !self.counter.is_empty() {
            parts.push(format!("against it {}", join(&self.counter)));
        }
        let ends = [
            ("synthesis", &self.synthesis),
            ("concedes", &self.concession),
        ];
        for (name, text) in ends {
            if let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) {
                parts.push(format!("{name}: {text}"));
            }
        }
        parts.join("; ")
    }
}

fn join(pieces: &[EvidencePiece]) -> String {
    let pieces: Vec<String> = pieces
        .iter()
        .map(|piece| format!("[{}] {}", display(&piece.kind.0), piece.source))
        .collect();
    pieces.join("; ")
}

fn display(raw: &Value) -> String {
    match raw {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => raw.to_string(),
    }
}

/// Defines a value that accepts any JSON. The schema for models (`x-sent`) asks for one form only.
macro_rules! lenient {
    ($type:ident, $of:ty, $sent:tt, $read:expr) => {
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(Value);

        impl $type {
            pub fn is_missing(&self) -> bool {
                self.0.is_null()
            }

            pub fn stated(&self) -> Stated<$of> {
                let read: fn(&Value) -> Option<$of> = $read;
                match (&self.0, read(&self.0)) {
                    (_, Some(value)) => Stated::Given(value),
                    (Value::Null, None) => Stated::Missing,
                    (Value::String(text), None) => Stated::Unreadable(one_line(text)),
                    (other, None) => Stated::Unreadable(other.to_string()),
                }
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "x-sent": $sent })
            }
        }
    };
}

lenient!(
    RawConfidence,
    Confidence,
    { "type": "number", "minimum": 0, "maximum": 1 },
    |raw| Confidence::new(raw.as_f64()?).ok()
);
lenient!(
    RawEvidenceType,
    EvidenceType,
    { "type": "string", "enum": ["DOCUMENTED", "EMPIRICAL", "PRECEDENT", "LOGICAL", "PREFERENTIAL", "SPECULATIVE"] },
    |raw| EvidenceType::named(raw.as_str()?)
);
lenient!(
    RawStrength,
    Strength,
    { "type": "string", "enum": ["HIGH", "MEDIUM", "LOW"] },
    |raw| Strength::named(raw.as_str()?)
);

/// Reads the evidence of a reply whose new claims have no ids yet; they are called N1, N2 …
fn read_draft(seat: &str, reply: &Contribution, state: &DebateState, ledger: &Ledger) -> Heard {
    read_evidence(seat, reply, state, ledger, |index, _| {
        format!("N{}", index + 1)
    })
}

/// Reads the evidence of a reply whose claims are in the state.
pub(super) fn read_registered(
    seat: &str,
    reply: &Contribution,
    registered: &Registered,
    state: &DebateState,
    ledger: &Ledger,
) -> Heard {
    read_evidence(seat, reply, state, ledger, |index, _| {
        let known = registered.claims.get(&index).cloned();
        known.unwrap_or_else(|| format!("N{}", index + 1))
    })
}

fn read_evidence(
    seat: &str,
    reply: &Contribution,
    state: &DebateState,
    ledger: &Ledger,
    id_of: impl Fn(usize, &NewClaim) -> String,
) -> Heard {
    let mut heard = Heard {
        seat: seat.to_owned(),
        grounds: Vec::new(),
        bare: Vec::new(),
        unknown: Vec::new(),
        references: reply
            .cited_references()
            .filter_map(|cited| cited_reference(&cited.title, cited.url.as_deref(), state))
            .collect(),
        critiques: Vec::new(),
        dropped: Vec::new(),
    };
    for critique in &reply.critiques {
        match invalid_critique(seat, critique, state) {
            Some(flag) => heard.dropped.push(flag),
            None => heard.critiques.push(read_critique(critique)),
        }
    }
    for backing in &reply.backing {
        let new = new_claim(&backing.of, reply);
        let claim = match new {
            Some((index, claim)) => Some((id_of(index, claim), claim.text.clone())),
            None => state
                .claim(&normal_id(&backing.of))
                .map(|claim| (claim.id.clone(), claim.text.clone())),
        };
        let Some((claim, text)) = claim else {
            heard.unknown.push(one_line(&backing.of));
            continue;
        };
        let evidence = backing.evidence.iter();
        let evidence: Vec<Said> = evidence
            .flat_map(|piece| resolve_piece(piece, reply, state))
            .collect();
        let confidence = backing.confidence.stated();
        // Evidence of a claim that is backed twice in one turn is combined.
        match heard.grounds.iter_mut().find(|g| g.claim == claim) {
            Some(known) => known.evidence.extend(evidence),
            None => heard.grounds.push(Grounds {
                claim,
                text,
                evidence,
                confidence,
            }),
        }
    }
    for (index, new) in reply.claims.iter().enumerate() {
        let id = id_of(index, new);
        let is_empty = normal(&new.text).is_empty();
        let is_known = ledger.claims.contains_key(&id);
        let is_backed = heard.grounds.iter().any(|g| g.claim == id);
        if !is_empty && !is_known && !is_backed && !heard.bare.contains(&id) {
            heard.bare.push(id);
        }
    }
    heard
}

/// The new claim that `N2` names, with its index.
fn new_claim<'a>(of: &str, reply: &'a Contribution) -> Option<(usize, &'a NewClaim)> {
    let id = normal_id(of);
    let number: usize = id.strip_prefix('N')?.parse().ok()?;
    let index = number.checked_sub(1)?;
    reply.claims.get(index).map(|claim| (index, claim))
}

/// Resolves the numbers and ids of a piece of evidence to sources.
fn resolve_piece(piece: &EvidencePiece, reply: &Contribution, state: &DebateState) -> Vec<Said> {
    let kind = piece.kind.stated();
    let numbers = citations::parse(&piece.source).numbers;
    if !numbers.is_empty() && is_citation(&piece.source) {
        let listed = reply
            .references
            .iter()
            .filter(|cited| numbers.contains(&cited.number))
            .filter_map(|cited| cited_reference(&cited.title, cited.url.as_deref(), state));
        let found: Vec<Said> = listed
            .map(|source| Said {
                kind: kind.clone(),
                source,
                is_listed: true,
            })
            .collect();
        if !found.is_empty() {
            return found;
        }
        // The reply has no reference with this number.
        return vec![Said {
            kind,
            source: Cited::default(),
            is_listed: false,
        }];
    }
    // A claim is not a source. Its text is kept, so that a claim that cites itself is recognised.
    let claim = new_claim(&piece.source, reply).map(|(_, claim)| claim.text.clone());
    let claim = claim.or_else(|| {
        let known = state.claim(&normal_id(&piece.source));
        known.map(|claim| claim.text.clone())
    });
    if let Some(title) = claim {
        let address = None;
        return vec![Said {
            kind,
            source: Cited { title, address },
            is_listed: false,
        }];
    }
    let known = evidence_of(&piece.source, state);
    vec![Said {
        is_listed: known.is_some(),
        source: known.unwrap_or_else(|| Cited::read(&piece.source)),
        kind,
    }]
}

fn cited_reference(title: &str, url: Option<&str>, state: &DebateState) -> Option<Cited> {
    let known = evidence_of(title, state);
    let cited = known.unwrap_or_else(|| Cited::with_address(title, url));
    (!cited.is_empty()).then_some(cited)
}

fn evidence_of(text: &str, state: &DebateState) -> Option<Cited> {
    let id = normal_id(text);
    let known = state.evidence.iter().find(|known| known.id == id)?;
    Some(Cited::with_address(&known.title, known.url.as_deref()))
}

fn read_critique(reply: &CritiqueReply) -> Critique {
    let text_of = |text: &Option<String>| {
        let text = text.as_deref().map(one_line);
        text.filter(|text| !text.is_empty())
    };
    let counter = reply.counter.iter().filter_map(|piece| {
        let is_sourced = !normal(&piece.source).is_empty();
        piece.kind.stated().value().filter(|_| is_sourced)
    });
    Critique {
        claim: normal_id(&reply.claim),
        grade: reply.grade.stated(),
        counter: counter.collect(),
        answer: match (text_of(&reply.concession), text_of(&reply.synthesis)) {
            (Some(because), _) => Answer::Concession(because),
            (None, Some(synthesis)) => Answer::Synthesis(synthesis),
            (None, None) => Answer::Neither,
        },
    }
}

/// Why a critique is dropped: it criticises nothing on the table, or the seat's own claim, or ends in two ways.
fn invalid_critique(seat: &str, reply: &CritiqueReply, state: &DebateState) -> Option<Flag> {
    let claim = normal_id(&reply.claim);
    let is_given =
        |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
    match state.claim(&claim) {
        None => Some(Flag::NoSuchClaim { claim }),
        Some(known) if known.introduced_by == seat => Some(Flag::OwnClaim { claim }),
        Some(_) if is_given(&reply.synthesis) && is_given(&reply.concession) => {
            Some(Flag::BothEnds { claim })
        }
        Some(_) => None,
    }
}

/// Turns valid critiques into moves: a concession supports the claim, strong enough counter-evidence opposes it.
pub(super) fn apply_critiques(
    moves: &mut Moves,
    seat: &str,
    reply: &Contribution,
    state: &DebateState,
    ledger: &Ledger,
) {
    let critiques = reply.critiques.iter();
    for said in critiques.filter(|said| invalid_critique(seat, said, state).is_none()) {
        let critique = read_critique(said);
        let id = critique.claim.clone();
        match ledger.judged(&critique) {
            Standing::Concedes => {
                moves.opposes.retain(|o| normal_id(&o.claim) != id);
                moves.supports.push(id);
            }
            Standing::Contests => {
                let points_outside = critique.counter.iter().any(|kind| kind.has_source());
                moves.opposes.push(Objection {
                    claim: id,
                    ground: if points_outside {
                        Ground::FactConflict
                    } else {
                        Ground::InferenceGap
                    },
                    because: reason(said, &critique.answer, reply),
                    counter: said.counter.iter().find_map(|piece| {
                        let cited = citations::parse(&piece.source).numbers;
                        let id = normal_id(&piece.source);
                        let number = cited.first().map(|number| format!("[{number}]"));
                        number.or_else(|| id.starts_with('E').then_some(id))
                    }),
                });
            }
            Standing::TooWeak { .. } | Standing::NoCounterEvidence | Standing::Unfinished => {}
        }
    }
}

/// The reason of a critique in words: its counter-evidence, a bare citation with what the source shows, then the synthesis.
fn reason(said: &CritiqueReply, answer: &Answer, reply: &Contribution) -> String {
    let counter = said.counter.iter().map(|piece| {
        let source = one_line(&piece.source);
        let cited = citations::parse(&source).numbers;
        let mut listed = reply.references.iter();
        let shows = listed
            .find(|listed| cited.contains(&listed.number) && is_citation(&source))
            .map(|listed| match one_line(&listed.gist) {
                gist if gist.is_empty() => one_line(&listed.title),
                gist => gist,
            });
        shows.map_or(source.clone(), |shows| format!("{shows} {source}"))
    });
    let answer = match answer {
        Answer::Synthesis(text) | Answer::Concession(text) => Some(text.clone()),
        Answer::Neither => None,
    };
    let parts = counter.chain(answer).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// Whether a text consists of citations only: `[1][2]`.
fn is_citation(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_digit() || c.is_whitespace() || "[]-,;.".contains(c))
}

/// Faults for which a reply is sent back, with the name of their rule. The texts are sent to models.
pub(crate) fn evidence_faults(
    seat: &str,
    reply: &Contribution,
    state: &DebateState,
    ledger: &Ledger,
) -> Vec<(&'static str, String)> {
    let heard = read_draft(seat, reply, state, ledger);
    let mut faults = Vec::new();
    for claim in &heard.bare {
        faults.push((
            "evidence",
            format!("{claim} rests on nothing. Name its evidence in `backing`, or say that it is SPECULATIVE."),
        ));
    }
    for claim in &heard.unknown {
        let flag = Flag::NoSuchClaim {
            claim: claim.clone(),
        };
        faults.push(("evidence", format!("{flag}.")));
    }
    for flag in heard.grounds.iter().flat_map(|g| g.faults(seat)) {
        faults.push(("evidence", format!("{flag}.")));
    }
    for flag in &heard.dropped {
        let fault = match flag {
            Flag::OwnClaim { claim } => {
                format!("{claim} is your own claim: criticise claims of others, or retract it.")
            }
            Flag::BothEnds { claim } => {
                format!(
                    "the critique of {claim} both proposes a synthesis and concedes: do one of the two."
                )
            }
            other => format!("{other}."),
        };
        faults.push(("critique", fault));
    }
    for critique in &heard.critiques {
        let claim = &critique.claim;
        let fault = match ledger.judged(critique) {
            Standing::Concedes | Standing::Contests => None,
            Standing::TooWeak { needed } => Some(format!(
                "{claim} rests on {} evidence, and the critique brings nothing as strong. Bring counter-evidence that is, or concede.",
                needed.name()
            )),
            Standing::NoCounterEvidence => Some(format!(
                "the critique of {claim} brings no counter-evidence with a type and a source. Bring some, or concede."
            )),
            Standing::Unfinished => Some(format!(
                "the critique of {claim} ends with neither a synthesis nor a concession."
            )),
        };
        faults.extend(fault.map(|fault| ("critique", fault)));
        if critique.grade.value().is_none() {
            faults.push((
                "critique",
                format!("the critique does not grade the evidence of {claim}. Grade it HIGH, MEDIUM or LOW."),
            ));
        }
    }
    faults
}

/// The part of a reply that only enhanced debates ask for, as JSON.
pub(super) fn enhanced_part(reply: &Contribution) -> String {
    let mut part = serde_json::Map::new();
    if !reply.backing.is_empty() {
        part.insert("backing".into(), json!(reply.backing));
    }
    if !reply.critiques.is_empty() {
        part.insert("critiques".into(), json!(reply.critiques));
    }
    if let Some(objection) = &reply.security_objection {
        part.insert("security_objection".into(), json!(objection));
    }
    if part.is_empty() {
        return String::new();
    }
    Value::Object(part).to_string()
}
