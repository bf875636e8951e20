//! Emits functions with probe sites, byte for byte as an instrumented image has them.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tare_format::probe::stubs;
use tare_runtime::probe::routines;
use tare_runtime::process::IdBase;

/// How a function is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// Not at all.
    Plain,
    /// By two bare readings of the clock.
    Clock,
    /// By the probes of a function.
    Probes,
    /// By the probes of a leaf.
    Leaf,
}

/// A place in emitted code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(usize);

/// Machine code under construction. The slots stand at its start, the stubs behind them.
#[derive(Debug)]
pub(crate) struct Code {
    bytes: Vec<u8>,
    enter: Label,
    enter_leaf: Label,
    exit: Label,
}

/// The region that was emitted last. Each has a number of its own in all code together: a node is that of a leaf or of none.
static LAST_ID: AtomicU32 = AtomicU32::new(0);

impl Code {
    pub(crate) fn new(base: IdBase) -> Self {
        let routines = routines();
        let stubs = stubs();
        let mut bytes = stubs.bytes.to_vec();
        let slots = [routines.enter, routines.enter_leaf, routines.exit, u64::from(base.0), routines.enter_region, routines.exit_region];
        for (place, word) in bytes.chunks_mut(8).zip(slots.into_iter().chain([routines.state.cast_unsigned()])) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let [enter, enter_leaf, exit, ..] = stubs.starts.map(|start| Label(start as usize));
        Self { bytes, enter, enter_leaf, exit }
    }

    fn here(&mut self) -> Label {
        self.bytes.resize(self.bytes.len().next_multiple_of(32), 0x90);
        Label(self.bytes.len())
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// A displacement from the end of an instruction that ends `after` bytes behind it.
    fn relative(&mut self, target: usize, after: usize) {
        let distance = target as i64 - (self.bytes.len() + 4 + after) as i64;
        self.emit(&(distance as i32).to_le_bytes());
    }

    fn call(&mut self, target: Label) {
        self.emit(&[0xe8]);
        self.relative(target.0, 0);
    }

    fn test_id(&mut self, id: u32) {
        self.emit(&[0xa9]);
        self.emit(&id.to_le_bytes());
    }

    /// A function with this body, measured as a region of its own.
    pub(crate) fn function(&mut self, variant: Variant, body: impl Fn(&mut Self)) -> Label {
        let id = LAST_ID.fetch_add(1, Relaxed) + 1;
        self.function_again(variant, id, body)
    }

    /// A function that is measured as a region that is there already.
    pub(crate) fn function_again(&mut self, variant: Variant, id: u32, body: impl Fn(&mut Self)) -> Label {
        let label = self.here();
        let mut clean = None;
        match variant {
            Variant::Plain => {}
            Variant::Clock => self.emit(&[0x0f, 0x31]),
            Variant::Probes => {
                self.call(self.enter);
                self.test_id(id);
            }
            Variant::Leaf => {
                self.call(self.enter_leaf);
                self.emit(&[0x0f, 0x82, 0, 0, 0, 0]);
                clean = Some(self.bytes.len());
                self.test_id(id);
            }
        }
        body(self);
        match variant {
            Variant::Plain => {}
            Variant::Clock => self.emit(&[0x0f, 0x31]),
            Variant::Probes | Variant::Leaf => {
                self.call(self.exit);
                self.test_id(id);
            }
        }
        self.emit(&[0xc3]);
        if let Some(jump) = clean {
            let distance = (self.bytes.len() - jump) as u32;
            self.bytes[jump - 4..jump].copy_from_slice(&distance.to_le_bytes());
            body(self);
            self.emit(&[0xc3]);
        }
        label
    }

    /// One instruction of work, on an argument.
    pub(crate) fn work(&mut self) {
        self.emit(&[0x48, 0xff, 0xc6]);
    }

    /// A multiplication that needs the one before: a body that takes its time.
    pub(crate) fn dependent_work(&mut self, multiplications: usize) {
        for _ in 0..multiplications {
            self.emit(&[0x48, 0x0f, 0xaf, 0xf6]);
        }
    }

    /// A call out of a body.
    pub(crate) fn call_function(&mut self, target: Label) {
        self.call(target);
    }

    /// A call out of a body, with what else a caller does in between: a predictor keeps few branches for each 64 bytes of code.
    pub(crate) fn call_in_passing(&mut self, target: Label) {
        self.call(target);
        self.emit(&[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]);
    }

    /// A call of itself, once less than the counter in rsi says.
    pub(crate) fn call_self(&mut self, start: Label) {
        self.emit(&[0x48, 0xff, 0xce]);
        self.emit(&[0x74, 5]);
        self.call(start);
    }

    /// Sets the counter of [`Code::call_self`].
    pub(crate) fn set_depth(&mut self, depth: u32) {
        self.emit(&[0xbe]);
        self.emit(&depth.to_le_bytes());
    }

    /// Calls the functions in this order through one pointer.
    pub(crate) fn call_in_order(&mut self, order: &[Label]) {
        // The table holds distances from itself, and stands behind the loop and a jump over it.
        self.emit(&[0x48, 0x8d, 0x0d, 32, 0, 0, 0]);
        self.emit(&[0x41, 0xb8]);
        self.emit(&(order.len() as u32).to_le_bytes());
        self.emit(&[0x49, 0x89, 0xc9]);
        self.emit(&[0x4c, 0x63, 0x11]);
        self.emit(&[0x4d, 0x01, 0xca]);
        self.emit(&[0x41, 0xff, 0xd2]);
        self.emit(&[0x48, 0x83, 0xc1, 4]);
        self.emit(&[0x49, 0xff, 0xc8]);
        self.emit(&[0x75, 0xee]);
        self.emit(&[0xe9]);
        self.emit(&(4 * order.len() as u32).to_le_bytes());
        let table = self.bytes.len();
        for function in order {
            let distance = function.0 as i64 - table as i64;
            self.emit(&(distance as i32).to_le_bytes());
        }
    }

    /// Reads that many cache lines from the data that the code was called with.
    pub(crate) fn read_lines(&mut self, lines: u32) {
        self.emit(&[0x48, 0x89, 0xf9]);
        self.emit(&[0x41, 0xb8]);
        self.emit(&lines.to_le_bytes());
        self.emit(&[0x48, 0x8b, 0x01]);
        self.emit(&[0x48, 0x83, 0xc1, 64]);
        self.emit(&[0x49, 0xff, 0xc8]);
        self.emit(&[0x75, 0xf4]);
    }

    /// Where the function that is emitted next begins.
    pub(crate) fn next_function(&mut self) -> Label {
        self.here()
    }

    /// Regions so far, in all code together.
    pub(crate) fn regions() -> u32 {
        LAST_ID.load(Relaxed)
    }

    /// Maps the code for execution; functions are found at their labels.
    pub(crate) fn map(self) -> Mapped {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: a fresh mapping disturbs nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), self.bytes.len(), protection, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED, "no memory for code");
        // SAFETY: just mapped with this length.
        unsafe { start.cast::<u8>().copy_from_nonoverlapping(self.bytes.as_ptr(), self.bytes.len()) };
        Mapped { start: start.cast() }
    }
}

// SAFETY: code is not written once it is mapped.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

/// Code that can be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped {
    start: *const u8,
}

impl Mapped {
    /// Calls a function with some data.
    pub(crate) fn call(&self, function: Label, data: &[u8]) {
        // SAFETY: a label is within its code.
        let address = unsafe { self.start.add(function.0) };
        // SAFETY: the code was emitted as a function that keeps the C convention and reads its argument.
        let function = unsafe { std::mem::transmute::<*const u8, extern "C" fn(*const u8)>(address) };
        function(data.as_ptr());
    }
}
