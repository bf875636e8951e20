//! How long instructions take, roughly: for estimates of the work of a function, never for a measured figure.
//!
//! Figures are reciprocal throughputs in core cycles of recent x86-64 processors, of the size that A. Fog's
//! *Instruction tables* and uops.info give. Programs seldom execute more than two instructions a cycle, nor wait for
//! most of their loads; that is where the plain figures come from.

use iced_x86::{Instruction as Decoded, Mnemonic, OpKind};

use crate::close_up::CloseUp;

/// An instruction that does nothing of what is below.
const PLAIN: f64 = 0.5;
/// One that reads memory.
const LOAD: f64 = 0.75;
/// A division of integers, or a division or square root of floating-point numbers.
const DIVISION: f64 = 12.0;
/// An x87 function such as `fsin`.
const TRANSCENDENTAL: f64 = 80.0;
/// One that is atomic, or waits for those before it.
const ORDERED: f64 = 20.0;
/// A string instruction with a repeat prefix.
const REPEATED: f64 = 30.0;
/// A way into the kernel and back.
const SYSTEM: f64 = 300.0;

impl CloseUp {
    /// What each instruction of the function's body takes, in core cycles, in the order of the body.
    #[must_use]
    pub fn efforts(&self) -> Vec<f64> {
        self.code.iter().map(effort).collect()
    }
}

fn effort(one: &Decoded) -> f64 {
    use Mnemonic as M;
    match one.mnemonic() {
        M::Div | M::Idiv | M::Divss | M::Divsd | M::Divps | M::Divpd | M::Vdivss | M::Vdivsd | M::Vdivps | M::Vdivpd | M::Fdiv | M::Fdivr => DIVISION,
        M::Sqrtss | M::Sqrtsd | M::Sqrtps | M::Sqrtpd | M::Vsqrtss | M::Vsqrtsd | M::Vsqrtps | M::Vsqrtpd | M::Fsqrt | M::Fdivp | M::Fdivrp => {
            DIVISION
        }
        M::Fsin | M::Fcos | M::Fsincos | M::Fptan | M::Fpatan | M::F2xm1 | M::Fyl2x | M::Fyl2xp1 => TRANSCENDENTAL,
        M::Syscall | M::Cpuid => SYSTEM,
        M::Mfence | M::Lfence | M::Sfence | M::Pause | M::Rdtsc | M::Rdtscp => ORDERED,
        M::Xchg if one.op0_kind() == OpKind::Memory => ORDERED,
        M::Nop | M::Endbr64 | M::Int3 => 0.0,
        _ if one.has_lock_prefix() => ORDERED,
        _ if (one.has_rep_prefix() || one.has_repne_prefix()) && one.is_string_instruction() => REPEATED,
        _ if reads_memory(one) => LOAD,
        _ => PLAIN,
    }
}

/// Whether an operand is read from memory; what only writes there is plain.
fn reads_memory(one: &Decoded) -> bool {
    use Mnemonic as M;
    let reads_first =
        matches!(one.mnemonic(), M::Cmp | M::Test | M::Push | M::Jmp | M::Call | M::Add | M::Sub | M::Inc | M::Dec | M::And | M::Or | M::Xor);
    let is_lea = one.mnemonic() == M::Lea;
    (0..one.op_count()).any(|operand| one.op_kind(operand) == OpKind::Memory && (operand > 0 || reads_first)) && !is_lea
}
