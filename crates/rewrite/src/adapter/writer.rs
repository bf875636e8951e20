//! Functions by the platform's convention, put together instruction by instruction.
//!
//! ```text
//! push %rbp; mov %rsp, %rbp; push …      what is kept
//! and $-16, %rsp
//! …
//! mov -8(%rbp), …; leave                 what is kept
//! ```

use crate::snippet::assembler::{Assembler, Memory, RBP, RBX, RSP, Register};
use crate::snippet::compile::Compiled;
use crate::unwind::frames::Rows;

/// A function being written.
pub(crate) struct Writer {
    pub(crate) code: Assembler,
    rows: Rows,
    kept: &'static [Register],
}

impl Writer {
    /// Begins a function that keeps these registers.
    pub(crate) fn begin(kept: &'static [Register]) -> Self {
        let mut writer = Self { code: Assembler::default(), rows: Rows::default(), kept };
        writer.code.push(RBP);
        // CFA = rsp + 16, rbp at CFA − 16; then CFA = rbp + 16.
        writer.row(&[0x0e, 16, 0x86, 2]);
        writer.code.copy(RBP, RSP);
        writer.row(&[0x0d, 6]);
        kept.iter().for_each(|&register| writer.code.push(register));
        // Where they are; the caller's values until then.
        let rows: Vec<u8> = (3..).zip(kept).filter_map(|(place, &register)| Some([0x80 | in_rows(register)?, place])).flatten().collect();
        writer.row(&rows);
        writer.code.align_stack(-16);
        writer
    }

    /// Gives the caller its registers and stack back; `rax` stays. A return or a jump follows.
    pub(crate) fn end(&mut self) {
        for (&register, index) in self.kept.iter().zip(1..) {
            self.code.load(register, Memory::At(RBP, -8 * index));
        }
        self.code.raw(&[0xc9]);
        let mut rows = vec![0x0c, 7, 8, 0xc6];
        rows.extend(self.kept.iter().filter_map(|&register| Some(0xc0 | in_rows(register)?)));
        self.row(&rows);
    }

    pub(crate) fn finish(mut self) -> Compiled {
        self.code.finish();
        Compiled { bytes: self.code.bytes, fields: self.code.fields, frame: self.rows.bytes }
    }

    fn row(&mut self, instructions: &[u8]) {
        self.rows.row(self.code.position(), instructions);
    }
}

/// Number in unwind information of a register that functions must keep.
fn in_rows(register: Register) -> Option<u8> {
    match register {
        RBX => Some(3),
        Register(number @ 12..=15) => Some(number),
        _ => None,
    }
}
