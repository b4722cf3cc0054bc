// SPDX-License-Identifier: Apache-2.0
//! Tables of what images require.

use super::*;

const REAL: &str = "cuda>=12.8 brand=tesla,driver>=470,driver<471 brand=geforce,driver>=470,driver<471";

fn wishes(env: &[&str]) -> Wishes {
    Wishes::read(env.iter().copied(), [])
}

fn facts(driver: &str, model: &str) -> Facts {
    Facts::of(Some(driver), &[model.to_owned()])
}

/// Whether a machine meets `NVIDIA_REQUIRE_CUDA`, and how many warnings that gives.
fn verdict(text: &str, facts: &Facts) -> (bool, usize) {
    let checked = check(&wishes(&[&format!("NVIDIA_REQUIRE_CUDA={text}")]), facts);
    (checked.is_ok(), checked.map_or(0, |warnings| warnings.len()))
}

#[test]
fn one_group_of_clauses_that_all_hold_is_enough() {
    for (driver, model, met) in [
        ("580.159.04", "NVIDIA H200", true),
        ("570.86.10", "NVIDIA H200", true),
        ("565.57.01", "NVIDIA H200", false),
        ("470.57.02", "Tesla V100", true),
        ("470", "NVIDIA GeForce RTX 3090", true),
        ("470.57.02", "Quadro P2000", false),
        ("495.29.05", "Tesla V100", false),
        ("460.32.03", "Tesla V100", false),
    ] {
        assert_eq!(verdict(REAL, &facts(driver, model)), (met, 0), "{driver} {model}");
    }
}

#[test]
fn every_operator_compares_by_number() {
    let facts = Facts {
        arch: Some("9.0".to_owned()),
        ..facts("535.129.03", "Tesla T4")
    };
    for (clause, met) in [
        ("cuda=12.2", true),
        ("cuda=12.2.0", true),
        ("cuda!=12.2", false),
        ("cuda!=12.3", true),
        ("cuda<12.10", true),
        ("cuda<12.2", false),
        ("cuda<=12.2", true),
        ("cuda>12.2", false),
        ("cuda>12.1", true),
        ("cuda>=12", true),
        ("cuda>=13", false),
        ("driver>=535.54", true),
        ("driver>=535.200", false),
        ("arch>=8.0", true),
        ("arch>9.0", false),
        ("brand=tesla", true),
        ("brand=Tesla", true),
        ("brand=geforce", false),
        ("brand!=geforce", true),
        ("brand!=tesla", false),
    ] {
        assert_eq!(verdict(clause, &facts), (met, 0), "{clause}");
    }
}

#[test]
fn a_brand_is_that_of_every_gpu() {
    let two = Facts {
        brands: vec!["geforce".to_owned(), "tesla".to_owned()],
        ..Facts::default()
    };
    for (clause, met) in [
        ("brand=tesla", false),
        ("brand!=tesla", false),
        ("brand!=grid", true),
        ("brand=tesla brand=geforce", false),
    ] {
        assert_eq!(verdict(clause, &two), (met, 0), "{clause}");
    }
    let titan = facts("580.1", "NVIDIA TITAN RTX");
    assert_eq!(verdict("brand=titanrtx", &titan), (true, 0));
}

#[test]
fn a_clause_that_is_not_understood_is_left_out_with_a_warning() {
    let facts = facts("535.129.03", "Tesla T4");
    for (text, met, warnings) in [
        ("csv-mounts=all", true, 1),
        ("cuda", true, 1),
        ("cuda>=", true, 1),
        ("cuda>=twelve", true, 1),
        ("cuda=>12", true, 1),
        ("cuda==12", true, 1),
        (">=12", true, 1),
        ("CUDA>=99", true, 1),
        ("brand>=tesla", true, 1),
        ("brand=", true, 1),
        ("kernel>=5", true, 1),
        ("kernel>=5,driver>=530", true, 1),
        // Left out means that it neither helps nor harms.
        ("kernel>=5,driver>=600", false, 0),
        ("cuda>=99 kernel>=5", false, 0),
        ("kernel>=5 cuda>=12", true, 1),
        // What comes after the group that holds is not looked at.
        ("cuda>=12 kernel>=5", true, 0),
        ("", true, 0),
        (" , ,, ", true, 0),
    ] {
        assert_eq!(verdict(text, &facts), (met, warnings), "{text:?}");
    }
    let warnings = check(&wishes(&["NVIDIA_REQUIRE_JETPACK=csv-mounts=all"]), &facts).unwrap();
    assert_eq!(
        warnings,
        [
            "\"NVIDIA_REQUIRE_JETPACK\" of the image: \"csv-mounts=all\" is no requirement that is known here; it is left out"
        ]
    );
}

#[test]
fn what_is_not_known_of_the_machine_counts_as_met_with_a_warning() {
    let nothing = Facts::default();
    for (text, met, warnings) in [
        ("cuda>=99", true, 1),
        ("driver<1", true, 1),
        ("arch>=99", true, 1),
        ("brand=grid", true, 1),
        ("brand!=grid,cuda>=99", true, 2),
    ] {
        assert_eq!(verdict(text, &nothing), (met, warnings), "{text}");
    }
    let odd = Facts {
        driver: Some("unknown".to_owned()),
        ..Facts::default()
    };
    assert_eq!(verdict("driver>=470", &odd), (true, 1));
    // Known and unmet decides, whatever else is unknown.
    let cuda = Facts {
        cuda: Some("12.2".to_owned()),
        ..Facts::default()
    };
    assert_eq!(verdict("arch>=9,cuda>=13", &cuda), (false, 0));
}

#[test]
fn unmet_names_the_variable_the_clause_and_both_versions() {
    let facts = facts("535.129.03", "NVIDIA H200");
    let error = check(&wishes(&[&format!("NVIDIA_REQUIRE_CUDA={REAL}")]), &facts).unwrap_err();
    assert_eq!(
        error,
        "the image requires \"cuda>=12.8\" in NVIDIA_REQUIRE_CUDA (nor does another of its 3 groups hold), and this machine \
         has driver 535.129.03, CUDA 12.2, GPUs of brand nvidia; with NVIDIA_DISABLE_REQUIRE=1 in the image that is not \
         checked"
    );
    let error = check(&wishes(&["NVIDIA_REQUIRE_DRIVER=driver>=580"]), &facts).unwrap_err();
    assert!(
        error.starts_with(
            "the image requires \"driver>=580\" in NVIDIA_REQUIRE_DRIVER, and this machine has driver 535."
        ),
        "{error}"
    );
    // A hostile one is cut and stays on one line.
    let long = format!("NVIDIA_REQUIRE_A\nB=brand={}", "é\u{1}".repeat(5000));
    let many = format!(
        "NVIDIA_REQUIRE_{}=driver>=999,{}",
        "N".repeat(5000),
        "driver>=1,".repeat(5000)
    );
    for env in [long, many] {
        let error = check(&wishes(&[&env]), &facts).unwrap_err();
        assert!(!error.contains('\n') && error.len() < 1200, "{error}");
    }
}

#[test]
fn every_variable_must_hold_and_disable_require_switches_them_off() {
    let facts = facts("535.129.03", "Tesla T4");
    for (env, met) in [
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_REQUIRE_X=driver>=535"][..],
            true,
        ),
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_REQUIRE_X=driver>=580"],
            false,
        ),
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_REQUIRE_X=driver>=535"],
            false,
        ),
        // Of a name that is given twice the first counts.
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_REQUIRE_CUDA=cuda>=13"],
            true,
        ),
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_DISABLE_REQUIRE=1"],
            true,
        ),
        (
            &["NVIDIA_DISABLE_REQUIRE=true", "NVIDIA_REQUIRE_CUDA=cuda>=13"],
            true,
        ),
        (
            &["NVIDIA_DISABLE_REQUIRE=TRUE", "NVIDIA_REQUIRE_CUDA=cuda>=13"],
            true,
        ),
        (
            &["NVIDIA_DISABLE_REQUIRE=0", "NVIDIA_REQUIRE_CUDA=cuda>=13"],
            false,
        ),
        (
            &["NVIDIA_DISABLE_REQUIRE=", "NVIDIA_REQUIRE_CUDA=cuda>=13"],
            false,
        ),
        (&["NVIDIA_DISABLE_REQUIRE", "NVIDIA_REQUIRE_CUDA=cuda>=13"], false),
        (
            &["nvidia_require_cuda=cuda>=13", "XNVIDIA_REQUIRE_CUDA=cuda>=13"],
            true,
        ),
    ] {
        assert_eq!(check(&wishes(env), &facts).is_ok(), met, "{env:?}");
    }
}

#[test]
fn the_warnings_of_one_image_do_not_fill_the_log() {
    let many = format!("NVIDIA_REQUIRE_X={}", "nonsense ".repeat(10_000));
    let warnings = check(&wishes(&[&many]), &Facts::default()).unwrap();
    assert_eq!(warnings.len(), 17);
    assert_eq!(warnings[16], "and more of that kind");
}
