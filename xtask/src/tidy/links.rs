//! Relative links in Markdown files must lead somewhere.

use std::path::Path;

/// The targets of the relative links in `text`, with their lines, code left out.
pub fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let line = without_code(line);
            found.extend(line_targets(&line).into_iter().map(|target| (index + 1, target)));
        }
    }
    found
}

/// The links of `file` that lead nowhere, as complaints; `shown` is how the file is named in them.
pub fn check(file: &Path, shown: &str, text: &str) -> Vec<String> {
    let folder = file.parent().unwrap_or(Path::new("."));
    targets(text)
        .into_iter()
        .filter(|(_, target)| !folder.join(target).exists())
        .map(|(line, target)| format!("{shown}:{line}: the link to {target} leads nowhere"))
        .collect()
}

fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.filter(|(i, _)| i % 2 == 0).map(|(_, part)| part).collect()
}

fn line_targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find(')') else { break };
        let target = rest[..end].split_whitespace().next().unwrap_or("");
        let target = target.trim_matches(['<', '>']).split('#').next().unwrap_or("");
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        if !target.is_empty() && !elsewhere {
            found.push(target.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check, targets};

    #[test]
    fn finds_relative_links_only() {
        let text = "[a](b.md) [c](https://x.y/z) [d](#here) [e](f/g.md#h)\n\
                    ```\n[no](no)\n```\n`[n](n)`";
        assert_eq!(targets(text), [(1, "b.md".to_owned()), (1, "f/g.md".to_owned())]);
    }

    #[test]
    fn a_link_to_nothing_is_named() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let complaints = check(&root.join("x.md"), "x.md", "[a](Cargo.toml)\n[b](absent.md)");
        assert_eq!(complaints, ["x.md:2: the link to absent.md leads nowhere"]);
    }
}
