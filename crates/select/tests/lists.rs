//! Lists of other tools: what they mean, and that what is written says the same when it is read.

mod common;

use std::sync::OnceLock;

use common::{Analysed, compiled};
use proptest::prelude::*;
use tare_select::lists::{ListFormat, Listed, listed};

/// Names that lists have trouble with: parts of others, brackets, spaces, commas, `#`, and one name for two functions.
const ONE: &str = r#"
namespace ns {
struct Box { int values[4]; Box(); ~Box(); int &operator[](int i) { return values[i]; } int get() const; int get(int, char) const; operator bool() const; };
Box::Box() : values{1, 2, 3, 4} {}
Box::~Box() { values[0] = 0; }
int Box::get() const { return values[0]; }
int Box::get(int i, char) const { return values[i]; }
Box::operator bool() const { return values[1] != 0; }
template <class A, class B> A convert(B b) { return static_cast<A>(b); }
int get(int *p) { return *p; }
}
static int twin(int a) { return a + 1; }
int get_it(int a) { auto twice = [](int b) { return 2 * b; }; return twice(a); }
int other(int);
extern "C" int plain(int a) { return twin(a); }
int main(int argc, char **) {
    ns::Box box;
    box[1] = argc;
    return box.get() + box.get(1, 'a') + bool(box) + ns::get(&box.values[2]) + ns::convert<int, double>(2.0) + ns::convert<long, char>('a') + get_it(1) + plain(2) + other(3) == 0;
}
"#;
const TWO: &str = "static int twin(int a) { return a + 2; }\nint other(int a) { return twin(a); }\n";

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled(&[("one.cpp", ONE), ("two.cpp", TWO)], &["-O0", "-g", "-fno-inline"]))
}

/// What `--format` writes of a choice, read back.
fn read_back(analysed: &Analysed<'_>, format: ListFormat, functions: &[Listed]) -> (Vec<bool>, usize) {
    let written = format.write(functions).expect("a format that is written");
    assert_eq!(ListFormat::recognised(&written.text), format, "{}", written.text);
    let filter = format.read(&written.text, "list").unwrap_or_else(|error| panic!("{format:?}: {error}\n{}", written.text));
    (analysed.choose(&[filter]).decisions.iter().map(|decision| decision.is_selected).collect(), written.inexact)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_of_any_choice_says_the_same_when_it_is_read(seed in prop::collection::vec(any::<bool>(), 64)) {
        let analysed = Analysed::of(program());
        let mut functions = listed(&analysed.program, &analysed.choose(&[]));
        assert!(functions.len() > 12 && functions.iter().filter(|one| one.is_ambiguous).count() == 2, "{functions:?}");
        functions.iter_mut().zip(seed.iter().cycle()).for_each(|(function, &is_selected)| function.is_selected = is_selected);
        // An empty list of names is none.
        functions[0].is_selected = true;
        let wanted: Vec<bool> = functions.iter().map(|function| function.is_selected).collect();
        let (found, inexact) = read_back(&analysed, ListFormat::Names, &functions);
        assert_eq!((found, inexact), (wanted.clone(), 0));
        for format in [ListFormat::ScoreP, ListFormat::Tau, ListFormat::Gcc, ListFormat::XRay] {
            let (found, inexact) = read_back(&analysed, format, &functions);
            let pairs = || found.iter().zip(&wanted);
            assert!(pairs().all(|(&found, &wanted)| found || !wanted), "{format:?}: a selected function is lost");
            let more = pairs().filter(|&(&found, &wanted)| found && !wanted).count();
            assert_eq!(more, inexact, "{format:?}: what it cannot say is counted");
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..24)) {
        let joined: String = words.concat();
        for text in [&text, &joined] {
            for format in ListFormat::ALL {
                let _ = format.read(text, "list");
            }
            let _ = ListFormat::recognised(text).read(text, "list");
        }
    }
}

/// Pieces of all formats.
const WORDS: [&str; 28] = [
    "SCOREP_REGION_NAMES_BEGIN",
    "SCOREP_REGION_NAMES_END",
    "SCOREP_FILE_NAMES_BEGIN",
    "SCOREP_FILE_NAMES_END",
    "EXCLUDE",
    "INCLUDE",
    "MANGLED",
    "\n",
    " ",
    "\\",
    "BEGIN_EXCLUDE_LIST",
    "END_EXCLUDE_LIST",
    "BEGIN_FILE_INCLUDE_LIST",
    "#",
    "\"",
    "int f(int) C",
    "*",
    "[a",
    "[!",
    "]",
    "[always]",
    "fun:",
    "src:",
    "=arg1",
    "-finstrument-functions-exclude-function-list=",
    "'",
    ",",
    "é",
];

fn read(text: &str) -> Vec<String> {
    let analysed = Analysed::of(program());
    let filter = ListFormat::recognised(text).read(text, "list").unwrap_or_else(|error| panic!("{error}"));
    analysed.names(&[filter], |name| {
        ["get", "twin", "plain", "other", "Box", "convert"].iter().any(|part| name.contains(part)) && !name.contains("lambda")
    })
}

fn without(parts: &[&str]) -> Vec<String> {
    read("SCOREP_REGION_NAMES_BEGIN SCOREP_REGION_NAMES_END").into_iter().filter(|name| !parts.iter().any(|part| name.contains(part))).collect()
}

#[test]
fn scorep_rules_are_taken_in_order_and_mangled_holds_until_the_next_keyword() {
    let text = "# comment\nSCOREP_REGION_NAMES_BEGIN\n EXCLUDE *\n INCLUDE ns::Box::* # not this: *\n EXCLUDE MANGLED _ZN2ns3Box*C2* _ZN2ns3BoxD?Ev\nSCOREP_REGION_NAMES_END";
    assert_eq!(read(text), ["ns::Box::get() const", "ns::Box::get(int, char) const", "ns::Box::operator bool() const", "ns::Box::operator[](int)"]);
    let text = "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE ns::Box::get(int,\\ char)\\ const ns::Box::operator\\[\\]*\nSCOREP_REGION_NAMES_END";
    assert_eq!(read(text), without(&["get(int, char)", "operator["]));
}

#[test]
fn scorep_excludes_files_whatever_the_region_rules_say() {
    let files = "SCOREP_FILE_NAMES_BEGIN\n EXCLUDE *\n INCLUDE */two.cpp\nSCOREP_FILE_NAMES_END\n";
    let regions = "SCOREP_REGION_NAMES_BEGIN\n EXCLUDE *\n INCLUDE *twin* plain other*\nSCOREP_REGION_NAMES_END\n";
    assert_eq!(read(&format!("{files}{regions}")), ["other(int)", "twin(int)"]);
    assert_eq!(read(&format!("{regions}{files}")), ["other(int)", "twin(int)"]);
}

#[test]
fn tau_excludes_first_and_then_asks_the_include_list() {
    let text = "BEGIN_INCLUDE_LIST\nint ns::Box::get#\nint plain(int) C\n\"#twin#\"\nEND_INCLUDE_LIST\nBEGIN_EXCLUDE_LIST\n# a comment\nns::Box::get(int, char) const\nEND_EXCLUDE_LIST\n";
    assert_eq!(read(text), ["ns::Box::get() const", "plain", "twin(int)", "twin(int)"]);
    let text = "BEGIN_INCLUDE_LIST\nint ns::Box::get() const\nns::g?t#\nEND_INCLUDE_LIST\n";
    assert_eq!(read(text), ["ns::Box::get() const", "ns::get(int*)"]);
    for entry in ["int plain#", "int plain(int) C", "int plain(#", "plain", "unsigned int pl#n#", "int *plain(int, char **) C"] {
        assert_eq!(read(&format!("BEGIN_INCLUDE_LIST\n{entry}\nEND_INCLUDE_LIST\n")), ["plain"], "{entry}");
    }
    assert_eq!(read("BEGIN_INCLUDE_LIST\nint #plain\nint p#(char)\nint plai\nEND_INCLUDE_LIST\n"), ["plain"]);
    assert_eq!(read("BEGIN_FILE_EXCLUDE_LIST\none*\nEND_FILE_EXCLUDE_LIST\n"), ["other(int)", "twin(int)"]);
    assert_eq!(read("BEGIN_FILE_INCLUDE_LIST\ntwo.cpp\nEND_FILE_INCLUDE_LIST\n"), ["other(int)", "twin(int)"]);
}

/// As expressions they would take more memory than a list may, and as many looks at each name as there are entries.
#[test]
fn lists_of_a_large_program_are_read() {
    let entry =
        |number: usize| format!("void far::away::Templated<{number}, unsigned long>::compute<double>(std::vector<int> const&, far::Box<{number}>*)");
    let entries: Vec<String> = (0..20_000).map(entry).collect();
    assert_eq!(
        read(&format!("BEGIN_INCLUDE_LIST\nint plain(int)\n{}\nint ns::Box::get() const\nEND_INCLUDE_LIST\n", entries.join("\n"))),
        ["ns::Box::get() const"]
    );
    let options: String = (0..20_000).map(|number| format!("\"-finstrument-functions-exclude-function-list=far::Box<{number}>::get\"\n")).collect();
    assert_eq!(read(&format!("-finstrument-functions-exclude-function-list=plain\n{options}")), without(&["plain"]));
}

#[test]
fn gcc_matches_parts_of_names_and_paths() {
    assert_eq!(read("-finstrument-functions-exclude-function-list=get,Box"), without(&["get", "Box"]));
    assert_eq!(
        read("-finstrument-functions\n'-finstrument-functions-exclude-function-list=convert<int\\\\, double>'"),
        without(&["convert<int, double>"])
    );
    assert_eq!(read("-finstrument-functions-exclude-file-list=one.c"), ["other(int)", "twin(int)"]);
}

#[test]
fn xray_always_wins_over_never_and_names_over_files() {
    let text = "[never]\nfun:*\n[always]\nfun:plain\nfun:_ZN*2ns3*get*=arg1\n";
    assert_eq!(read(text), ["ns::Box::get() const", "ns::Box::get(int, char) const", "ns::get(int*)", "plain"]);
    assert_eq!(read("[always]\nsrc:*/two.cpp\n[never]\nfun:_ZL4twini\n"), ["other(int)"]);
    assert_eq!(read("[always]\nfun:_ZNK2ns3Box3getE(v|ic)\nfun:pl.in\n"), ["ns::Box::get() const", "ns::Box::get(int, char) const", "plain"]);
    assert_eq!(read("[always]\nfun:pla\\in\nfun:plai\\.\n"), ["plain"]);
    assert!(read("[custom]\nfun:*\n").is_empty(), "short functions are not instrumented by XRay unless it is told to");
}

#[test]
fn wrong_lists_are_named_with_the_place() {
    let said = |text: &str| ListFormat::recognised(text).read(text, "list").expect_err("this is no list").to_string();
    assert_eq!(said("SCOREP_REGION_NAMES_BEGIN\n foo\n"), "line 2, column 2: `foo` means nothing here; expected EXCLUDE or INCLUDE");
    assert_eq!(
        said("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE a\n"),
        "line 1, column 1: SCOREP_REGION_NAMES_BEGIN is not closed; expected SCOREP_REGION_NAMES_END"
    );
    assert_eq!(
        said("SCOREP_FILE_NAMES_BEGIN SCOREP_REGION_NAMES_END"),
        "line 1, column 25: `SCOREP_REGION_NAMES_END` means nothing here; expected SCOREP_FILE_NAMES_END"
    );
    assert_eq!(
        said("[never]\nfun:plain\nfun:b{3,2}\n"),
        "line 3, column 1: the pattern `b{3,2}` cannot be used: invalid repetition count range, the start must be <= the end; expected the smaller number first"
    );
    assert_eq!(said("BEGIN_EXCLUDE_LIST\nfoo"), "line 1, column 1: BEGIN_EXCLUDE_LIST is not closed; expected END_EXCLUDE_LIST");
    assert!(
        said("BEGIN_EXCLUDE_LIST\nEND_EXCLUDE_LIST\n foo").starts_with("line 3, column 2: `foo` means nothing here; expected BEGIN_EXCLUDE_LIST")
    );
    assert!(said("[always]\nfun\n").starts_with("line 2, column 1: `fun` means nothing here; expected [always]"));
    assert!(said("-finstrument-functions -O2").starts_with("line 1, column 24: `-O2` means nothing here"));
    assert_eq!(said("-finstrument-functions 'a"), "line 1, column 24: a quote is not closed; expected the same quote behind it");
    assert!(said("# nothing\n").contains("expected a filter in XML"));
}
