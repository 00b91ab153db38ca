//! Tests of the store as a whole, through a real log on a disk in memory.

mod adoption;
mod care;
mod damage;
mod driver;
mod fixture;
mod model;
mod ranges;
mod sharing;
mod threads;
