//! carries out the engine's orders.
