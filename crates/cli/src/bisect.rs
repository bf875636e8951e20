//! Delta debugging: the smallest part of a set that still makes something fail.
//!
//! The algorithm is `ddmin` of A. Zeller and R. Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE
//! Transactions on Software Engineering 28(2), 2002. For a single culprit it is a binary search.

/// A part of `all`, which must fail as a whole, that fails and none of whose elements can be left out of it.
pub(crate) fn smallest<E>(all: &[usize], mut fails: impl FnMut(&[usize]) -> Result<bool, E>) -> Result<Vec<usize>, E> {
    let mut left = all.to_vec();
    let mut pieces = 2;
    while left.len() > 1 {
        match smaller(&left, pieces, &mut fails)? {
            Some((part, then)) => (left, pieces) = (part, then),
            None if pieces < left.len() => pieces = (2 * pieces).min(left.len()),
            None => break,
        }
    }
    Ok(left)
}

/// A smaller set that fails, with the number of pieces to go on with: one of the pieces, or all but one of them.
fn smaller<E>(set: &[usize], pieces: usize, fails: &mut impl FnMut(&[usize]) -> Result<bool, E>) -> Result<Option<(Vec<usize>, usize)>, E> {
    let length = set.len().div_ceil(pieces);
    for piece in set.chunks(length) {
        if fails(piece)? {
            return Ok(Some((piece.to_vec(), 2)));
        }
    }
    // Of two pieces, each is what is left without the other.
    for (index, _) in set.chunks(length).enumerate().filter(|_| pieces > 2) {
        let rest: Vec<usize> = set.chunks(length).enumerate().filter(|&(other, _)| other != index).flat_map(|(_, piece)| piece).copied().collect();
        if fails(&rest)? {
            return Ok(Some((rest, (pieces - 1).max(2))));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::smallest;

    fn found(count: usize, culprits: &[usize]) -> (Vec<usize>, usize) {
        let all: Vec<usize> = (0..count).collect();
        let mut trials = 0;
        let set = smallest(&all, |set| {
            trials += 1;
            Ok::<_, ()>(culprits.iter().all(|one| set.contains(one)))
        });
        (set.expect("no trial breaks off"), trials)
    }

    #[test]
    fn one_culprit_is_found_in_logarithmic_time() {
        for culprit in [0, 1, 500, 998, 999] {
            let (set, trials) = found(1000, &[culprit]);
            assert_eq!(set, [culprit]);
            assert!(trials <= 20, "{trials} trials for 1000 functions");
        }
    }

    #[test]
    fn culprits_that_only_fail_together_are_found_together() {
        for culprits in [&[3, 700][..], &[0, 1, 2], &[10, 400, 401, 999]] {
            let (set, trials) = found(1000, culprits);
            assert_eq!(set, culprits);
            assert!(trials < 300, "{trials}");
        }
    }

    #[test]
    fn of_two_that_fail_alone_one_is_found() {
        let all: Vec<usize> = (0..64).collect();
        let set = smallest(&all, |set| Ok::<_, ()>(set.contains(&9) || set.contains(&40))).expect("no trial breaks off");
        assert!(set == [9] || set == [40]);
    }

    #[test]
    fn a_trial_that_cannot_be_made_breaks_off() {
        assert_eq!(smallest(&[1, 2, 3], |_| Err::<bool, _>("no room")), Err("no room"));
    }
}
