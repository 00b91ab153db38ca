//! The commands of the driver and their options.
