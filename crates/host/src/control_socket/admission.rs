//! Admission of connections when there are many. Pure.

/// The most connections at a time.
const MOST: usize = 64;
/// The most connections of one user, except for owners.
const MOST_OF_ONE: usize = 8;

/// The rights of a user, and the order in which users are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// May only ask.
    Reader,
    /// May change something.
    Member,
    /// Root, and the service's own user.
    Owner,
}

/// The user at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) user: u32,
    pub(super) rank: Rank,
}

/// The decision about a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is admitted.
    Admit,
    /// It is admitted, and the present connection with this index is dropped.
    Replace(usize),
    /// It is refused.
    Refuse,
}

/// Decides about `newcomer`; `present` is sorted by age, oldest first. A user
/// with too many connections loses its own oldest one. If all connections are in
/// use, the user with the most connections, of the lowest rank present, loses
/// its oldest one.
pub(super) fn decide(present: &[Peer], newcomer: Peer) -> Admission {
    let of = |user: u32| present.iter().filter(move |peer| peer.user == user);
    let oldest = |user: u32| present.iter().position(|peer| peer.user == user);
    if newcomer.rank < Rank::Owner && of(newcomer.user).count() >= MOST_OF_ONE {
        return oldest(newcomer.user).map_or(Admission::Refuse, Admission::Replace);
    }
    if present.len() < MOST {
        return Admission::Admit;
    }
    let least = present.iter().map(|peer| peer.rank).min();
    let Some(least) = least.filter(|least| *least <= newcomer.rank) else {
        return Admission::Refuse;
    };
    // Ties go to the oldest: `max_by_key` returns the last maximum.
    let candidates = present.iter().rev().filter(|peer| peer.rank == least);
    let loser = candidates.max_by_key(|peer| of(peer.user).count());
    loser.and_then(|loser| oldest(loser.user)).map_or(Admission::Refuse, Admission::Replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Peer = Peer { user: 0, rank: Rank::Owner };

    fn anybody(user: u32) -> Peer {
        Peer { user, rank: Rank::Reader }
    }

    /// The connections that remain of `newcomers`.
    fn come(newcomers: impl IntoIterator<Item = Peer>) -> Vec<Peer> {
        let mut present: Vec<Peer> = Vec::new();
        for newcomer in newcomers {
            match decide(&present, newcomer) {
                Admission::Admit => {}
                Admission::Replace(place) => drop(present.remove(place)),
                Admission::Refuse => continue,
            }
            present.push(newcomer);
        }
        present
    }

    #[test]
    fn a_user_with_too_many_connections_loses_its_own() {
        let crowd = [anybody(5)].into_iter().chain(vec![anybody(9); 600]).chain([ROOT]);
        let left = come(crowd);
        assert_eq!(left.iter().filter(|peer| peer.user == 9).count(), MOST_OF_ONE);
        assert!(left.contains(&ROOT) && left.contains(&anybody(5)));
        assert_eq!(decide(&left, anybody(9)), Admission::Replace(1));
    }

    #[test]
    fn many_users_together_cannot_keep_others_out() {
        let many = (1..1_000).map(anybody);
        let left = come([ROOT].into_iter().chain(many));
        assert_eq!((left.len(), left[0]), (MOST, ROOT));
        // The newest are there, and root is always admitted.
        assert!(left.contains(&anybody(999)) && !left.contains(&anybody(1)));
        assert_eq!(decide(&left, ROOT), Admission::Replace(1));
    }

    #[test]
    fn with_all_connections_in_use_the_user_with_the_most_loses_one() {
        let few = (1..57).map(anybody).chain(vec![anybody(77); 8]);
        let left = come(few);
        assert_eq!(decide(&left, anybody(100)), Admission::Replace(56));
    }

    #[test]
    fn the_owner_may_use_all_connections() {
        let left = come(vec![ROOT; 50].into_iter().chain((1..1_000).map(anybody)));
        assert_eq!(left.iter().filter(|peer| **peer == ROOT).count(), 50);
        assert_eq!(decide(&vec![ROOT; MOST], ROOT), Admission::Replace(0));
    }

    #[test]
    fn a_user_of_the_lowest_rank_is_refused_when_all_connections_are_in_use() {
        let members = (0..64).map(|user| Peer { user, rank: Rank::Member });
        let left = come(members);
        assert_eq!(decide(&left, anybody(100)), Admission::Refuse);
        assert_eq!(decide(&left, Peer { user: 100, rank: Rank::Owner }), Admission::Replace(0));
    }
}
