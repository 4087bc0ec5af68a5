//! Who has room among the connections that are served: a decision, without any.

/// So many connections are served at once.
const MOST: usize = 64;
/// So many of one user that is not the owner.
const MOST_OF_ONE: usize = 8;

/// How much somebody's questions weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Who may only look.
    Anybody,
    /// Who may change something.
    Member,
    /// Root, and the service's own user.
    Owner,
}

/// Somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guest {
    pub(super) user: u32,
    pub(super) rank: Rank,
}

/// What is done about a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is room.
    Welcome,
    /// This one of those present has to go: its place among them.
    InsteadOf(usize),
    /// There is no room.
    TurnedAway,
}

/// Who has room, where `present` are in the order in which they came: a user
/// with too many connections loses its own oldest one; in a full room, the user
/// with the most of those that weigh least does.
pub(super) fn judge(present: &[Guest], newcomer: Guest) -> Verdict {
    let of = |user: u32| present.iter().filter(move |guest| guest.user == user);
    let oldest = |user: u32| present.iter().position(|guest| guest.user == user);
    if newcomer.rank < Rank::Owner && of(newcomer.user).count() >= MOST_OF_ONE {
        return oldest(newcomer.user).map_or(Verdict::TurnedAway, Verdict::InsteadOf);
    }
    if present.len() < MOST {
        return Verdict::Welcome;
    }
    let least = present.iter().map(|guest| guest.rank).min();
    let Some(least) = least.filter(|least| *least <= newcomer.rank) else {
        return Verdict::TurnedAway;
    };
    // Of several with as many, the first, who came first: `max_by_key` has the last.
    let candidates = present.iter().rev().filter(|guest| guest.rank == least);
    let loser = candidates.max_by_key(|guest| of(guest.user).count());
    loser.and_then(|loser| oldest(loser.user)).map_or(Verdict::TurnedAway, Verdict::InsteadOf)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Guest = Guest { user: 0, rank: Rank::Owner };

    fn anybody(user: u32) -> Guest {
        Guest { user, rank: Rank::Anybody }
    }

    /// Those who are left of `newcomers`.
    fn come(newcomers: impl IntoIterator<Item = Guest>) -> Vec<Guest> {
        let mut present: Vec<Guest> = Vec::new();
        for newcomer in newcomers {
            match judge(&present, newcomer) {
                Verdict::Welcome => {}
                Verdict::InsteadOf(place) => drop(present.remove(place)),
                Verdict::TurnedAway => continue,
            }
            present.push(newcomer);
        }
        present
    }

    #[test]
    fn a_user_with_too_many_connections_loses_its_own() {
        let crowd = [anybody(5)].into_iter().chain(vec![anybody(9); 600]).chain([ROOT]);
        let left = come(crowd);
        assert_eq!(left.iter().filter(|guest| guest.user == 9).count(), MOST_OF_ONE);
        assert!(left.contains(&ROOT) && left.contains(&anybody(5)));
        assert_eq!(judge(&left, anybody(9)), Verdict::InsteadOf(1));
    }

    #[test]
    fn many_users_together_cannot_fill_the_room() {
        let many = (1..1_000).map(anybody);
        let left = come([ROOT].into_iter().chain(many));
        assert_eq!((left.len(), left[0]), (MOST, ROOT));
        // The newest are there, and root has room as often as it asks.
        assert!(left.contains(&anybody(999)) && !left.contains(&anybody(1)));
        assert_eq!(judge(&left, ROOT), Verdict::InsteadOf(1));
    }

    #[test]
    fn in_a_full_room_the_user_with_the_most_makes_room() {
        let few = (1..57).map(anybody).chain(vec![anybody(77); 8]);
        let left = come(few);
        assert_eq!(judge(&left, anybody(100)), Verdict::InsteadOf(56));
    }

    #[test]
    fn the_owner_may_ask_as_often_as_there_is_room() {
        let left = come(vec![ROOT; 50].into_iter().chain((1..1_000).map(anybody)));
        assert_eq!(left.iter().filter(|guest| **guest == ROOT).count(), 50);
        assert_eq!(judge(&vec![ROOT; MOST], ROOT), Verdict::InsteadOf(0));
    }

    #[test]
    fn who_weighs_less_than_all_is_turned_away() {
        let members = (0..64).map(|user| Guest { user, rank: Rank::Member });
        let left = come(members);
        assert_eq!(judge(&left, anybody(100)), Verdict::TurnedAway);
        assert_eq!(judge(&left, Guest { user: 100, rank: Rank::Owner }), Verdict::InsteadOf(0));
    }
}
