//! Hierarchical names: `CN=Ada Lovelace/OU=Sales/O=Demo/C=DE`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// Longest name accepted, in bytes.
const NAME_BYTES_MAX: usize = 1_024;
/// Most components a name may have: common name, four units, organization, country.
const COMPONENTS_MAX: usize = 7;

/// A text that is not a hierarchical name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or an empty component.
    #[error("a name has no empty components")]
    Empty,
    /// A label other than CN, OU, O, C, or one that stands out of order or twice.
    #[error("label {0:?} is unknown or out of order")]
    Label(String),
    /// Too long or too many components.
    #[error("the name is too long")]
    Long,
}

/// A hierarchical name. Equality ignores case.
#[derive(Debug, Clone, Default)]
pub struct DistinguishedName {
    common: String,
    units: Vec<String>,
    organization: String,
    country: String,
}

impl DistinguishedName {
    /// Parses the canonical form (every component labelled) or the abbreviated one.
    ///
    /// In the abbreviated form the first component is the common name, the last the organization
    /// and those between are organizational units; one component alone is a flat common name.
    /// A country needs the canonical form.
    ///
    /// # Errors
    /// [`NameError`] for empty components, unknown or misplaced labels, and long names.
    pub fn parse(text: &str) -> Result<DistinguishedName, NameError> {
        if text.len() > NAME_BYTES_MAX {
            return Err(NameError::Long);
        }
        let components: Vec<&str> = text.split('/').map(str::trim).collect();
        if components.len() > COMPONENTS_MAX {
            return Err(NameError::Long);
        }
        if components.iter().any(|component| component.is_empty()) {
            return Err(NameError::Empty);
        }
        if components.iter().any(|component| component.contains('=')) {
            canonical(&components)
        } else {
            Ok(abbreviated(&components))
        }
    }

    /// The common name; empty for the name of an organization.
    pub fn common(&self) -> &str {
        &self.common
    }

    /// The organizational units from the innermost to the outermost.
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// The organization; empty for a flat name.
    pub fn organization(&self) -> &str {
        &self.organization
    }

    /// The country; usually empty.
    pub fn country(&self) -> &str {
        &self.country
    }

    /// Whether the name consists of a common name alone.
    pub fn is_flat(&self) -> bool {
        self.units.is_empty() && self.organization.is_empty() && self.country.is_empty()
    }

    /// `CN=Ada Lovelace/O=Demo`.
    pub fn canonical(&self) -> String {
        self.joined(|label, component| format!("{label}={component}"))
    }

    /// `Ada Lovelace/Demo`.
    pub fn abbreviated(&self) -> String {
        self.joined(|_, component| component.to_owned())
    }

    fn components(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let common = std::iter::once(("CN", self.common.as_str()));
        let units = self.units.iter().map(|unit| ("OU", unit.as_str()));
        let rest = [("O", self.organization.as_str()), ("C", self.country.as_str())];
        common.chain(units).chain(rest).filter(|(_, component)| !component.is_empty())
    }

    fn joined(&self, print: impl Fn(&str, &str) -> String) -> String {
        let parts: Vec<String> = self.components().map(|(label, c)| print(label, c)).collect();
        parts.join("/")
    }
}

fn abbreviated(components: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::default();
    if let Some((first, rest)) = components.split_first() {
        name.common = (*first).to_owned();
        if let Some((last, units)) = rest.split_last() {
            name.organization = (*last).to_owned();
            name.units = units.iter().map(|unit| (*unit).to_owned()).collect();
        }
    }
    name
}

fn canonical(components: &[&str]) -> Result<DistinguishedName, NameError> {
    let mut name = DistinguishedName::default();
    let mut rank = 0;
    for component in components {
        let (label, value) = component.split_once('=').unwrap_or(("", component));
        let (label, value) = (label.trim(), value.trim());
        if value.is_empty() {
            return Err(NameError::Empty);
        }
        let this = match label.to_ascii_uppercase().as_str() {
            "CN" => 1,
            "OU" => 2,
            "O" => 3,
            "C" => 4,
            _ => return Err(NameError::Label(label.to_owned())),
        };
        if this < rank || (this == rank && this != 2) {
            return Err(NameError::Label(label.to_owned()));
        }
        rank = this;
        match this {
            1 => name.common = value.to_owned(),
            2 => name.units.push(value.to_owned()),
            3 => name.organization = value.to_owned(),
            _ => name.country = value.to_owned(),
        }
    }
    Ok(name)
}

impl PartialEq for DistinguishedName {
    fn eq(&self, other: &DistinguishedName) -> bool {
        self.canonical().to_lowercase() == other.canonical().to_lowercase()
    }
}

impl Eq for DistinguishedName {}

impl Hash for DistinguishedName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().to_lowercase().hash(state);
    }
}

impl FromStr for DistinguishedName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<DistinguishedName, NameError> {
        DistinguishedName::parse(text)
    }
}

impl fmt::Display for DistinguishedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_parse_and_print() {
        let cases = [
            ("CN=Ada Lovelace/O=Demo", "CN=Ada Lovelace/O=Demo", "Ada Lovelace/Demo"),
            ("Ada Lovelace/Demo", "CN=Ada Lovelace/O=Demo", "Ada Lovelace/Demo"),
            (
                " cn = Ada / ou=Sales/OU=West/o=Demo/c=DE ",
                "CN=Ada/OU=Sales/OU=West/O=Demo/C=DE",
                "Ada/Sales/West/Demo/DE",
            ),
            ("Ada/Sales/Demo", "CN=Ada/OU=Sales/O=Demo", "Ada/Sales/Demo"),
            ("admin", "CN=admin", "admin"),
            ("O=Demo", "O=Demo", "Demo"),
        ];
        for (text, canonical, abbreviated) in cases {
            let name = DistinguishedName::parse(text).unwrap();
            assert_eq!(name.canonical(), canonical, "{text}");
            assert_eq!(name.abbreviated(), abbreviated, "{text}");
            assert_eq!(DistinguishedName::parse(canonical).unwrap(), name);
        }
    }

    #[test]
    fn names_compare_without_regard_to_case() {
        let ada = DistinguishedName::parse("CN=Ada Ölberg/O=Demo").unwrap();
        assert_eq!(ada, DistinguishedName::parse("ada ölberg/DEMO").unwrap());
        assert_ne!(ada, DistinguishedName::parse("Ada Ölberg").unwrap());
        assert_eq!(ada.common(), "Ada Ölberg");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let label = |text: &str| NameError::Label(text.to_owned());
        let cases = [
            ("", NameError::Empty),
            ("Ada//Demo", NameError::Empty),
            ("CN=/O=Demo", NameError::Empty),
            ("O=Demo/CN=Ada", label("CN")),
            ("CN=Ada/CN=Ada", label("CN")),
            ("CN=Ada/Demo", label("")),
            ("X=Ada", label("X")),
            ("a/b/c/d/e/f/g/h", NameError::Long),
        ];
        for (text, error) in cases {
            assert_eq!(DistinguishedName::parse(text), Err(error), "{text}");
        }
        assert_eq!(DistinguishedName::parse(&"a".repeat(2_000)), Err(NameError::Long));
    }
}
