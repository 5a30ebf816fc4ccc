//! Tables whose rows name programs to run: they are the process's own, not the engine's.

use engine::config_fault::ConfigFault;
use engine::rows::{RestapiRouteRow, SchedulerRow};

use crate::rows::{self, Rows};
use crate::runtime::Runtime;

/// What some rows say of programs; `None` where they say nothing.
#[derive(Default)]
pub(super) struct Programs {
    scheduler: Option<Vec<SchedulerRow>>,
    routes: Option<Vec<RestapiRouteRow>>,
}

impl Programs {
    /// Reads them; values of a wrong type are told.
    pub(super) fn read(rows: &Rows, faults: &mut Vec<ConfigFault>) -> Self {
        let scheduler = rows.get("scheduler").map(|rows| rows::read_all(rows, faults));
        let routes = rows.get("restapi_routes").map(|rows| rows::read_all(rows, faults));
        Self { scheduler, routes }
    }

    /// Puts them in force.
    pub(super) fn put(self, runtime: &dyn Runtime) {
        if let Some(rows) = self.scheduler {
            runtime.schedule(rows);
        }
        if let Some(rows) = self.routes {
            runtime.route(rows);
        }
    }
}

/// Whether something acts on the rows of a table that is no part of a draft.
pub(super) fn acts(table: &str) -> bool {
    matches!(table, "scheduler" | "restapi_routes")
}
