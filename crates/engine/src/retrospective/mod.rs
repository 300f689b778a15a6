//! After a debate: its record (E-12), tracking of the decision (E-13) and the post-mortem (E-14). The calculations of learning
//! are in `roundtable_core::learning` (E-15).

mod evidence;
mod follow_up;
mod knowledge;
mod plain_record;
mod post_mortem;
mod record;
mod report;
mod updates;

pub use crate::assessment::*;
pub use evidence::{EvidenceItem, evidence_items};
pub use follow_up::{add_follow_up, assessment_of, timeline_of, used_learning};
pub use knowledge::{history_table, knowledge_report};
pub use plain_record::plain_record;
pub use post_mortem::{PostMortem, PostMortemError};
pub use record::{
    AgentPosition, ClaimEvidence, ClaimRecord, DebateRecord, DissentingOpinion, FinalConsensus,
    RecordFile, RoundMetrics, RoundRecord, SupportingEvidence, TokenEfficiency,
};
pub use report::report;
pub use updates::LearningUpdates;
