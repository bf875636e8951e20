//! From the names of functions in snippets to functions of the program and of libraries.

use std::collections::{BTreeMap, BTreeSet};

use tare_code::Program;
use tare_image::{Image, Kind};

use crate::adapter::probes::Subject;
use crate::adapter::{Adapter, Alternative, Level, Point, Snippet};
use crate::snippet::check::{Argument, Checked, Invocation, Scope, Step, Value, check};
use crate::snippet::proof::{Small, prove};
use crate::snippet::{AdapterError, Place, Problem};

/// What is known of the libraries that the program will load.
#[derive(Clone, Copy, Default)]
pub struct Libraries<'a> {
    /// In the order in which the loader searches them.
    pub images: &'a [Image<'a>],
    /// Whether these are all: a function that none of them has does not exist then.
    pub are_all: bool,
}

/// Where a function is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found<'a> {
    /// In the program, by its link address.
    Own(u64),
    /// In a library, with what could be found out about it.
    Imported(Option<Small<'a>>),
    /// In none of the libraries that are at hand: in another one, if it exists.
    Unseen,
}

/// A snippet that is ready to be compiled.
pub(crate) struct Ready {
    pub(crate) point: Point,
    pub(crate) checked: Checked,
}

/// All that the snippets of an adapter refer to.
pub(crate) struct Linked<'a> {
    pub(crate) functions: BTreeMap<String, Found<'a>>,
    /// `__errno_location`, where there is one and something is called: also a function that a proof was made for may be
    /// another one when the program runs.
    pub(crate) errno: Option<Found<'a>>,
    /// Texts that are the same for all regions.
    pub(crate) texts: BTreeSet<String>,
    pub(crate) snippets: Vec<Ready>,
    /// Of each alternative.
    pub(crate) alternatives: Vec<Vec<Ready>>,
    /// Whether a loader will be there.
    pub(crate) is_dynamic: bool,
}

/// Checks all snippets and finds the functions that they call.
pub(crate) fn link<'a>(adapter: &Adapter, subject: Subject<'a>) -> Result<Linked<'a>, AdapterError> {
    let Subject { image, program, path, libraries, .. } = subject;
    let is_dynamic = image.kind() == Kind::SharedLibrary || !image.dynamic().needed().is_empty() || image.interpreter().is_some();
    if let Some(library) = adapter.libraries.first().filter(|_| !is_dynamic) {
        return Err(AdapterError::new(library.place, Problem::StaticDependency(library.name.clone())));
    }
    let mut linker = Linker { image, program, libraries, is_dynamic, functions: BTreeMap::new(), texts: BTreeSet::new() };
    let mut read = |level: Level, snippets: &[Snippet], alternative: Option<&Alternative>| {
        let ready = |snippet: &Snippet| {
            let of_region = alternative.map_or(&[][..], |one| &one.variables);
            let scope = Scope { level, point: snippet.point, of_region, global: &adapter.variables, must_nest: adapter.must_nest, path };
            let checked = check(&snippet.statements, scope)?;
            linker.steps(&checked.steps)?;
            Ok(Ready { point: snippet.point, checked })
        };
        snippets.iter().map(ready).collect::<Result<Vec<Ready>, AdapterError>>()
    };
    let snippets = read(Level::Adapter, &adapter.snippets, None)?;
    let alternatives = adapter.alternatives.iter().map(|one| read(one.level, &one.snippets, Some(one))).collect::<Result<_, _>>()?;
    let errno = if linker.functions.is_empty() { None } else { linker.find("__errno_location", Place::START).ok() };
    Ok(Linked { functions: linker.functions, errno, texts: linker.texts, snippets, alternatives, is_dynamic })
}

struct Linker<'a, 'b, 'data> {
    image: &'b Image<'data>,
    program: &'b Program,
    libraries: Libraries<'a>,
    is_dynamic: bool,
    functions: BTreeMap<String, Found<'a>>,
    texts: BTreeSet<String>,
}

impl<'a> Linker<'a, '_, '_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), AdapterError> {
        for step in steps {
            match step {
                Step::Store(_, _, value) => self.value(value)?,
                Step::Call(call) => self.call(call)?,
                Step::If(condition, then, otherwise) => {
                    self.value(condition)?;
                    self.steps(then)?;
                    self.steps(otherwise)?;
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Result<(), AdapterError> {
        match value {
            Value::Call(call) => self.call(call),
            Value::Unary(_, operand) => self.value(operand),
            Value::Chain(first, links) => {
                self.value(first)?;
                links.iter().try_for_each(|link| self.value(&link.1))
            }
            _ => Ok(()),
        }
    }

    fn call(&mut self, call: &Invocation) -> Result<(), AdapterError> {
        for argument in &call.arguments {
            match argument {
                Argument::Integer(value) => self.value(value)?,
                Argument::Text(template) => self.texts.extend(template.constant().map(str::to_owned)),
            }
        }
        if !self.functions.contains_key(&call.function) {
            let found = self.find(&call.function, call.place)?;
            self.functions.insert(call.function.clone(), found);
        }
        Ok(())
    }

    /// A function of the program comes first, as it does for the linker.
    fn find(&self, name: &str, place: Place) -> Result<Found<'a>, AdapterError> {
        let entered = |address: u64| self.program.function_entered_at(address).is_some();
        let own = self.image.symbols().iter().filter(|one| one.name == name && one.is_defined && one.is_function && !one.is_ifunc);
        let addresses: BTreeSet<u64> = own.map(|one| one.address).filter(|&address| entered(address)).collect();
        match addresses.first() {
            Some(&address) if addresses.len() == 1 => return Ok(Found::Own(address)),
            Some(_) => return Err(AdapterError::new(place, Problem::Ambiguous(name.to_owned()))),
            None => {}
        }
        if !self.is_dynamic {
            return Err(AdapterError::new(place, Problem::StaticFunction(name.to_owned())));
        }
        let missing = AdapterError::new(place, Problem::Function(name.to_owned()));
        let defines = |library: &&Image<'a>| library.dynamic_symbols().iter().any(|one| one.name == name && one.is_defined);
        match self.libraries.images.iter().find(defines) {
            Some(library) => Ok(Found::Imported(prove(library, name))),
            None if self.libraries.are_all => Err(missing),
            None => Ok(Found::Unseen),
        }
    }
}
