//! The columns of tables whose rows name programs to run: they are the process's, not the engine's.
//!
//! Data only.

use super::column::{int, table, text};
use super::rows;

rows! {
    /// A row of `scheduler`: a program that is run at intervals.
    SchedulerRow, table("scheduler", "Programs that are run at intervals.")
        .key(&["id"]).numbered().programs();
    /// Its number.
    id: i64 = int("id").kind("INTEGER");
    /// 1 when the row is in force.
    active: i64 = int("active").default("1").check("active IN (0,1)");
    /// Milliseconds from one run to the next.
    interval_ms: i64 = int("interval_ms")
        .kind("INTEGER").check("interval_ms>=100 AND interval_ms<=100000000");
    /// Path of the executable.
    filename: String = text("filename");
    /// Its arguments; the first that is missing ends them.
    arg1: Option<String> = text("arg1").null();
    /// Second argument.
    arg2: Option<String> = text("arg2").null();
    /// Third argument.
    arg3: Option<String> = text("arg3").null();
    /// Fourth argument.
    arg4: Option<String> = text("arg4").null();
    /// Fifth argument.
    arg5: Option<String> = text("arg5").null();
    /// Free text.
    comment: String = text("comment").default("''");
}

rows! {
    /// A row of `restapi_routes`: a path of the REST interface that runs a script.
    RestapiRouteRow, table("restapi_routes", "Scripts that are run by REST calls.")
        .key(&["id"]).numbered().section("restapi").programs();
    /// Its number.
    id: i64 = int("id").kind("INTEGER");
    /// 1 when the row is in force.
    active: i64 = int("active").default("1").check("active IN (0,1)");
    /// Milliseconds that the script may run.
    timeout_ms: i64 = int("timeout_ms")
        .kind("INTEGER").check("timeout_ms>=100 AND timeout_ms<=100000000").also(&["interval_ms"]);
    /// `GET` or `POST`.
    method: String = text("method").check("UPPER(method) IN ('GET','POST')");
    /// The path after `/sync/`.
    uri: String = text("uri");
    /// Path of the executable.
    script: String = text("script");
    /// Free text.
    comment: String = text("comment").default("''");
}
