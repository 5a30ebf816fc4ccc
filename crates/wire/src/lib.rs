//! MySQL bytes to values and back.
