//! What an enhanced debate leaves behind (E-12) and what comes after its decision: what happened (E-13), the post-mortem
//! (E-14). What is learned from that is the pure business of `roundtable_core::learning`.

mod record;

pub use record::{
    AgentPosition, DebateRecord, DissentingOpinion, FinalConsensus, RecordFile, RoundMetrics,
    RoundRecord, SupportingEvidence, TokenEfficiency,
};
