//! How big messages are: classes of sizes with their shares, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Dice, Trouble};

/// Octets of a text at the most.
pub const BODY_OCTETS_MAX: u64 = 4 << 20;
/// Octets of an attachment at the most, before encoding.
pub const ATTACHMENT_OCTETS_MAX: u64 = 64 << 20;
/// Classes of a profile at the most.
pub const CLASSES_MAX: usize = 64;

const NAMED: &str = include_str!("profiles.toml");

/// Messages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Their share of all messages, in percent.
    pub percent: f64,
    /// Octets of the text.
    pub body_octets: u64,
    /// Octets of the attachment before encoding; 0 for none.
    #[serde(default)]
    pub attachment_octets: u64,
}

/// A distribution of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The sizes; their shares make 100.
    pub classes: Vec<Class>,
}

impl Profile {
    /// The profile of this name: one of [`Profile::names`], or `fixed:N` for texts of N octets.
    ///
    /// # Errors
    ///
    /// [`Trouble::Profile`] when there is none, or N is not a size.
    pub fn named(name: &str) -> Result<Self, Trouble> {
        if let Some(size) = name.strip_prefix("fixed:") {
            let octets = size.parse().map_err(|_| trouble(name, "N of fixed:N is no number"))?;
            return Self::fixed(octets);
        }
        let Some(mut found) = all()?.remove(name) else {
            let known = Self::names().join(", ");
            return Err(trouble(name, &format!("known are {known} and fixed:N")));
        };
        found.name = name.to_owned();
        found.check()?;
        Ok(found)
    }

    /// Every message has a text of `octets` and no attachment.
    ///
    /// # Errors
    ///
    /// [`Trouble::Profile`] when the size is beyond [`BODY_OCTETS_MAX`].
    pub fn fixed(octets: u64) -> Result<Self, Trouble> {
        let class = Class { percent: 100.0, body_octets: octets, attachment_octets: 0 };
        let profile = Self { name: format!("fixed:{octets}"), classes: vec![class] };
        profile.check()?;
        Ok(profile)
    }

    /// The names of the profiles that come with the driver.
    #[must_use]
    pub fn names() -> Vec<String> {
        all().map(|all| all.into_keys().collect()).unwrap_or_default()
    }

    /// That a profile can be used: shares make 100, sizes are within the limits.
    ///
    /// # Errors
    ///
    /// [`Trouble::Profile`] with the reason.
    pub fn check(&self) -> Result<(), Trouble> {
        let wrong = |why: &str| Err(trouble(&self.name, why));
        if self.classes.is_empty() || self.classes.len() > CLASSES_MAX {
            return wrong("a profile has 1 to 64 classes");
        }
        let percent: f64 = self.classes.iter().map(|class| class.percent).sum();
        let whole = (99.99..100.01).contains(&percent);
        if !whole || self.classes.iter().any(|c| c.percent < 0.0) {
            return wrong("the shares do not make 100 percent");
        }
        if self.classes.iter().any(|class| class.body_octets > BODY_OCTETS_MAX) {
            return wrong("a text is longer than 4 MiB");
        }
        if self.classes.iter().any(|class| class.attachment_octets > ATTACHMENT_OCTETS_MAX) {
            return wrong("an attachment is bigger than 64 MiB");
        }
        Ok(())
    }

    /// Octets of text and attachment of a message in the mean, before encoding.
    #[must_use]
    pub fn mean_octets(&self) -> f64 {
        let weigh = |class: &Class| {
            class.percent / 100.0 * (class.body_octets + class.attachment_octets) as f64
        };
        self.classes.iter().map(weigh).sum()
    }

    /// The class of the next message.
    pub(super) fn draw(&self, dice: &mut Dice) -> Option<Class> {
        let mut left = dice.share() * 100.0;
        for class in &self.classes {
            left -= class.percent;
            if left < 0.0 {
                return Some(*class);
            }
        }
        self.classes.last().copied()
    }
}

fn trouble(name: &str, why: &str) -> Trouble {
    Trouble::Profile { name: name.to_owned(), why: why.to_owned() }
}

fn all() -> Result<BTreeMap<String, Profile>, Trouble> {
    toml::from_str(NAMED).map_err(|e| trouble("profiles.toml", e.message()))
}
