//! The result of a run, as it is kept in a file.
