//! The pure rules of debate. Nothing here waits, reads a clock, touches a file or draws an unseeded random number.

pub mod usage;
