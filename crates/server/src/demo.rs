//! `tidegate demo`: embedded servers, a short tour, then serving until Ctrl-C.

/// Runs the demo; returns after the tour when `tour_only`.
pub(crate) fn run(_tour_only: bool) -> anyhow::Result<()> {
    anyhow::bail!("the demo is not part of this build")
}
