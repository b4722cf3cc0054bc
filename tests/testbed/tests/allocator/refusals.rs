// SPDX-License-Identifier: Apache-2.0
//! A master that cannot have the allocator it was told to have does not start, and says why.

use testbed::Testbed;

use crate::cluster::{PATIENCE, builder};

/// The log of a master that does not start with these parameters.
fn refused(parameters: &[(&str, &str)]) -> String {
    let bed = Testbed::new().unwrap();
    let mut master = builder(&bed, parameters).start().unwrap();
    assert!(master.wait_ready(PATIENCE).is_err(), "{}", master.log());
    master.log()
}

#[test]
fn a_sorter_that_this_mesos_cannot_give_is_refused_by_name() {
    let log = refused(&[("role_sorter", "random"), ("framework_sorter", "random")]);
    assert!(
        log.contains("exports no allocator with role_sorter=random and framework_sorter=random"),
        "{log}"
    );
}

#[test]
fn an_unknown_parameter_is_refused_by_name() {
    let log = refused(&[("polcy", "share")]);
    assert!(log.contains("polcy"), "{log}");
}
