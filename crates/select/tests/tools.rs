//! Lists that are written, given to the tools that they are for.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Analysed, compiled_by, run};
use tare_select::lists::{ListFormat, listed};

/// Functions whose names are parts of others, are overloaded, are templates.
const SOURCE: &str = r#"
namespace ns {
struct Box { int value; int get() const; int get(int) const; template <class A> A as() const { return static_cast<A>(value); } };
int Box::get() const { return value; }
int Box::get(int more) const { return value + more; }
int step(int a) { return a + 1; }
int step_back(int a) { return a - 1; }
}
extern "C" int plain(int a) { return a; }
extern "C" int plain_too(int a) { return a; }
int main(int argc, char **) {
    ns::Box box{argc};
    return box.get() + box.get(2) + box.as<long>() + ns::step(1) + ns::step_back(2) + plain(3) + plain_too(4) == 0;
}
"#;

/// Functions whose names GCC spells otherwise than demanglers.
const SPELLED: &str = r#"
template <class A> struct Plain {};
template <class A, class B = Plain<A>> struct Row {
    A first; Row(A a) : first(a) {} ~Row() { first = 0; } A get() const; A put(A a); operator Plain<A>() const; bool operator<(const Row &) const;
};
template <class A, class B> A Row<A, B>::get() const { return first; }
template <class A, class B> A Row<A, B>::put(A a) { return first = a; }
template <class A, class B> Row<A, B>::operator Plain<A>() const { return {}; }
template <class A, class B> bool Row<A, B>::operator<(const Row &other) const { return first < other.first; }
namespace { int hidden(int a) { return a + 1; } struct Inner { int deep(int a) { return a * 2; } }; }
namespace ns { namespace { int nested(int a) { return a + 5; } } int calls(int a) { return nested(a); } }
int outer(Plain<int>, int a) { struct Local { int inside(int b) { return b; } }; return Local().inside(a); }
int main(int argc, char **) {
    Row<int> row{argc}; Row<long> other{argc}; struct Mine { int own(int b) { return b; } };
    auto lambda = [&](int a) { return a + argc; };
    Plain<int> plain = row;
    return row.get() + row.put(2) + other.get() + (row < row) + hidden(1) + Inner().deep(2) + ns::calls(3) + outer(plain, 3) + lambda(1) + Mine().own(2);
}
"#;

/// Functions whose names hold what means something in expressions: to Clang, lambdas are `$_0` and so on.
const DOLLARS: &str = r#"
extern "C" int cost$(int a) { return a; }
extern "C" int cost$more(int a) { return a + 1; }
extern "C" int dotted(int) __asm__("_ZN6dotted.part.0+1");
extern "C" int dotted(int a) { return a + 2; }
extern "C" int starred(int) __asm__("_ZN7starred.(*T).run[x|y]{3}=^?");
extern "C" int starred(int a) { return a + 3; }
int first(int a) { auto one = [](int b) { return b + 1; }; auto two = [&](int b) { return b + a; }; return one(a) + two(2); }
int second(int a) { auto one = [](int b) { return b * 2; }; auto two = [](auto b) { return b * 3; }; return one(a) + two(2) + two(3L); }
int main(int argc, char **) { return first(argc) + second(argc) + cost$(1) + cost$more(2) + dotted(3) + starred(4); }
"#;

/// Which functions of assembly code have a line with this in it.
fn with(assembly: &str, mark: &str) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    let mut current = String::new();
    for line in assembly.lines() {
        if let Some(label) = line
            .split(':')
            .next()
            .map(|label| label.trim_matches('"'))
            .filter(|label| line.contains(':') && !label.starts_with(['.', '#', '\t', ' ']) && !label.is_empty())
        {
            current = label.to_string();
            found.entry(current.clone()).or_insert(false);
        }
        if line.contains(mark) && !current.is_empty() {
            found.insert(current.clone(), true);
        }
    }
    found
}

/// Writes the list for every second function, compiles with it, and compares what was instrumented.
fn agrees(format: ListFormat, compiler: &str, source: &str, compile: &dyn Fn(&Path) -> BTreeMap<String, bool>) {
    let bytes = compiled_by(compiler, &[("app.cpp", source)], &["-O0"]);
    let analysed = Analysed::of(&bytes);
    for remainder in 0..2 {
        let mut functions = listed(&analysed.program, &analysed.choose(&[]));
        functions.retain(|function| source.contains(function.raw.as_str()) || function.raw.starts_with("_ZN") || function.raw.starts_with("_ZZ"));
        functions.iter_mut().enumerate().for_each(|(index, function)| function.is_selected = index % 2 == remainder);
        let written = format.write(&functions).expect("a format that is written");
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("app.cpp"), source).expect("a source file");
        std::fs::write(directory.path().join("list"), &written.text).expect("a list");
        let instrumented = compile(directory.path());
        let mut more = 0;
        for function in &functions {
            // In assembly code the whole object's constructor is another name of the one of a base.
            let of_base = || function.raw.replace("C1E", "C2E").replace("D1E", "D2E");
            let found = instrumented.get(&function.raw).or_else(|| instrumented.get(&of_base()));
            let has_hook = *found.unwrap_or_else(|| panic!("{} is not in {instrumented:?}", function.raw));
            assert!(has_hook || !function.is_selected, "{} is selected and has no hook:\n{}", function.raw, written.text);
            more += usize::from(has_hook && !function.is_selected);
        }
        assert_eq!(more, written.inexact, "{}", written.text);
        assert!(functions.len() >= 8 && more <= 4, "{functions:?}");
    }
}

#[test]
fn gcc_puts_no_hooks_into_what_its_list_excludes() {
    for source in [SOURCE, SPELLED] {
        agrees(ListFormat::Gcc, "g++", source, &|directory| {
            run(directory, "g++", &["-O0", "@list", "-S", "-o", "app.s", "app.cpp"]);
            with(&std::fs::read_to_string(directory.join("app.s")).expect("assembly code"), "__cyg_profile_func_enter")
        });
    }
}

#[test]
fn clang_puts_sleds_into_what_its_list_asks_for() {
    for source in [SOURCE, SPELLED, DOLLARS] {
        agrees(ListFormat::XRay, "clang++", source, &|directory| {
            run(directory, "clang++", &["-O0", "-fxray-instrument", "-fxray-attr-list=list", "-S", "-o", "app.s", "app.cpp"]);
            with(&std::fs::read_to_string(directory.join("app.s")).expect("assembly code"), ".Lxray_sled_")
        });
    }
}
