//! HTTP/1.1 for whoever has the token: a listener and a function from requests to replies.
//!
//! What always holds: nothing is answered without the token, in the address (`?token=…`) or as a bearer; only `GET` and
//! `HEAD` are; one request is answered at a time, so that readers do not pile up; a connection that says nothing is closed.
//!
//! What is absent: what is served. No file is opened, no clock read, nothing is bound here.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long nobody is let in after somebody could not be.
const BREATH: Duration = Duration::from_millis(50);

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// The path, from its slash on.
    pub path: String,
    /// Names and values behind the question mark, decoded.
    pub parameters: Vec<(String, String)>,
    /// Media types that the client takes, as it says them; empty where it says none.
    pub accept: String,
}

impl Request {
    /// The first parameter of a name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A document: its media type and its bytes.
    Document(&'static str, Vec<u8>),
    /// There is nothing of that name.
    Missing,
    /// The request makes no sense; the reason.
    Refused(String),
    /// The run cannot be read now; the reason.
    Unreadable(String),
}

/// Answers requests that come in through the listener, for ever.
///
/// # Errors
/// Where the listener cannot be used.
pub fn serve(listener: TcpListener, token: String, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> std::io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let site = Arc::new(Site { token, answer });
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            // A client that went away, or one too many, is no reason to end.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(BREATH).await;
                continue;
            };
            let site = Arc::clone(&site);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let reply = site.reply(&request);
                    async move { Ok::<_, Infallible>(reply) }
                });
                let connection =
                    http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(PATIENCE).serve_connection(TokioIo::new(stream), service);
                // What a client breaks off is its own affair.
                let _ = connection.await;
            });
        }
    })
}

struct Site<F> {
    token: String,
    answer: F,
}

impl<F: Fn(&Request) -> Reply> Site<F> {
    fn reply(&self, request: &hyper::Request<Incoming>) -> Response<Full<Bytes>> {
        let query = request.uri().query().unwrap_or_default();
        let parameters: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let asked = Request { path: request.uri().path().to_string(), parameters, accept: accept.to_string() };
        if !(self.has_token(asked.parameter("token")) || self.has_token(bearer(request.headers()))) {
            return response(
                StatusCode::FORBIDDEN,
                "text/plain; charset=utf-8",
                b"the address lacks its token: take the one that tare serve printed\n".to_vec(),
            );
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return response(StatusCode::METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", b"only GET is answered\n".to_vec());
        }
        let text = |status, text: String| response(status, "text/plain; charset=utf-8", (text + "\n").into_bytes());
        match (self.answer)(&asked) {
            Reply::Document(kind, body) => response(StatusCode::OK, kind, body),
            Reply::Missing => text(StatusCode::NOT_FOUND, format!("there is no {}", asked.path)),
            Reply::Refused(reason) => text(StatusCode::BAD_REQUEST, reason),
            Reply::Unreadable(reason) => text(StatusCode::SERVICE_UNAVAILABLE, reason),
        }
    }

    /// Compares all bytes, however early one differs.
    fn has_token(&self, said: Option<&str>) -> bool {
        said.is_some_and(|said| {
            said.len() == self.token.len() && said.bytes().zip(self.token.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
        })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// A reply that is kept nowhere, read as what it says it is, and put into no other site's frame.
fn response(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "SAMEORIGIN"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
