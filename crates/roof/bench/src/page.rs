//! The report as a page with charts.
