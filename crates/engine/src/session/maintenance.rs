//! What happens beside clients' commands.
//!
//! - `deadline`: timers of sessions;
//! - `upkeep`: lanes that no session has, while they wait to be used;
//! - `defaults`: what servers give sessions that begin;
//! - `altered_schemas`: connections choose schemas again that were altered;
//! - `code_reading`, `presumed`: what stored code there is, and what was thought of it before;
//! - `new_configuration`: the configuration changes;
//! - `process_list`: what a worker tells of itself;
//! - `defects`: what cannot happen and did.

pub(crate) mod altered_schemas;
pub(crate) mod code_reading;
pub(crate) mod deadline;
pub(crate) mod defaults;
pub(crate) mod defects;
pub(crate) mod new_configuration;
pub(crate) mod presumed;
pub(crate) mod process_list;
pub(crate) mod upkeep;
