//! What an enhanced debate leaves behind (E-12) and what comes after its decision: what happened (E-13), the post-mortem
//! (E-14). What is learned from that is the pure business of `roundtable_core::learning`.

mod journaled;
mod knowledge;
mod pieces;
mod post_mortem;
mod record;
mod report;
mod updates;

pub use crate::assessment::*;
pub use journaled::{after, assessment_of, course_of, is_with_learning, plain_record};
pub use knowledge::{history_table, knowledge_report};
pub use pieces::{Piece, pieces};
pub use post_mortem::{PostMortem, PostMortemError};
pub use record::{
    AgentPosition, ClaimEvidence, ClaimRecord, DebateRecord, DissentingOpinion, FinalConsensus,
    RecordFile, RoundMetrics, RoundRecord, SupportingEvidence, TokenEfficiency,
};
pub use report::report;
pub use updates::LearningUpdates;
