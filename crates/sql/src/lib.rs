//! SQL text to facts.
