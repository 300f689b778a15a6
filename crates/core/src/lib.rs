//! The pure rules of debate. Nothing here waits, reads a clock, touches a file or draws an unseeded random number.

pub mod absence;
pub mod answer;
pub mod bounded;
pub mod councils;
pub mod dataset;
pub mod forecast;
pub mod forensics;
pub mod issues;
pub mod quality;
pub mod scale;
pub mod similarity;
pub mod stopping;
pub mod timing;
pub mod usage;
