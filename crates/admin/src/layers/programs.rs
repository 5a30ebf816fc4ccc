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
        let mut made = Self::default();
        if let Some(rows) = rows.get("scheduler") {
            faults.extend(rows::read_all(made.scheduler.insert(Vec::new()), rows));
        }
        if let Some(rows) = rows.get("restapi_routes") {
            faults.extend(rows::read_all(made.routes.insert(Vec::new()), rows));
        }
        made
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
