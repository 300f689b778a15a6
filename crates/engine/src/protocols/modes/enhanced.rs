//! Enhanced debates (E-01 … E-12, E-17 … E-21): claims carry evidence, each round is measured, and an algorithm decides from the
//! measures when the debate ends. A plain debate has none of this.

mod escalation;
mod measure;
mod overhead;
pub(super) mod policy;
mod prompt_context;
mod record;
mod replies;
mod report;
mod rules;
mod source_checks;
mod state;
mod verdict;

pub use escalation::{Escalation, OVERRIDE};
pub(crate) use measure::round_of_key;
pub use measure::{Measurement, measure};
pub use overhead::Overhead;
pub use policy::DebatePolicy;
pub use prompt_context::PromptEvidence;
pub use record::record;
pub(super) use record::record_of;
pub(crate) use replies::evidence_faults;
pub use replies::{Backing, CritiqueReply, EvidencePiece};
pub use report::{facts, has_cards, progress, sections};
pub use rules::{EnhancedRules, Learning};
pub use source_checks::SourceCheck;
pub(crate) use source_checks::claim_notes;
pub use state::{EnhancedState, MeasuredRound, PersonDecision, SeatPosition, SecurityObjection};
pub use verdict::EnhancedVerdict;
