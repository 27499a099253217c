//! A headless Chromium, driven over its DevTools protocol.
//!
//! The browser reads commands from its file descriptor 3 and answers on 4, each a piece of JSON with a
//! zero byte after it; a shell puts the pipes there. So nothing is needed but the browser itself.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// With this set, a machine without a browser fails the tests that need one.
const REQUIRED: &str = "RADDLE_BROWSER_REQUIRED";
/// The browser, if it is not found by its usual names.
const BROWSER: &str = "RADDLE_BROWSER";
/// The script that looks for what some people cannot use.
const AXE: &str = "RADDLE_AXE";
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the browser and `axe.min.js` are. `None` if one is missing and neither is required.
///
/// # Panics
///
/// If one is missing, and `RADDLE_BROWSER_REQUIRED` is set.
pub fn tools() -> Option<(PathBuf, PathBuf)> {
    let found = (browser(), axe());
    if let (Some(browser), Some(axe)) = found {
        return Some((browser, axe));
    }
    let missing = match found.0 {
        None => "no Chromium was found: apt-get install chromium, or name one in RADDLE_BROWSER",
        Some(_) => {
            "no axe-core was found: npm install --prefix target/tools axe-core, or name its \
             axe.min.js in RADDLE_AXE"
        }
    };
    assert!(std::env::var_os(REQUIRED).is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    None
}

fn browser() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(BROWSER) {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut all =
        std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    all.find(|file| file.is_file())
}

fn axe() -> Option<PathBuf> {
    let file = match std::env::var_os(AXE) {
        Some(given) => given.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../target/tools/node_modules/axe-core/axe.min.js"),
    };
    file.is_file().then_some(file)
}

/// A running browser.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    profile: PathBuf,
    last: u64,
    /// What pages said that was no answer.
    events: Vec<Value>,
}

impl Browser {
    /// Starts the browser at this path.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(program: &Path) -> Self {
        let name = format!(
            "raddle-browser-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        let profile = std::env::temp_dir().join(name);
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#)
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                // A picture of the whole page is laid out without them.
                "--hide-scrollbars",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let commands = child.stdin.take().expect("it is piped");
        let mut pipe = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while pipe.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                bytes.pop();
                let Ok(value) = serde_json::from_slice(&bytes) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        Browser {
            child,
            commands,
            answers,
            profile,
            last: 0,
            events: Vec::new(),
        }
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let answer = self.ask(session, method, parameters);
        answer.unwrap_or_else(|problem| panic!("{method}: {problem}"))
    }

    /// The answer, or what the browser says is wrong.
    fn ask(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Result<Value, Value> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands
            .write_all(&bytes)
            .expect("the browser listens");
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last {
                return match &answer["error"] {
                    Value::Null => Ok(answer["result"].clone()),
                    problem => Err(problem.clone()),
                };
            }
            if answer["id"].is_null() {
                self.events.push(answer);
            }
        }
    }

    /// Opens a page in a window of this size, and waits until it is there.
    pub fn open(&mut self, file: &Path, size: (u32, u32)) -> Page<'_> {
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let parameters = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", parameters);
        let session = attached["sessionId"]
            .as_str()
            .expect("a session has a name");
        let mut page = Page {
            session: session.to_owned(),
            target: target["targetId"].clone(),
            browser: self,
        };
        page.browser.events.clear();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.resize(size);
        let address = format!("file://{}", file.display());
        page.call("Page.navigate", json!({ "url": address }));
        page.wait_for("document.documentElement.dataset.ready === 'yes'");
        page
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// An open page.
pub struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
    target: Value,
}

impl Page<'_> {
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }

    /// Gives the window this size.
    pub fn resize(&mut self, (width, height): (u32, u32)) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Lets the system prefer this colour scheme.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    /// What an expression of JavaScript comes to.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let value = self.try_evaluate(expression);
        value.unwrap_or_else(|problem| panic!("{expression}: {problem}"))
    }

    /// The same, or why there is no page to ask.
    fn try_evaluate(&mut self, expression: &str) -> Result<Value, Value> {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let session = Some(self.session.as_str());
        let answer = self.browser.ask(session, "Runtime.evaluate", parameters)?;
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        Ok(answer["result"]["value"].clone())
    }

    /// The text that an expression comes to.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression} is {value}"))
            .to_owned()
    }

    /// The number that an expression comes to.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.evaluate(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Waits until an expression is true; while there is no page, or another one comes, it is not.
    ///
    /// # Panics
    ///
    /// If it does not become so.
    pub fn wait_for(&mut self, condition: &str) {
        let start = Instant::now();
        let condition = format!("document.documentElement !== null && ({condition})");
        while self.try_evaluate(&condition) != Ok(Value::Bool(true)) {
            assert!(
                start.elapsed() < PATIENCE,
                "{condition} does not become true"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Clicks in the middle of an element with the mouse, once it is in sight and everything that its
    /// coming into sight has led to is drawn.
    pub fn click(&mut self, selector: &str) {
        let middle = self.evaluate(&format!(
            "(async () => {{ const it = () => document.querySelector({selector:?}); \
             const drawn = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go))); \
             it().scrollIntoView({{ block: 'center' }}); await drawn(); await drawn(); \
             const box = it().getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Home" => 36,
            "End" => 35,
            "PageDown" => 34,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => panic!("{key} has no code here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "keyDown" {
                event["text"] = "\r".into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Writes a picture of what is to be seen.
    pub fn picture(&mut self, file: &Path, whole: bool) {
        let parameters = json!({ "format": "png", "captureBeyondViewport": whole });
        let mut parameters = parameters;
        if whole {
            let height = self.number("document.documentElement.scrollHeight");
            let width = self.number("document.documentElement.clientWidth");
            parameters["clip"] =
                json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        }
        let picture = self.call("Page.captureScreenshot", parameters);
        let data = picture["data"].as_str().expect("a picture has data");
        std::fs::write(file, from_base64(data)).expect("the folder is writable");
    }

    /// What went wrong so far: errors and warnings, and whatever was asked of others than the page's own
    /// file.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever happened is told before this is answered.
        self.evaluate("0");
        let mut complaints = Vec::new();
        for event in &self.browser.events {
            let parameters = &event["params"];
            let is_bad = match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => true,
                "Runtime.consoleAPICalled" => {
                    matches!(
                        parameters["type"].as_str(),
                        Some("error" | "warning" | "assert")
                    )
                }
                "Log.entryAdded" => true,
                "Network.requestWillBeSent" => {
                    let address = parameters["request"]["url"].as_str().unwrap_or_default();
                    !address.starts_with("file:") && !address.starts_with("data:")
                }
                _ => false,
            };
            if is_bad {
                complaints.push(event.to_string());
            }
        }
        complaints
    }

    /// Which rules of axe-core the page breaks, each with an element that does.
    pub fn violations(&mut self, axe: &Path) -> Vec<String> {
        let script = std::fs::read_to_string(axe).expect("it was there before");
        self.evaluate(&format!("{script}; 0"));
        let found = self.evaluate(
            "axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations.flatMap(\
             (rule) => rule.nodes.slice(0, 3).map((node) => `${rule.id}: ${node.html} ${node.failureSummary}`)))",
        );
        let found = found.as_array().expect("a list").iter();
        found
            .map(|one| one.as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let target = self.target.clone();
            self.browser
                .call(None, "Target.closeTarget", json!({ "targetId": target }));
        }
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in digits {
        bits = (bits << 6) | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
