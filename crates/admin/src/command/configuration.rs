//! The whole configuration as a text: SELECT CONFIG FILE, SELECT CONFIG INTO OUTFILE, SAVE CONFIG.

use std::path::Path;

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::fault::AdminFault;
use crate::layers::{MODULES, faults};
use crate::private_files;
use crate::rows::Rows;
use crate::statement::{Statement, unquoted};
use crate::tables::Schema;

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if statement.is(&["SELECT", "CONFIG", "FILE"]) {
        return CommandStep::act(|admin, _| {
            let text = admin.store.file().text(&memory(admin)?, None);
            Ok(Reply::table(&["Data"], vec![vec![text]]))
        });
    }
    let to_file = statement.begins(&["SELECT", "CONFIG", "INTO", "OUTFILE"])
        || statement.begins(&["SAVE", "CONFIG", "TO", "FILE"]);
    if !to_file {
        return Ok(None);
    }
    let path = unquoted(statement.text_from(4));
    CommandStep::act(move |admin, _| {
        let rows = memory(admin)?;
        // else the next start fails, when nobody remembers what was saved
        let faults = faults(&rows);
        if !faults.is_empty() {
            return Err(AdminFault::not_saved(faults));
        }
        let text = admin.store.file().text(&rows, Some(Path::new(&path)));
        private_files::write(Path::new(&path), text.as_bytes())
            .map_err(|error| AdminFault::refused(format!("cannot write {path}: {error}")))?;
        Ok(Reply::Done {
            affected_rows: text.len() as u64,
            message: format!("File {path} is saved."),
        })
    })
}

fn memory(admin: &Admin) -> Result<Rows, AdminFault> {
    let mut all = Rows::new();
    for module in MODULES {
        for (table, mut rows) in admin.store.rows(Schema::Main, module)? {
            all.entry(table).or_default().append(&mut rows);
        }
    }
    Ok(all)
}
