//! What people do: steps, counts, pauses, sizes.
