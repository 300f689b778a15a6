//! Enhanced debates (E-01 … E-12, E-17 … E-21): the same protocol with a rule set beside the mode. Claims carry evidence, each
//! round is measured, and what comes next follows from that. A plain debate has none of it.

mod escalation;
mod measure;
mod overhead;
mod play;
pub(super) mod policy;
mod prompt_context;
mod record;
mod replies;
mod report;
mod rules;
mod source_checks;
mod verdict;

pub use escalation::{Matter, OVERRIDE};
pub use measure::{Measurement, measure};
pub use overhead::Overhead;
pub(super) use play::Chosen;
pub use play::{MeasuredRound, PersonDecision, Play, SeatPosition, SecurityObjection};
pub use policy::DebatePolicy;
pub use prompt_context::PromptEvidence;
pub use record::record;
pub use replies::{Backing, CritiqueSaid, Piece};
pub use report::{Stage, facts, progress, sections};
pub use rules::{Enhanced, Learning};
pub use source_checks::SourceCheck;
pub use verdict::Enhancement;

pub(super) use measure::round_of;
pub(super) use replies::faults;
