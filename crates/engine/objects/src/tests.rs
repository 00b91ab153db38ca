//! Tests of the store as a whole, through a real log on a disk in memory. Those with threads of the
//! system, and chosen schedules, exclude each other.

#[cfg_attr(feature = "schedules", allow(dead_code))]
mod driver;
#[cfg(feature = "schedules")]
mod schedules;

#[cfg(not(feature = "schedules"))]
mod adoption;
#[cfg(not(feature = "schedules"))]
mod care;
#[cfg(not(feature = "schedules"))]
mod damage;
#[cfg(not(feature = "schedules"))]
mod fixture;
#[cfg(not(feature = "schedules"))]
mod list;
#[cfg(not(feature = "schedules"))]
mod model;
#[cfg(not(feature = "schedules"))]
mod prune;
#[cfg(not(feature = "schedules"))]
mod ranges;
#[cfg(not(feature = "schedules"))]
mod rebuild;
#[cfg(not(feature = "schedules"))]
mod rewrite;
#[cfg(not(feature = "schedules"))]
mod sharing;
#[cfg(not(feature = "schedules"))]
mod tend;
#[cfg(not(feature = "schedules"))]
mod threads;
