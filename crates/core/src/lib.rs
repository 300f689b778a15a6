//! The pure rules of debate. Nothing here waits, reads a clock, touches a file or draws an unseeded random number.

pub mod absence;
pub mod answer;
pub mod bounded;
pub mod citations;
pub mod convergence;
pub mod councils;
pub mod dataset;
pub mod evidence;
pub mod forecast;
pub mod forensics;
pub mod groupthink;
pub mod issues;
pub mod labels;
pub mod learning;
pub mod quality;
pub mod scale;
pub mod similarity;
pub mod spread;
pub mod stance;
pub mod state;
pub mod stopping;
pub mod timing;
pub mod usage;
pub mod verification;
pub mod votes;
pub mod wording;
