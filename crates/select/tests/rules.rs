//! What rules, conditions and properties make of a program.

mod common;

use std::sync::OnceLock;

use common::{Analysed, compiled};
use tare_select::{Filter, Snippet};

/// `main` → `outer` → `middle` → `inner` → `MPI_Send`; `table` calls `hidden` through a pointer, and `hidden` calls MPI.
const C: &str = r#"
extern "C" __attribute__((noinline)) int MPI_Send(int a) { return a + 1; }
extern "C" __attribute__((noinline)) int inner(int a) { return MPI_Send(a) + 1; }
extern "C" __attribute__((noinline)) int middle(int a) { return inner(a) + inner(a + 1); }
extern "C" __attribute__((noinline)) int outer(int a) { return middle(a) + 1; }
extern "C" __attribute__((noinline)) int hidden(int a) { return MPI_Send(a) * 3; }
int (*volatile table[1])(int) = {hidden};
extern "C" __attribute__((noinline)) int through(int a) { return table[0](a) + 1; }
extern "C" __attribute__((noinline)) int nest(volatile int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += p[i] * p[j];
    return sum;
}
namespace geo {
struct Shape { virtual ~Shape(); virtual int area() const; int scale; };
Shape::~Shape() {}
int Shape::area() const { return scale; }
__attribute__((noinline)) int total(const Shape &shape) { return shape.area() + 1; }
}
"#;
const MAIN: &str = r#"
extern "C" { int outer(int); int through(int); int nest(volatile int *, int); }
namespace geo { struct Shape { virtual ~Shape(); virtual int area() const; int scale; }; int total(const Shape &); }
int main(int argc, char **) {
    volatile int field[2] = {1, 2};
    geo::Shape shape;
    shape.scale = argc;
    return outer(argc) + through(argc) + nest(field, 2) + geo::total(shape) == 0;
}
"#;

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled(&[("work.cpp", C), ("start.cpp", MAIN)], &["-O1", "-g"]))
}

const OWN: [&str; 9] = ["MPI_Send", "inner", "middle", "outer", "hidden", "through", "nest", "main", "geo::"];

fn names(filters: &[&str]) -> Vec<String> {
    let filters: Vec<Filter> = filters.iter().map(|text| Filter::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))).collect();
    Analysed::of(program()).names(&filters, |name| OWN.iter().any(|own| name.starts_with(own)))
}

/// What a filter with one include rule lets in beside the main program.
fn included(condition: &str) -> Vec<String> {
    let filter = format!("<filter name='f' start='none'><include>{condition}</include></filter>");
    names(&[&filter]).into_iter().filter(|name| name != "main").collect()
}

#[test]
fn paths_lead_to_what_is_named_and_count_calls() {
    let path =
        |attributes: &str| included(&format!("<property name='path' {attributes}><functionnames match='prefix'>MPI_</functionnames></property>"));
    assert_eq!(path(""), ["MPI_Send", "hidden", "inner", "middle", "outer"]);
    assert_eq!(path("max='1'"), ["MPI_Send", "hidden", "inner"]);
    assert_eq!(path("min='2' max='3'"), ["middle", "outer"]);
    // Possible edges hold more than what happens: what they add includes the call through the pointer.
    let possible = path("edges='possible'");
    assert!(path("").iter().chain([&"through".to_string()]).all(|name| possible.contains(name)), "{possible:?}");
    assert!(!possible.contains(&"nest".to_string()), "{possible:?}");
}

#[test]
fn depth_counts_calls_from_what_is_named() {
    let depth =
        |attributes: &str, from: &str| included(&format!("<property name='depth' {attributes}><functionnames>{from}</functionnames></property>"));
    assert_eq!(depth("max='1'", "outer"), ["middle", "outer"]);
    assert_eq!(depth("max='2'", "outer"), ["inner", "middle", "outer"]);
    assert_eq!(depth("min='2' max='9'", "outer"), ["MPI_Send", "inner"]);
    assert_eq!(depth("min='1' max='1'", "through"), Vec::<String>::new());
    assert_eq!(depth("min='1' max='1' edges='possible'", "through"), ["hidden"]);
}

#[test]
fn targets_of_paths_are_any_condition() {
    let target = "<and><property name='loops' min='2'/><not><functionnames>main</functionnames></not></and>";
    assert_eq!(included(&format!("<property name='path'>{target}</property>")), ["nest"]);
}

#[test]
fn numbers_lie_in_ranges_with_both_ends() {
    assert_eq!(included("<property name='loops'/>"), ["nest"]);
    assert_eq!(included("<property name='loops' min='2' max='2'/>"), ["nest"]);
    assert_eq!(included("<property name='loops' min='3'/>"), Vec::<String>::new());
    assert_eq!(included("<property name='loopdepth' min='2'/>"), ["nest"]);
    assert_eq!(included("<property name='callsites' min='2' max='2'/>"), ["middle"]);
    assert!(!included("<property name='callsites'/>").contains(&"nest".to_string()));
    let lines = included("<property name='linesofcode' min='1' max='1'/>");
    assert!(lines.contains(&"inner".to_string()) && !lines.contains(&"nest".to_string()), "{lines:?}");
    let all = included("<property name='instructions' min='0'/>");
    let (few, many) = (included("<property name='instructions' max='9'/>"), included("<property name='instructions' min='10'/>"));
    assert_eq!(few.len() + many.len(), all.len());
    assert!(few.iter().all(|name| !many.contains(name)) && !few.is_empty() && !many.is_empty());
}

#[test]
fn names_match_raw_shown_and_bare_names_in_five_ways() {
    assert_eq!(included("<functionnames>inner middle</functionnames>"), ["inner", "middle"]);
    assert_eq!(included("<functionnames match='suffix'>ner</functionnames>"), ["inner"]);
    assert_eq!(included("<functionnames match='find'>idd</functionnames>"), ["hidden", "middle"]);
    assert_eq!(included("<functionnames match='regex'>^(in|ou)[a-z]+er$ ^outer$</functionnames>"), ["inner", "outer"]);
    for name in ["_ZNK3geo5Shape4areaEv", "geo::Shape::area", "area", "\"geo::Shape::area() const\""] {
        assert_eq!(included(&format!("<functionnames>{name}</functionnames>")), ["geo::Shape::area() const"], "{name}");
    }
    assert!(included("<functionnames match='simple'>inne</functionnames>").is_empty());
    let of_class = included("<classnames>Shape</classnames>");
    assert!(
        of_class.contains(&"geo::Shape::area() const".to_string()) && !of_class.contains(&"geo::total(geo::Shape const&)".to_string()),
        "{of_class:?}"
    );
    assert!(included("<property name='namespaces'>geo</property>").contains(&"geo::total(geo::Shape const&)".to_string()));
    assert!(included("<filenames>start.cpp</filenames>").is_empty());
    assert!(included("<filenames match='suffix'>/work.cpp</filenames>").contains(&"inner".to_string()));
}

#[test]
fn operators_nest_and_rules_are_taken_in_order() {
    let rest = included(
        "<and><property name='path'><functionnames>MPI_Send</functionnames></property><not><or><functionnames>MPI_Send</functionnames><functionnames match='prefix'>o h</functionnames></or></not></and>",
    );
    assert_eq!(rest, ["inner", "middle"]);
    let both = "<functionnames match='find'>inn</functionnames><functionnames match='suffix'>er</functionnames>";
    assert_eq!(included(both), ["inner"], "all conditions of a rule must hold");
    let filter = |rules: &str| names(&[&format!("<filter name='f' start='none'>{rules}</filter>")]);
    let (include, exclude) =
        ("<include><functionnames match='find'>ne</functionnames></include>", "<exclude><functionnames>nest</functionnames></exclude>");
    assert_eq!(filter(&format!("{include}{exclude}")), ["inner", "main"]);
    assert_eq!(filter(&format!("{exclude}{include}")), ["inner", "main", "nest"]);
}

#[test]
fn filters_go_on_from_the_one_before_unless_they_start_anew() {
    let inner = "<filter name='a' start='none'><include><functionnames>inner</functionnames></include></filter>";
    let outer = "<filter name='b'><include><functionnames>outer</functionnames></include></filter>";
    let anew = "<filter name='c' start='none'><include><functionnames>outer</functionnames></include></filter>";
    assert_eq!(names(&[inner, outer]), ["inner", "main", "outer"]);
    assert_eq!(names(&[inner, anew]), ["main", "outer"]);
    assert!(names(&[outer]).len() > 6, "the first filter begins with all");
    assert_eq!(
        names(&[inner, "<filter name='d'><exclude><functionnames>main</functionnames></exclude></filter>"]),
        ["inner"],
        "main can be excluded"
    );
}

#[test]
fn the_rule_that_decided_is_the_last_that_changed_something() {
    let text = "<filter name='f' start='all'>\n<exclude><functionnames match='find'>n</functionnames></exclude>\n<exclude><functionnames>inner</functionnames></exclude>\n<include><property name='loops' min='2'/></include>\n</filter>";
    let analysed = Analysed::of(program());
    let selection = analysed.choose(&[Filter::parse(text).expect("a filter")]);
    let cause = |name: &str| {
        let decision = selection.decisions.iter().find(|one| analysed.program.functions[one.function].name == name).expect("a decision");
        (decision.is_selected, decision.cause.line, decision.reason.to_string(), decision.cause.filter.as_deref() == Some("f"))
    };
    assert_eq!(cause("inner"), (false, Some(2), "name matches *n*".to_string(), true));
    assert_eq!(cause("nest"), (true, Some(4), "loops of 2 or more: 2".to_string(), true));
    assert_eq!(cause("outer"), (true, Some(1), "no rule excludes it".to_string(), true));
}

#[test]
fn snippets_are_chosen_by_level_for_the_filter_and_for_rules() {
    let text = "<filter name='f' start='none' instrument='functions=count,callsites'>
        <include><functionnames>inner outer nest</functionnames></include>
        <include instrument='loops=tick, functions=none'><property name='loops'/></include>
        <include instrument='functions=other'><functionnames>middle outer</functionnames></include>
    </filter>";
    let analysed = Analysed::of(program());
    let selection = analysed.choose(&[Filter::parse(text).expect("a filter")]);
    let snippets = |name: &str| {
        let decision = selection.selected().find(|one| analysed.program.functions[one.function].name == name).expect("a decision");
        decision.snippets.to_string()
    };
    assert_eq!(snippets("inner"), "functions=count,callsites=default");
    assert_eq!(snippets("nest"), "loops=tick,callsites=default");
    assert_eq!(snippets("middle"), "functions=other,callsites=default");
    assert_eq!(snippets("outer"), "functions=other,callsites=default");
    assert_eq!(snippets("main"), "functions=count,callsites=default");
    let origins = |name: &str| {
        let decision = selection.selected().find(|one| analysed.program.functions[one.function].name == name).expect("a decision");
        let line = |cause: &Option<std::sync::Arc<tare_select::Cause>>| cause.as_ref().and_then(|cause| cause.line);
        [&decision.origins.functions, &decision.origins.loops, &decision.origins.callsites].map(line)
    };
    assert_eq!(origins("inner"), [Some(1), None, Some(1)]);
    assert_eq!(origins("nest"), [Some(3), Some(3), Some(1)]);
    assert_eq!(origins("outer"), [Some(4), None, Some(1)]);
    let decision = selection.selected().find(|one| analysed.program.functions[one.function].name == "inner").expect("a decision");
    assert_eq!(decision.snippets.functions, Some(Snippet::Named("count".into())));
    assert_eq!(decision.snippets.callsites, Some(Snippet::Default("default")));
}

/// Rules of a long filter are found by the names that they are about; each of them alone is held against every function.
#[test]
fn a_long_filter_decides_as_its_rules_do_one_by_one() {
    let conditions = [
        "<functionnames>inner outer</functionnames>",
        "<functionnames match='prefix'>mid hid</functionnames>",
        "<functionnames match='suffix'>er</functionnames>",
        "<functionnames match='find'>t</functionnames>",
        "<functionnames match='regex'>^(?:in|ou)ner?$ _START</functionnames>",
        "<functionnames match='regex'>.</functionnames>",
        "<classnames>geo::Shape</classnames>",
        "<namespaces>geo</namespaces>",
        "<property name='loops'/>",
        "<and><functionnames match='find'>e</functionnames><property name='callsites' max='1'/></and>",
        "<or><functionnames>through</functionnames><classnames match='find'>hap</classnames></or>",
        "<not><functionnames match='find'>n</functionnames></not>",
        "<property name='path'><functionnames>MPI_Send</functionnames></property>",
        "<filenames>work.cpp</filenames>",
        "<functionnames>nobody</functionnames>",
    ];
    let analysed = Analysed::of(program());
    let mut random = 1_u64;
    for start in ["none", "all"] {
        for _ in 0..20 {
            let rules: Vec<String> = (0..100)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let condition = conditions[(random >> 33) as usize % conditions.len()];
                    let action = if random >> 63 == 0 { "include" } else { "exclude" };
                    format!("<{action}>{condition}</{action}>")
                })
                .collect();
            let parsed = |text: String| Filter::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let long = parsed(format!("<filter name='f' start='{start}'>{}</filter>", rules.concat()));
            let begin = parsed(format!("<filter name='f' start='{start}'/>"));
            let single = rules.iter().map(|rule| parsed(format!("<filter name='f'>{rule}</filter>")));
            let steps: Vec<Filter> = std::iter::once(begin).chain(single).collect();
            let decided = |filters: &[Filter]| -> Vec<bool> { analysed.choose(filters).decisions.iter().map(|one| one.is_selected).collect() };
            assert_eq!(decided(&[long]), decided(&steps), "{rules:?}");
        }
    }
}

/// `main` → `second` → `first` → `puts`, which is another image's.
const CALLS_AN_IMPORT: &str = r#"
#include <stdio.h>
extern "C" __attribute__((noinline)) int first(int a) { return puts("first") + a; }
extern "C" __attribute__((noinline)) int second(int a) { return first(a) + first(a + 1); }
int main(int argc, char **) { return second(argc) == 0; }
"#;

#[test]
fn paths_within_paths_hold_for_imported_functions_too() {
    let program = compiled(&[("calls.cpp", CALLS_AN_IMPORT)], &["-O1"]);
    let included = |condition: &str| {
        let filter = format!("<filter name='f' start='none'><include>{condition}</include></filter>");
        let filters = [Filter::parse(&filter).unwrap_or_else(|error| panic!("{error}: {filter}"))];
        Analysed::of(&program).names(&filters, |name| ["first", "second"].contains(&name))
    };
    let puts = "<functionnames>puts</functionnames>";
    let depth = |attributes: &str, inside: &str| format!("<property name='depth' {attributes}>{inside}</property>");
    let path = |attributes: &str, inside: &str| format!("<property name='path' {attributes}>{inside}</property>");
    let from_second = depth("max='2'", "<functionnames>second</functionnames>");
    assert_eq!(included(&path("max='1'", puts)), ["first"]);
    assert_eq!(included(&path("max='1'", &depth("max='0'", puts))), ["first"]);
    assert_eq!(included(&path("max='1'", &path("max='0'", puts))), ["first"]);
    assert_eq!(included(&path("min='1' max='1'", &format!("<and>{from_second}{puts}</and>"))), ["first"]);
    let too_near = depth("max='1'", "<functionnames>second</functionnames>");
    assert!(included(&path("max='1'", &format!("<and>{too_near}{puts}</and>"))).is_empty());
    // What `puts` calls itself is not known.
    assert_eq!(included(&path("max='9'", &path("min='1'", puts))), ["first", "second"]);
}
