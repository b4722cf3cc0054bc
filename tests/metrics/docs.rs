// SPDX-License-Identifier: Apache-2.0
//! The chapter on metrics and the dashboard speak of the numbers that there are, and of all of them.

use mesos_gpu::config::KEYS;
use mesos_gpu::domain::metrics::families::{FAMILIES, Family, Kind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The cells of the rows of all tables in a text with so many columns.
fn rows(text: &str, columns: usize) -> Vec<Vec<String>> {
    let cells = |row: &str| -> Vec<String> {
        let row = row.trim_matches('|').split('|');
        row.map(|cell| cell.trim().to_owned()).collect()
    };
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(cells)
        .filter(|row| row.len() == columns)
        .collect()
}

#[test]
fn every_series_stands_in_the_chapter_with_its_kind_labels_meaning_and_when_it_is_left_out_and_no_other() {
    let chapter = file("docs/metrics.md");
    let written: Vec<Vec<String>> = FAMILIES
        .iter()
        .map(|family| {
            let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let labels = if labels.is_empty() {
                "-".to_owned()
            } else {
                labels.join(", ")
            };
            vec![
                format!("`{}`", family.name),
                family.kind.to_string(),
                labels,
                family.help.to_owned(),
                family.absent.to_owned(),
            ]
        })
        .collect();
    assert_eq!(rows(&chapter, 5), written);
    for name in metrics_in(&chapter) {
        assert!(family_of(&name).is_some(), "nothing writes {name}");
    }
}

#[test]
fn every_label_is_explained_and_no_other() {
    let chapter = file("docs/metrics.md");
    let explained: BTreeSet<String> = rows(&chapter, 2)
        .into_iter()
        .flat_map(|row| quoted(&row[0]))
        .collect();
    let labels = FAMILIES.iter().flat_map(|family| family.labels);
    assert_eq!(explained, labels.map(|label| (*label).to_owned()).collect());
}

#[test]
fn every_value_of_a_label_that_the_chapter_lists_is_written_and_the_other_way_round() {
    let chapter = file("docs/metrics.md");
    let row = |label: &str| {
        let mut rows = rows(&chapter, 2).into_iter();
        let row = rows.find(|row| row[0] == format!("`{label}`")).unwrap();
        quoted(&row[1]).into_iter().collect::<BTreeSet<_>>()
    };
    let text = mesos_gpu::domain::metrics::text(&super::text::full());
    let written = |label: &str| -> BTreeSet<String> {
        let families = crate::support::exposition::read(&text);
        let samples = families.iter().flat_map(|family| &family.samples);
        samples
            .filter_map(|sample| sample.labels.get(label).cloned())
            .collect()
    };
    assert_eq!(row("phase"), written("phase"));
    assert_eq!(row("reason"), written("reason"));
    let calls = mesos_gpu::agent::calls::Calls::default().numbers();
    assert_eq!(
        row("call"),
        calls.iter().map(|(name, _)| (*name).to_owned()).collect()
    );
}

#[test]
fn the_keys_that_the_chapter_names_exist() {
    let chapter = file("docs/metrics.md");
    let keys: Vec<&str> = chapter
        .split("\"key\": \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(keys, ["metrics_file", "dcgm_job_dir"]);
    for key in keys.iter().chain(&["sample_interval", "oversubscribe"]) {
        assert!(chapter.contains(&format!("`{key}`")), "{key}");
        assert!(KEYS.iter().any(|known| known.name == *key), "{key}");
    }
}

/// What stands in back quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The names of metrics of ours in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !word(c));
    words
        .filter(|text| text.starts_with("mesos_gpu_") && !text.starts_with("mesos_gpu_Q"))
        .map(str::to_owned)
        .collect()
}

/// The family that a name in a query belongs to.
fn family_of(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| match family.kind {
        Kind::Histogram => ["_bucket", "_sum", "_count", ""]
            .iter()
            .any(|suffix| name.strip_suffix(suffix) == Some(family.name)),
        Kind::Counter | Kind::Gauge => name == family.name,
    })
}

/// Every query of the dashboard, those of its variables too.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&file("docs/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let of_variables = variables.filter_map(|one| Some(one["query"]["query"].as_str()?.to_owned()));
    expressions.chain(of_variables).collect()
}

#[test]
fn the_dashboard_shows_every_series_and_no_other() {
    let shown: BTreeSet<&str> = queries()
        .iter()
        .flat_map(|query| metrics_in(query))
        .map(|name| {
            family_of(&name)
                .unwrap_or_else(|| panic!("nothing writes {name}"))
                .name
        })
        .collect();
    assert_eq!(shown, FAMILIES.iter().map(|family| family.name).collect());
}

#[test]
fn the_dashboard_asks_for_labels_that_the_series_have() {
    /// Of the scrape, and of histograms.
    const OTHERS: [&str; 2] = ["instance", "le"];
    let mut checked = 0;
    for query in queries() {
        let names = metrics_in(&query);
        let has = |label: &str| {
            OTHERS.contains(&label)
                || names
                    .iter()
                    .all(|name| family_of(name).is_some_and(|family| family.labels.contains(&label)))
        };
        let matched = query
            .split('{')
            .skip(1)
            .flat_map(|rest| rest.split('}').next().unwrap().split(','));
        let matched = matched.map(|matcher| matcher.split('=').next().unwrap());
        let grouped = ["by (", "on ("]
            .into_iter()
            .flat_map(|word| query.split(word).skip(1));
        let grouped = grouped.flat_map(|rest| rest.split(')').next().unwrap().split(", "));
        for label in matched.chain(grouped) {
            assert!(has(label), "{label} in {query}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn the_dashboard_has_what_grafana_needs() {
    let dashboard: Value = serde_json::from_str(&file("docs/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut places = Vec::new();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty());
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        let (x, y, w, h) = (at("x"), at("y"), at("w"), at("h"));
        assert!(x + w <= 24, "{panel}");
        let overlaps = |other: &(u64, u64, u64, u64)| {
            let (ox, oy, ow, oh) = *other;
            x < ox + ow && ox < x + w && y < oy + oh && oy < y + h
        };
        assert!(!places.iter().any(overlaps), "{panel}");
        places.push((x, y, w, h));
        if panel["type"] == "row" {
            continue;
        }
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            for variable in expression.split('$').skip(1) {
                let name: String = variable
                    .chars()
                    .take_while(|c| c.is_ascii_alphabetic() || *c == '_')
                    .collect();
                let known = variables.iter().any(|one| one["name"] == name.as_str());
                assert!(known || name == "__rate_interval", "{name} in {expression}");
            }
        }
    }
}
