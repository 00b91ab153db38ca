//! Tests of the store as a whole, through a real log on a disk in memory.

mod adoption;
mod care;
mod damage;
mod driver;
mod fixture;
mod model;
mod prune;
mod ranges;
mod rewrite;
mod sharing;
mod tend;
mod threads;
