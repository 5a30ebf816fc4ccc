//! One HTTP client: which path asks for what, within limits.

use std::convert::Infallible;
use std::net::TcpListener as Bound;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::report::{Printable, Quota};
use engine::rows::RestapiRouteRow;
use engine::stats::Parts;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::access::{Guesses, Origin, Verdict};
use crate::exposer::Exposer;
use crate::health;
use crate::idle_clients::{IdleClient, Waiting};
use crate::metrics;
use crate::raw_quotes::Unquoted;
use crate::routes::{self, Given};
use crate::stream;
use crate::view::{Process, View};
use crate::web::Log;

/// What all clients share.
pub(crate) struct Shared {
    /// The process that is looked at.
    pub(crate) process: Arc<dyn Process>,
    /// Rows of `restapi_routes` in force.
    pub(crate) routes: Mutex<Arc<Vec<RestapiRouteRow>>>,
    /// Says that everything ends; each run of a program listens.
    pub(crate) stop: Arc<watch::Sender<bool>>,
    /// Where to say what went wrong.
    pub(crate) log: Log,
    exposer: Mutex<Exposer>,
    guesses: Guesses,
    /// Lines of the log about clients that were refused.
    refusal_lines: Mutex<Quota>,
    began: Instant,
    clients: Arc<Semaphore>,
    waiting: Waiting,
    /// Requests for routes that may run at a time.
    programs: Arc<Semaphore>,
    /// Scrapes that may look at the process at a time, and probes.
    looks: [Arc<Semaphore>; 2],
}

impl Shared {
    /// Nobody is there yet.
    pub(crate) fn new(
        process: Arc<dyn Process>,
        log: Log,
        stop: Arc<watch::Sender<bool>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            process,
            routes: Mutex::default(),
            stop,
            log,
            exposer: Mutex::default(),
            guesses: Guesses::default(),
            refusal_lines: Mutex::default(),
            began: Instant::now(),
            clients: Arc::new(Semaphore::new(CLIENTS_MAX)),
            waiting: Waiting::default(),
            programs: Arc::new(Semaphore::new(PROGRAMS_MAX)),
            looks: [(); 2].map(|()| Arc::new(Semaphore::new(LOOKS_MAX))),
        })
    }
}

/// Serves whoever comes, until `open` says otherwise.
pub(crate) async fn serve(shared: Arc<Shared>, bound: Bound, open: watch::Receiver<bool>) {
    let listener = match TcpListener::from_std(bound) {
        Ok(listener) => listener,
        Err(error) => return (shared.log)(&format!("HTTP: {error}")),
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed(open.clone()) => return,
        };
        let Ok((socket, from)) = accepted else {
            // out of descriptors, most likely
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if shared.clients.available_permits() == 0 {
            shared.waiting.let_one_go();
        }
        let room = tokio::select! {
            room = shared.clients.clone().acquire_owned() => room,
            () = closed(open.clone()) => return,
        };
        let Ok(room) = room else { return };
        let (shared, open) = (shared.clone(), open.clone());
        tokio::spawn(async move {
            let place = Arc::new(shared.waiting.enter());
            let from = from.ip().to_canonical();
            let begun = stream::open(socket, from, &*shared.process);
            let begun = timeout(HEADER_LIMIT, begun);
            let begun = tokio::select! {
                begun = begun => begun,
                () = place.must_go() => return,
                () = closed(open.clone()) => return,
            };
            match begun {
                Ok(Ok((socket, origin))) => converse(shared, socket, origin, place, open).await,
                Ok(Err(why)) => shared.log_refusal(&Printable(&why).to_string()),
                // as with a request's head, which does not come either
                Err(_) => {}
            }
            drop(room);
        });
    }
}

/// Answers the requests of a client, one after the other.
async fn converse(
    shared: Arc<Shared>,
    socket: Box<dyn stream::Stream>,
    origin: Origin,
    place: Arc<IdleClient>,
    open: watch::Receiver<bool>,
) {
    let asked = place.clone();
    let socket = Unquoted::new(socket);
    let line = socket.line();
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, place, line) = (shared.clone(), asked.clone(), line.clone());
        async move {
            if request.body().is_end_stream() {
                line.comes_next();
            }
            let mut answer = answer(shared, request, origin, &place).await?;
            if !place.may_wait() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(connection);
    // what goes wrong on the way to a client is seen there
    tokio::select! {
        _ = &mut connection => {}
        () = place.must_go() => {}
        () = closed(open) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}

/// Ends when the listener is closed.
async fn closed(mut open: watch::Receiver<bool>) {
    // without a sender nobody is left to close it
    drop(open.wait_for(|open| !*open).await);
}

type Body = Full<Bytes>;

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    origin: Origin,
    place: &IdleClient,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path();
    let path = path.strip_suffix('/').unwrap_or(path).to_owned();
    let is_probe = matches!(path.as_str(), "/healthz" | "/readyz");
    if !is_probe && let Some(refused) = shared.refused(&request, origin, &path) {
        return Ok(refused);
    }
    if let Some(uri) = path.strip_prefix("/sync/") {
        let (status, body) = route(&shared, request, uri, place).await;
        return Ok(response(status, JSON, body));
    }
    place.is_busy();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let body = "only GET is known here\n".to_owned();
        return Ok(response(StatusCode::METHOD_NOT_ALLOWED, TEXT, body));
    }
    Ok(match path.as_str() {
        "/metrics" => metrics(&shared).await,
        "/healthz" => match look(&shared, Asker::Probe).await {
            Some(view) => state(health::alive(&view).err().into_iter().collect(), "alive"),
            None => state(vec!["the process cannot be looked at".to_owned()], ""),
        },
        "/readyz" => match look(&shared, Asker::Probe).await {
            Some(view) => state(health::unready(&view), "ready"),
            None => state(vec!["the process cannot be looked at".to_owned()], ""),
        },
        _ => {
            let body = "there are /metrics, /healthz, /readyz and /sync/…\n".to_owned();
            response(StatusCode::NOT_FOUND, TEXT, body)
        }
    })
}

impl Shared {
    /// The answer to a client that may not ask for that.
    fn refused(
        &self,
        request: &Request<Incoming>,
        origin: Origin,
        path: &str,
    ) -> Option<Response<Body>> {
        let snapshot = self.process.snapshot();
        let shown = request.headers().get(AUTHORIZATION);
        let verdict = self.guesses.judge(&snapshot.vars, origin, shown, Instant::now());
        let (status, why) = match &verdict {
            Verdict::Granted => return None,
            Verdict::Insecure => (StatusCode::FORBIDDEN, "HTTPS is required".to_owned()),
            Verdict::Unknown | Verdict::Wrong(..) => {
                let why = "an account of admin-stats_credentials or a token of \
                           admin-restapi_tokens is required; admin and stats may come from this \
                           machine only";
                (StatusCode::UNAUTHORIZED, why.to_owned())
            }
            Verdict::Delayed(_) => {
                let why = "too many wrong passwords: try again later".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, why)
            }
        };
        if let Verdict::Wrong(whose, times) = &verdict {
            let from = origin.from;
            self.log_refusal(&format!("{from} is refused: {whose} is wrong ({times} in a row)"));
        }
        let mut refused = match path.starts_with("/sync/") {
            true => response(status, JSON, refusal(&why)),
            false => response(status, TEXT, format!("{why}\n")),
        };
        let headers = refused.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
        }
        if let Verdict::Delayed(wait) = verdict {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        Some(refused)
    }

    /// Writes a line about a client to the log, unless there are too many.
    fn log_refusal(&self, line: &str) {
        let now_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut lines = self.refusal_lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(clients) = lines.take_untold(now_us) {
            (self.log)(&format!("HTTP: {clients} more clients were refused within a minute"));
        }
        if lines.admits(now_us) {
            (self.log)(&format!("HTTP: {line}"));
        }
    }
}

async fn metrics(shared: &Arc<Shared>) -> Response<Body> {
    let began = Instant::now();
    let Some(view) = look(shared, Asker::Scrape).await else {
        return response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, String::new());
    };
    let mut text = metrics::text(&view);
    // counting is whole between two calls, whatever happened to a thread
    let mut exposer = shared.exposer.lock().unwrap_or_else(PoisonError::into_inner);
    exposer.write(&mut text);
    exposer.record(text.len(), began.elapsed());
    response(StatusCode::OK, METRICS, text)
}

/// Who wants to know how things stand; neither keeps the other waiting for a thread.
#[derive(Clone, Copy)]
enum Asker {
    Scrape,
    Probe,
}

/// Looks at the process on a thread that may wait.
async fn look(shared: &Arc<Shared>, asker: Asker) -> Option<View> {
    let parts = match asker {
        Asker::Scrape => metrics::PARTS,
        Asker::Probe => Parts::NONE,
    };
    let _turn = shared.looks[asker as usize].clone().acquire_owned().await.ok()?;
    let process = shared.process.clone();
    tokio::task::spawn_blocking(move || process.look(parts)).await.ok()
}

fn state(reasons: Vec<String>, well: &str) -> Response<Body> {
    if reasons.is_empty() {
        return response(StatusCode::OK, TEXT, format!("{well}\n"));
    }
    response(StatusCode::SERVICE_UNAVAILABLE, TEXT, reasons.join("\n") + "\n")
}

/// A script runs once its parameters are there: a slow body takes no place from another.
async fn route(
    shared: &Shared,
    request: Request<Incoming>,
    uri: &str,
    place: &IdleClient,
) -> routes::JsonAnswer {
    let rows = shared.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (head, body) = request.into_parts();
    if !matches!(head.method, Method::GET | Method::POST) {
        // as in ProxySQL, down to the status
        let error = format!("HTTP method {} is not implemented", head.method);
        return (StatusCode::OK, refusal(&error));
    }
    let row = match routes::find(&rows, head.method.as_str(), uri) {
        Ok(row) => row,
        Err(answer) => return answer,
    };
    let whole;
    let given = if head.method == Method::POST {
        let body = timeout(BODY_LIMIT, Limited::new(body, BODY_BYTES_MAX).collect()).await;
        let Ok(Ok(body)) = body else {
            let error = format!("no body of {BODY_BYTES_MAX} bytes at most");
            return (StatusCode::BAD_REQUEST, refusal(&error));
        };
        whole = body.to_bytes();
        Given::Body(&whole)
    } else {
        Given::Query(head.uri.query().unwrap_or_default())
    };
    place.is_busy();
    let Ok(_running) = shared.programs.clone().try_acquire_owned() else {
        let error = format!("{PROGRAMS_MAX} requests are being worked on");
        return (StatusCode::SERVICE_UNAVAILABLE, refusal(&error));
    };
    routes::answer(row, given, shared.stop.subscribe()).await
}

fn refusal(error: &str) -> String {
    json!({ "error": error }).to_string()
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// How a client may show who it is.
const CHALLENGE: &str = "Basic realm=\"Tidegate\", charset=\"UTF-8\"";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Clients at a time; for one more, the one that waits longest is let go.
const CLIENTS_MAX: usize = 256;
/// Of these, clients whose requests run programs: probes and scrapes have the other places.
const PROGRAMS_MAX: usize = 64;
/// Looks of one kind at the process at a time; each has a thread that may wait.
pub(crate) const LOOKS_MAX: usize = 2;
/// Time for a request's head; an idle client is let go after it.
const HEADER_LIMIT: Duration = Duration::from_secs(5);
/// Time for a request's body.
const BODY_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of a body.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Pause after a client could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
