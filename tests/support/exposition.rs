// SPDX-License-Identifier: Apache-2.0
//! Reads Prometheus's text form as strictly as its own reader, and more: the lines of a family stand together under what it is
//! and of which kind, no line comes twice, and a histogram adds up.

use std::collections::{BTreeMap, BTreeSet};

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// A family and its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub name: String,
    pub kind: String,
    pub help: String,
    pub samples: Vec<Sample>,
}

/// Reads a text, or panics with what is wrong with it.
pub fn read(text: &str) -> Vec<Read> {
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "the last line has no end"
    );
    let mut families: Vec<Read> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            let (name, help) = head.split_once(' ').expect(line);
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (of, kind) = kind.and_then(|kind| kind.split_once(' ')).expect(line);
            assert_eq!(of, name);
            assert!(is_name(name), "{line}");
            assert!(
                families.iter().all(|before| before.name != name),
                "{name} comes twice"
            );
            families.push(Read {
                name: name.to_owned(),
                kind: kind.to_owned(),
                help: help.to_owned(),
                samples: Vec::new(),
            });
            continue;
        }
        let sample = sample(line);
        let family = families.last_mut().expect("a line before the first family");
        let suffix = sample.name.strip_prefix(&family.name).unwrap_or("no");
        let suffixes: &[&str] = match family.kind.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            "gauge" | "counter" => &[""],
            other => panic!("{other} is no kind"),
        };
        assert!(suffixes.contains(&suffix), "{line} in {}", family.name);
        assert!(
            seen.insert(format!("{}{:?}", sample.name, sample.labels)),
            "{line} comes twice"
        );
        family.samples.push(sample);
    }
    for family in &families {
        assert!(!family.samples.is_empty(), "{} has no line", family.name);
        if family.kind == "histogram" {
            check_histogram(family);
        }
    }
    families
}

/// The lines of one name.
pub fn of<'a>(families: &'a [Read], name: &str) -> Vec<&'a Sample> {
    let samples = families.iter().flat_map(|family| &family.samples);
    samples.filter(|sample| sample.name == name).collect()
}

/// The value of the one line of this name with these labels; none where there is none.
pub fn value(text: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let families = read(text);
    let has = |sample: &&&Sample| {
        labels
            .iter()
            .all(|(label, value)| sample.labels.get(*label).is_some_and(|is| is == value))
    };
    let samples = of(&families, name);
    let found: Vec<_> = samples.iter().filter(has).collect();
    assert!(found.len() < 2, "{found:?}");
    found.first().map(|sample| sample.value)
}

fn check_histogram(family: &Read) {
    let mut by_labels: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let part = |suffix: &str| {
        let name = format!("{}{suffix}", family.name);
        family.samples.iter().filter(move |sample| sample.name == name)
    };
    for bucket in part("_bucket") {
        let mut labels = bucket.labels.clone();
        let bound = labels.remove("le").expect("a bucket has a bound");
        let buckets = by_labels.entry(format!("{labels:?}")).or_default();
        buckets.push((bound.replace("+Inf", "inf").parse().unwrap(), bucket.value));
    }
    for (labels, buckets) in &by_labels {
        assert!(buckets.is_sorted(), "{labels} {buckets:?}");
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite());
        let count = part("_count").find(|count| format!("{:?}", count.labels) == *labels);
        assert_eq!(count.unwrap().value, last.1, "{labels}");
    }
    assert_eq!(part("_count").count(), by_labels.len());
    assert_eq!(part("_sum").count(), by_labels.len());
}

fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect(line);
            assert!(is_name(label), "{line}");
            let (value, after) = text(after).expect(line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    rest = after.strip_prefix('}').expect(line);
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ').expect(line);
    Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().expect(line),
    }
}

/// A text up to its quote, and what follows.
fn text(from: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = from.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &from[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
    None
}
