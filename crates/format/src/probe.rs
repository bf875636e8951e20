//! The agreement between a probe site and the runtime.
//!
//! A site is a `call` to a stub of its own image, followed by an instruction that holds the region's
//! number within the image as its 32-bit immediate and does nothing where flags are dead:
//!
//! ```text
//! enter       e8 <stub.enter>                          a9 <id>     call; test $id, %eax
//! enter_leaf  e8 <stub.enter_leaf>  0f 82 <clean copy> a9 <id>     call; jc clean; test $id, %eax
//! exit        e8 <stub.exit>                           a9 <id>     call; test $id, %eax
//! ```
//!
//! The stub (one for each of the three in every image) tests its slot and returns with carry clear while
//! the slot is null; otherwise it saves `rax` at `-16(%rsp)`, loads the image's id base into `eax` and
//! jumps through the slot:
//!
//! ```text
//! f3 0f 1e fa             endbr64 is not needed: the stub is reached by direct calls only
//! cmpq $0, slot(%rip)     (clears carry: nothing is below zero)
//! je   1f
//! mov  %rax, -16(%rsp)
//! mov  id_base(%rip), %eax
//! jmp  *slot(%rip)
//! 1: ret
//! ```
//!
//! What the runtime's routine finds: `rsp` at the site's return address, `rax` of the program at
//! `-16(%rsp)`, `eax` = id base. It preserves every general register (callers compiled by GCC's `-fipa-ra`
//! keep values in all of them), every vector and x87 register, and the direction flag; the arithmetic flags
//! are its own. It returns by a plain `ret` to the site. `enter_leaf` returns with carry set when the
//! body is to run without probes.

/// Bytes of the `call` at the head of a site.
pub const CALL_LENGTH: usize = 5;
/// Bytes of a whole `enter` or `exit` site.
pub const SITE_LENGTH: usize = 10;
/// Bytes of a whole `enter_leaf` site.
pub const LEAF_SITE_LENGTH: usize = 16;
/// From the return address of an `enter` or `exit` site to its immediate.
pub const ID_AFTER_RETURN: usize = 1;
/// From the return address of an `enter_leaf` site to its immediate.
pub const LEAF_ID_AFTER_RETURN: usize = 7;

/// What the runtime fills in for one image, in the image's own writable segment.
///
/// ```text
///  0 u64 enter        8 u64 enter_leaf       16 u64 exit       24 u32 id base     28 u32 reserved
/// ```
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    /// Load address of the runtime's entry routine; 0 until the runtime is there.
    pub enter: u64,
    /// Load address of the runtime's entry routine for leaves that may run without probes.
    pub enter_leaf: u64,
    /// Load address of the runtime's exit routine.
    pub exit: u64,
    /// Region id in the process = `id_base` + number within the image.
    pub id_base: u32,
    /// Zero.
    pub reserved: u32,
}

/// Byte offsets of the fields of [`Slots`], for code that is emitted rather than compiled.
pub mod slot_offset {
    /// Of [`super::Slots::enter`].
    pub const ENTER: u64 = 0;
    /// Of [`super::Slots::enter_leaf`].
    pub const ENTER_LEAF: u64 = 8;
    /// Of [`super::Slots::exit`].
    pub const EXIT: u64 = 16;
    /// Of [`super::Slots::id_base`].
    pub const ID_BASE: u64 = 24;
}
