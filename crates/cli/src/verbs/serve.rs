//! `tare serve DIR`: the page of a run as it goes, and its figures for Prometheus, over HTTP.
//!
//! On loopback unless told otherwise, and for those alone who have the token: on a node that many share, loopback is everybody's.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tare_profile::Extent;
use tare_report::export::{self, Counters, Dialect};
use tare_report::{html, json};
use tare_serve::{Reply, Request, serve as answer_requests};

use crate::args::{Carried, ServeArguments, Showing};
use crate::failure::{Code, Failure};
use crate::foreign_file;
use crate::pace;
use crate::results::Results;
use crate::rundir::RunDirectory;
use crate::stdout;
use crate::verbs::{query, report};

/// Serves the run until it is told to stop.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let program = Results::at(&arguments.run, Extent::Open)?.program();
    let listener = TcpListener::bind(&arguments.listen).map_err(|error| {
        Failure::new(Code::Unavailable, format!("cannot listen on {}: {error}", arguments.listen))
            .remedy("another address with --listen ADDRESS:PORT; port 0 takes any that is free")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::new(Code::Unavailable, format!("cannot listen: {error}")))?;
    let token = match &arguments.token {
        Some(token) => token.clone(),
        None => fresh_token()?,
    };
    let encoded: String =
        token.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect();
    stdout::write_line(format!("http://{address}/?token={encoded}"))?;
    if !address.ip().is_loopback() {
        eprintln!("tare: whoever reaches this machine and has the address can read the run, unencrypted");
    }
    eprintln!("tare: Ctrl-C ends it; for Prometheus: /metrics with the token as bearer");
    let site = Site {
        run: arguments.run.clone(),
        program,
        showing: arguments.showing.clone(),
        carried: arguments.carried,
        page_took_ns: AtomicU64::new(0),
        counters: Mutex::default(),
    };
    let never = answer_requests(listener, token, move |request| site.reply(request));
    match never {
        Ok(never) => match never {},
        Err(error) => Err(Failure::new(Code::Unavailable, format!("cannot serve: {error}"))),
    }
}

/// What is served.
struct Site {
    run: PathBuf,
    program: String,
    showing: Showing,
    carried: Carried,
    /// What the last page took of a processor.
    page_took_ns: AtomicU64,
    /// What whoever scrapes has been told.
    counters: Mutex<Counters>,
}

/// A page that is watched is made anew no sooner than this.
const LEAST_PAUSE: Duration = Duration::from_secs(2);

impl Site {
    fn reply(&self, request: &Request) -> Reply {
        const HTML: &str = "text/html; charset=utf-8";
        const JSON: &str = "application/json";
        const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
        if request.path == "/" {
            return Reply::Document(HTML, html::live(&self.program).into_bytes());
        }
        if !matches!(request.path.as_str(), "/page" | "/state" | "/metrics" | "/report.json" | "/query") {
            return Reply::Missing;
        }
        if request.path == "/state" {
            return self.state().map_or_else(|failure| Reply::Unreadable(failure.to_string()), |state| Reply::Document(JSON, state.into_bytes()));
        }
        let before = pace::taken();
        let results = match Results::at(&self.run, Extent::All) {
            Ok(results) => results,
            Err(failure) => return Reply::Unreadable(failure.to_string()),
        };
        if request.path == "/query" {
            return match query::document(&results, request.parameter("q").unwrap_or_default(), self.showing.compensate) {
                Ok(answer) => Reply::Document(JSON, answer.into_bytes()),
                Err(failure) => Reply::Refused(failure.to_string()),
            };
        }
        let (run, shown) = (results.about(), results.compensated(&self.showing));
        match request.path.as_str() {
            "/page" => {
                let page = report::html(&run, &shown, &self.carried).into_bytes();
                let took = pace::taken().saturating_sub(before);
                self.page_took_ns.store(took.as_nanos() as u64, Ordering::Relaxed);
                Reply::Document(HTML, page)
            }
            "/metrics" => {
                let is_open = request.accept.contains("application/openmetrics-text");
                let (kind, dialect) = if is_open { (OPEN_METRICS, Dialect::OpenMetrics) } else { (PROMETHEUS, Dialect::Prometheus) };
                let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
                Reply::Document(kind, export::scraped(&run, &shown, dialect, &mut counters).into_bytes())
            }
            _ => Reply::Document(JSON, json::report(&run, &shown).into_bytes()),
        }
    }
}

impl Site {
    /// Whether the run is over, and when its page is to be asked for again, milliseconds.
    fn state(&self) -> Result<String, Failure> {
        let is_over = foreign_file::read(&self.run)?.is_some() || RunDirectory::open(&self.run)?.read_record()?.exit.is_some();
        let again = pace::pause(Duration::from_nanos(self.page_took_ns.load(Ordering::Relaxed)), LEAST_PAUSE);
        Ok(format!("{{\"schema\":1,\"over\":{is_over},\"again_ms\":{}}}", again.as_millis()))
    }
}

/// 128 random bits in hexadecimal.
fn fresh_token() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    // SAFETY: a live buffer of that length.
    let read = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if read == bytes.len() as isize {
        Ok(tare_image::hexadecimal(&bytes))
    } else {
        Err(Failure::new(Code::Unavailable, "the system gives no random numbers for a token").remedy("--token TOKEN"))
    }
}
