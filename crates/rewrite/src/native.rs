//! The probes of our own runtime: calls of stubs that lead through slots, as `tare_format::probe` agrees them.
//!
//! At a function's entry and exits flags are dead and nothing lies below the stack pointer: the site is a call and the
//! region's number. Inside a body the site steps over what may lie there, by so much that the stack pointer that the
//! runtime takes for the region's falls from region to region; and keeps the flags where they are read later.

use std::borrow::Cow;

use tare_format::probe::{region_step, slot_offset};

use crate::insertion::{Additions, Field, Inserted, Insertion, Place, Point, Probes, Routine, Value};

/// Bytes that a stub takes, padding included.
const STUB_SIZE: u32 = 32;
/// The stubs, in their order: name, and the slot that they lead through.
const STUBS: [(&str, u64); 5] = [
    ("tare_stub_enter", slot_offset::ENTER),
    ("tare_stub_enter_leaf", slot_offset::ENTER_LEAF),
    ("tare_stub_exit", slot_offset::EXIT),
    ("tare_stub_enter_region", slot_offset::ENTER_REGION),
    ("tare_stub_exit_region", slot_offset::EXIT_REGION),
];
const ENTER: u32 = 0;
const ENTER_LEAF: u32 = 1;
const EXIT: u32 = 2;
const ENTER_REGION: u32 = 3;
const EXIT_REGION: u32 = 4;

/// The probes of our own runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Native;

impl Probes for Native {
    fn additions(&self) -> Additions {
        let mut added = Additions::default();
        for (index, (name, slot)) in (0..).zip(STUBS) {
            let start = index * STUB_SIZE;
            added.code.extend(STUB);
            added.fields.extend(stub_fields(start, slot));
            added.routines.push(Routine { name: name.to_owned(), range: start..start + STUB_SIZE, frame: Vec::new() });
        }
        added
    }

    fn inserted(&self, _function: usize, places: &[Place]) -> Inserted {
        Inserted { insertions: places.iter().map(site).collect(), ..Inserted::default() }
    }
}

/// `cmpq $0, slot(%rip)`, `je` to the `ret`, `mov %rax, -16(%rsp)`, `mov id_base(%rip), %eax`, `jmp *slot(%rip)`, `ret`.
const STUB: [u8; STUB_SIZE as usize] = [
    0x48, 0x83, 0x3d, 0, 0, 0, 0, 0, 0x74, 17, 0x48, 0x89, 0x44, 0x24, 0xf0, 0x8b, 0x05, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0xc3, 0xcc, 0xcc, 0xcc,
    0xcc,
];

fn stub_fields(start: u32, slot: u64) -> [(u32, u8, Value); 3] {
    let slot = Value::Slots(slot as u32);
    [(start + 3, 5, slot), (start + 17, 4, Value::Slots(slot_offset::ID_BASE as u32)), (start + 23, 4, slot)]
}

fn site(place: &Place) -> Insertion {
    match place.point {
        Point::FunctionEnter if place.has_clean_copy => fixed(&LEAF_SITE, &LEAF_FIELDS),
        Point::FunctionEnter => fixed(&SITE, &ENTER_FIELDS),
        Point::FunctionExit => fixed(&SITE, &EXIT_FIELDS),
        point => region_site(if point.is_begin() { ENTER_REGION } else { EXIT_REGION }, place),
    }
}

const SITE: [u8; 10] = [0xe8, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0];
const ENTER_FIELDS: [Field; 2] = [call(1, ENTER), id(6)];
const EXIT_FIELDS: [Field; 2] = [call(1, EXIT), id(6)];
const LEAF_SITE: [u8; 16] = [0xe8, 0, 0, 0, 0, 0x0f, 0x82, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0];
const LEAF_FIELDS: [Field; 3] = [call(1, ENTER_LEAF), Field { at: 7, tail: 4, value: Value::CleanCopy }, id(12)];

const fn call(at: u16, stub: u32) -> Field {
    Field { at, tail: 4, value: Value::Routine(stub * STUB_SIZE) }
}

const fn id(at: u16) -> Field {
    Field { at, tail: 4, value: Value::Region }
}

const fn fixed(bytes: &'static [u8], fields: &'static [Field]) -> Insertion {
    Insertion { bytes: Cow::Borrowed(bytes), fields: Cow::Borrowed(fields), rows: Cow::Borrowed(&[]) }
}

/// `lea -step(%rsp), %rsp`, the site of an entry or exit, `lea step(%rsp), %rsp`; around the site `pushfq` and `popfq`
/// where flags are alive.
fn region_site(stub: u32, place: &Place) -> Insertion {
    const WORD: u32 = 8;
    let step = region_step(place.level, place.has_frame);
    let first = if place.flags_are_dead { step } else { step - WORD };
    let mut bytes = Vec::with_capacity(28);
    lea(&mut bytes, first.cast_signed().wrapping_neg());
    let mut rows = vec![(bytes.len() as u16, first)];
    if !place.flags_are_dead {
        bytes.push(0x9c);
        rows.push((bytes.len() as u16, step));
    }
    let at = bytes.len() as u16;
    bytes.extend(SITE);
    if !place.flags_are_dead {
        bytes.push(0x9d);
        rows.push((bytes.len() as u16, first));
    }
    lea(&mut bytes, first.cast_signed());
    rows.push((bytes.len() as u16, 0));
    Insertion { bytes: bytes.into(), fields: vec![call(at + 1, stub), id(at + 6)].into(), rows: rows.into() }
}

fn lea(bytes: &mut Vec<u8>, distance: i32) {
    bytes.extend([0x48, 0x8d, 0xa4, 0x24]);
    bytes.extend(distance.to_le_bytes());
}
