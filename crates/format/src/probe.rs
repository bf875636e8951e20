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
//! Loops, iterations and call sites begin and end inside a function's body, where values may lie in the 128 bytes
//! below the stack pointer. Their sites lower it before they call `stub.enter_region` and `stub.exit_region`:
//!
//! ```text
//! region      lea -step(%rsp), %rsp   [pushfq]   e8 <stub> a9 <id>   [popfq]   lea step(%rsp), %rsp
//! ```
//!
//! `pushfq` and `popfq` are there where the flags are read later; the step of the `lea` is then 8 bytes less. The
//! routine takes its own `rsp + REGION_TOKEN` for the region's stack pointer (its own `rsp` for a function's), and the step chooses it: an even number that is less
//! than that of the function and of every region around, and more than that of whatever the region calls. Between two
//! functions' there is room for [`MOST_OPEN_REGIONS`]; a function that calls nothing has no such limit.
//!
//! The stub (one for each of the five in every image, [`stubs`]) tests its slot and returns with carry clear while
//! the slot is null; otherwise it saves three registers below the stack pointer, loads the image's id base into `r11d` and
//! the distance of the thread's state from the thread pointer into `r9`, and jumps through the slot:
//!
//! ```text
//! cmpq $0, slot(%rip)     (clears carry: nothing is below zero)
//! je   1f
//! mov  %r11, -16(%rsp)
//! mov  id_base(%rip), %r11d
//! mov  %r9, -48(%rsp)
//! mov  state(%rip), %r9
//! mov  %r10, -40(%rsp)
//! jmp  *slot(%rip)
//! 1: ret
//! ```
//!
//! Those of functions first try whether the call is one that is only counted, or leaves a frame whose entry read no clock: the jump
//! would take as long as that. They work on the thread's state ([`state_offset`]) exactly as the routines do (`probe/stubs.s`).
//!
//! What the runtime's routine finds: `rsp` at the site's return address, the program's `r11`, `r10` and `r9` at `-16(%rsp)`, `-40(%rsp)` and
//! `-48(%rsp)`, `r11d` = id base, `r9` = the distance, and at the exit of a function the innermost frame of that state in `r10`. It preserves
//! every general register (callers compiled by GCC's `-fipa-ra`
//! keep values in all of them), every vector and x87 register, and the direction flag; the arithmetic flags
//! are its own. It returns by a plain `ret` to the site. `enter_leaf` returns with carry set when the
//! body is to run without probes.

use crate::graph::{Frame, Mode, Node};
use core::mem::offset_of;

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

/// From the word that says where a region's probe returns to up to the region's stack pointer: no step is less than 136 bytes then,
/// the red zone and a word for the flags.
pub const REGION_TOKEN: u32 = 152;
/// Regions of one function that may be open at once, the function not counted. One more stack pointer is left for a wrapper
/// of the runtime's that the innermost one calls.
pub const MOST_OPEN_REGIONS: u8 = 6;
/// As [`MOST_OPEN_REGIONS`], where the function has nothing on the stack but its return address.
pub const MOST_OPEN_REGIONS_WITHOUT_FRAME: u8 = 2;
/// As [`MOST_OPEN_REGIONS`], in a function that calls nothing.
pub const MOST_OPEN_REGIONS_OF_LEAF: u8 = 30;

/// Bytes by which the site of a region lowers the stack pointer. `level` counts the open regions of the function, this one
/// included; `has_frame` says that the function's own stack pointer is at least 8 bytes higher.
#[must_use]
pub const fn region_step(level: u8, has_frame: bool) -> u32 {
    let token = if has_frame { 0 } else { -8 } - 2 * level as i32;
    (REGION_TOKEN as i32 - 8 - token).cast_unsigned()
}

/// What the runtime fills in for one image, in the image's own writable segment.
///
/// ```text
///  0 u64 enter        8 u64 enter_leaf       16 u64 exit       24 u32 id base     28 u32 reserved
/// 32 u64 enter_region 40 u64 exit_region     48 i64 state            56 u64 reserved
/// ```
#[repr(C, align(64))]
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
    /// Load address of the runtime's routine for regions that begin inside a body.
    pub enter_region: u64,
    /// Load address of the runtime's routine for regions that end inside a body.
    pub exit_region: u64,
    /// Distance of the thread's state from the thread pointer, or of one in which nothing is quiet and no frame is open; filled in before the
    /// addresses are.
    pub state: i64,
}

/// Bytes of the slots.
pub const SLOTS_SIZE: u64 = size_of::<Slots>() as u64;

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
    /// Of [`super::Slots::enter_region`].
    pub const ENTER_REGION: u64 = 32;
    /// Of [`super::Slots::exit_region`].
    pub const EXIT_REGION: u64 = 40;
    /// Of [`super::Slots::state`].
    pub const STATE: u64 = 48;
}

/// Byte offsets in a thread's state of what stubs read and write.
pub mod state_offset {
    /// Address of the innermost open [`Frame`](crate::graph::Frame).
    pub const FRAME: usize = 0;
    /// Address of the site cache: for each region id the low halves of the addresses of its last [`Node`](crate::graph::Node) (high half) and of
    /// that one's parent (low half).
    pub const CACHE: usize = 16;
    /// Address of the first frame that has no room above itself.
    pub const LIMIT: usize = 32;
    /// What is added to the low half of a node's address to make it whole.
    pub const HIGH: usize = 48;
    /// Nodes of the thread that are not on, 32 bits.
    pub const ASIDE: usize = 56;
}

core::arch::global_asm!(
    include_str!("probe/stubs.s"),
    include_str!("probe/image.s"),
    ENTER = const slot_offset::ENTER,
    ENTER_LEAF = const slot_offset::ENTER_LEAF,
    EXIT = const slot_offset::EXIT,
    ENTER_REGION = const slot_offset::ENTER_REGION,
    EXIT_REGION = const slot_offset::EXIT_REGION,
    ID_BASE = const slot_offset::ID_BASE,
    STATE = const slot_offset::STATE,
    ID = const ID_AFTER_RETURN,
    LEAF_ID = const LEAF_ID_AFTER_RETURN,
    FRAME = const state_offset::FRAME,
    CACHE = const state_offset::CACHE,
    LIMIT = const state_offset::LIMIT,
    HIGH = const state_offset::HIGH,
    ASIDE = const state_offset::ASIDE,
    FRAME_NODE = const offset_of!(Frame, node),
    FRAME_BASE = const offset_of!(Frame, base),
    FRAME_SP = const offset_of!(Frame, sp),
    LEFT = const offset_of!(Node, left),
    MODE = const offset_of!(Node, mode),
    CLOCKLESS = const Mode::Clockless as u8,
    CLOCKLESS_TWICE = const Mode::ClocklessTwice as u8,
    OFF = const Mode::OffCounted as u8,
    OFF_TWICE = const Mode::OffTwice as u8,
    options(att_syntax)
);

unsafe extern "C" {
    static tare_image_slots: u8;
    static tare_image_starts: [u32; 6];
}

/// The stubs of an image.
#[derive(Clone, Copy, Debug)]
pub struct Stubs {
    /// The slots, as zeros, and the stubs behind them, whose displacements are to these slots.
    pub bytes: &'static [u8],
    /// Where in `bytes` each begins: enter, leaf's enter, exit, and of regions inside of a body enter and exit.
    pub starts: [u32; 5],
}

/// The stubs that an image has.
#[must_use]
pub fn stubs() -> Stubs {
    // SAFETY: six words that the assembly above writes.
    let [enter, enter_leaf, exit, enter_region, exit_region, end] = unsafe { tare_image_starts };
    // SAFETY: so many bytes are there, which are never written.
    let bytes = unsafe { core::slice::from_raw_parts(&raw const tare_image_slots, end as usize) };
    Stubs { bytes, starts: [enter, enter_leaf, exit, enter_region, exit_region] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_pointers_of_regions_fall_and_keep_off_the_red_zone() {
        for (has_frame, most, own) in [(true, MOST_OPEN_REGIONS, 0), (false, MOST_OPEN_REGIONS_WITHOUT_FRAME, -8)] {
            let mut last = own;
            for level in 1..=most {
                let step = region_step(level, has_frame).cast_signed();
                let token = REGION_TOKEN.cast_signed() - 8 - step;
                // Less than the one around by more than the byte that marks a frame with a clock, more than a callee's.
                assert!(token < last - 1 && token - 3 > -16 && token % 2 == 0 && step >= 128 + 8, "{level} {has_frame}: {token}");
                last = token;
            }
        }
    }
}
