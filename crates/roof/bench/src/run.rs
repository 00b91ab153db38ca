//! The run: people join, work with pauses, and are counted in the steady window.
