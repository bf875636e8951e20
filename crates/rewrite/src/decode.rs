//! From a function's instructions to what moving them takes.
//!
//! Instructions are copied byte by byte; of each, at most one field is ever patched. Which flow an instruction
//! has is the analysis' word; here it becomes the form of its copy.

use std::ops::Range;

use tare_code::{Body, ENDBR64, Flow, Function, Instruction, Operand, Refusal, TableForm, saves_frame};
use tare_image::{Image, Kind};

use crate::addresses::AddressMap;
use crate::points::Placed;
use crate::reason::Reason;

/// How an instruction is copied; most are not even listed, since they are copied as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As it stands: something is inserted at it.
    Plain,
    /// With a displacement from its end, or an address, in the field.
    Memory { field: u8, what: Reference },
    /// A call with a 32-bit displacement at its end.
    Call,
    /// A jump with a 32-bit displacement at its end.
    Near { condition: Option<u8> },
    /// A jump with an 8-bit displacement at its end.
    Short { condition: Option<u8> },
    /// `loop`, `jrcxz`: 8-bit displacements only.
    Counter,
    /// `xbegin`, with a 32-bit displacement at its end: where the transaction fails control goes on there.
    Transaction,
}

/// What the memory field of an instruction refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// The link address in [`Item::target`], relative to the end of the instruction.
    Data,
    /// A jump table, relative to the end of the instruction.
    Table(u32),
    /// A jump table, by its address.
    AbsoluteTable(u32),
    /// An instruction of the same copy: where a frame that is saved is gone on with.
    Label,
}

/// An instruction on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Offset in its part.
    pub(crate) at: u32,
    pub(crate) length: u8,
    pub(crate) form: Form,
    /// Whether its branch leaves the function.
    pub(crate) is_exit: bool,
    /// Whether control may come here from the instruction in front, or from outside of the part.
    pub(crate) is_fallen_into: bool,
    /// Whether it is an [`ENDBR64`].
    pub(crate) is_mark: bool,
    /// Link address that it refers to, if it does.
    pub(crate) target: u64,
    /// What is inserted here, as indices into all places of the function.
    pub(crate) places: (u32, u32),
}

impl Item {
    /// Offset behind it in its part.
    pub(crate) const fn end(&self) -> u32 {
        self.at + self.length as u32
    }
}

/// One part of a function.
pub(crate) struct Part<'data> {
    pub(crate) range: Range<u64>,
    pub(crate) bytes: &'data [u8],
    /// What cannot be copied as it stands, in order.
    pub(crate) items: Vec<Item>,
    /// Of how many of them a field depends on addresses as long as they are copied as they are.
    pub(crate) fields: usize,
    /// Its instructions in the body.
    pub(crate) instructions: Range<usize>,
    /// Whether control may run over the end (a call that does not return, seldom more).
    pub(crate) runs_over: bool,
}

/// Bytes in which code compares where it came from: moves, `sar`, `cmp`.
const CHECK_LENGTH: u64 = 32;

/// The opcode of `lea`.
const LEA: u8 = 0x8d;

/// Instructions that hold the address of a table, or read its first entry where it stands: which table, and its address.
type References = AddressMap<(u32, u64)>;

/// Takes a function apart; the parts are in the function's order.
pub(crate) fn decode<'data>(image: &Image<'data>, function: &Function, body: &Body, placed: &[Placed]) -> Result<Vec<Part<'data>>, Reason> {
    let is_fixed = matches!(image.kind(), Kind::NonPie | Kind::Static);
    let context =
        Context { image, function, body, references: references(body), placed, is_fixed, may_hold_own: is_fixed && may_hold_own(image, function) };
    let own: Vec<&Instruction> = body.tied().filter(|one| context.names_own_code(one)).collect();
    if context.knows_where_it_goes(&own) {
        return Err(Reason::ReturnAddress);
    }
    if context.hands_out_labels(&own) || context.reads_entries() {
        return Err(Reason::LabelAddress);
    }
    function.parts.iter().zip(&body.parts).map(|(range, own)| context.part(range, own)).collect()
}

/// What all parts of a function are taken apart with.
struct Context<'a, 'data> {
    image: &'a Image<'data>,
    function: &'a Function,
    body: &'a Body,
    references: References,
    placed: &'a [Placed],
    /// Whether the program stays where it is linked: addresses may be numbers in its code.
    is_fixed: bool,
    /// Whether that may be so of the function's own addresses.
    may_hold_own: bool,
}

/// Whether four bytes of a function, or of what is close behind it, could be one of its addresses, wherever instructions begin:
/// where none could, none need be taken apart to see.
fn may_hold_own(image: &Image<'_>, function: &Function) -> bool {
    let holds = |part: &Range<u64>, own: &Range<u64>| {
        let bytes = image.bytes_at(part.start, part.end.saturating_sub(part.start) + CHECK_LENGTH);
        let size = u32::try_from(own.end.saturating_sub(own.start)).unwrap_or(u32::MAX);
        bytes.is_none_or(|bytes| holds_word(bytes, own.start as u32, size))
    };
    function.parts.iter().any(|part| function.parts.iter().any(|own| holds(part, own)))
}

/// Whether any four bytes are a number from `first` to so many above it. Every fourth word is looked at, four times, with no way
/// out in between: the compiler then takes several at once.
fn holds_word(bytes: &[u8], first: u32, above: u32) -> bool {
    (0..4).any(|from| {
        let (words, _) = bytes.get(from..).unwrap_or_default().as_chunks::<4>();
        words.iter().fold(false, |found, word| found | (u32::from_le_bytes(*word).wrapping_sub(first) <= above))
    })
}

fn references(body: &Body) -> References {
    let tables = || body.tables.iter().zip(0_u32..);
    let mut references: References =
        tables().flat_map(|(table, index)| table.references.iter().map(move |&at| (at, (index, table.address)))).collect();
    let firsts: References =
        tables().filter(|(table, _)| table.form == TableForm::Relative32).map(|(table, index)| (table.address, (index, table.address))).collect();
    if !firsts.is_empty() {
        references.extend(body.tied().filter_map(|one| match one.operand {
            Operand::RipRelative { target, .. } => Some((one.address, *firsts.get(&target)?)),
            _ => None,
        }));
    }
    references
}

impl<'data> Context<'_, 'data> {
    /// Whether an instruction names an address in the function relative to its own.
    fn names_own_code(&self, one: &Instruction) -> bool {
        matches!(one.operand, Operand::RipRelative { target, .. } if self.function.contains(target))
    }

    /// Whether the address of an instruction behind the entries is loaded (by one of those that name own code) or, in a program
    /// that stays where it is linked, a number: whoever gets it goes to the original, by ways that are not seen. What tables
    /// count from is loaded to be added to their entries.
    fn hands_out_labels(&self, own: &[&Instruction]) -> bool {
        let origins: Vec<u64> = self.body.tables.iter().filter_map(|table| table.form.origin(table.address)).collect();
        let is_entry = |address| address == self.function.entry || self.function.other_entries.contains(&address);
        let is_instruction = |address| self.body.instructions.iter().any(|one| one.address == address);
        let is_label = |address| !is_entry(address) && !origins.contains(&address) && is_instruction(address);
        let refers_to_table = |one: &Instruction| self.references.contains_key(&one.address);
        let loads_label = |one: &&Instruction| match one.operand {
            Operand::RipRelative { at, target } if !refers_to_table(one) && is_label(target) && !self.finds_data(one, target) => {
                if saves_frame(self.image, one.address) {
                    return false;
                }
                let opcode = u64::from(at).checked_sub(2).and_then(|at| self.image.bytes_at(one.address + at, 1));
                opcode == Some(&[LEA])
            }
            _ => false,
        };
        let holds_label = |one: &Instruction| self.number(one).is_some_and(|number| self.function.contains(number) && is_label(number));
        own.iter().any(loads_label) || self.may_hold_own && self.body.instructions.iter().any(|one| !refers_to_table(one) && holds_label(one))
    }

    /// Whether an instruction loads its own address for a number to be added to it that leads to data: so code of the large model
    /// finds the global offset table. What it gets in the copy is what it got in the original.
    fn finds_data(&self, one: &Instruction, target: u64) -> bool {
        let is_data = |address: u64| self.image.segment_at(address).is_some() && !self.image.is_code(address);
        let leads_to_data = |number: u64| is_data(target.wrapping_add(number));
        target == one.address && self.body.instructions.iter().filter(|one| one.length == 10).filter_map(|one| self.number(one)).any(leads_to_data)
    }

    /// Whether an instruction names one entry of a jump table and reads it where it stands: what it reads leads into the original.
    fn reads_entries(&self) -> bool {
        let tables = self.body.tables.iter().filter(|table| !matches!(table.form, TableForm::Code { .. }));
        let entries: Vec<Range<u64>> =
            tables.map(|table| table.address..table.address + table.form.entry_size() * table.reached().len() as u64).collect();
        let is_read = |one: &Instruction, named: u64| {
            entries.iter().any(|range| range.contains(&named)) && one.flow == Flow::Next && !self.references.contains_key(&one.address)
        };
        let relative = |one: &Instruction| matches!(one.operand, Operand::RipRelative { target, .. } if is_read(one, target));
        !entries.is_empty() && (self.body.tied().any(relative) || self.is_fixed && self.words().any(|(one, word)| is_read(one, word)))
    }

    /// The instructions that refer to nothing relative to themselves, with the four bytes at their end: an address without registers, if
    /// they have one.
    fn words(&self) -> impl Iterator<Item = (&Instruction, u64)> {
        self.function.parts.iter().zip(&self.body.parts).flat_map(|(range, own)| {
            let bytes = self.image.bytes_at(range.start, range.end.saturating_sub(range.start)).unwrap_or_default();
            let place = move |address: u64| (address - range.start) as usize;
            let word = move |one: &Instruction| bytes.get(place(one.address)..place(one.end()))?.last_chunk().copied().map(u32::from_le_bytes);
            let fixed = self.body.instructions.get(own.clone()).unwrap_or_default().iter().filter(|one| one.operand == Operand::Fixed);
            fixed.filter_map(move |one| Some((one, u64::from(word(one)?))))
        })
    }

    /// The number that a `mov`, `push` or `lea` puts somewhere; it ends the instruction.
    fn number(&self, one: &Instruction) -> Option<u64> {
        let is_branch = matches!(one.operand, Operand::Branch { .. });
        if is_branch || one.flow != Flow::Next || one.length < 5 {
            return None;
        }
        let bytes = self.image.bytes_at(one.address, u64::from(one.length))?;
        let rest = bytes.get(usize::from(matches!(bytes.first(), Some(0x40..=0x4f)))..)?;
        match (*rest.first()?, rest.len()) {
            (0xb8..=0xbf, 9) => Some(u64::from_le_bytes(*bytes.last_chunk()?)),
            (LEA, _) if one.operand != Operand::Fixed => None,
            (0xb8..=0xbf | 0xc7 | 0x68 | LEA, _) => Some(u64::from(u32::from_le_bytes(*bytes.last_chunk()?))),
            _ => None,
        }
    }

    /// Whether code has the address behind one of its calls, to compare it with what the call left on the stack
    /// (`-mspeculative-load-hardening`): loaded, or in what follows in a program that stays where it is linked. There it is
    /// the same with where a jump table leads.
    fn knows_where_it_goes(&self, own: &[&Instruction]) -> bool {
        let is_call = |one: &&Instruction| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall);
        let returns_to = |address| self.body.tied().filter(is_call).any(|one| one.end() == address);
        let loads_it = |one: &&Instruction| match one.operand {
            Operand::RipRelative { target, .. } => target != one.address && returns_to(target),
            _ => false,
        };
        if own.iter().any(loads_it) {
            return true;
        }
        let names_itself = |address: u64| {
            let bytes = self.image.bytes_at(address, CHECK_LENGTH).unwrap_or_default();
            u32::try_from(address).is_ok_and(|address| bytes.windows(4).any(|word| word == address.to_le_bytes()))
        };
        let mut returns = self.body.tied().filter(is_call).map(Instruction::end);
        let mut reached = self.body.tables.iter().flat_map(|table| table.reached()).copied();
        self.may_hold_own && returns.any(names_itself) || self.is_fixed && reached.any(names_itself)
    }

    /// Takes apart what is in a range, which the instructions with these indices fill.
    fn part(&self, range: &Range<u64>, own: &Range<usize>) -> Result<Part<'data>, Reason> {
        let length = range.end.saturating_sub(range.start);
        let bytes = self.image.bytes_at(range.start, length).ok_or(Reason::Analysis(Refusal::OutsideText))?;
        let code = self.body.instructions.get(own.clone()).unwrap_or_default();
        let last = code.last().filter(|last| last.end() == range.end).ok_or(Reason::Analysis(Refusal::Undecodable))?;
        let mut places = Places::of(self.placed, range);
        let listed = self.listed(own, places.addresses(range));
        let mut items = Vec::with_capacity(listed.len());
        let mut fields = 0;
        for index in listed {
            let Some(one) = code.get(index) else { continue };
            let before = index.checked_sub(1).and_then(|before| code.get(before)).map_or(Flow::Next, |before| before.flow);
            let at = usize::try_from(one.address - range.start).map_err(|_| Reason::TooLarge)?;
            let bytes = bytes.get(at..at + usize::from(one.length)).ok_or(Reason::StrayBranch)?;
            let item = self.with_label(item(self.function, one, at, bytes, &self.references)?, one);
            let stays = !item.is_exit & range.contains(&item.target);
            fields += usize::from(match item.form {
                Form::Call | Form::Memory { .. } => true,
                Form::Near { .. } | Form::Transaction => !stays,
                Form::Plain | Form::Short { .. } | Form::Counter => false,
            });
            let places = places.at(one.address);
            if item.form != Form::Plain || places.0 != places.1 {
                items.push(Item { is_fallen_into: may_run_over(before), places, ..item });
            }
        }
        Ok(Part { range: range.clone(), bytes, items, fields, instructions: own.clone(), runs_over: may_run_over(last.flow) })
    }

    /// The item of an instruction, which leads into the copy where it loads the address at which a saved frame is gone on with.
    fn with_label(&self, item: Item, one: &Instruction) -> Item {
        match item.form {
            Form::Memory { field, what: Reference::Data } if self.function.contains(item.target) && saves_frame(self.image, one.address) => {
                Item { form: Form::Memory { field, what: Reference::Label }, ..item }
            }
            _ => item,
        }
    }

    /// The instructions of a part that cannot be copied as they stand, in order, counted from its first: those that depend on where they
    /// are, those that hold the address of a table, and those at which something is inserted.
    fn listed(&self, own: &Range<usize>, places: impl Iterator<Item = u64>) -> Vec<usize> {
        let code = self.body.instructions.get(own.clone()).unwrap_or_default();
        let index = |address| code.binary_search_by_key(&address, |one| one.address).ok();
        let first = self.body.tied.partition_point(|&index| (index as usize) < own.start);
        let tied = self.body.tied.get(first..).unwrap_or_default().iter().map(|&index| index as usize).take_while(|&index| index < own.end);
        let is_left = |index: &usize| code.get(*index).is_none_or(|one| one.flow != Flow::Next || one.operand != Operand::Fixed);
        let mut others: Vec<usize> = places.chain(self.references.keys().copied()).filter_map(index).filter(|index| !is_left(index)).collect();
        others.sort_unstable();
        others.dedup();
        let mut others = others.into_iter().peekable();
        let mut listed = Vec::with_capacity(self.body.tied.len() + others.len());
        for index in tied.map(|index| index - own.start) {
            while let Some(other) = others.next_if(|&other| other < index) {
                listed.push(other);
            }
            listed.push(index);
        }
        listed.extend(others);
        listed
    }
}

/// The places of a part, taken in the order of their addresses.
struct Places<'a> {
    placed: &'a [Placed],
    next: usize,
}

impl<'a> Places<'a> {
    fn of(placed: &'a [Placed], range: &Range<u64>) -> Self {
        Self { placed, next: placed.iter().position(|one| range.contains(&one.at)).unwrap_or(placed.len()) }
    }

    /// Where something is inserted in the part, from the next place on.
    fn addresses(&self, range: &Range<u64>) -> impl Iterator<Item = u64> {
        self.placed.get(self.next..).unwrap_or_default().iter().map(|one| one.at).take_while(|at| range.contains(at))
    }

    /// First and last index, the last not included, of what is inserted at an instruction.
    fn at(&mut self, address: u64) -> (u32, u32) {
        let first = self.next;
        let own = self.placed.get(first..).unwrap_or_default().iter().take_while(|one| one.at == address);
        self.next += own.count();
        (u32::try_from(first).unwrap_or(u32::MAX), u32::try_from(self.next).unwrap_or(u32::MAX))
    }
}

const fn may_run_over(flow: Flow) -> bool {
    matches!(flow, Flow::Next | Flow::Call { .. } | Flow::IndirectCall | Flow::Branch { .. } | Flow::BranchTailCall { .. })
}

fn item(function: &Function, one: &Instruction, at: usize, bytes: &[u8], references: &References) -> Result<Item, Reason> {
    let is_exit = match one.flow {
        // A tail call of itself is a loop.
        Flow::TailCall { target } | Flow::BranchTailCall { target } => !function.contains(target),
        Flow::UnknownJump => return Err(Reason::Analysis(Refusal::UnknownJump)),
        _ => false,
    };
    let table = if references.is_empty() { None } else { references.get(&one.address).copied() };
    let (form, target) = match (one.operand, table) {
        (Operand::Branch { target }, _) => (branch(bytes).ok_or(Reason::StrayBranch)?, target),
        (Operand::RipRelative { at, target }, Some((table, _))) => (Form::Memory { field: at, what: Reference::Table(table) }, target),
        (Operand::RipRelative { at, target }, None) => (Form::Memory { field: at, what: Reference::Data }, target),
        (Operand::Fixed, Some((table, address))) => {
            let field = word(bytes, address).ok_or(Reason::TableReference)?;
            (Form::Memory { field, what: Reference::AbsoluteTable(table) }, address)
        }
        (Operand::Fixed, None) => (Form::Plain, 0),
    };
    let at = u32::try_from(at).map_err(|_| Reason::TooLarge)?;
    Ok(Item { at, length: one.length, form, is_exit, is_fallen_into: false, is_mark: bytes == ENDBR64, target, places: (0, 0) })
}

/// Where an instruction holds an address of 32 bits; `None` where it does not, or more than once.
fn word(bytes: &[u8], address: u64) -> Option<u8> {
    let address = u32::try_from(address).ok()?.to_le_bytes();
    let mut places = bytes.windows(4).enumerate().skip(1).filter(|(_, window)| *window == address);
    let (place, _) = places.next()?;
    if places.next().is_some() { None } else { u8::try_from(place).ok() }
}

/// The form of a direct branch, by its opcode behind the prefixes.
fn branch(bytes: &[u8]) -> Option<Form> {
    let is_prefix = |byte: &&u8| matches!(**byte, 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf2 | 0xf3 | 0x40..=0x4f);
    bare_branch(bytes).or_else(|| bare_branch(bytes.get(bytes.iter().take_while(is_prefix).count()..)?))
}

fn bare_branch(bytes: &[u8]) -> Option<Form> {
    Some(match *bytes {
        [0xeb, _] => Form::Short { condition: None },
        [code @ 0x70..=0x7f, _] => Form::Short { condition: Some(code & 0x0f) },
        [0xe0..=0xe3, _] => Form::Counter,
        [0xc7, 0xf8, _, _, _, _] => Form::Transaction,
        [0xe8, _, _, _, _] => Form::Call,
        [0xe9, _, _, _, _] => Form::Near { condition: None },
        [0x0f, code @ 0x80..=0x8f, _, _, _, _] => Form::Near { condition: Some(code & 0x0f) },
        _ => return None,
    })
}
