//! The region graph of the calling thread: nodes, edges and open frames, as slow paths and wrappers see them.
//!
//! What always holds: whatever here creates or closes runs with signals held back; an entry and an exit of a
//! wrapper, which do not, claim their frame first, exactly as the probe routines do.

use crate::arena::{Arena, FRAME_CHUNK, NODE_CHUNK, PAGE};
use crate::batch;
use crate::edges::{Inserted, key};
use crate::live::{LiveCold, LiveFrame, LiveNode, add, add_signed};
use crate::metrics;
use crate::pause;
use crate::process::now;
use crate::settings::settings;
use crate::state::ThreadState;
use crate::switch;
use core::sync::atomic::{Ordering::Relaxed, Ordering::Release, compiler_fence};
use tare_format::graph::{
    COLD_NODES, ColdNode, FRAMES, MAX_FRAMES, MAX_PATHS, Mode, NODE_BATCHES, NODE_ENDS_WITH_PARENT, NODE_FOLDED, NODE_HOOK, NODE_LEAF, NODE_OVERFLOW,
    NODE_USER, NODES, Node, OVERFLOW,
};

/// Calls of a batch.
pub(crate) const BATCH: u16 = 1024;
/// Calls until a node that has no batches asks again.
pub(crate) const NEVER: u32 = i32::MAX.cast_unsigned();
/// The region of the overflow node.
const NO_REGION: u32 = u32::MAX;
/// The stack pointer of the root's frame: nothing is above it.
const TOP: u64 = !7;
/// What is added to the stack pointer in a frame whose entry read the clock. Stack pointers are even: those of functions are
/// multiples of 8, those of regions inside of them lie between.
const CLOCKED: u64 = 1_u64.wrapping_neg();
/// What is added to the stack pointer of the region around in the frame of a wrapper.
pub(crate) const WRAPPED: u64 = 2_u64.wrapping_neg();

/// By what a region is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// A probe.
    Probe,
    /// A probe of a leaf, which may be off.
    Leaf,
    /// A wrapper, which accounts for its own cost.
    Wrapper,
    /// A compiler's hook.
    Hook,
    /// A call of the program's own.
    User,
}

/// The calling thread, set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) state: &'static ThreadState,
    pub(crate) arena: Arena,
}

impl Local {
    /// The calling thread, if it is set up.
    #[inline]
    pub(crate) fn of(state: &'static ThreadState) -> Option<Self> {
        Some(Self { state, arena: state.arena()? })
    }

    /// Writes the root and the overflow node, and opens the root, whose time goes on where an earlier thread left it.
    pub(crate) fn open_root(self, ticks: u64) {
        let overflow = self.arena.node(OVERFLOW);
        overflow.flags.store(NODE_OVERFLOW, Relaxed);
        overflow.until.store(NEVER, Relaxed);
        overflow.region.store(NO_REGION, Relaxed);
        let root = self.arena.node(0);
        add(&root.calls, 1);
        self.arena.location().nodes.fetch_max(1, Release);
        self.state.nodes_ready.fetch_max(NODE_CHUNK, Relaxed);
        let sentinel = self.arena.frame(0);
        sentinel.node.store(core::ptr::from_ref(root).addr() as u64, Relaxed);
        sentinel.base.store(ticks.wrapping_sub(root.inclusive.load(Relaxed)), Relaxed);
        sentinel.sp.store(TOP.wrapping_add(CLOCKED), Relaxed);
        self.state.last.store(ticks, Relaxed);
        self.state.frame.store(core::ptr::from_ref(sentinel).cast_mut(), Relaxed);
        self.set_limit(FRAME_CHUNK);
    }

    /// When the root was opened.
    pub(crate) fn opened(self) -> u64 {
        let root = self.arena.node(0);
        self.arena.frame(0).base.load(Relaxed).wrapping_add(root.inclusive.load(Relaxed))
    }

    fn set_limit(self, frames: u64) {
        self.state.limit.store(core::ptr::from_ref(self.arena.frame(frames - 1)).cast_mut(), Relaxed);
    }

    /// The innermost open node.
    #[inline]
    pub(crate) fn current(self) -> &'static LiveNode {
        self.arena.node_of(self.state.frame())
    }

    /// The node that time goes to: the innermost one whose clock was read.
    #[inline]
    pub(crate) fn owner(self) -> &'static LiveNode {
        self.owner_of(self.state.frame())
    }

    #[inline]
    fn owner_of(self, frame: &LiveFrame) -> &'static LiveNode {
        if is_clockless(frame) { self.arena.node_of_word(frame.base.load(Relaxed) as u32) } else { self.arena.node_of(frame) }
    }

    #[inline]
    pub(crate) fn cold_of(self, node: &LiveNode) -> &'static LiveCold {
        self.arena.cold(self.arena.index_of(node))
    }

    /// Gives the time since the last event to the innermost open node.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn attribute(self, node: &LiveNode, ticks: u64) {
        metrics::attribute(self, node);
        let passed = ticks.wrapping_sub(self.state.last.load(Relaxed));
        add_signed(&node.exclusive, passed.cast_signed());
        add(&self.state.last, passed);
    }

    /// The same for the innermost open region, where it may be found that its exit was skipped: what has passed may be that of who goes on.
    pub(crate) fn attribute_before_closing(self, ticks: u64) {
        self.arena.location().passed.store(ticks.wrapping_sub(self.state.last.load(Relaxed)), Relaxed);
        self.attribute(self.owner(), ticks);
    }

    /// Says that the time between two clock readings, already attributed to `node`, was the tool's.
    #[inline]
    pub(crate) fn count_tool(self, node: &LiveNode, ticks: u64) {
        add(&self.cold_of(node).tool_ticks, ticks);
        add(&self.arena.location().tool_ticks, ticks);
    }

    /// The node of a region below another, if that path has been taken before.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn find(self, parent: &LiveNode, region: u32) -> Option<&'static LiveNode> {
        let word = self.state.edges()?.find(key(self.arena.word_of(parent), region))?;
        Some(self.arena.node_of_word(word))
    }

    /// The node of a region below another, and whether probes will find it by themselves from now on.
    pub(crate) fn find_or_create(self, parent: &LiveNode, region: u32, door: Door) -> (&'static LiveNode, bool) {
        if let Some(node) = self.find(parent, region) {
            return (node, true);
        }
        let node = self.destination(parent, region, door);
        (node, self.lead(parent, region, node))
    }

    /// Lets probes find the node of a region below another by themselves; says whether they will.
    fn lead(self, parent: &LiveNode, region: u32, node: &LiveNode) -> bool {
        let Some(edges) = self.state.edges() else { return false };
        match edges.insert(key(self.arena.word_of(parent), region), self.arena.word_of(node)) {
            Inserted::Here => {}
            Inserted::Grown(table) => self.state.edges.store(table.as_ptr(), Release),
            Inserted::Nowhere => return false,
        }
        true
    }

    /// Where a path that was not taken before leads: to the ancestor of the same region (recursion is folded),
    /// to a node of its own, or beyond the limit of paths.
    fn destination(self, parent: &LiveNode, region: u32, door: Door) -> &'static LiveNode {
        if self.is_beyond(parent) {
            return self.beyond(region, door);
        }
        if let Some(ancestor) = self.open_nodes().find(|node| node.region.load(Relaxed) == region) {
            ancestor.flags.fetch_or(NODE_FOLDED, Relaxed);
            return ancestor;
        }
        self.create(parent, region, door, MAX_PATHS).unwrap_or_else(|| self.beyond(region, door))
    }

    /// Whether a node is one of those beyond the limit of paths.
    pub(crate) fn is_beyond(self, node: &LiveNode) -> bool {
        node.flags.load(Relaxed) & NODE_OVERFLOW != 0 || node.parent.load(Relaxed) == OVERFLOW
    }

    /// The node of a region for all its calls beyond the limit of paths; the overflow node where there is no room for it. Any of them may call
    /// any other, so that each is taken for recursive.
    fn beyond(self, region: u32, door: Door) -> &'static LiveNode {
        let overflow = self.arena.node(OVERFLOW);
        if let Some(node) = self.find(overflow, region) {
            return node;
        }
        let Some(node) = self.create(overflow, region, door, OVERFLOW) else { return self.overflow() };
        node.flags.fetch_or(NODE_FOLDED, Relaxed);
        self.lead(overflow, region, node);
        node
    }

    fn overflow(self) -> &'static LiveNode {
        let node = self.arena.node(OVERFLOW);
        self.arena.location().overflow_calls.store(node.calls.load(Relaxed) + 1, Relaxed);
        node
    }

    /// The nodes of the open frames, innermost first.
    fn open_nodes(self) -> impl Iterator<Item = &'static LiveNode> {
        let top = self.arena.frame_index(self.state.frame());
        (1..=top).rev().map(move |index| self.arena.node_of(self.arena.frame(index)))
    }

    /// Ends the calls of a region that are open: their time is counted up to now, and what comes goes to the node below
    /// them. Their frames stay until the stack pointer says that they are left. The time up to `ticks` has been attributed.
    pub(crate) fn retire(self, region: u32, ticks: u64) {
        let top = self.arena.frame_index(self.state.frame());
        let is_clocked = |frame: &LiveFrame| {
            let node = self.arena.node_of(frame);
            node.region.load(Relaxed) == region && frame.base.load(Relaxed) != SEGMENT && !is_clockless(frame)
        };
        // The outermost of several frames of one node comes last: its time is the node's.
        for frame in (1..=top).rev().map(|index| self.arena.frame(index)).filter(|frame| is_clocked(frame)) {
            self.arena.node_of(frame).inclusive.store(ticks.wrapping_sub(frame.base.load(Relaxed)), Relaxed);
        }
        for index in 1..=top {
            let frame = self.arena.frame(index);
            if is_clocked(frame) {
                let owner = self.owner_of(self.arena.frame(index - 1));
                frame.base.store(core::ptr::from_ref(owner).addr() as u64, Relaxed);
                frame.sp.store(stack_pointer(frame), Relaxed);
            }
        }
    }

    /// A node of its own, if its index is below the limit.
    fn create(self, parent: &LiveNode, region: u32, door: Door, limit: u32) -> Option<&'static LiveNode> {
        let location = self.arena.location();
        let index = location.nodes.load(Relaxed);
        if index >= limit || !self.has_room_for_node(index) {
            return None;
        }
        let node = self.arena.node(index);
        node.parent.store(self.arena.index_of(parent), Relaxed);
        let (until, flags) = match door {
            Door::Wrapper => (NEVER, 0),
            Door::Hook => (NEVER, NODE_HOOK),
            Door::User => (NEVER, NODE_USER),
            Door::Probe | Door::Leaf if settings().exact => (batch::until_rule(0), 0),
            Door::Probe => (first_batch(), NODE_BATCHES),
            Door::Leaf => (first_batch(), NODE_BATCHES | NODE_LEAF),
        };
        node.until.store(until, Relaxed);
        node.flags.store(flags, Relaxed);
        node.mode.store(Mode::On as u8, Relaxed);
        let cost = match door {
            Door::Wrapper => 0,
            Door::Probe | Door::Leaf => crate::costs::charged(self, None),
            Door::Hook | Door::User => crate::costs::hook_prior().value,
        };
        node.cost.store(cost, Relaxed);
        node.region.store(region, Release);
        location.nodes.store(index + 1, Release);
        Some(node)
    }

    fn has_room_for_node(self, index: u32) -> bool {
        let ready = self.state.nodes_ready.load(Relaxed);
        if index < ready {
            return true;
        }
        let hot = NODES + u64::from(ready) * Node::SIZE as u64;
        let cold = COLD_NODES + u64::from(ready) * ColdNode::SIZE as u64;
        let has_room = self.arena.allocate(hot, PAGE) && self.arena.allocate(cold, PAGE) && metrics::has_room(self.state, ready);
        if has_room {
            self.state.nodes_ready.store(ready + NODE_CHUNK, Relaxed);
        }
        has_room
    }

    /// Whether another frame can be opened; allocates more of them where it must.
    #[inline]
    pub(crate) fn has_room_for_frame(self) -> bool {
        let index = self.arena.frame_index(self.state.frame());
        if (core::ptr::from_ref(self.state.frame()).cast_mut()) < self.state.limit.load(Relaxed) {
            return true;
        }
        let (ready, more) = (index + 1, (MAX_FRAMES - index - 1).min(FRAME_CHUNK));
        let size = size_of::<LiveFrame>() as u64;
        let has_room = more > 0 && self.arena.allocate(FRAMES + ready * size, more * size);
        if has_room {
            self.set_limit(ready + more);
        }
        has_room
    }

    /// Opens a frame above the innermost one, which must have room, and counts the entry. Returns the clock.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn open(self, node: &LiveNode, sp: u64) -> (&'static LiveFrame, u64) {
        let parent = self.owner();
        let frame = self.arena.frame(self.arena.frame_index(self.state.frame()) + 1);
        let address = core::ptr::from_ref(node).addr() as u64;
        let claim = || {
            frame.node.store(address, Relaxed);
            frame.sp.store(sp.wrapping_add(CLOCKED), Relaxed);
            compiler_fence(core::sync::atomic::Ordering::SeqCst);
        };
        claim();
        self.state.frame.store(core::ptr::from_ref(frame).cast_mut(), Relaxed);
        compiler_fence(core::sync::atomic::Ordering::SeqCst);
        let ticks = now().0;
        self.attribute(parent, ticks);
        add(&node.calls, 1);
        claim();
        add_signed(&self.state.overhead, node.cost.load(Relaxed).cast_signed());
        frame.base.store(ticks.wrapping_sub(node.inclusive.load(Relaxed)), Relaxed);
        (frame, ticks)
    }

    /// Opens the frame of a wrapper: below that of the region around, and above whatever the wrapped function may call
    /// back, since no region has the last stack pointer in front of a callee's.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn open_wrapper(self, node: &LiveNode) -> (&'static LiveFrame, u64) {
        self.open(node, stack_pointer(self.state.frame()).wrapping_add(WRAPPED))
    }

    /// Opens a frame that stands for another stack: below the same node, with a stack pointer of its own.
    pub(crate) fn open_segment(self, top: u64) {
        let node = self.current();
        let frame = self.arena.frame(self.arena.frame_index(self.state.frame()) + 1);
        frame.node.store(core::ptr::from_ref(node).addr() as u64, Relaxed);
        frame.sp.store((top & TOP).wrapping_add(CLOCKED), Relaxed);
        frame.base.store(SEGMENT, Relaxed);
        self.state.segments.fetch_add(1, Relaxed);
        self.state.frame.store(core::ptr::from_ref(frame).cast_mut(), Relaxed);
    }

    /// Closes the innermost frame; the root stays. The time up to `ticks` has been attributed.
    #[inline]
    pub(crate) fn close(self, ticks: u64) {
        let frame = self.state.frame();
        let index = self.arena.frame_index(frame);
        if index == 0 {
            return;
        }
        let base = frame.base.load(Relaxed);
        if base == SEGMENT {
            self.state.segments.fetch_sub(1, Relaxed);
        } else if !is_clockless(frame) {
            let node = self.arena.node_of(frame);
            node.inclusive.store(ticks.wrapping_sub(base), Relaxed);
        }
        compiler_fence(core::sync::atomic::Ordering::SeqCst);
        self.state.frame.store(core::ptr::from_ref(self.arena.frame(index - 1)).cast_mut(), Relaxed);
    }

    /// Closes the innermost frame because its exit was skipped: a loss, but where the region was switched off meanwhile.
    pub(crate) fn close_skipped(self, ticks: u64) {
        let frame = self.state.frame();
        let node = self.arena.node_of(frame);
        let is_expected = frame.base.load(Relaxed) == SEGMENT
            || node.flags.load(Relaxed) & NODE_ENDS_WITH_PARENT != 0
            || may_miss_its_other_half(node.region.load(Relaxed));
        if !is_expected {
            let location = self.arena.location();
            add(&location.skipped_frames, 1);
            add(&location.skipped_ticks, location.passed.load(Relaxed));
            location.passed.store(0, Relaxed);
            if node.flags.load(Relaxed) & NODE_USER != 0 {
                self.state.skipped_at.store(ticks, Relaxed);
            }
        }
        self.close(ticks);
        self.state.lost_open.store(0, Relaxed);
    }

    /// Counts an exit that met no frame: a loss, unless its entry is counted as one already or was expected to do nothing.
    pub(crate) fn count_unmatched(self, region: u32) {
        match self.state.lost_open.load(Relaxed) {
            0 if may_miss_its_other_half(region) => {}
            0 => add(&self.arena.location().unmatched_exits, 1),
            lost => self.state.lost_open.store(lost - 1, Relaxed),
        }
    }

    /// Writes what monitors want to know of the thread and only the thread state has.
    #[inline]
    pub(crate) fn publish(self, ticks: u64) {
        let location = self.arena.location();
        location.end_ticks.store(ticks, Relaxed);
        location.overhead.store(self.state.overhead.load(Relaxed).max(0).cast_unsigned(), Relaxed);
        if location.overflow_calls.load(Relaxed) > 0 {
            location.overflow_calls.store(self.arena.node(OVERFLOW).calls.load(Relaxed), Relaxed);
        }
    }
}

/// Whether an entry or an exit of the region may have done nothing, because the region was off then or nothing was recorded.
pub(crate) fn may_miss_its_other_half(region: u32) -> bool {
    switch::has_been_off(region) || pause::has_been()
}

/// Calls of a path's first batch, which is on.
fn first_batch() -> u32 {
    if settings().budget.is_some() { crate::duty::FIRST } else { u32::from(BATCH) }
}

/// Whether the entry of a frame read no clock.
#[inline]
pub(crate) fn is_clockless(frame: &LiveFrame) -> bool {
    frame.sp.load(Relaxed) & 1 == 0
}

/// The stack pointer of the call that opened a frame.
#[inline]
pub(crate) fn stack_pointer(frame: &LiveFrame) -> u64 {
    let sp = frame.sp.load(Relaxed);
    if is_clockless(frame) { sp } else { sp.wrapping_sub(CLOCKED) }
}

/// In the `base` of a frame that only marks where another stack begins.
pub(crate) const SEGMENT: u64 = u64::MAX;

/// Writes a node as it would be had its path just been found: no counts, no batches, the cost as estimated.
pub(crate) fn restart_node(old: &LiveNode, fresh: &LiveNode) {
    let has_batches = old.flags.load(Relaxed) & NODE_BATCHES != 0;
    fresh.parent.store(old.parent.load(Relaxed), Relaxed);
    fresh.until.store(if has_batches { u32::from(BATCH) } else { NEVER }, Relaxed);
    fresh.flags.store(old.flags.load(Relaxed), Relaxed);
    fresh.cost.store(old.cost.load(Relaxed), Relaxed);
    fresh.region.store(old.region.load(Relaxed), Relaxed);
}
