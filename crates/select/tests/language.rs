//! The filter language: what is accepted, and what is said of what is not.

use tare_select::Filter;
use tare_select::filter::{Action, Condition, Direction, Edges, Match, Names, Property, Range, Start};

/// Paper 2, Fig. 3, as printed.
const FIGURE_3: &str = r#"<filter name="mpicallpath" instrument="functions=function" start="none">
<include>
        <property name="path">
            <functionnames match="prefix">MPI mpi</functionnames>
        </property>
</include>
</filter>
"#;

#[test]
fn figure_3_of_paper_2_is_accepted_as_printed() {
    let filter = Filter::parse(FIGURE_3).expect("the paper's filter");
    assert_eq!((&*filter.name, filter.start, filter.line), ("mpicallpath", Some(Start::None), 1));
    let snippets = filter.snippets.as_ref().expect("instrument=");
    assert_eq!(snippets.to_string(), "functions=function");
    let [rule] = filter.rules.as_slice() else { panic!("one rule: {:?}", filter.rules) };
    assert_eq!((rule.action, rule.line), (Action::Include, 2));
    let Condition::Property(Property::Reach { direction, target, calls, edges }) = &rule.condition else { panic!("{:?}", rule.condition) };
    assert_eq!((*direction, *calls, *edges), (Direction::To, Range::default(), Edges::Sure));
    let Condition::Property(Property::Names { of: Names::Function, pattern }) = &**target else { panic!("{target:?}") };
    assert_eq!((pattern.how(), pattern.words()), (Match::Prefix, &["MPI".to_string(), "mpi".to_string()][..]));
    assert_eq!(&*rule.text, "<include><property name=\"path\"><functionnames match=\"prefix\">MPI mpi</functionnames></property></include>");
}

/// What is said of a filter, with its place.
fn said(text: &str) -> String {
    Filter::parse(text).expect_err("this is no filter").to_string()
}

fn in_rule(text: &str) -> String {
    said(&format!("<filter name='f'>\n  <include>\n    {text}\n  </include>\n</filter>"))
}

#[test]
fn errors_name_line_column_and_what_was_expected() {
    let conditions = "<property>, <functionnames>, <classnames>, <namespaces>, <filenames>, <and>, <or> or <not>";
    let cases = [
        (said("<adapter/>"), "line 1, column 1: the document begins with <adapter>; expected <filter>".to_string()),
        (said("<filter/>"), "line 1, column 1: <filter> lacks name=\"…\", by which reports call the filter".to_string()),
        (said("<filter name='a'\n start='some'/>"), "line 2, column 2: start=\"some\" is not known; expected none or all".to_string()),
        (
            said("<filter name='a'>\n <incldue/>\n</filter>"),
            "line 2, column 2: <incldue> is not known in <filter>; expected <include> or <exclude>".to_string(),
        ),
        (
            said("<filter name='a' begin='all'/>"),
            "line 1, column 18: <filter> has no attribute `begin`; expected name, start, budget, instrument".to_string(),
        ),
        (
            said("<filter name='a'>\n  all of them\n</filter>"),
            "line 2, column 3: the text `all of them` means nothing in <filter>; expected <include> or <exclude>".to_string(),
        ),
        (said("<filter name='a'>\n <include/>\n</filter>"), format!("line 2, column 2: <include> is empty; expected {conditions}")),
        (in_rule("<xor/>"), format!("line 3, column 5: <xor> is not known in <include>; expected {conditions}")),
        (
            in_rule("<functionnames match='glob'>a*</functionnames>"),
            "line 3, column 20: match=\"glob\" is not known; expected simple, prefix, suffix, find, regex".to_string(),
        ),
        (
            in_rule("<functionnames> </functionnames>"),
            "line 3, column 5: <functionnames> is empty; expected names, separated by white space".to_string(),
        ),
        (
            in_rule("<functionnames>\"f(int</functionnames>"),
            "line 3, column 20: the pattern `\"f(int` cannot be used: its quote is not closed; expected \" behind it".to_string(),
        ),
        (in_rule("<property name='linesofcode'/>"), "line 3, column 5: <property name=\"linesofcode\"> lacks min=\"…\" or max=\"…\"".to_string()),
        (
            in_rule("<property name='instructions' min='-1'/>"),
            "line 3, column 35: min=\"-1\" is not known; expected a whole number from 0 to 18446744073709551615".to_string(),
        ),
        (
            in_rule("<property name='loops' max='99999999999999999999'/>"),
            "line 3, column 28: max=\"99999999999999999999\" is not known; expected a whole number from 0 to 18446744073709551615".to_string(),
        ),
        (
            in_rule("<property name='instructions' min='9' max='3'/>"),
            "line 3, column 5: no number is at least 9 and at most 3; expected min to be the smaller one".to_string(),
        ),
        (
            in_rule("<not><functionnames>a</functionnames><functionnames>b</functionnames></not>"),
            "line 3, column 5: <not> holds 2 conditions; expected one (join them with <and> or <or>)".to_string(),
        ),
        (
            in_rule("<property name='size' min='1'/>"),
            "line 3, column 15: name=\"size\" is not known; expected path, depth, functionnames, classnames, namespaces, filenames, \
             linesofcode, cyclomaticcomplexity, instructions, callsites, loops, loopdepth"
                .to_string(),
        ),
        (
            in_rule("<property name='depth'><functionnames>main</functionnames></property>"),
            "line 3, column 5: <property name=\"depth\"> lacks max=\"…\", the depth of calls".to_string(),
        ),
        (
            said("<filter name='a' instrument='function=mine'/>"),
            "line 1, column 18: instrument=\"function=mine\" is not known; expected functions=SNIPPET, loops=SNIPPET or callsites=SNIPPET, \
             separated by commas, each level once"
                .to_string(),
        ),
    ];
    for (found, wanted) in cases {
        assert_eq!(found, wanted);
    }
}

#[test]
fn text_that_is_no_xml_is_placed_too_and_says_what_was_expected() {
    let of_entities = "&lt; &gt; &amp; &quot; &apos; or the number of a character, as in &#233;";
    let cases = [
        ("", "line 1, column 1: not well-formed XML: there is no element; expected <filter name=\"…\">".to_string()),
        ("include main", "line 1, column 1: not well-formed XML: the file does not begin with an element; expected <filter name=\"…\">".into()),
        (
            "<filter name='a'>\n<include></filter>",
            "line 2, column 10: not well-formed XML: </filter> closes no element that is open last; expected </include>".into(),
        ),
        (
            "<filter name='a'>\n <include>\n  <!-- > -->\n",
            "line 2, column 2: not well-formed XML: <include> is not closed; expected </include> before the file ends".into(),
        ),
        (
            "<filter name='a'>\n <include><functionnames match='pre",
            "line 2, column 11: not well-formed XML: a tag is not closed; expected `>` before the file ends".into(),
        ),
        (
            "<filter name='é'>\n <!-- é <include>",
            "line 2, column 2: not well-formed XML: a comment is not closed; expected --> before the file ends".into(),
        ),
        (
            "<filter name='a'/>\n\n <filter name='b'/>",
            "line 3, column 2: not well-formed XML: there is more behind the last element; expected the end of the file: it holds one <filter>"
                .into(),
        ),
        ("<filter name='&a;'/>", format!("line 1, column 15: not well-formed XML: `&a;` is not known; expected {of_entities}")),
        (
            "<filter name='a'><include>\n<functionnames>a && b</functionnames></include></filter>",
            format!("line 2, column 18: not well-formed XML: `&` begins no character; expected &amp; for the character itself, or {of_entities}"),
        ),
        ("<filter name='a' name='b'/>", "line 1, column 18: not well-formed XML: the attribute `name` stands twice; expected it once".into()),
        (
            "<filter name='a'>\n<exclude instrument>\n</exclude></filter>",
            "line 2, column 20: not well-formed XML: `>` stands here; expected `=`".into(),
        ),
        (
            "<!DOCTYPE f [<!ENTITY a 'b'>]><filter name='&a;'/>",
            "line 1, column 1: not well-formed XML: document types are not read; expected <filter name=\"…\">".into(),
        ),
        ("<filter name='<'/>", "line 1, column 15: not well-formed XML: `<` stands in a value; expected &lt;".into()),
    ];
    for (text, wanted) in cases {
        assert_eq!(said(text), wanted, "{text}");
    }
}

#[test]
fn patterns_that_are_none_are_placed_to_the_character() {
    let regex = |text: &str| in_rule(&format!("<functionnames match='regex'>{text}</functionnames>"));
    let cases = [
        (
            regex("^main$\n solve_(a|b"),
            "line 4, column 8: the pattern `solve_(a|b` cannot be used: unclosed group, at its character 7; expected `)` behind the group, or \\( for the character",
        ),
        (
            regex("é*[a-"),
            "line 3, column 36: the pattern `é*[a-` cannot be used: unclosed character class, at its character 3; expected `]` behind the class, or \\[ for the character",
        ),
        (
            regex("*_kernel"),
            "line 3, column 34: the pattern `*_kernel` cannot be used: repetition operator missing expression, at its character 1; \
             expected something before it that is repeated, or a backslash before it for the character",
        ),
        (
            said("<filter name='f'>\n <exclude instrument='loops'><functionnames>a</functionnames></exclude></filter>"),
            "line 2, column 11: <exclude> has no attribute `instrument`; expected none: what is kept out has no snippets; \
             `instrument` stands in <filter> and <include>",
        ),
    ];
    for (found, wanted) in cases {
        assert_eq!(found, wanted);
    }
}
