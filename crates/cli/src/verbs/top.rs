//! `tare top DIR`, `tare top -- CMD`: a run as it goes, in the terminal.

use std::io::{self, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::backend::Backend;
use ratatui::crossterm::SynchronizedUpdate;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tare_profile::Extent;
use tare_report::shell;
use tare_top::{About, App, Key, Outcome, Snapshot, draw, json, text};

use crate::args::{Compensate, Format, Job, TopArguments};
use crate::failure::{Code, Failure};
use crate::pace;
use crate::progress::during;
use crate::results::{Results, output_columns};
use crate::started::Started;
use crate::stdout;

/// Rows of a frame that goes elsewhere than to a terminal.
const ROWS_ELSEWHERE: u16 = 40;
/// A run that is over is not read again.
const NEVER: Duration = Duration::from_secs(3600);

/// Shows the run until the reader has seen enough.
pub(crate) fn top(arguments: &TopArguments) -> Result<ExitCode, Failure> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let has_screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !is_dumb;
    let is_once = arguments.once || arguments.format == Format::Json;
    if !is_once && !has_screen {
        arguments.run.as_deref().map_or(Ok(()), |run| read(run).map(drop))?;
        return Err(Failure::new(Code::Usage, "the live view needs a terminal").remedy("--once prints one frame as text"));
    }
    let options = Job::options_of(std::env::args_os());
    let (run, started) = match &arguments.run {
        Some(path) => {
            if let Some(option) = options.first() {
                let what = format!("{} is for a command that is to be measured", option.to_string_lossy());
                return Err(Failure::new(Code::Usage, what).remedy("tare top RUN, or tare top OPTIONS -- CMD"));
            }
            (path.clone(), None)
        }
        None => {
            let started = Started::start(&options, &arguments.job.command, arguments.output.as_deref())?;
            (started.run.path.clone(), Some(started))
        }
    };
    let mut reader = Reader { run, started, began: Instant::now(), compensate: arguments.compensate };
    let mut interval = Interval::asked(arguments.interval);
    let shown = if is_once { once(&mut reader, interval.least, arguments.format) } else { watch(&mut reader, &mut interval) };
    let ended = reader.started.map(Started::finish);
    shown?;
    ended.unwrap_or(Ok(ExitCode::SUCCESS))
}

/// A run, or what another tool has left. Who names a program instead wants to see how it goes.
fn read(run: &Path) -> Result<Results, Failure> {
    Results::at(run, Extent::All).map_err(|failure| {
        let is_program = std::fs::metadata(run).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
        if is_program { failure.remedy(format!("tare top -- {} measures it and shows how it goes", shell::path(run))) } else { failure }
    })
}

/// How long it is between two readings.
struct Interval {
    /// What was asked for, else a second.
    least: Duration,
    /// Whether the reader said it: then it holds whatever it costs.
    is_asked: bool,
}

impl Interval {
    fn asked(seconds: Option<f64>) -> Self {
        Self { least: Duration::from_secs_f64(seconds.unwrap_or(1.0).clamp(SHORTEST, LONGEST)), is_asked: seconds.is_some() }
    }

    /// Half as long, or twice.
    fn change(&mut self, factor: f64) {
        *self = Self::asked(Some(self.least.as_secs_f64() * factor));
    }

    /// The time to the next reading, when the last one took so much of a processor.
    fn after(&self, taken: Duration) -> Duration {
        if self.is_asked { self.least } else { pace::pause(taken, self.least) }
    }
}

/// The shortest and the longest interval, seconds.
const SHORTEST: f64 = 0.05;
const LONGEST: f64 = 3600.0;

/// Reads the run again and again.
struct Reader {
    /// The run, or what another tool has left.
    run: PathBuf,
    /// The command that we started for it.
    started: Option<Started>,
    began: Instant,
    compensate: Compensate,
}

impl Reader {
    /// Whether there is no run to look at: the command that was to be measured could not be started, and says why.
    fn is_void(&self) -> bool {
        self.started.as_ref().is_some_and(Started::is_void)
    }

    /// The run as it stands now; empty while the command that we started has not begun one.
    fn read(&mut self) -> Result<Snapshot, Failure> {
        let begin = Instant::now();
        let at_s = self.began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let has_ended = self.started.as_mut().and_then(Started::ended);
        let results = match (read(&self.run), &self.started) {
            (Err(_), Some(started)) => {
                return Ok(Snapshot::empty(About { program: started.program.clone(), at_s, ended: has_ended, ..About::default() }));
            }
            (results, _) => results?,
        };
        let compensated = tare_compensate::compensate(&results.profile, results.mode(self.compensate));
        // What another tool has left is over.
        let ended = results.ended().or(has_ended).or_else(|| results.measured_by());
        let about = About { program: results.program(), at_s, took_s: begin.elapsed().as_secs_f64(), ended, is_foreign: results.is_foreign() };
        Ok(Snapshot::of(&results.profile, &compensated, about))
    }

    /// The same for the first time, which the reader waits for.
    fn read_first(&mut self) -> Result<Snapshot, Failure> {
        during(format!("reading {}", self.run.display()), || self.read())
    }
}

/// One frame, as text or for programs: of a run that goes on, after two readings, so that there are rates.
fn once(reader: &mut Reader, interval: Duration, format: Format) -> Result<(), Failure> {
    let mut app = App::default();
    let first = reader.read_first()?;
    let mut is_over = first.is_over();
    app.read(first);
    if !is_over {
        std::thread::sleep(interval);
        let second = reader.read()?;
        is_over = second.is_over();
        app.read(second);
    }
    if is_over && reader.is_void() {
        return Ok(());
    }
    let columns = u16::try_from(output_columns()).unwrap_or(80);
    match format {
        Format::Text => stdout::write(text(&app, columns, ROWS_ELSEWHERE))?,
        Format::Json => stdout::write_line(json(&app))?,
    }
    Ok(())
}

/// The screen, until a key ends it. The terminal is as it was afterwards, whatever happens.
fn watch(reader: &mut Reader, interval: &mut Interval) -> Result<(), Failure> {
    let mut app = App::default();
    app.read(reader.read_first()?);
    let mut terminal = ratatui::try_init().map_err(|error| no_screen(&error))?;
    // Where a terminal has one screen alone, what stood on it is still there. Not `Terminal::clear`, which asks where the cursor is: some do not answer.
    let outcome = terminal.backend_mut().clear().map_err(|error| no_screen(&error)).and_then(|()| follow(reader, interval, &mut app, &mut terminal));
    ratatui::restore();
    outcome
}

fn no_screen(error: &io::Error) -> Failure {
    Failure::new(Code::Unavailable, format!("the terminal cannot be drawn on: {error}"))
}

fn follow(reader: &mut Reader, interval: &mut Interval, app: &mut App, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
    let mut is_over = false;
    let (mut read_at, mut before) = (Instant::now(), pace::taken());
    let mut due = read_at + interval.after(Duration::ZERO);
    loop {
        show(app, terminal).map_err(|error| no_screen(&error))?;
        let wait = if is_over { NEVER } else { due.saturating_duration_since(Instant::now()) };
        if event::poll(wait).map_err(|error| no_screen(&error))? {
            let pressed = event::read().map_err(|error| no_screen(&error))?;
            if let Event::Key(pressed) = pressed
                && pressed.kind != KeyEventKind::Release
            {
                if pressed.modifiers.contains(KeyModifiers::CONTROL) && pressed.code == KeyCode::Char('c') {
                    reader.started.iter().for_each(Started::interrupt);
                    return Ok(());
                }
                match key(&pressed).map_or(Outcome::Stay, |key| app.press(key)) {
                    Outcome::Quit => return Ok(()),
                    Outcome::Stay => {}
                    change => {
                        interval.change(if change == Outcome::Faster { 0.5 } else { 2.0 });
                        due = read_at + interval.least;
                    }
                }
            }
        }
        if !is_over && Instant::now() >= due {
            let snapshot = reader.read()?;
            is_over = snapshot.is_over();
            if is_over && reader.is_void() {
                return Ok(());
            }
            app.read(snapshot);
            let taken = pace::taken();
            read_at = Instant::now();
            due = read_at + interval.after(taken.saturating_sub(before));
            before = taken;
        }
    }
}

/// The frame, at once: a terminal that can (mode 2026) shows none that is half drawn.
fn show(app: &mut App, terminal: &mut DefaultTerminal) -> io::Result<()> {
    io::stdout().sync_update(|_| terminal.draw(|frame| draw(frame, app)).map(|_| ()))?
}

fn key(pressed: &KeyEvent) -> Option<Key> {
    let key = match pressed.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    };
    Some(key)
}
