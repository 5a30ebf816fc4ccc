//! Documents: links between them lead somewhere.
//!
//! Decides by looking for the file; what stands behind a `#` or at another site is not looked up.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Checked, Finding};
use crate::rust_text::line_of;
use crate::tree::{self, Source};

pub(super) fn check(root: &Path, _: &[Source]) -> Result<Checked> {
    let documents = tree::documents(root)?;
    let mut links = 0;
    let mut findings = Vec::new();
    for (path, text) in &documents {
        for (link, at) in relative_links(text) {
            links += 1;
            let from = root.join(path);
            let folder = from.parent().map_or_else(PathBuf::new, Path::to_path_buf);
            if !folder.join(link).exists() {
                let mut finding = Finding::whole("documents", path, link, "leads nowhere");
                finding.at = format!("{path}:{}", line_of(text, at));
                findings.push(finding);
            }
        }
    }
    Ok(Checked { detail: format!("{links} links in {} documents", documents.len()), findings })
}

/// Links to files, without their anchors, and where they stand.
fn relative_links(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.match_indices("](").filter_map(|(at, _)| {
        let link = text[at + 2..].split(')').next()?.split('#').next()?;
        let elsewhere = link.is_empty() || link.contains("://") || link.contains(' ');
        (!elsewhere).then_some((link, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_files_are_looked_at() {
        let text = "[a](b.md) [c](https://x.y) [d](#e) [f](g/h.md#i)";
        let links: Vec<_> = relative_links(text).map(|(link, _)| link).collect();
        assert_eq!(links, ["b.md", "g/h.md"]);
    }
}
