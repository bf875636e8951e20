//! Branches and calls of a copy: whether they are the original's and lead where those do.

use iced_x86::{FlowControl, Instruction, Mnemonic};
use tare_code::{Direct, Turn, direct};

use super::Place;
use crate::points::Slot;
use crate::verify::Fault;
use crate::verify::seen::Seen;

impl Place<'_, '_> {
    /// Goes behind a branch or call whose bytes are the original's up to the distance, and at which nothing is inserted, if it is one.
    pub(super) fn same_branch(&mut self, seen: &mut Seen, copied: &Direct) -> Result<bool, Fault> {
        let (at, is_call) = (self.new, copied.turn == Turn::Call);
        let (old, new) = (self.behind_old(), self.ahead(usize::from(copied.field)));
        if !new.iter().enumerate().all(|(place, byte)| old.get(place) == Some(byte)) {
            return Ok(false);
        }
        let Some(original) = direct(old, self.old) else { return Ok(false) };
        let leaves = !is_call && !self.walk.is_inside(self.copy, original.target);
        let behind = at + u64::from(copied.length);
        if leaves && self.wants_exit() || self.next_taken_side() == Some(behind) {
            return Ok(false);
        }
        self.same_so_far(at)?;
        self.old += u64::from(copied.length);
        self.new = behind;
        self.same = (self.old, self.new);
        self.landing(seen, at, is_call, (original.target, copied.target))?;
        Ok(true)
    }

    /// Where the next thing that is inserted is, if it is on the taken side of a branch.
    fn next_taken_side(&self) -> Option<u64> {
        self.fragment.sites.get(self.sites).filter(|site| site.slot == Slot::Taken).map(|site| site.at)
    }

    /// Whether the next thing that is inserted is on the taken side of the branch that was just decoded.
    fn has_taken_side(&self) -> bool {
        // Behind `loop`, `jrcxz` and `xbegin` stands a jump over it.
        let jump = match self.ahead(1) {
            _ if self.decoded.is_jcc_short_or_near() => 0,
            [0xeb] => 2,
            [0xe9] => 5,
            _ => return false,
        };
        self.next_taken_side() == Some(self.new + jump)
    }

    /// Compares where a branch or call of the original and of the copy go.
    fn landing(&self, seen: &mut Seen, at: u64, is_call: bool, (target, copied): (u64, u64)) -> Result<(), Fault> {
        if !is_call {
            return self.target(seen, at, target, copied);
        }
        self.outwards(at, (target, copied), "a call goes elsewhere than the original's")
    }

    /// A branch or call, most often one whose size or form changed.
    pub(super) fn changed_branch(&mut self, seen: &mut Seen, at: u64, has_exit: bool) -> Result<(), Fault> {
        let original = self.original();
        let target = original.near_branch_target();
        let copied = self.decoded.near_branch_target();
        let is_call = self.decoded.flow_control() == FlowControl::Call;
        let leaves = !is_call && !self.walk.is_inside(self.copy, target);
        let is_conditional = original.flow_control() == FlowControl::ConditionalBranch || original.mnemonic() == Mnemonic::Xbegin;
        if is_conditional && self.has_taken_side() {
            return self.taken_side(seen, &original, leaves);
        }
        self.old = original.next_ip();
        let is_same = self.decoded.mnemonic() == original.mnemonic() && self.decoded.op_count() == original.op_count();
        if !is_same {
            return Err(Fault::new(at, "another branch than the original's"));
        }
        if has_exit != (leaves && self.wants_exit()) {
            return Err(Fault::new(at, "an exit and its probe do not go together"));
        }
        if is_call {
            return self.landing(seen, at, true, (target, copied));
        }
        let is_counter = original.is_jcx_short() || original.is_loop() || original.is_loopcc();
        if is_counter && self.decoded.len() == original.len() && copied == self.new + 2 {
            return self.widened_counter(seen, target);
        }
        self.target(seen, at, target, copied)
    }

    /// `loop` or `jrcxz` over a jump over a jump.
    fn widened_counter(&mut self, seen: &mut Seen, target: u64) -> Result<(), Fault> {
        let at = self.new;
        if self.ahead(2) != [0xeb, 5] {
            return self.target(seen, at, target, at + 2);
        }
        self.skip(2)?;
        self.next()?;
        let copied = self.decoded.near_branch_target();
        if self.decoded.is_jmp_near() { self.target(seen, at, target, copied) } else { Err(self.fault("no jump")) }
    }

    /// The opposite condition over what is inserted and a jump; `loop`, `jrcxz` and `xbegin` over a jump over that.
    fn taken_side(&mut self, seen: &mut Seen, original: &Instruction, leaves: bool) -> Result<(), Fault> {
        let fault = self.fault("the taken side of a branch is not as it should be");
        let mut over = self.decoded.near_branch_target();
        if original.is_jcc_short_or_near() {
            let mut opposite = *original;
            opposite.negate_condition_code();
            if !self.decoded.is_jcc_short_or_near() || self.decoded.condition_code() != opposite.condition_code() {
                return Err(fault);
            }
        } else {
            if self.decoded.mnemonic() != original.mnemonic() || self.decoded.len() != original.len() {
                return Err(fault);
            }
            let side = over;
            self.next()?;
            if !self.decoded.is_jmp_short_or_near() || self.new != side {
                return Err(fault);
            }
            over = self.decoded.near_branch_target();
        }
        let has_exit = self.pass(seen, |slot| slot == Slot::Taken)?;
        self.old = original.next_ip();
        let at = self.next()?;
        let copied = self.decoded.near_branch_target();
        if !self.decoded.is_jmp_near() || self.new != over || has_exit != (leaves && self.wants_exit()) {
            return Err(fault);
        }
        if has_exit {
            seen.left(self.new);
        }
        self.target(seen, at, original.near_branch_target(), copied)
    }

    /// Compares the target of a jump with the original's.
    pub(super) fn target(&self, seen: &mut Seen, at: u64, original: u64, copied: u64) -> Result<(), Fault> {
        if self.walk.is_inside(self.copy, original) {
            seen.branches.push((at, original, copied));
            return Ok(());
        }
        self.outwards(at, (original, copied), "a jump goes elsewhere than the original's")
    }

    /// What leaves the function goes to the moved entry of another one, or to code that was not moved.
    fn outwards(&self, at: u64, (original, copied): (u64, u64), elsewhere: &'static str) -> Result<(), Fault> {
        let moved = self.walk.moved.get(&original);
        if copied != moved.copied().unwrap_or(original) {
            return Err(Fault::new(at, elsewhere));
        }
        let is_left = moved.is_none() && self.walk.bodies.are_run_from(original);
        if is_left { Err(Fault::new(at, "it leads to where a moved function was, and to no entry of it")) } else { Ok(()) }
    }
}
