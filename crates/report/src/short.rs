//! Texts in fewer columns: sentences lose their last words, names what says least about them.

use crate::layout::{Page, plain, width};

/// A sentence in at most `room` columns: words that do not fit are left out; a first word that does not fit is cut.
pub(crate) fn cut_words(sentence: &str, room: usize, page: &Page) -> String {
    let sentence = plain(sentence, page);
    if width(&sentence) <= room {
        return sentence;
    }
    let ellipsis = page.glyphs().ellipsis;
    let fits = |head: &&str| width(head) + " ".len() + width(ellipsis) <= room;
    match sentence.rmatch_indices(' ').map(|(at, _)| &sentence[..at]).find(fits) {
        Some(head) => format!("{head} {ellipsis}"),
        None => cut_middle(&sentence, room, ellipsis),
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name in at most `room` columns: template arguments are folded first, then parameters and result left out, then outer scopes,
/// then the middle. A place behind the name stays whole, or gives way to it.
pub(crate) fn short_name(name: &str, room: usize, page: &Page) -> String {
    let name = plain(name, page);
    if width(&name) <= room {
        return name;
    }
    if let Some((name, place)) = name.split_once(PLACED) {
        let left = room.saturating_sub(width(PLACED) + width(place));
        let placed = (left >= LEAST_BEFORE_A_PLACE).then(|| format!("{}{PLACED}{place}", short_name(name, left, page)));
        return placed.unwrap_or_else(|| short_name(name, room, page));
    }
    let folded = fold_templates(&name, page.glyphs().ellipsis);
    if width(&folded) <= room {
        return folded;
    }
    let (what, of) = said_before(&folded);
    if !what.is_empty() && room > width(what) + LEAST_OF_A_NAME {
        return format!("{what}{}", short_name(of, room - width(what), page));
    }
    let bare = without_result(without_parameters(without_suffix(&folded)));
    if width(bare) <= room {
        return bare.to_string();
    }
    let ellipsis = page.glyphs().ellipsis;
    let mut scopes = inner_scopes(bare);
    match scopes.find(|inner| width(inner) + width(ellipsis) <= room) {
        Some(inner) => format!("{ellipsis}{inner}"),
        None => cut_middle(inner_scopes(bare).last().unwrap_or(bare), room, ellipsis),
    }
}

/// A name among the words of a sentence: as short as the names of a table, and never much of a line.
pub(crate) fn name_in_words(name: &str, page: &Page) -> String {
    name_alone(name, MOST_IN_WORDS.min(page.width / 2), page)
}

/// A name above which no row has its caller: of a call site that is named as well, in as many columns.
pub(crate) fn name_alone(name: &str, room: usize, page: &Page) -> String {
    match name.rsplit_once(" in ").filter(|_| name.starts_with("call ")) {
        Some((call, function)) => format!("{} in {}", short_name(call, room, page), short_name(function, room, page)),
        None => short_name(name, room, page),
    }
}

/// Columns of a name in a sentence.
const MOST_IN_WORDS: usize = 40;

/// What stands between a name and its place.
const PLACED: &str = "  ";

/// Columns of a name without which its place says little: it is left out then.
const LEAST_BEFORE_A_PLACE: usize = 16;

/// Columns of a name that are worth the words before it.
const LEAST_OF_A_NAME: usize = 4;

/// What stands before the name of a loop or a call site, and that name: of a call site what is called, as its caller is in the row above.
fn said_before(name: &str) -> (&str, &str) {
    let numbered = |rest: &str| rest.find(|character: char| !character.is_ascii_digit()).filter(|&end| end > 0);
    for front in ["call ", "loop ", "iteration of loop "] {
        let Some(rest) = name.strip_prefix(front) else { continue };
        let Some(of) = numbered(rest).and_then(|end| rest[end..].strip_prefix(" of ")) else { break };
        let begin = name.len() - of.len();
        let end = if front == "call " { of.rfind(" in ").unwrap_or(of.len()) } else { of.len() };
        return (&name[..begin], &of[..end]);
    }
    ("", name)
}

/// `B::C::d` and `C::d` of `A::B::C::d`. None of what is said about a name, such as `loop 2 of A::b`.
fn inner_scopes(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(name).filter(|name| !name.contains(' '));
    std::iter::from_fn(move || {
        rest = rest?.split_once("::").map(|(_, inner)| inner).filter(|inner| inner.contains("::"));
        rest
    })
}

/// `f(int).isra.0` as `f(int)`: what compilers put behind a name.
fn without_suffix(name: &str) -> &str {
    let is_suffix =
        |rest: &str| rest.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || "._".contains(character));
    match name.rfind(").") {
        Some(at) if is_suffix(&name[at + 1..]) => &name[..=at],
        _ => name,
    }
}

/// `void std::sort` as `std::sort`: of functions that are made from templates the result is part of the name.
fn without_result(name: &str) -> &str {
    let is_named = |rest: &&str| rest.starts_with(|first: char| first.is_alphabetic() || first == '_') && !rest.contains(' ');
    match name.split_once(' ') {
        Some((first, rest)) if !first.contains("operator") && is_named(&rest) => rest,
        _ => name,
    }
}

/// `Pair::compute(int, int) const` as `Pair::compute`; names that end otherwise are left alone.
pub(crate) fn without_parameters(name: &str) -> &str {
    let Some(list) = name.strip_suffix(" const").unwrap_or(name).strip_suffix(')') else { return name };
    let mut depth = 1_usize;
    for (place, character) in list.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let bare = &name[..place];
            return if bare.is_empty() || bare.ends_with("operator") { name } else { bare };
        }
    }
    name
}

/// `vector<int, allocator<int>>::push` as `vector<…>::push`; operators are left alone.
fn fold_templates(name: &str, ellipsis: &str) -> String {
    if !name.contains('<') {
        return name.to_string();
    }
    let mut folded = String::new();
    let mut depth = 0_usize;
    let mut previous = ' ';
    for character in name.chars() {
        let is_operator = folded.ends_with("operator") || folded.ends_with("operator<") || previous == '-';
        match character {
            '<' if depth > 0 || !is_operator => {
                if depth == 0 {
                    folded.push('<');
                    folded.push_str(ellipsis);
                }
                depth += 1;
            }
            '>' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    folded.push('>');
                }
            }
            _ if depth == 0 => folded.push(character),
            _ => {}
        }
        previous = character;
    }
    if depth == 0 { folded } else { name.to_string() }
}

fn cut_middle(text: &str, room: usize, ellipsis: &str) -> String {
    let Some(kept) = room.checked_sub(width(ellipsis)) else {
        return take(text.chars(), room).into_iter().collect();
    };
    let front = take(text.chars(), kept.div_ceil(2));
    let taken: usize = front.iter().map(|&character| width(character.encode_utf8(&mut [0; 4]))).sum();
    let back = take(text.chars().rev(), kept - taken);
    let (front, back): (String, String) = (front.into_iter().collect(), back.into_iter().rev().collect());
    // What was left out before needs no second sign for it.
    let front = front.trim_end_matches(ellipsis);
    let back = back.trim_start_matches(ellipsis);
    format!("{front}{ellipsis}{back}")
}

/// The first characters that fit into `room` columns.
pub(crate) fn take(characters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut left = room;
    let mut taken = Vec::new();
    for character in characters {
        let Some(rest) = left.checked_sub(width(character.encode_utf8(&mut [0; 4]))) else { break };
        left = rest;
        taken.push(character);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_give_way_before_the_name_does() {
        assert_eq!(without_parameters("LAMMPS_NS::PairLJCut::compute(int, int)"), "LAMMPS_NS::PairLJCut::compute");
        assert_eq!(without_parameters("f(int (*)(char)) const"), "f");
        for name in ["main", "A::operator()", "(anonymous namespace)"] {
            assert_eq!(without_parameters(name), name);
        }
        assert_eq!(short_name("LAMMPS_NS::PairLJCut::compute(int, int)", 22, &Page::default()), "…PairLJCut::compute");
        assert_eq!(short_name("LAMMPS_NS::FixNVE::initial_integrate(int)", 20, &Page::default()), "FixNVE::in…integrate");
        assert_eq!(short_name("loop 2 of LAMMPS_NS::FixNVE::initial_integrate", 20, &Page::default()), "loop 2 of FixNV…rate");
        assert_eq!(short_name("call 17 of MPI_Allreduce in main", 20, &Page::default()), "call 17 of MPI_…duce");
    }

    #[test]
    fn a_call_by_itself_keeps_its_caller() {
        let name = "call 8 of MPI_Send in LAMMPS_NS::CommBrick::reverse_comm()";
        assert_eq!(short_name(name, 40, &Page::default()), "call 8 of MPI_Send");
        assert_eq!(name_alone(name, 40, &Page::default()), "call 8 of MPI_Send in LAMMPS_NS::CommBrick::reverse_comm()");
        assert_eq!(name_alone(name, 26, &Page::default()), "call 8 of MPI_Send in …CommBrick::reverse_comm");
    }

    #[test]
    fn a_place_stays_whole_or_gives_way_to_the_name() {
        let placed = "solver::assemble(mesh const&, matrix&)  solver.cpp:100";
        assert_eq!(short_name(placed, 34, &Page::default()), "solver::assemble  solver.cpp:100");
        assert_eq!(short_name(placed, 22, &Page::default()), "solver::assemble");
        assert_eq!(short_name(placed, 12, &Page::default()), "solver…emble");
    }

    #[test]
    fn names_lose_their_template_arguments_first_and_then_their_middle() {
        let page = Page::default();
        let name = "std::vector<int, std::allocator<int>>::push_back(int const&)";
        assert_eq!(short_name(name, 60, &page), name);
        assert_eq!(short_name(name, 40, &page), "std::vector<…>::push_back(int const&)");
        assert_eq!(short_name("CalcFBHourglassForceForElems", 16, &page), "CalcFBHo…orElems");
        assert_eq!(short_name("operator<<(std::ostream&)", 12, &page), "operator<<");
        assert_eq!(short_name("void std::__introsort_loop<A, B>(A, long).isra.0", 30, &page), "std::__introsort_loop<…>");
        assert_eq!(short_name("iteration of loop 12 of a_long_function", 20, &page), "iteration …_function");
    }
}
