//! A server of pages that stands in for the real one: each page once, and then the run is over.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// Serves the page around, and one page after the other; returns the address.
pub(crate) fn serve(around: String, pages: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let mut shown = 0;
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let path = path(&stream);
            let (kind, body) = match path.split('?').next() {
                Some("/") => ("text/html; charset=utf-8", around.clone()),
                Some("/state") => ("application/json", format!("{{\"schema\":1,\"over\":{}}}", shown + 1 >= pages.len())),
                Some("/page") => {
                    let page = pages[shown.min(pages.len() - 1)].clone();
                    shown += 1;
                    ("text/html; charset=utf-8", page)
                }
                _ => ("text/plain", String::new()),
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    address
}

/// What is asked for; nothing is asked without the token.
fn path(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let _ = reader.read_line(&mut first);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_string();
    if path.contains("token=secret") { path } else { String::new() }
}
