use super::*;
use proptest::prelude::*;

fn all(list: &UidList) -> Vec<u32> {
    list.iter().collect()
}

fn sorted(mut uids: Vec<u32>) -> Vec<u32> {
    uids.sort_unstable();
    uids.dedup();
    uids
}

#[test]
fn an_arrival_shares_what_did_not_change() {
    let uids: Vec<u32> = (1..=100_000).collect();
    let list = UidList::from_sorted(&uids);
    let newer = list.appended(&[100_001]);
    let shared = list.chunks.iter().zip(newer.chunks.iter());
    let copied = shared.filter(|(old, new)| !Arc::ptr_eq(&old.uids, &new.uids)).count();
    assert!(copied <= 1, "{copied} chunks were copied");
    assert_eq!(newer.len(), 100_001);
    assert_eq!(list.len(), 100_000);
}

#[test]
fn the_empty_list_has_nothing() {
    let list = UidList::default();
    assert_eq!((list.len(), list.last(), list.get(0), list.position(7)), (0, 0, None, None));
    assert_eq!(list.slice(0..10).count(), 0);
    assert_eq!(list.lower_bound(5), 0);
}

proptest! {
    #[test]
    fn behaves_like_a_plain_vector(
        first in proptest::collection::vec(1u32..5_000, 0..3_000),
        more in proptest::collection::vec(5_000u32..9_000, 0..1_500),
        gone in proptest::collection::vec(1u32..9_000, 0..1_500),
        probe in 0u32..9_100,
    ) {
        let (first, more, gone) = (sorted(first), sorted(more), sorted(gone));
        let old = UidList::from_sorted(&first);
        let mut model = first.clone();
        model.extend(&more);
        let grown = old.appended(&more);
        prop_assert_eq!(all(&grown), model.clone());
        model.retain(|uid| gone.binary_search(uid).is_err());
        let new = grown.without(&gone);
        prop_assert_eq!(all(&new), model.clone());
        prop_assert_eq!(new.len() as usize, model.len());
        prop_assert_eq!(new.lower_bound(probe) as usize, model.partition_point(|uid| *uid < probe));
        prop_assert_eq!(new.get(probe), model.get(probe as usize).copied());
        let (from, to) = (probe / 3, probe / 2);
        let expected: Vec<u32> =
            model.iter().skip(from as usize).take((to - from) as usize).copied().collect();
        prop_assert_eq!(new.slice(from..to).collect::<Vec<_>>(), expected);
        let difference = old.difference(&new);
        let lost: Vec<u32> =
            first.iter().filter(|uid| model.binary_search(uid).is_err()).copied().collect();
        let came: Vec<u32> =
            model.iter().filter(|uid| first.binary_search(uid).is_err()).copied().collect();
        prop_assert_eq!(difference, Difference { gone: lost, came });
    }
}
