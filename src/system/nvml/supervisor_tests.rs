// SPDX-License-Identifier: Apache-2.0
//! The supervisor against a worker that the test plays: every order of events, without NVML.

use super::*;
use crate::domain::estimate::Sample;
use crate::ports::nvml::Survey;
use std::sync::mpsc;
use std::thread;

const SHORT: Duration = Duration::from_millis(40);
const LONG: Duration = Duration::from_secs(20);

type Answer = Result<Survey, NvmlFailure>;

struct Bench {
    inbox: Sender<Message>,
    jobs: Receiver<Job>,
    abandoned: Arc<AtomicBool>,
    supervisor: thread::JoinHandle<()>,
}

impl Bench {
    fn new(limit: Duration) -> Self {
        let (inbox, messages) = mpsc::channel();
        let (to_worker, jobs) = mpsc::channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        let supervisor = Supervisor::new(to_worker, Arc::clone(&abandoned), limit);
        Self {
            inbox,
            jobs,
            abandoned,
            supervisor: thread::spawn(move || supervisor.run(&messages)),
        }
    }

    fn ask(&self) -> Receiver<Answer> {
        let (to, answer) = mpsc::channel();
        self.inbox
            .send(survey(Box::new(move |result| to.send(result).unwrap())))
            .unwrap();
        answer
    }

    fn ask_for_a_sample(&self) -> Receiver<Result<Sample, NvmlFailure>> {
        let (to, answer) = mpsc::channel();
        let question = Question::Sample(Box::new(move |result| to.send(result).unwrap()));
        self.inbox.send(Message::Asked(question)).unwrap();
        answer
    }

    fn calling(&self, call: &str) {
        self.inbox
            .send(Message::Calling {
                call: call.to_owned(),
                at: Instant::now(),
            })
            .unwrap();
    }

    fn finish(&self, version: &str) {
        let found = Found::Survey(named(version));
        self.inbox.send(Message::Finished(Ok(found))).unwrap();
    }

    fn job(&self) -> Job {
        self.jobs.recv_timeout(LONG).unwrap()
    }
}

fn survey(done: crate::ports::nvml::Done<Survey>) -> Message {
    Message::Asked(Question::Survey(done))
}

fn named(version: &str) -> Survey {
    Survey {
        driver_version: Some(version.to_owned()),
        ..Survey::default()
    }
}

fn got(answer: &Receiver<Answer>) -> Answer {
    answer.recv_timeout(LONG).unwrap()
}

#[test]
fn a_hung_call_is_answered_once_then_stuck_at_once_then_served_again() {
    let bench = Bench::new(SHORT);
    let (first, queued) = (bench.ask(), bench.ask());
    bench.job();
    bench.calling("nvmlDeviceGetUUID on GPU 0");
    let call = "nvmlDeviceGetUUID on GPU 0".to_owned();
    assert_eq!(
        got(&first),
        Err(NvmlFailure::Timeout {
            call: call.clone(),
            limit: SHORT
        })
    );
    assert!(matches!(got(&queued), Err(NvmlFailure::Stuck { .. })));
    assert!(bench.abandoned.load(Ordering::SeqCst));
    for _ in 0..3 {
        match got(&bench.ask()) {
            Err(NvmlFailure::Stuck { call: stuck, since }) => assert!(stuck == call && since >= SHORT),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        bench.jobs.try_recv().is_err(),
        "a stuck worker was given another job"
    );

    bench.finish("late");
    let again = bench.ask();
    bench.job();
    assert!(!bench.abandoned.load(Ordering::SeqCst));
    bench.finish("fresh");
    assert_eq!(got(&again), Ok(named("fresh")));
    assert!(first.recv().is_err(), "the late result reached someone");
}

#[test]
fn the_limit_is_of_one_call_not_of_the_survey() {
    let bench = Bench::new(Duration::from_millis(400));
    let answer = bench.ask();
    bench.job();
    for call in 0..8 {
        bench.calling(&format!("call {call}"));
        thread::sleep(Duration::from_millis(100));
    }
    bench.finish("slow but sound");
    assert_eq!(got(&answer), Ok(named("slow but sound")));
}

#[test]
fn questions_during_a_survey_share_the_next_one() {
    let bench = Bench::new(LONG);
    let first = bench.ask();
    bench.job();
    let (second, third) = (bench.ask(), bench.ask());
    bench.finish("one");
    bench.job();
    bench.finish("two");
    assert_eq!(
        (got(&first), got(&second), got(&third)),
        (Ok(named("one")), Ok(named("two")), Ok(named("two")))
    );
    assert!(bench.jobs.try_recv().is_err());
}

#[test]
fn a_sample_and_a_survey_are_served_one_after_the_other_each_with_its_own_answer() {
    let bench = Bench::new(LONG);
    let first = bench.ask();
    assert_eq!(bench.job(), Job::Survey);
    let (sample, survey, again) = (bench.ask_for_a_sample(), bench.ask(), bench.ask_for_a_sample());
    bench.finish("one");
    assert_eq!(bench.job(), Job::Sample);
    let found = Found::Sample(Sample::default());
    bench.inbox.send(Message::Finished(Ok(found))).unwrap();
    assert_eq!(bench.job(), Job::Survey);
    bench.finish("two");
    assert_eq!((got(&first), got(&survey)), (Ok(named("one")), Ok(named("two"))));
    for sample in [sample, again] {
        assert_eq!(sample.recv_timeout(LONG).unwrap(), Ok(Sample::default()));
    }
}

#[test]
fn a_hang_is_told_to_everyone_whatever_they_asked() {
    let bench = Bench::new(SHORT);
    let sample = bench.ask_for_a_sample();
    let survey = bench.ask();
    bench.job();
    let told = sample.recv_timeout(LONG).unwrap();
    assert!(matches!(told, Err(NvmlFailure::Timeout { .. })), "{told:?}");
    assert!(matches!(got(&survey), Err(NvmlFailure::Stuck { .. })));
    let next = bench.ask_for_a_sample().recv_timeout(LONG).unwrap();
    assert!(matches!(next, Err(NvmlFailure::Stuck { .. })), "{next:?}");
}

#[test]
fn closing_answers_who_asked_and_never_waits_for_a_hung_worker() {
    let bench = Bench::new(SHORT);
    let answer = bench.ask();
    bench.job();
    bench.inbox.send(Message::Closed).unwrap();
    assert!(matches!(got(&answer), Err(NvmlFailure::Timeout { .. })));
    bench.supervisor.join().unwrap();
    assert!(bench.jobs.recv().is_err(), "the worker would wait for ever");
}

#[test]
fn a_worker_that_is_gone_and_a_receiver_that_panics_are_survived() {
    let bench = Bench::new(SHORT);
    bench
        .inbox
        .send(survey(Box::new(|_| panic!("meant to be here"))))
        .unwrap();
    bench.job();
    bench.finish("for nobody");
    let Bench { inbox, jobs, .. } = bench;
    drop(jobs);
    let (to, answer) = mpsc::channel();
    inbox
        .send(survey(Box::new(move |result| to.send(result).unwrap())))
        .unwrap();
    assert!(matches!(got(&answer), Err(NvmlFailure::Call { .. })));
}
