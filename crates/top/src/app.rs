//! What the reader has asked for: the page, how it is sorted, what is looked for, where the cursor stands.

use std::collections::HashSet;

use crate::rates::Readings;
use crate::rows::{Line, Table, table};
use crate::snapshot::Snapshot;

/// A key, whatever terminal it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A character.
    Char(char),
    /// Arrows and their kin.
    Up,
    /// See `Up`.
    Down,
    /// See `Up`.
    Left,
    /// See `Up`.
    Right,
    /// See `Up`.
    PageUp,
    /// See `Up`.
    PageDown,
    /// See `Up`.
    Home,
    /// See `Up`.
    End,
    /// Goes into what is under the cursor.
    Enter,
    /// Leaves it.
    Escape,
    /// Takes back a character.
    Backspace,
}

/// What a key leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The view goes on.
    Stay,
    /// The reader has seen enough.
    Quit,
    /// The run is to be read twice as often.
    Faster,
    /// The run is to be read half as often.
    Slower,
}

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Page {
    Regions,
    Ranks,
    Messages,
    Paths,
}

pub(crate) const PAGES: [(Page, &str); 4] =
    [(Page::Regions, "regions"), (Page::Ranks, "ranks"), (Page::Messages, "messages"), (Page::Paths, "paths")];

/// Rows that a page of the keyboard moves.
const LEAP: isize = 10;

/// The state of the view.
#[derive(Debug)]
pub struct App {
    pub(crate) readings: Readings,
    pub(crate) page: Page,
    /// Of each page, the column that sorts.
    sorts: [usize; PAGES.len()],
    pub(crate) is_reversed: bool,
    /// Of each page, the row under the cursor.
    cursors: [Option<u64>; PAGES.len()],
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    pub(crate) is_frozen: bool,
    /// Times as measured rather than compensated.
    pub(crate) is_measured: bool,
    pub(crate) is_helping: bool,
    /// Paths whose callees are shown.
    pub(crate) open: HashSet<u64>,
    /// Whether the heaviest path has been opened.
    is_unfolded: bool,
}

impl Default for App {
    fn default() -> Self {
        Self {
            readings: Readings::default(),
            page: Page::Regions,
            sorts: [1, 0, 4, 2],
            is_reversed: false,
            cursors: [None; PAGES.len()],
            filter: String::new(),
            is_typing: false,
            is_frozen: false,
            is_measured: false,
            is_helping: false,
            open: HashSet::new(),
            is_unfolded: false,
        }
    }
}

impl App {
    /// A new reading; left aside while the view is frozen.
    pub fn read(&mut self, snapshot: Snapshot) {
        if self.is_frozen {
            return;
        }
        let was_running = self.readings.latest().about.at_s > 0.0 && !self.readings.latest().is_over();
        let is_over = snapshot.is_over();
        self.readings.add(snapshot);
        // A run that is over has no `now` to be sorted by.
        if is_over && (was_running || self.cursors == [None; PAGES.len()]) && self.sorts[0] == 1 {
            self.sorts[0] = 2;
        }
        if !self.is_unfolded && !self.readings.latest().paths.is_empty() {
            self.is_unfolded = true;
            self.open_heaviest();
        }
    }

    /// A new page of what is asked for.
    pub(crate) fn table(&self) -> Table {
        table(self, self.sorts[self.page as usize])
    }

    /// The row under the cursor; the first where there is none yet.
    pub(crate) fn cursor(&self, lines: &[Line]) -> usize {
        let wanted = self.cursors[self.page as usize];
        lines.iter().position(|line| Some(line.key) == wanted).unwrap_or(0)
    }

    /// Follows a key.
    pub fn press(&mut self, key: Key) -> Outcome {
        if self.is_helping {
            self.is_helping = false;
            return Outcome::Stay;
        }
        if self.is_typing {
            self.type_key(key);
            return Outcome::Stay;
        }
        match key {
            Key::Char('q') => return Outcome::Quit,
            Key::Char('+') => return Outcome::Faster,
            Key::Char('-') => return Outcome::Slower,
            Key::Char('?' | 'h') => self.is_helping = true,
            Key::Char('/') => self.is_typing = true,
            Key::Char(' ') => self.is_frozen = !self.is_frozen,
            Key::Char('c') => self.is_measured = !self.is_measured,
            Key::Char('s') => self.sort_by_next(),
            Key::Char('r') => self.is_reversed = !self.is_reversed,
            Key::Char(digit @ '1'..='4') => self.page = PAGES[digit as usize - '1' as usize].0,
            Key::Escape if !self.filter.is_empty() => self.filter.clear(),
            Key::Escape | Key::Char('u') => self.go_up(),
            Key::Enter => self.go_in(),
            Key::Char('l') => self.open_heaviest_below(),
            Key::Right => self.unfold(true),
            Key::Left => self.unfold(false),
            Key::Up | Key::Char('k') => self.move_by(-1),
            Key::Down | Key::Char('j') => self.move_by(1),
            Key::PageUp => self.move_by(-LEAP),
            Key::PageDown => self.move_by(LEAP),
            Key::Home => self.move_by(isize::MIN / 2),
            Key::End => self.move_by(isize::MAX / 2),
            _ => {}
        }
        Outcome::Stay
    }

    fn type_key(&mut self, key: Key) {
        match key {
            Key::Char(character) => self.filter.push(character),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => self.is_typing = false,
        }
    }

    fn sort_by_next(&mut self) {
        let columns = self.table().heads.len();
        let sort = &mut self.sorts[self.page as usize];
        *sort = (*sort + 1) % columns;
    }

    fn move_by(&mut self, rows: isize) {
        let table = self.table();
        let last = table.lines.len().saturating_sub(1);
        let row = self.cursor(&table.lines).saturating_add_signed(rows).min(last);
        self.cursors[self.page as usize] = table.lines.get(row).map(|line| line.key);
    }

    /// The key of the row under the cursor.
    fn chosen(&self) -> Option<u64> {
        let table = self.table();
        table.lines.get(self.cursor(&table.lines)).map(|line| line.key)
    }

    /// From a region to its heaviest call path; of a path, shows or hides what it calls.
    fn go_in(&mut self) {
        let Some(key) = self.chosen() else { return };
        match self.page {
            Page::Regions => {
                let paths = &self.readings.latest().paths;
                let heaviest = (0..paths.len())
                    .filter(|&index| paths[index].region == key)
                    .max_by(|&one, &other| paths[one].measured_s.total_cmp(&paths[other].measured_s));
                if let Some(index) = heaviest {
                    let above: Vec<u64> =
                        std::iter::successors(paths[index].parent, |&parent| paths[parent].parent).map(|parent| paths[parent].key).collect();
                    let at = paths[index].key;
                    self.open.extend(above);
                    self.open.insert(at);
                    self.filter.clear();
                    self.page = Page::Paths;
                    self.cursors[Page::Paths as usize] = Some(at);
                }
            }
            Page::Paths => {
                if !self.open.remove(&key) {
                    self.open.insert(key);
                }
            }
            Page::Ranks | Page::Messages => {}
        }
    }

    fn unfold(&mut self, is_open: bool) {
        if let Some(key) = self.chosen().filter(|_| self.page == Page::Paths) {
            if is_open {
                self.open.insert(key);
            } else if !self.open.remove(&key) {
                self.go_up();
            }
        }
    }

    /// To the caller; from the outermost path, and from other pages, to the regions.
    fn go_up(&mut self) {
        let paths = &self.readings.latest().paths;
        let chosen = self.chosen().filter(|_| self.page == Page::Paths);
        let at = chosen.and_then(|key| paths.iter().find(|path| path.key == key));
        match at.and_then(|path| path.parent).map(|parent| paths[parent].key) {
            Some(caller) => self.cursors[Page::Paths as usize] = Some(caller),
            None => self.page = Page::Regions,
        }
    }

    /// Opens the path that takes longest, as far as it holds half of its caller's time.
    fn open_heaviest(&mut self) {
        self.open_from(None);
    }

    fn open_heaviest_below(&mut self) {
        if let Some(key) = self.chosen().filter(|_| self.page == Page::Paths) {
            let at = self.readings.latest().paths.iter().position(|path| path.key == key);
            if let Some(deepest) = self.open_from(at) {
                self.cursors[Page::Paths as usize] = Some(deepest);
            }
        }
    }

    fn open_from(&mut self, from: Option<usize>) -> Option<u64> {
        let paths = &self.readings.latest().paths;
        let (roots, children) = self.readings.latest().tree();
        let heaviest = |among: &[usize]| among.iter().copied().max_by(|&one, &other| paths[one].measured_s.total_cmp(&paths[other].measured_s));
        let mut at = from.or_else(|| heaviest(&roots))?;
        let mut opened = vec![paths[at].key];
        while let Some(next) = heaviest(&children[at]).filter(|&next| 2.0 * paths[next].measured_s > paths[at].measured_s) {
            at = next;
            opened.push(paths[at].key);
        }
        let deepest = opened.last().copied();
        self.open.extend(opened);
        deepest
    }
}
