//! `tare serve`: what is answered, to whom, and what a scraper and a reader of JSON get.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{OPEN_MPI, Place, fits, text};

const SOURCE: &str = "crates/cli/tests/programs/levels.c";

/// A server of the run, ended with the test.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut command = place.tare();
        command.args(["serve", "run", "--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tare can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its stdout")).read_line(&mut line).expect("an address");
        let (address, token) = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("an address with a token");
        Self { child, address: address.to_string(), token: token.to_string() }
    }

    /// Sends a request and returns the status, the head and the body.
    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a server");
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", self.address);
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_lowercase(), body.to_string())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        let separator = if path.contains('?') { '&' } else { '?' };
        self.ask("GET", &format!("{path}{separator}token={}", self.token), "")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_is_served_to_those_who_have_the_token() {
    let place = Place::new();
    let program = OPEN_MPI.compile(SOURCE, place.path());
    let output = place.profile(&[], &OPEN_MPI.line(2, &program));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let server = Server::start(&place, &[]);
    assert!(server.address.starts_with("127.0.0.1:") && server.token.len() == 32, "{} {}", server.address, server.token);
    for (method, path, headers) in [
        ("GET", "/", ""),
        ("GET", "/page?token=", ""),
        ("GET", "/metrics?token=00000000000000000000000000000000", ""),
        ("GET", "/report.json", "Authorization: Bearer wrong\r\n"),
        ("POST", "/nothing", ""),
    ] {
        let (status, _, body) = server.ask(method, path, headers);
        assert_eq!(status, 403, "{method} {path}");
        assert!(body.contains("token") && !body.contains("P3"), "{body}");
    }
    // The page around, the page, and what it says of the run.
    let (status, head, body) = server.get("/");
    assert!(status == 200 && head.contains("text/html") && head.contains("no-store") && head.contains("nosniff"), "{head}");
    assert!(body.contains("Content-Security-Policy") && body.contains("levels"), "{body}");
    let (status, _, body) = server.get("/page");
    assert!(status == 200 && body.contains("id=\"summary\"") && body.contains("exit status 0"));
    assert!(server.get("/state").2.starts_with("{\"schema\":1,\"over\":true,"));
    // For Prometheus, with the token as bearer; the same text as the report has.
    let (status, head, body) = server.ask("GET", "/metrics", &format!("Authorization: Bearer {}\r\n", server.token));
    assert!(status == 200 && head.contains("version=0.0.4"), "{head}");
    let report = place.tare().args(["report", "run", "--format", "prometheus"]).output().expect("tare can be started");
    assert_eq!(body, text(&report.stdout));
    fs::write(place.path().join("metrics"), &body).expect("a writable directory");
    let check = place.command("sh").args(["-c", "promtool check metrics < metrics"]).output().expect("promtool is installed by `make test`");
    assert!(check.status.success(), "{}{}", text(&check.stdout), text(&check.stderr));
    let accept = format!("Authorization: Bearer {}\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n", server.token);
    let (_, head, body) = server.ask("GET", "/metrics", &accept);
    assert!(head.contains("application/openmetrics-text; version=1.0.0") && body.ends_with("# EOF\n"), "{head}{body}");
    // Questions and the report.
    let (status, _, body) = server.get("/query?q=time+and+count+of+P3");
    assert_eq!(status, 200);
    fits(&place, "query", &body);
    assert!(body.contains("\"number\":4"), "{body}");
    assert_eq!(server.get("/query?q=time+by+colour").0, 400);
    assert!(server.get("/report.json").2.starts_with("{\"schema\":1"));
    assert_eq!(server.get("/../run.json").0, 404);
    assert_eq!(server.ask("POST", &format!("/page?token={}", server.token), "").0, 405);
    // An address that is taken, and a token of one's own.
    let output = place.tare().args(["serve", "run", "--listen", &server.address]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(69));
    assert!(text(&output.stderr).contains("--listen"), "{}", text(&output.stderr));
    let own = Server::start(&place, &["--token", "a b/c"]);
    assert_eq!(own.token, "a%20b%2Fc");
    assert_eq!(own.get("/state").0, 200);
}

#[test]
fn a_run_that_goes_on_is_served_as_it_stands() {
    let place = Place::new();
    let program = OPEN_MPI.compile(SOURCE, place.path());
    let mut child = place.tare();
    child.args(["profile", "-o", "run", "--"]).args(OPEN_MPI.line(2, &program)).arg("stop").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().expect("tare can be started");
    let begun = Instant::now();
    while !place.path().join("run/run.json").is_file() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let server = Server::start(&place, &[]);
    let calls = || {
        let (_, _, body) = server.get("/metrics");
        let line = body.lines().find(|line| line.starts_with("tare_region_calls_total{region=\"P3\""));
        line.and_then(|line| line.rsplit(' ').next()).and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let first = calls();
    while calls() < first + 8.0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no more calls come");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.get("/state").2.starts_with("{\"schema\":1,\"over\":false,\"again_ms\":"));
    fs::write(place.path().join("stop"), "").expect("a writable directory");
    assert!(child.wait().expect("it ends").success());
    assert!(server.get("/state").2.starts_with("{\"schema\":1,\"over\":true,"));
}
