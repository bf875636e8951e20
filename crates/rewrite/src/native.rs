//! The probes of our own runtime: calls of stubs that lead through slots, as `tare_format::probe` agrees them.
//!
//! At a function's entry and exits flags are dead and nothing lies below the stack pointer: the site is a call and the
//! region's number. Inside a body the site steps over what may lie there, by so much that the stack pointer that the
//! runtime takes for the region's falls from region to region; and keeps the flags where they are read later.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, OpKind, Register};
use tare_format::probe::{SLOTS_SIZE, region_step, stubs};

use crate::insertion::{Additions, Field, Inserted, Insertion, Place, Point, Probes, Routine, Value};
use crate::unwind::frames::Rows;

/// The names of the stubs, in their order.
const NAMES: [&str; 5] = ["tare_stub_enter", "tare_stub_enter_leaf", "tare_stub_exit", "tare_stub_enter_region", "tare_stub_exit_region"];
const ENTER: usize = 0;
const ENTER_LEAF: usize = 1;
const EXIT: usize = 2;
const ENTER_REGION: usize = 3;
const EXIT_REGION: usize = 4;

/// The probes of our own runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Native;

impl Probes for Native {
    fn additions(&self) -> Additions {
        let code = stubs().bytes[SLOTS_SIZE as usize..].to_vec();
        let starts: [u32; 5] = std::array::from_fn(start_of);
        let ends = starts.into_iter().skip(1).chain([code.len() as u32]);
        let frame = |start: u32, end: u32| frame_of(&code[start as usize..end as usize]);
        let routine = |((name, start), end): ((&str, u32), u32)| Routine { name: name.to_owned(), range: start..end, frame: frame(start, end) };
        let routines = NAMES.into_iter().zip(starts).zip(ends).map(routine).collect();
        Additions { fields: fields_of(&code), code, routines, stubs: starts.to_vec(), ..Additions::default() }
    }

    fn inserted(&self, _function: usize, places: &[Place]) -> Inserted {
        Inserted { insertions: places.iter().map(site).collect(), ..Inserted::default() }
    }
}

/// Where a stub begins in the code of them all.
fn start_of(stub: usize) -> u32 {
    stubs().starts[stub] - SLOTS_SIZE as u32
}

/// What of the stubs refers to the slots, which stand in front of them.
fn fields_of(code: &[u8]) -> Vec<(u32, u8, Value)> {
    let mut decoder = Decoder::with_ip(64, code, SLOTS_SIZE, DecoderOptions::NONE);
    let mut fields = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_ip_rel_memory_operand() {
            let at = decoder.get_constant_offsets(&instruction).displacement_offset();
            let place = instruction.ip() - SLOTS_SIZE + at as u64;
            fields.push((place as u32, (instruction.len() - at) as u8, Value::Slots(instruction.ip_rel_memory_address() as u32)));
        }
    }
    fields
}

/// The rows of a stub, which calls parts of itself with its stack pointer lowered.
fn frame_of(stub: &[u8]) -> Vec<u8> {
    const RETURN_ADDRESS: i64 = 8;
    let mut rows = Rows::default();
    // How far below its place at the start the stack pointer is where something is jumped or called to.
    let mut lowered_at = BTreeMap::new();
    let (mut told, mut falls_through) = (0, Some(0));
    for instruction in &mut Decoder::with_ip(64, stub, 0, DecoderOptions::NONE) {
        let lowered = falls_through.or_else(|| lowered_at.get(&instruction.ip()).copied()).unwrap_or(0);
        if lowered != told {
            rows.cfa_offset(instruction.ip() as u32, (RETURN_ADDRESS + lowered).cast_unsigned());
            told = lowered;
        }
        let by_lea = if instruction.code() == Code::Lea_r64_m && instruction.op0_register() == Register::RSP {
            instruction.memory_displacement64().cast_signed()
        } else {
            0
        };
        let pushed = if instruction.flow_control() == FlowControl::Call { RETURN_ADDRESS } else { 0 };
        if instruction.op0_kind() == OpKind::NearBranch64 {
            lowered_at.entry(instruction.near_branch_target()).or_insert(lowered + pushed);
        }
        let goes_on = matches!(instruction.flow_control(), FlowControl::Next | FlowControl::Call | FlowControl::ConditionalBranch);
        falls_through = goes_on.then_some(lowered - by_lea);
    }
    rows.bytes
}

fn site(place: &Place) -> Insertion {
    match place.point {
        Point::FunctionEnter if place.has_clean_copy => fixed(&LEAF_SITE, &*LEAF_FIELDS),
        Point::FunctionEnter => fixed(&SITE, &*ENTER_FIELDS),
        Point::FunctionExit => fixed(&SITE, &*EXIT_FIELDS),
        point => region_site(if point.is_begin() { ENTER_REGION } else { EXIT_REGION }, place),
    }
}

const SITE: [u8; 10] = [0xe8, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0];
const LEAF_SITE: [u8; 16] = [0xe8, 0, 0, 0, 0, 0x0f, 0x82, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0];
static ENTER_FIELDS: LazyLock<[Field; 2]> = LazyLock::new(|| [call(1, ENTER), id(6)]);
static EXIT_FIELDS: LazyLock<[Field; 2]> = LazyLock::new(|| [call(1, EXIT), id(6)]);
static LEAF_FIELDS: LazyLock<[Field; 3]> = LazyLock::new(|| [call(1, ENTER_LEAF), Field { at: 7, tail: 4, value: Value::CleanCopy }, id(12)]);

fn call(at: u16, stub: usize) -> Field {
    Field { at, tail: 4, value: Value::Routine(start_of(stub)) }
}

const fn id(at: u16) -> Field {
    Field { at, tail: 4, value: Value::Region }
}

fn fixed(bytes: &'static [u8], fields: &'static [Field]) -> Insertion {
    Insertion { bytes: Cow::Borrowed(bytes), fields: Cow::Borrowed(fields), rows: Cow::Borrowed(&[]) }
}

/// `lea -step(%rsp), %rsp`, the site of an entry or exit, `lea step(%rsp), %rsp`; around the site `pushfq` and `popfq`
/// where flags are alive.
fn region_site(stub: usize, place: &Place) -> Insertion {
    const WORD: u32 = 8;
    let step = region_step(place.level, place.has_frame) + place.raised;
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

#[cfg(test)]
mod tests {
    use super::{Native, Probes, Value, frame_of};
    use tare_format::probe::slot_offset;

    #[test]
    fn unwinders_know_where_a_stub_has_lowered_the_stack_pointer() {
        // lea -128(%rsp), %rsp; call 1f; lea 128(%rsp), %rsp; ret; 1: nop; call 2f; ret; int3; 2: ret
        let stub = [
            &[0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 9, 0, 0, 0, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0, 0xc3][..],
            &[0x90, 0xe8, 2, 0, 0, 0, 0xc3, 0xcc, 0xc3],
        ];
        let cfa = |offset: u64| {
            let mut row = vec![0x0e];
            crate::unwind::leb::write_unsigned(&mut row, offset);
            row
        };
        let advance = |by: u8| vec![0x40 | by];
        let expected = [advance(5), cfa(136), advance(13), cfa(8), advance(1), cfa(144), advance(7), cfa(8), advance(1), cfa(152)];
        assert_eq!(frame_of(&stub.concat()), expected.concat());
    }

    /// With zeros between them, one stub tested a word that was none of its slots.
    #[test]
    fn each_stub_tests_its_own_slot_first() {
        let additions = Native.additions();
        let slots = [slot_offset::ENTER, slot_offset::ENTER_LEAF, slot_offset::EXIT, slot_offset::ENTER_REGION, slot_offset::EXIT_REGION];
        for (routine, slot) in additions.routines.iter().zip(slots) {
            let start = routine.range.start;
            assert_eq!(additions.code.get(start as usize..start as usize + 3), Some([0x48, 0x83, 0x3d].as_slice()), "{}", routine.name);
            let tested = additions.fields.iter().find(|(at, _, _)| *at == start + 3);
            assert!(matches!(tested, Some((_, 5, Value::Slots(tested))) if u64::from(*tested) == slot), "{}", routine.name);
            let last = additions.fields.iter().rfind(|(at, _, _)| routine.range.contains(at));
            assert!(matches!(last, Some((_, 4, Value::Slots(last))) if u64::from(*last) == slot), "{}", routine.name);
        }
    }
}
