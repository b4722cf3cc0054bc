// SPDX-License-Identifier: Apache-2.0
//! What is withheld can be seen: one line of the log with the cure, and numbers that last as long as their framework.

use super::bag::{Bag, bag};
use super::model::{Cluster, Does};
use mesos_gpu::config::allocator::AllocatorConfig;
use mesos_gpu::filter::Filter;
use mesos_gpu::filter::publisher::Publisher;
use mesos_gpu::ports::metrics::Metrics;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

const NOT_AT_ALL: Duration = Duration::ZERO;

static LINES: Mutex<Vec<(log::Level, String)>> = Mutex::new(Vec::new());

struct Collector;

impl log::Log for Collector {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = (record.level(), record.args().to_string());
        LINES.lock().unwrap().push(line);
    }

    fn flush(&self) {}
}

fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Collector).unwrap();
        log::set_max_level(log::LevelFilter::Debug);
    });
}

/// The lines that name a framework.
fn lines(framework: &str) -> Vec<String> {
    let name = format!("({framework})");
    let lines = LINES.lock().unwrap();
    let own = lines.iter().filter(|(_, line)| line.contains(&name));
    own.map(|(level, line)| format!("{level} {line}")).collect()
}

#[test]
fn each_reason_is_said_once_for_a_framework_with_agent_and_cure() {
    collect();
    let mut cluster = Cluster::new(&[("policy", "share")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.agent("busy", bag(4, 16, 64_000));
    cluster.framework("seen-gpu", "g", true, Does::Decline(NOT_AT_ALL));
    cluster.use_on("seen-gpu", "busy", &bag(4, 16, 64_000));
    cluster.framework("seen-cpu", "r", false, Does::Decline(NOT_AT_ALL));
    for _ in 0..50 {
        cluster.cycle();
    }
    let mut lines = lines("seen-cpu");
    lines.sort();
    assert_eq!(
        lines,
        [
            "INFO all but what is reserved of agent host-m withheld from framework \"name-seen-cpu\" (seen-cpu): another \
             framework waits for the free GPUs and is offered the agent first; it is offered again by and by",
            "INFO some cpus and mem of agent host-m withheld from framework \"name-seen-cpu\" (seen-cpu): they are kept for \
             free GPUs until these are in use; lower cpus_per_gpu and mem_per_gpu if that is too much",
            "WARN the gpus of agent host-m withheld from framework \"name-seen-cpu\" (seen-cpu): it has no capability \
             GPU_RESOURCES; add the capability GPU_RESOURCES to the framework if its tasks are to have GPUs",
        ]
    );
    assert_eq!(self::lines("seen-gpu"), [] as [&str; 0]);
}

#[test]
fn caps_and_fractions_are_said_with_their_cure() {
    collect();
    let mut cluster = Cluster::new(&[("gpu_caps", "framework:said-capped=1")]);
    cluster.agent("m", bag(4, 16, 64_000).and(None, 500, 0, 0));
    cluster.framework("said-capped", "r", true, Does::TakeAll);
    cluster.cycle();
    let said = lines("said-capped");
    for part in [
        "WARN gpus of agent host-m withheld",
        "raise gpu_caps",
        "WARN part of a GPU of agent host-m withheld",
        "make the gpus of quotas and of the agent's resources whole numbers",
    ] {
        assert!(said.iter().any(|line| line.contains(part)), "{part}: {said:?}");
    }
}

#[test]
fn what_mesos_hides_by_itself_is_said_whoever_comes_first() {
    collect();
    let mut cluster = Cluster::new(&[]);
    cluster.agent("none", bag(0, 4, 1000));
    cluster.framework("early", "r", false, Does::Decline(NOT_AT_ALL));
    cluster.framework("early-gpu", "r", true, Does::Decline(NOT_AT_ALL));
    assert_eq!(lines("early"), [] as [&str; 0]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.agent("n", bag(4, 16, 64_000));
    cluster.framework("late", "r", false, Does::Decline(NOT_AT_ALL));
    for framework in ["early", "late"] {
        let want = format!(
            "WARN nothing of agents with GPUs, such as host-m, is offered to framework \"name-{framework}\" ({framework}): it \
             has no capability GPU_RESOURCES and the policy is strict; add the capability GPU_RESOURCES to the framework, or \
             set policy=share"
        );
        let said = lines(framework);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0] == want || said[0] == want.replace("host-m", "host-n"),
            "{said:?}"
        );
    }
    assert_eq!(lines("early-gpu"), [] as [&str; 0]);
}

#[test]
fn the_numbers_of_a_framework_end_with_it() {
    let mut cluster = Cluster::new(&[("policy", "share")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("f", "r", false, Does::Decline(NOT_AT_ALL));
    cluster.cycle();
    let series = "mesos_gpu_withheld_total{framework=\"f\",name=\"name-f\",reason=\"headroom\"}";
    assert_eq!(cluster.number(series), 1.0);
    assert_eq!(cluster.number("mesos_gpu_give_backs_total"), 1.0);
    assert!(
        !cluster.filter.numbers().contains("role="),
        "roles are counted only where someone reads them"
    );
    cluster.remove_framework("f");
    assert!(!cluster.filter.numbers().contains("framework="));
    assert_eq!(cluster.number("mesos_gpu_give_backs_total"), 1.0);
}

#[test]
fn with_a_metrics_file_the_gpus_of_roles_are_counted_under_every_policy() {
    for policy in ["strict", "share", "open"] {
        let mut cluster = Cluster::new(&[("policy", policy), ("metrics_file", "/m/gpu.prom")]);
        cluster.agent("m", bag(4, 16, 64_000));
        cluster.framework("f", "r", true, Does::TakeGpus(3, NOT_AT_ALL));
        cluster.cycle();
        assert_eq!(cluster.number("mesos_gpu_role_gpus{role=\"r\"}"), 3.0, "{policy}");
        assert_eq!(cluster.number("mesos_gpu_agents"), 1.0);
    }
}

/// Keeps what was published, and fails once.
#[derive(Clone, Default)]
struct Published(Arc<Mutex<(usize, Vec<String>)>>);

impl Metrics for Published {
    fn publish(&self, text: &str) -> Result<(), String> {
        let mut published = self.0.lock().unwrap();
        published.0 += 1;
        if published.0 == 1 {
            return Err("no space".to_owned());
        }
        published.1.push(text.to_owned());
        Ok(())
    }
}

#[test]
fn the_numbers_are_published_from_a_thread_again_after_a_failure_and_only_when_they_change() {
    let filter = Arc::new(Filter::new(AllocatorConfig::from_parts(&[]).unwrap()));
    let published = Published::default();
    let publisher = Publisher::start(
        Arc::clone(&filter),
        Box::new(published.clone()),
        Duration::from_millis(5),
    )
    .unwrap();
    let wait_for = |count| {
        let start = Instant::now();
        while published.0.lock().unwrap().1.len() < count {
            assert!(start.elapsed() < Duration::from_secs(20), "nothing was published");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for(1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(
        published.0.lock().unwrap().0,
        2,
        "a failure, and what was to be said"
    );
    let total: Bag = bag(1, 1, 1);
    filter.agent_added("m", "m", &total.pieces(), &[]);
    wait_for(2);
    assert!(published.0.lock().unwrap().1[1].contains("mesos_gpu_agents 1\n"));
    drop(publisher);
    assert_eq!(Arc::strong_count(&filter), 1, "the thread has ended");
}
