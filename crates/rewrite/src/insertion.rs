//! What is put into moved code, and where: values that a kind of probe supplies and the rewriter places.
//!
//! The rewriter finds the places of a function and asks [`Probes`] what goes there. It gets bytes with fields that
//! depend on addresses, and rows that say how far the stack pointer is from where it was, so that unwind information
//! holds at every instruction. A kind of probe may bring code, constants and variables of its own: for the image, and
//! for each function.
//!
//! What an insertion must keep: every general, vector and x87 register; the flags where [`Place::flags_are_dead`] does
//! not say otherwise; what lies in the 128 bytes below the stack pointer where [`Place::is_mid_body`] says so. At its
//! end the stack pointer is where it was. It must not throw.

use std::borrow::Cow;
use std::ops::Range;

/// Where in the life of a region a place is (paper 2, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Point {
    /// A function is entered.
    FunctionEnter,
    /// A function is left: by return or tail call.
    FunctionExit,
    /// Control comes to a loop from outside.
    LoopBefore,
    /// An iteration begins.
    IterationEnter,
    /// An iteration ends.
    IterationExit,
    /// Control leaves a loop for another place of its function.
    LoopAfter,
    /// A call is about to be made.
    CallBefore,
    /// A call has come back, by return or to a landing pad.
    CallAfter,
}

impl Point {
    /// Whether a region begins here rather than ends.
    #[must_use]
    pub const fn is_begin(self) -> bool {
        matches!(self, Self::FunctionEnter | Self::LoopBefore | Self::IterationEnter | Self::CallBefore)
    }
}

/// Which of a function's regions a place belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// The function itself.
    Function,
    /// A loop, by its number in the function.
    Loop(u32),
    /// An iteration of a loop, by the loop's number.
    Iteration(u32),
    /// A call site, by its number in the function.
    CallSite(u32),
}

/// A place at which something may be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The point.
    pub point: Point,
    /// The region of the function that begins or ends.
    pub scope: Scope,
    /// Link address in the original: of the entry, the exit's instruction, the loop's header or the call.
    pub address: u64,
    /// Whether nothing reads the flags before they are written again.
    pub flags_are_dead: bool,
    /// Whether the place is inside of a body, where values may lie below the stack pointer.
    pub is_mid_body: bool,
    /// Open regions of the function around this one, itself included, the function not.
    pub level: u8,
    /// Whether the function has anything on the stack but its return address, inside of a body.
    pub has_frame: bool,
    /// Bytes by which the stack pointer is higher here than where the region begins: arguments of a call that an exception has ended.
    pub raised: u32,
    /// Whether the function may go on in its clean copy from here.
    pub has_clean_copy: bool,
    /// Whether the call is a jump that does not come back here.
    pub is_tail_call: bool,
}

/// What a field of an insertion refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The number of the place's region, as a 32-bit immediate.
    Region,
    /// The entry of the function's clean copy.
    CleanCopy,
    /// A function of the program by its link address: its moved entry, if it is moved.
    Code(u64),
    /// A place of the original by its link address, moved or not.
    Original(u64),
    /// The image's slots for the runtime, and an offset.
    Slots(u32),
    /// [`Additions::code`], and an offset.
    Routine(u32),
    /// [`Additions::constants`], and an offset.
    SharedConstant(u32),
    /// [`Additions::variables`], and an offset.
    SharedVariable(u32),
    /// Where the variables of all functions begin; a multiple of 8.
    VariablesStart,
    /// Where they end.
    VariablesEnd,
    /// [`Inserted::constants`] of the function, and an offset.
    Constant(u32),
    /// [`Inserted::variables`] of the function, and an offset.
    Variable(u32),
}

/// Four bytes of an insertion that are filled in when addresses are known: a displacement from the end of the
/// instruction, or, for [`Value::Region`], the value itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Where the field is.
    pub at: u16,
    /// Bytes from the field's start to the end of its instruction.
    pub tail: u8,
    /// What it refers to.
    pub value: Value,
}

/// Machine code to be inserted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Insertion {
    /// The code, with zeros in its fields; empty where nothing is inserted.
    pub bytes: Cow<'static, [u8]>,
    /// Its fields, in order.
    pub fields: Cow<'static, [Field]>,
    /// From each offset on, how many bytes the stack pointer is lower than in front of the insertion; 0 before the
    /// first one, and at the end.
    pub rows: Cow<'static, [(u16, u32)]>,
}

/// What goes into one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inserted {
    /// One for each place, in their order.
    pub insertions: Vec<Insertion>,
    /// Bytes that are never written, aligned to 8.
    pub constants: Vec<u8>,
    /// Initial bytes of variables, aligned to 8.
    pub variables: Vec<u8>,
    /// Four-byte fields of the variables, in order.
    pub fields: Vec<(u32, VariableField)>,
    /// Initial bytes of variables that every thread has of its own, aligned to 8.
    pub thread_variables: Vec<u8>,
}

/// What a field of a function's variables holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableField {
    /// The number of the region of the place with this index.
    Region(u32),
    /// How far a link address of the original is from the field's end.
    Original(u64),
    /// How far a place in [`Inserted::thread_variables`] is from the start of [`Additions::thread_variables`].
    Thread(u32),
}

/// Code of the probes' own that is not part of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// Name of its symbol.
    pub name: String,
    /// Where it is in [`Additions::code`].
    pub range: Range<u32>,
    /// Call-frame instructions from its start on, for a code alignment of 1 and a data alignment of −8; in front of
    /// them CFA = rsp + 8.
    pub frame: Vec<u8>,
}

/// What the loader finds by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// Name of a function or variable.
    pub name: String,
    /// Where among the variables its address goes.
    pub slot: u32,
    /// Whether the address is zero where no library has it; else the image is not loaded.
    pub is_optional: bool,
}

/// What a kind of probe brings to the image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Additions {
    /// Code, aligned to 64.
    pub code: Vec<u8>,
    /// Fields of the code: offset, bytes to the end of the instruction, and what they refer to.
    pub fields: Vec<(u32, u8, Value)>,
    /// What the code consists of.
    pub routines: Vec<Routine>,
    /// Where in the code the stubs of our own runtime begin, as [`tare_format::probe::Stubs::starts`] has them; none of other probes.
    pub stubs: Vec<u32>,
    /// Bytes that are never written, aligned to 16.
    pub constants: Vec<u8>,
    /// Initial bytes of variables, aligned to 64.
    pub variables: Vec<u8>,
    /// Initial bytes of variables that every thread has of its own, aligned to 8. Those of all functions stand behind.
    pub thread_variables: Vec<u8>,
    /// Where among the variables the distance of the thread's variables from the thread pointer goes, as eight bytes. It
    /// holds from the image's initialisation on.
    pub thread_distance: Option<u32>,
    /// What the loader is to find.
    pub imports: Vec<Import>,
    /// Variables of eight bytes that hold the address of a routine from the start, which the loader puts there, and where
    /// the routine is in the code. Only where there are [`Self::imports`].
    pub pointers: Vec<(u32, u32)>,
    /// Libraries that are loaded with the image.
    pub libraries: Vec<String>,
    /// Whether other copies find the distance of the thread's variables by an entry of the dynamic section, as regions must nest
    /// across images. Such a library is not unloaded.
    pub lends_nesting: bool,
    /// A routine that takes the place of the first function of the image's initialisation.
    pub initialize: Option<u32>,
    /// A routine that takes the place of the last function of the image's termination.
    pub finalize: Option<u32>,
}

/// A kind of probe.
pub trait Probes: Sync {
    /// What the image gets once. Asked before any function.
    fn additions(&self) -> Additions;

    /// Whether a call that is a jump, and comes back elsewhere, can be a call site: only [`Point::CallBefore`] is there. Elsewhere
    /// it is refused.
    fn measures_tail_calls(&self) -> bool {
        false
    }

    /// What goes to the places of a function, given by its index in the program: as many insertions as places.
    ///
    /// Functions are asked on several threads at once; equal questions must have equal answers.
    fn inserted(&self, function: usize, places: &[Place]) -> Inserted;
}
