//! The bytes of probe sites and stubs, as `tare_format::probe` agrees them with the runtime.
//!
//! No instruction here moves the stack pointer, so that the unwind row of the surrounding code holds at
//! every one of them.

use tare_format::probe::{CALL_LENGTH, LEAF_SITE_LENGTH, SITE_LENGTH, slot_offset};

use crate::copies::SiteKind;

/// Bytes from the start of a leaf's site to the end of its `jc`.
pub(crate) const LEAF_BRANCH_END: usize = CALL_LENGTH + 6;

impl SiteKind {
    /// All kinds, in the order of their stubs.
    pub(crate) const ALL: [Self; 3] = [Self::Enter, Self::EnterLeaf, Self::Exit];

    /// Bytes of a site.
    pub(crate) const fn length(self) -> usize {
        match self {
            Self::Enter | Self::Exit => SITE_LENGTH,
            Self::EnterLeaf => LEAF_SITE_LENGTH,
        }
    }

    /// Where the 32-bit immediate with the region's number begins.
    pub(crate) const fn id_at(self) -> usize {
        self.length() - 4
    }

    /// A site with its address-dependent fields left at zero.
    pub(crate) const fn template(self) -> &'static [u8] {
        match self {
            Self::Enter | Self::Exit => &[0xe8, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0],
            Self::EnterLeaf => &[0xe8, 0, 0, 0, 0, 0x0f, 0x82, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0],
        }
    }

    const fn slot(self) -> u64 {
        match self {
            Self::Enter => slot_offset::ENTER,
            Self::EnterLeaf => slot_offset::ENTER_LEAF,
            Self::Exit => slot_offset::EXIT,
        }
    }

    /// The name of the stub's symbol.
    pub(crate) const fn stub_name(self) -> &'static str {
        match self {
            Self::Enter => "tare_stub_enter",
            Self::EnterLeaf => "tare_stub_enter_leaf",
            Self::Exit => "tare_stub_exit",
        }
    }
}

/// Bytes that a stub takes, padding included.
pub(crate) const STUB_SIZE: u64 = 32;
/// Bytes of all stubs.
pub(crate) const STUBS_SIZE: u64 = STUB_SIZE * SiteKind::ALL.len() as u64;

/// Where the stub of a kind is, relative to the first one.
pub(crate) const fn stub_offset(kind: SiteKind) -> u64 {
    match kind {
        SiteKind::Enter => 0,
        SiteKind::EnterLeaf => STUB_SIZE,
        SiteKind::Exit => 2 * STUB_SIZE,
    }
}

/// The three stubs, for code at `address` and slots at `slots`. `None` where they are too far apart.
pub(crate) fn stubs(address: u64, slots: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(STUBS_SIZE as usize);
    for kind in SiteKind::ALL {
        bytes.extend(stub(address + stub_offset(kind), slots, kind)?);
    }
    Some(bytes)
}

fn stub(address: u64, slots: u64, kind: SiteKind) -> Option<[u8; STUB_SIZE as usize]> {
    let mut bytes = [0xcc_u8; STUB_SIZE as usize];
    let mut at = 0;
    let mut put = |part: &[u8], target: Option<(usize, u64)>| -> Option<()> {
        let end = at + part.len();
        bytes.get_mut(at..end)?.copy_from_slice(part);
        if let Some((field, target)) = target {
            let displacement = displacement(target, address + end as u64)?;
            bytes.get_mut(at + field..at + field + 4)?.copy_from_slice(&displacement);
        }
        at = end;
        Some(())
    };
    let slot = slots + kind.slot();
    put(&[0x48, 0x83, 0x3d, 0, 0, 0, 0, 0], Some((3, slot)))?; // cmpq $0, slot(%rip)
    put(&[0x74, 17], None)?; // je to the ret
    put(&[0x48, 0x89, 0x44, 0x24, 0xf0], None)?; // mov %rax, -16(%rsp)
    put(&[0x8b, 0x05, 0, 0, 0, 0], Some((2, slots + slot_offset::ID_BASE)))?; // mov id_base(%rip), %eax
    put(&[0xff, 0x25, 0, 0, 0, 0], Some((2, slot)))?; // jmp *slot(%rip)
    put(&[0xc3], None)?; // ret
    Some(bytes)
}

/// The 32-bit displacement from the end of an instruction to its target.
pub(crate) fn displacement(target: u64, end: u64) -> Option<[u8; 4]> {
    let distance = target.wrapping_sub(end).cast_signed();
    i32::try_from(distance).ok().map(i32::to_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_is_what_the_agreement_says() {
        let bytes = stub(0x1000, 0x3000, SiteKind::Exit).expect("near");
        let expected = [
            0x48, 0x83, 0x3d, 0x08, 0x20, 0, 0, 0, // slot at 0x3010, from 0x1008
            0x74, 17, 0x48, 0x89, 0x44, 0x24, 0xf0, // jump over 17 bytes
            0x8b, 0x05, 0x03, 0x20, 0, 0, // id base at 0x3018, from 0x1015
            0xff, 0x25, 0xf5, 0x1f, 0, 0, // slot, from 0x101b
            0xc3,
        ];
        assert_eq!(bytes.get(..28), Some(&expected[..]));
    }

    #[test]
    fn what_is_too_far_is_said() {
        assert_eq!(displacement(0, 0x8000_0000), Some([0, 0, 0, 0x80]));
        assert_eq!(displacement(0, 0x8000_0001), None);
    }
}
