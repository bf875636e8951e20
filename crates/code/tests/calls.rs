//! The call graph: paths to wanted names, and which functions are leaves of a selection.

mod common;

use common::{Workshop, function};
use tare_code::Program;
use tare_image::Image;

const PROGRAM: &str = r#"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline, noclone, noipa))
KEEP double kernel(double x) { return sin(x) + x; }
KEEP double fill(double *a, int n) { memset(a, 0, n * sizeof *a); double s = 0; for (int i = 0; i < n; i++) s += kernel(a[i]); return s; }
KEEP int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
KEEP void sorts(int *a, int n) { qsort(a, n, sizeof *a, compare); }
KEEP int again(int n) { return n < 2 ? n : again(n - 1) + again(n - 2); }
KEEP int pure(int n) { return n * 3; }
KEEP int above(int n) { return pure(n) + 1; }
KEEP int pointer(int (*f)(int), int n) { return f(n) + 1; }
KEEP void hands_over(int *a, int n) { a[0] = n; sorts(a, n); }
int main(int c, char **v)
{
    double d[9]; int a[3] = {c, 2, 1};
    hands_over(a, 3);
    printf("%g %d %d\n", fill(d, 9), again(c), above(c) + pointer(pure, c));
    return v == 0;
}
"#;

fn with(check: impl Fn(&Program)) {
    let shop = Workshop::new();
    for flags in [["-O0", "-lm", "-pie"], ["-O2", "-lm", "-fno-plt"]] {
        let bytes = shop.compile("gcc", "calls", "c", PROGRAM, &flags);
        let image = Image::parse(&bytes).expect("an image");
        check(&Program::analyse(&image).expect("functions"));
    }
}

fn index(program: &Program, name: &str) -> usize {
    program.function_entered_at(function(program, name).entry).expect("its index")
}

#[test]
fn paths_lead_through_calls_and_tail_calls() {
    with(|program| {
        let distances = program.distances_to(&|name| name == "qsort");
        let to = |name: &str| distances[index(program, name)];
        assert_eq!((to("sorts"), to("hands_over"), to("main")), (Some(1), Some(2), Some(3)));
        assert_eq!((to("kernel"), to("compare"), to("pointer")), (None, None, None));
        let down = program.calls().distances_from(&[index(program, "main")]);
        assert_eq!(down[index(program, "kernel")], Some(2));
        assert_eq!(down[index(program, "compare")], None);
        assert_eq!(program.distances_to(&|name| name == "kernel")[index(program, "kernel")], Some(0));
    });
}

#[test]
fn leaves_call_nothing_selected_and_nothing_unknown() {
    with(|program| {
        let leaves = |names: &[&str]| {
            let selected: Vec<bool> = program.functions.iter().map(|function| names.contains(&function.name.as_str())).collect();
            program.leaves(&selected)
        };
        let all = ["kernel", "fill", "compare", "sorts", "again", "pure", "above", "pointer", "hands_over", "main"];
        let leaf = |names: &[&str], name: &str| leaves(names)[index(program, name)];
        assert!(leaf(&all, "kernel") && leaf(&all, "compare") && leaf(&all, "pure"));
        for name in ["fill", "sorts", "again", "above", "pointer", "hands_over", "main"] {
            assert!(!leaf(&all, name), "{name}");
        }
        assert!(leaf(&["fill"], "fill") && leaf(&["above"], "above"));
        assert!(!leaf(&["sorts"], "sorts") && !leaf(&["pointer"], "pointer") && !leaf(&["again"], "again"));
    });
}
