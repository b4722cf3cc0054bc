// SPDX-License-Identifier: Apache-2.0
//! A Mesos process as it is planned or as it runs, and the modules.json that it is given.

use crate::config::MesosFlags;
use crate::system::mesos_flags;
use crate::tool::check::subject::{Mesos, Running, Source, Subject};
use crate::tool::modules::Role;
use std::fs;
use std::path::{Path, PathBuf};

/// Which process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// None: only a modules.json.
    Nothing,
    /// One that would be started with this command line, from here.
    Command(Vec<String>),
    /// One that runs.
    Pid(u32),
}

/// What is checked: the process, and the modules.json at `modules` or else the one that it is given.
///
/// # Errors
/// There is no such process, or it is not known whether it is an agent or a master.
pub fn subject(modules: Option<&str>, asked: &Asked) -> Result<Subject, String> {
    let mesos = match asked {
        Asked::Nothing => None,
        Asked::Command(argv) => Some(planned(argv)?),
        Asked::Pid(pid) => Some(running(*pid)?),
    };
    let manifests = match (modules, &mesos) {
        (Some(path), _) => vec![file(path.strip_prefix("file://").unwrap_or(path))],
        (None, Some(mesos)) => given(&mesos.flags),
        (None, None) => Vec::new(),
    };
    Ok(Subject { manifests, mesos })
}

fn planned(argv: &[String]) -> Result<Mesos, String> {
    // The program may be left out.
    let bare = argv.first().is_none_or(|word| word.starts_with('-'));
    let argv: Vec<String> = bare
        .then(String::new)
        .into_iter()
        .chain(argv.iter().cloned())
        .collect();
    let env: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    mesos(&argv, &env, None).ok_or_else(|| {
        "cannot tell whether this is an agent or a master; begin with mesos-agent or mesos-master after --".to_owned()
    })
}

fn running(pid: u32) -> Result<Mesos, String> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let read = |what: &str| {
        let path = proc.join(what);
        fs::read(&path).map_err(|error| format!("cannot look at process {pid}: {}: {error}", path.display()))
    };
    if read("cmdline")?.is_empty() {
        return Err(format!("cannot look at process {pid}: it has no command line"));
    }
    read("environ")?;
    let (argv, env) = mesos_flags::started_with(&proc);
    let status = String::from_utf8_lossy(&read("status")?).into_owned();
    let running = Running {
        pid,
        uid: effective_user(&status),
        other_mounts: mounts_of(&proc) != mounts_of(Path::new("/proc/self")),
    };
    let mut found = mesos(&argv, &env, Some(running)).ok_or_else(|| {
        format!(
            "process {pid} is {:?}, neither an agent nor a master",
            argv.first().map_or("", String::as_str)
        )
    })?;
    found.program = proc.join("exe").display().to_string();
    Ok(found)
}

fn mesos(argv: &[String], env: &[(String, String)], running: Option<Running>) -> Option<Mesos> {
    let flags = MesosFlags::parse(argv, env, &mesos_flags::read);
    let typed = MesosFlags::parse(argv, &[], &mesos_flags::read);
    let library_path = env.iter().find(|(name, _)| name == "LD_LIBRARY_PATH");
    Some(Mesos {
        role: role(argv, &flags)?,
        flags,
        typed: typed.names().map(str::to_owned).collect(),
        program: argv.first().cloned().unwrap_or_default(),
        library_path: library_path.map(|(_, value)| value.clone()),
        running,
    })
}

/// By the name of the program or of a subcommand, else by a flag that only one of them has.
fn role(argv: &[String], flags: &MesosFlags) -> Option<Role> {
    let words = argv.iter().take_while(|word| !word.starts_with('-'));
    let by_name = words.filter_map(|word| {
        let name = Path::new(word).file_name()?.to_str()?;
        match name {
            _ if name.contains("master") => Some(Role::Master),
            _ if name.contains("agent") || name.contains("slave") => Some(Role::Agent),
            _ => None,
        }
    });
    let has = |names: &[&str]| flags.names().any(|name| names.contains(&name));
    by_name.last().or_else(|| {
        if has(&[
            "isolation",
            "master",
            "containerizers",
            "launcher",
            "resources",
            "resource_estimator",
        ]) {
            Some(Role::Agent)
        } else if has(&["allocator", "quorum", "zk", "registry", "filter_gpu_resources"]) {
            Some(Role::Master)
        } else {
            None
        }
    })
}

fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn mounts_of(proc: &Path) -> Option<PathBuf> {
    fs::read_link(proc.join("ns/mnt")).ok()
}

/// What `--modules` and `--modules_dir` name.
fn given(flags: &MesosFlags) -> Vec<Source> {
    let mut sources = Vec::new();
    if let Some(value) = flags.get("modules") {
        let path = value.strip_prefix("file://").unwrap_or(value);
        sources.push(if path.starts_with('/') {
            file(path)
        } else {
            Source {
                from: "--modules".to_owned(),
                text: Ok(value.to_owned()),
            }
        });
    }
    if let Some(folder) = flags.get("modules_dir") {
        sources.extend(folder_of(folder));
    }
    sources
}

fn folder_of(folder: &str) -> Vec<Source> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    });
    match listed {
        Ok(paths) => paths
            .iter()
            .map(|path| file(&path.display().to_string()))
            .collect(),
        Err(error) => vec![Source {
            from: folder.to_owned(),
            text: Err(error.to_string()),
        }],
    }
}

fn file(path: &str) -> Source {
    Source {
        from: path.to_owned(),
        text: mesos_flags::read(Path::new(path)).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role_of(argv: &[&str]) -> Option<Role> {
        let argv: Vec<String> = argv.iter().copied().map(str::to_owned).collect();
        role(&argv, &MesosFlags::parse(&argv, &[], &mesos_flags::read))
    }

    #[test]
    fn agents_and_masters_are_told_apart() {
        for (argv, want) in [
            (&["mesos-agent", "--master=x"][..], Some(Role::Agent)),
            (&["/usr/sbin/mesos-slave"], Some(Role::Agent)),
            (&["mesos-master", "--work_dir=/x"], Some(Role::Master)),
            (&["testbed", "agent", "--ip=1"], Some(Role::Agent)),
            (&["", "--isolation=x"], Some(Role::Agent)),
            (&["", "--allocator=x"], Some(Role::Master)),
            (&["sleep", "60"], None),
            (&["", "--work_dir=/master"], None),
        ] {
            assert_eq!(role_of(argv), want, "{argv:?}");
        }
    }

    #[test]
    fn the_effective_user_is_the_second_of_four() {
        assert_eq!(effective_user("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(0));
        assert_eq!(effective_user("Name:\tx\n"), None);
    }
}
