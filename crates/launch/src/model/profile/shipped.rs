//! Profiles that are part of unjank: for trying, and for comparing the models with
//! a real governor. All of them count wall time, so they are the same load on a
//! machine whose speed does not follow its clock.

use super::Profile;

/// The shipped profiles by their names.
pub const SHIPPED: [(&str, &str); 6] = [
    ("burst", include_str!("../../../profiles/burst.toml")),
    ("bursts", include_str!("../../../profiles/bursts.toml")),
    ("half", include_str!("../../../profiles/half.toml")),
    ("staircase", include_str!("../../../profiles/staircase.toml")),
    ("frames", include_str!("../../../profiles/frames.toml")),
    ("app", include_str!("../../../profiles/app.toml")),
];

/// The shipped profile of this name.
pub fn shipped(name: &str) -> Option<Profile> {
    let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
    Profile::from_toml(text, name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_valid() {
        for (name, text) in SHIPPED {
            let profile = Profile::from_toml(text, name).unwrap();
            assert_eq!(profile.name, name);
            assert_eq!(shipped(name), Some(profile));
        }
        assert_eq!(shipped("none"), None);
    }
}
