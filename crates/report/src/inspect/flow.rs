//! The control flow of one function.

/// Basic blocks and the edges between them; the entry is first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// What it is the flow of.
    pub title: String,
    /// Reachable blocks.
    pub blocks: Vec<FlowBlock>,
}

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowBlock {
    /// Link addresses of its instructions.
    pub range: std::ops::Range<u64>,
    /// Whether the function is entered here, by a call or a branch out of another one.
    pub is_entry: bool,
    /// Instructions.
    pub instructions: usize,
    /// File, first and last line, where known.
    pub lines: Option<(String, u32, u32)>,
    /// Loops around it.
    pub depth: usize,
    /// Whether control may leave the function at its end.
    pub is_exit: bool,
    /// What it calls, as people call it.
    pub calls: Vec<String>,
    /// Blocks that may follow, and whether the edge goes back to the header of a loop.
    pub successors: Vec<(usize, bool)>,
}
