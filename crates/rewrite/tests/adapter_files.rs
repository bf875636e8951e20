//! Adapters as people write them: what is accepted, and what is said of what is not.

use tare_rewrite::adapter::{Adapter, Level, Point, SHIPPED, shipped};

/// Figure 2 of paper 2, as printed.
const FIGURE_2: &str = include_str!("figure_2.xml");

#[test]
fn figure_2_is_accepted_as_printed() {
    let adapter = Adapter::parse(FIGURE_2).expect("it is accepted");
    let function = adapter.alternative(Level::Functions, "function").expect("the default one");
    assert_eq!(function.variables.len(), 1);
    assert_eq!(function.snippet(Point::Initialize).map(|one| one.statements.len()), Some(1));
    assert_eq!(function.snippet(Point::Enter).map(|one| one.statements.len()), Some(2));
    assert!(function.snippet(Point::Exit).is_none());
}

#[test]
fn shipped_adapters_are_accepted() {
    for name in SHIPPED {
        let text = shipped(name).expect("it is there");
        let adapter = Adapter::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(adapter.name, name);
    }
}

/// What is wrong, where (line and column), and a word of the sentence.
const WRONG: &[(&str, u32, u32, &str)] = &[
    ("<adapter>\n<functions>", 2, 12, "well-formed"),
    ("<functions/>", 1, 1, "not <adapter>"),
    ("<adapter><function/></adapter>", 1, 10, "no element <function> in <adapter>"),
    ("<adapter><functions><before>i=1;</before></functions></adapter>", 1, 21, "no element <before> in <functions>"),
    ("<adapter><callsites><enter></enter></callsites></adapter>", 1, 21, "no element <enter> in <callsites>"),
    ("<adapter>\n  hello\n</adapter>", 1, 10, "text in <adapter>"),
    ("<adapter><variables><var size='4'/></variables></adapter>", 1, 21, "needs the attribute `name`"),
    ("<adapter><variables><var name='i' size='3'/></variables></adapter>", 1, 41, "`3` is no size"),
    ("<adapter><variables><var name='i' size='1' value='300'/></variables></adapter>", 1, 51, "`300` is no value"),
    ("<adapter><variables><var name='1i' size='1'/></variables></adapter>", 1, 32, "`1i` is no name"),
    ("<adapter><variables><var name='i' size='1' kind='x'/></variables></adapter>", 1, 44, "no attribute `kind`"),
    ("<adapter><variables><var name='i' size='1'/><var name='i' size='2'/></variables></adapter>", 1, 45, "two variables `i`"),
    ("<adapter><functions/><functions/></adapter>", 1, 22, "two <functions> named `function`"),
    ("<adapter><functions><init/><init/></functions></adapter>", 1, 28, "two elements `init`"),
    ("<adapter><init>\n  i = 1;</init></adapter>", 2, 3, "no variable `i`"),
    ("<adapter><init>f(1;</init></adapter>", 1, 19, "`;` where `,` or `)`"),
    ("<adapter><init>f(1)</init></adapter>", 1, 20, "the end of the snippet where `;`"),
    ("<adapter><init>f(\"a);\n</init></adapter>", 1, 18, "a text has no end"),
    ("<adapter><init>f(\"\\q\");</init></adapter>", 1, 19, "`\\q` has no meaning"),
    ("<adapter><init>f(\"\\0\");</init></adapter>", 1, 19, "zero byte"),
    ("<adapter><init>f(@ROUTNE@);</init></adapter>", 1, 18, "no context variable @ROUTNE@"),
    ("<adapter><init>f(@ROUTINE@);</init></adapter>", 1, 18, "@ROUTINE@ is not known in <init> of <adapter>"),
    ("<adapter><functions><init>f(@CALLER@);</init></functions></adapter>", 1, 29, "@CALLER@ is not known in <init>"),
    ("<adapter nested='yes'><functions><exit>f(@STACK@);</exit></functions></adapter>", 1, 42, "@STACK@ is not known in <exit>"),
    ("<adapter><functions><enter>f(@CALLEE@);</enter></functions></adapter>", 1, 30, "@CALLEE@ is not known"),
    ("<adapter><init>if (\"a\") f();</init></adapter>", 1, 20, "a text where an integer"),
    ("<adapter><init>f(\"a\" . f());</init></adapter>", 1, 24, "can be joined"),
    ("<adapter><init>f(99999999999999999999);</init></adapter>", 1, 18, "no decimal or hexadecimal number of 64 bits"),
    ("<adapter><init>f(017);</init></adapter>", 1, 18, "no decimal or hexadecimal number of 64 bits"),
    ("<adapter><init>f(#);</init></adapter>", 1, 18, "`#` has no meaning"),
    ("<adapter><init>int a; int a;</init></adapter>", 1, 23, "two variables `a`"),
    ("<adapter><init>/* </init></adapter>", 1, 16, "a comment has no end"),
    ("<adapter><init>&amp;&amp; &lt; ;</init></adapter>", 1, 16, "`&&` where a declaration"),
    ("<adapter><init><![CDATA[ if (1 < 2) x = 3; ]]></init></adapter>", 1, 37, "no variable `x`"),
    ("<adapter runtime='other'/>", 1, 19, "`other` is no runtime"),
    ("<adapter runtime='tareweight'>\n <functions><enter>f();</enter></functions></adapter>", 2, 2, "has nothing else, and here is <functions>"),
    ("<adapter runtime='tareweight'><filter name='a'/></adapter>", 1, 31, "here is <filter>"),
];

/// What is wrong, and a word of what to do about it.
const REMEDIES: &[(&str, &str)] = &[
    ("<adapter><init>f();</enter></adapter>", "<init> ends with </init>"),
    ("<adapter><init>f();</init>", "the file with </adapter>"),
    ("<!DOCTYPE adapter><adapter/>", "<!DOCTYPE …> out"),
    ("<adapter name='a' name='b'/>", "name=\"…\" once"),
    ("<adapter><init>f(\"\u{1}\");</init></adapter>", "U+0001"),
    ("", "--print-adapter"),
    (" <?xml version='1.0'?><adapter/>", "very beginning"),
    ("<adapter><init>if (1 < 2) f();</init></adapter>", "`<` as &lt;"),
    ("<adapter><init>if (1 && 2) f();</init></adapter>", "`&` as &amp;"),
    ("<adapter><variables><var name='v' size='1' value='128'/></variables></adapter>", "from -128 to 127"),
    ("<adapter><variables><var name='v' size='2' signed='no' value='-1'/></variables></adapter>", "from 0 to 65535"),
    ("<adapter><variables><var name='v' size='8' signed='no' value='18446744073709551616'/></variables></adapter>", "to 18446744073709551615"),
    ("<adapter><init>f(sizeof(int));</init></adapter>", "an int 4"),
    ("<adapter><init>f(1.5);</init></adapter>", "decimal number"),
    ("<adapter><init>f(@ROUTINE);</init></adapter>", "as in @ROUTINE@"),
    ("<adapter><functions/><functions/></adapter>", "name=\"…\" of its own"),
    ("<adapter><init>return 1;</init></adapter>", "into `if (…) { … }`"),
    ("<adapter><init>for (;;) f();</init></adapter>", "function of a library"),
    ("<adapter><init>f(while);</init></adapter>", "function of a library"),
    ("<adapter><init>int i; i++;</init></adapter>", "`i = i + 1;`"),
    ("<adapter><init>int i; --i;</init></adapter>", "`i = i - 1;`"),
    ("<adapter><init>int i; i &lt;&lt;= 2;</init></adapter>", "`i = i << …;`"),
    ("<adapter><init>int i; i += 2;</init></adapter>", "`i = i + …;`"),
    ("<adapter><init>int i; f(i++);</init></adapter>", "as a statement of its own"),
    ("<adapter><init>int i; f(1 + --i);</init></adapter>", "as a statement of its own"),
    ("<adapter><init>double x;</init></adapter>", "variables are integers"),
    ("<adapter><init>size_t x = 1;</init></adapter>", "variables are integers"),
    ("<adapter><init>f((double)1);</init></adapter>", "variables are integers"),
    ("<adapter><init>f(1 ? 2 : 3);</init></adapter>", "the operators are"),
    ("<adapter><init>*p = 1;</init></adapter>", "an assignment, a call, `if`"),
];

#[test]
fn each_remedy_helps_against_what_is_wrong() {
    for &(text, words) in REMEDIES {
        let error = Adapter::parse(text).expect_err(text);
        assert!(error.problem.remedy().contains(words), "{text}\n{error}\n{}", error.problem.remedy());
    }
}

#[test]
fn names_that_begin_like_words_of_c_are_names() {
    for code in ["int format; format = 1;", "returns(1);", "int doubled; f(doubled - -1 + ~doubled);", "int i; i = i - -i + - -i;"] {
        let text = format!("<adapter><init>{code}</init></adapter>");
        Adapter::parse(&text).unwrap_or_else(|error| panic!("{code}: {error}"));
    }
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    let error = Adapter::text(b"<adapter>\n <init>f(\"\xc3\xa9\xe9\");</init></adapter>").expect_err("Latin-1");
    assert_eq!((error.place.line, error.place.column, error.to_string().contains("0xe9")), (2, 12, true), "{error}");
    assert!(error.problem.remedy().contains("UTF-8"));
}

#[test]
fn what_is_wrong_is_said_with_line_column_and_remedy() {
    for &(text, line, column, words) in WRONG {
        let error = Adapter::parse(text).expect_err(text);
        assert!(error.to_string().contains(words), "{text}\n{error}");
        assert_eq!((error.place.line, error.place.column), (line, column), "{text}\n{error}");
        assert!(error.problem.remedy().len() > 5, "{text}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for (open, close) in [("(", ")"), ("-", ""), ("1 + (", ")"), ("f(", ")"), ("(int)", "")] {
        let code = format!("<adapter><init>f({}1{});</init></adapter>", open.repeat(100_000), close.repeat(100_000));
        let error = Adapter::parse(&code).expect_err("too deep");
        assert!(error.to_string().contains("nesting"), "{open}: {error}");
    }
    let blocks = format!("<adapter><init>{}{}</init></adapter>", "{".repeat(100_000), "}".repeat(100_000));
    assert!(Adapter::parse(&blocks).is_err());
    let deep = format!("{}{}", "<adapter>".repeat(100_000), "</adapter>".repeat(100_000));
    assert!(Adapter::parse(&deep).is_err());
}

#[test]
fn chains_of_operators_are_not_nested_however_long_they_are() {
    for link in ["1 + ", "1 - 2 * ", "1 &amp;&amp; 0 || ", "\"a\" . ", "@ID@ . "] {
        let code = format!("<adapter><functions><enter>f({}1);</enter></functions></adapter>", link.repeat(10_000));
        Adapter::parse(&code).unwrap_or_else(|error| panic!("{link}: {error}"));
    }
}

/// A generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn changed_files_are_read_or_refused_but_never_more() {
    let mut numbers = Numbers(7);
    let pieces =
        ["<", ">", "</init>", "&lt;", "&", "@", "@LINE@", "\"", "'", "if", "(", ")", "{", "}", "int", "=", ";", "\\", "é", "\u{1}", "/*", "//"];
    let mut accepted = 0;
    for round in 0..6000 {
        let mut text: Vec<char> =
            if round % 2 == 0 { FIGURE_2.chars().collect() } else { shipped("counting").expect("it is there").chars().collect() };
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(text.len());
            match numbers.below(3) {
                0 => drop(text.remove(at)),
                1 => text.truncate(at.max(40)),
                _ => drop(text.splice(at..at, pieces[numbers.below(pieces.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        match Adapter::parse(&text) {
            Ok(_) => accepted += 1,
            Err(error) => {
                let lines = text.lines().count() + 1;
                assert!((error.place.line as usize) <= lines, "{error} in\n{text}");
                assert!(!error.problem.remedy().is_empty());
            }
        }
    }
    assert!(accepted > 0, "nothing was accepted");
}
