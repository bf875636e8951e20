//! A real browser without a window, told what to do over a pair of pipes (Chrome DevTools Protocol).
//!
//! Messages are JSON with a zero byte behind each. `TARE_TEST_BROWSER` names another browser than Debian's
//! `chromium-headless-shell`; `TARE_SCREENSHOTS` a directory for pictures to look at.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};

/// How often a browser is started that ends at once.
const STARTS: usize = 3;

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
    session: Option<String>,
    /// Addresses that the page asked for, but for its own file.
    pub(crate) requests: Vec<String>,
    /// Errors and warnings that the page wrote.
    pub(crate) complaints: Vec<String>,
    folder: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; one that ends before it has answered, as one that crashes while it starts, is started anew.
    pub(crate) fn start() -> Self {
        let mut failures = Vec::new();
        while failures.len() < STARTS {
            match Self::start_once() {
                Ok(browser) => return browser,
                Err(failure) => failures.push(failure),
            }
        }
        panic!("the browser has ended each of {STARTS} times: is chromium-headless-shell installed?\n{}", failures.join("\n"));
    }

    /// # Errors
    /// What the browser wrote, where it ended before it had answered.
    fn start_once() -> Result<Self, String> {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let log = folder.path().join("log");
        let browser = std::env::var("TARE_TEST_BROWSER").unwrap_or_else(|_| "chromium-headless-shell".into());
        // The protocol speaks on descriptors 3 and 4: here they are our ends of stdin and stdout.
        let line = "exec \"$0\" --remote-debugging-pipe --no-sandbox --disable-gpu --user-data-dir=\"$1\" 3<&0 4>&1 </dev/null >\"$2\" 2>&1";
        let mut process = Command::new("sh")
            .args(["-c", line, &browser])
            .args([&folder.path().join("profile"), &log])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let to = process.stdin.take().expect("its stdin");
        let from = BufReader::new(process.stdout.take().expect("its stdout"));
        let mut browser = Self { process, to, from, next: 0, session: None, requests: Vec::new(), complaints: Vec::new(), folder };
        let Some(target) = browser.try_call("Target.createTarget", json!({"url": "about:blank"})) else {
            let status = browser.process.wait().expect("its status");
            return Err(format!("{status}: {}", std::fs::read_to_string(log).unwrap_or_default()));
        };
        let session = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1400, 1000);
        Ok(browser)
    }

    /// Calls a method and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            panic!("{method}: the browser has ended: {log}")
        })
    }

    /// The same; nothing where the browser has ended.
    fn try_call(&mut self, method: &str, parameters: Value) -> Option<Value> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).ok()?;
        loop {
            let answer = self.read()?;
            if answer["id"] == self.next {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return Some(answer["result"].clone());
            }
            self.note(&answer);
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).expect("the browser answers");
        message.pop();
        (!message.is_empty()).then(|| serde_json::from_slice(&message).expect("JSON"))
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let address = parameters["request"]["url"].as_str().unwrap_or_default().to_string();
                if parameters["type"] != "Document" || !address.starts_with("file://") {
                    self.requests.push(address);
                }
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" || parameters["type"] == "warning" => {
                self.complaints.push(parameters["args"].to_string());
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => self.complaints.push(parameters["entry"].to_string()),
            _ => {}
        }
    }

    /// Opens a page from disk and waits until its views stand; returns how long that took.
    pub(crate) fn open(&mut self, html: &str) -> Duration {
        self.open_at(html, "")
    }

    /// The same, with what an address has behind `#`.
    pub(crate) fn open_at(&mut self, html: &str, hash: &str) -> Duration {
        let began = self.load_at(html, hash);
        self.until("document.documentElement.dataset.ready === 'yes'");
        began.elapsed()
    }

    /// Opens a page from disk.
    pub(crate) fn load(&mut self, html: &str) -> Instant {
        self.load_at(html, "")
    }

    fn load_at(&mut self, html: &str, hash: &str) -> Instant {
        let file = self.folder.path().join(format!("page-{}.html", self.next));
        std::fs::write(&file, html).expect("the page is written");
        let began = Instant::now();
        self.call("Page.navigate", json!({"url": format!("file://{}{hash}", file.display())}));
        self.until("document.readyState === 'complete'");
        began
    }

    /// Goes to an address and waits until its page stands.
    pub(crate) fn visit(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
        self.until("document.readyState === 'complete'");
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.value(expression) != json!(true) {
            assert!(Instant::now() < limit, "{expression} does not become true; the page says {:?}", self.complaints);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true, "awaitPromise": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_string()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        self.value(expression).as_f64().unwrap_or(f64::NAN)
    }

    /// Presses and releases a key; a single character is typed.
    pub(crate) fn key(&mut self, key: &str) {
        let mut down = json!({"type": "keyDown", "key": key, "code": key});
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        match key {
            "Enter" => (down["text"], down["windowsVirtualKeyCode"]) = (json!("\r"), json!(13)),
            "Escape" => down["windowsVirtualKeyCode"] = json!(27),
            "Tab" => down["windowsVirtualKeyCode"] = json!(9),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "code": key}));
    }

    /// Clicks into the middle of the first element that a selector finds, or `at` of its width and height.
    pub(crate) fn click(&mut self, selector: &str, at: (f64, f64)) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); \
             return [b.x + {} * b.width, b.y + {} * b.height]; }})()",
            at.0, at.1
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            self.call("Input.dispatchMouseEvent", json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}));
        }
    }

    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let parameters = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", parameters);
    }

    /// How many pages of paper it takes.
    pub(crate) fn sheets(&mut self) -> usize {
        let printed = self.call("Page.printToPDF", json!({"paperWidth": 8.27, "paperHeight": 11.69}));
        let pdf = base64::engine::general_purpose::STANDARD.decode(printed["data"].as_str().expect("a document")).expect("base64");
        pdf.windows(12).filter(|words| *words == b"/Type /Page\n").count()
    }

    /// Keeps a picture of the whole page, where somebody wants to look.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TARE_SCREENSHOTS").map(PathBuf::from) else { return };
        let height = self.number("document.documentElement.scrollHeight").min(6000.0) as u32;
        let width = self.number("innerWidth") as u32;
        self.size(width, height);
        let data = self.call("Page.captureScreenshot", json!({"format": "png"}))["data"].as_str().unwrap_or_default().to_string();
        self.size(width, 1000);
        self.keep(&folder.join(format!("{name}.png")), &data);
    }

    fn keep(&self, path: &Path, base64: &str) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).expect("base64");
        std::fs::write(path, bytes).expect("the picture is written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to, it ends its own processes, which write into the folder that is removed next.
        let asked = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let limit = Instant::now() + Duration::from_secs(5);
        while asked.is_ok() && Instant::now() < limit && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
