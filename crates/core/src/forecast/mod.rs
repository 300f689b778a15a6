//! The numbers of a forecasting debate (section F): distributions over outcomes, agreement of the roles, pooling, and scoring
//! once the outcome is known.

mod bins;
mod calibration;
mod consensus;
mod decomposition;
mod distribution;
mod domain_pool;
mod ensemble;
mod learned_pool;
mod pool_record;
mod pooling;
mod rubric;
mod scoring;

pub use bins::{Bins, BinsError, CdfError, Extent, OpenEnds, QUANTILES, Quantile};
pub use calibration::{Bin, reliability};
pub use consensus::{largest_spread, mean_agreement, outcome_agreement};
pub use decomposition::{Decomposition, Event, decompose};
pub use distribution::{Distribution, DistributionError};
pub use domain_pool::{DomainPool, Skill};
pub use ensemble::{Combined, DEBATE_WEIGHT, EnsembleError, MAX_WEIGHT, Opinion, combine};
pub use learned_pool::{LearnedPool, Seat, Weight};
pub use pool_record::{
    Change, Comparison, CrossFit, LearningStep, PoolResult, Question, Score, cross_fit, history,
    learned, live,
};
pub use pooling::{PoolError, judged, log_odds_pool, mean};
pub use rubric::{Criteria, CriteriaError, Criterion, GOOD, WEAK, composite};
pub use scoring::{MIN_PROBABILITY, brier, log_score};
