//! The walk over a message that finds its parts: one pass, linear time, no recursion.

use std::collections::HashMap;

use memchr::{memchr, memmem};

use crate::content::{Content, read_content};
use crate::envelope::read_envelope;
use crate::fields::{blank_line, line_end, starts_with_field};
use crate::params::ParamBudget;
use crate::{Defects, Envelope, Kind, Limits, Parsed, Part};

/// Takes a message apart. Total: every input has a structure, with at least one part.
pub fn parse(message: &[u8], limits: &Limits) -> Parsed {
    let mut scan = Scan::new(message, limits);
    let mut step = Step::Entity { at: 0, digest: false };
    while let Some(next) = scan.step(step) {
        step = next;
    }
    let preview = crate::preview::preview(message, &scan.parts);
    Parsed { parts: scan.parts, envelope: scan.envelope, preview, defects: scan.budget.defects }
}

/// What remains of the limits, and what was noticed.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    pub(crate) params: ParamBudget,
    pub(crate) addresses: usize,
    pub(crate) defects: Defects,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        let params = ParamBudget {
            per_field: limits.parameters,
            left: limits.parameters.saturating_mul(100),
            exceeded: false,
        };
        let addresses = limits.addresses;
        Self { limits: *limits, params, addresses, defects: Defects::default() }
    }
}

/// Where the walk goes on.
enum Step {
    /// An entity begins here, in a digest or not.
    Entity { at: usize, digest: bool },
    /// The next delimiter line is looked for; `at` is the start of a line.
    Search { at: usize },
}

/// An entity whose end is not known yet.
struct Open {
    part: u32,
    boundary: Option<Vec<u8>>,
    digest: bool,
    closed: bool,
    line_feeds_before: u64,
}

/// Counts line feeds at positions that only grow.
#[derive(Default)]
struct LineFeeds {
    at: usize,
    count: u64,
}

struct Scan<'a> {
    data: &'a [u8],
    parts: Vec<Part>,
    envelope: Envelope,
    open: Vec<Open>,
    /// Levels of `open` that wait for a boundary, innermost last.
    boundaries: HashMap<Vec<u8>, Vec<usize>>,
    boundary_bytes_max: usize,
    delimiters: memmem::Finder<'static>,
    line_feeds: LineFeeds,
    /// No position told so far lies behind this one.
    reached: usize,
    budget: Budget,
}

impl<'a> Scan<'a> {
    fn new(data: &'a [u8], limits: &Limits) -> Self {
        Self {
            data,
            parts: Vec::new(),
            envelope: Envelope::default(),
            open: Vec::new(),
            boundaries: HashMap::new(),
            boundary_bytes_max: 0,
            delimiters: memmem::Finder::new(b"\n--"),
            line_feeds: LineFeeds::default(),
            reached: 0,
            budget: Budget::new(limits),
        }
    }

    fn step(&mut self, step: Step) -> Option<Step> {
        match step {
            Step::Entity { at, digest } => Some(self.entity(at, digest)),
            Step::Search { at } => self.search(at),
        }
    }

    /// Reads the header of the entity that begins at `at` and opens it.
    fn entity(&mut self, at: usize, digest: bool) -> Step {
        let end = self.header_end(at);
        let parent = self.open.last().map(|open| open.part);
        let index = self.parts.len() as u32;
        let mut part = Part { parent, header: at as u64..end as u64, ..Part::default() };
        self.read_header(at, end, digest, &mut part);
        if let Some(parent) = parent {
            self.parts[parent as usize].children.push(index);
        }
        self.reached = end;
        let kind = part.kind;
        let boundary = (kind == Kind::Multipart).then(|| usable_boundary(&part)).flatten();
        let digest = kind == Kind::Multipart && part.subtype == "digest";
        self.parts.push(part);
        self.push_open(index, boundary, digest);
        match kind {
            Kind::Message => Step::Entity { at: end, digest: false },
            _ => Step::Search { at: end },
        }
    }

    fn push_open(&mut self, part: u32, boundary: Option<Vec<u8>>, digest: bool) {
        if let Some(boundary) = &boundary {
            self.boundary_bytes_max = self.boundary_bytes_max.max(boundary.len());
            self.boundaries.entry(boundary.clone()).or_default().push(self.open.len());
        }
        let line_feeds_before = self.line_feeds.up_to(self.data, self.reached);
        self.open.push(Open { part, boundary, digest, closed: false, line_feeds_before });
    }

    /// Behind the blank line of the header section that begins at `at`; or where a delimiter line
    /// of an enclosing multipart, or the end, cuts it.
    fn header_end(&mut self, at: usize) -> usize {
        if !starts_with_field(&self.data[at..]) {
            return at + blank_line(&self.data[at..]).unwrap_or(0);
        }
        let mut line = at;
        while line < self.data.len() {
            let rest = &self.data[line..];
            if let Some(length) = blank_line(rest) {
                return line + length;
            }
            if rest.starts_with(b"--") && self.delimiter_at(line).is_some() {
                return line;
            }
            line = line_end(self.data, line);
        }
        line
    }

    /// Fills the part from its fields; the envelope too, when a message begins here.
    fn read_header(&mut self, at: usize, end: usize, digest: bool, part: &mut Part) {
        let read_end = end.min(at.saturating_add(self.budget.limits.header_bytes));
        if read_end < end {
            self.budget.defects.add(Defects::LIMIT);
        }
        let header = &self.data[at..read_end];
        note_bytes(header, &mut self.budget.defects);
        let depth = self.open.len();
        let room =
            depth < self.budget.limits.depth && self.parts.len() + 1 < self.budget.limits.parts;
        read_content(header, &Content { digest, room }, &mut self.budget, part);
        let parent = part.parent.map(|parent| parent as usize);
        match parent {
            None => self.envelope = read_envelope(header, &mut self.budget),
            Some(parent) if self.parts[parent].kind == Kind::Message => {
                let envelope = read_envelope(header, &mut self.budget);
                self.parts[parent].envelope = Some(Box::new(envelope));
            }
            Some(_) => {}
        }
        if self.budget.params.exceeded || self.budget.addresses == 0 {
            self.budget.defects.add(Defects::LIMIT);
        }
    }

    /// Finds the next delimiter line from the line that begins at `at`, and acts on it.
    fn search(&mut self, at: usize) -> Option<Step> {
        let mut line = at;
        while !self.boundaries.is_empty() && line < self.data.len() {
            let rest = &self.data[line..];
            let start = match rest.starts_with(b"--") {
                true => line,
                false => match self.delimiters.find(rest) {
                    Some(i) => line + i + 1,
                    None => break,
                },
            };
            line = line_end(self.data, start);
            if let Some((level, closing)) = self.delimiter_at(start) {
                return self.delimiter(start, line, level, closing);
            }
        }
        self.close_from(0, self.data.len());
        None
    }

    /// The level of the multipart whose delimiter is the line at `start` (it begins with two
    /// hyphens), and whether it is the closing one. The whole line counts (RFC 2046 §5.1.1).
    fn delimiter_at(&self, start: usize) -> Option<(usize, bool)> {
        let rest = &self.data[start + 2..];
        let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())].trim_ascii_end();
        if line.len() > self.boundary_bytes_max + 2 {
            return None;
        }
        let level = |text: &[u8]| self.boundaries.get(text).and_then(|levels| levels.last());
        let opening = level(line);
        let closing = line.strip_suffix(b"--").and_then(level);
        match (opening, closing) {
            (Some(opening), Some(closing)) if closing > opening => Some((*closing, true)),
            (Some(opening), _) => Some((*opening, false)),
            (None, Some(closing)) => Some((*closing, true)),
            (None, None) => None,
        }
    }

    fn delimiter(
        &mut self,
        start: usize,
        next: usize,
        level: usize,
        closing: bool,
    ) -> Option<Step> {
        let before = &self.data[..start];
        let before = before.strip_suffix(b"\n").unwrap_or(before);
        let end = before.strip_suffix(b"\r").unwrap_or(before).len();
        self.close_from(level + 1, end);
        if closing {
            self.forget_boundary(level);
            self.open[level].closed = true;
            return Some(Step::Search { at: next });
        }
        if self.parts.len() >= self.budget.limits.parts {
            self.budget.defects.add(Defects::LIMIT);
            self.close_from(0, self.data.len());
            return None;
        }
        self.reached = self.reached.max(next);
        Some(Step::Entity { at: next, digest: self.open[level].digest })
    }

    /// Ends all entities from this level inwards, the innermost first.
    fn close_from(&mut self, level: usize, end: usize) {
        let end = end.max(self.reached);
        self.reached = end;
        let line_feeds = self.line_feeds.up_to(self.data, end);
        while self.open.len() > level {
            self.forget_boundary(self.open.len() - 1);
            if let Some(open) = self.open.pop() {
                self.close(&open, end, line_feeds);
            }
        }
    }

    fn close(&mut self, open: &Open, end: usize, line_feeds: u64) {
        let part = &mut self.parts[open.part as usize];
        let start = part.header.end as usize;
        part.body = start as u64..end as u64;
        let unfinished = end > start && self.data[end - 1] != b'\n';
        let lines = line_feeds - open.line_feeds_before + u64::from(unfinished);
        part.lines = u32::try_from(lines).unwrap_or(u32::MAX);
        if part.kind != Kind::Multipart {
            return;
        }
        if part.children.is_empty() {
            self.budget.defects.add(Defects::NO_PARTS);
            self.add_only_child(open.part);
        } else if !open.closed {
            self.budget.defects.add(Defects::NOT_CLOSED);
        }
    }

    /// A multipart without parts gets one: plain text without header, over its whole body.
    fn add_only_child(&mut self, parent: u32) {
        let index = self.parts.len() as u32;
        let part = &mut self.parts[parent as usize];
        part.children.push(index);
        let mut child = Part {
            parent: Some(parent),
            header: part.body.start..part.body.start,
            body: part.body.clone(),
            lines: part.lines,
            ..Part::default()
        };
        crate::content::set_default_type(&mut child);
        self.parts.push(child);
    }

    /// From now on this level waits for no delimiter.
    fn forget_boundary(&mut self, level: usize) {
        let Some(boundary) = self.open[level].boundary.take() else { return };
        if let Some(levels) = self.boundaries.get_mut(&boundary) {
            levels.retain(|&other| other != level);
            if levels.is_empty() {
                self.boundaries.remove(&boundary);
            }
        }
    }
}

impl LineFeeds {
    /// Line feeds before `at`, which is not before the position asked for last.
    fn up_to(&mut self, data: &[u8], at: usize) -> u64 {
        if at > self.at {
            self.count += memchr::memchr_iter(b'\n', &data[self.at..at]).count() as u64;
            self.at = at;
        }
        self.count
    }
}

/// The boundary without the trailing white space that it cannot have (RFC 2046 §5.1.1).
fn usable_boundary(part: &Part) -> Option<Vec<u8>> {
    let boundary = part.param("boundary")?.trim_ascii_end();
    (!boundary.is_empty()).then(|| boundary.as_bytes().to_vec())
}

fn note_bytes(header: &[u8], defects: &mut Defects) {
    if !header.is_ascii() {
        defects.add(Defects::EIGHT_BIT_HEADER);
    }
    if memchr(0, header).is_some() {
        defects.add(Defects::NUL_HEADER);
    }
}

#[cfg(test)]
mod tests;
