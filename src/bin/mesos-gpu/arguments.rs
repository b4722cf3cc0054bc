// SPDX-License-Identifier: Apache-2.0
//! The arguments, as the help prints them and the shells complete them.

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

/// What agents and masters with libmesos_gpu.so would find on this machine, without Mesos.
#[derive(Debug, Parser)]
#[command(name = "mesos-gpu", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(List),
    Check(Check),
    Status(Status),
    Completions(Completions),
}

/// Print the GPUs that an agent on this machine would manage, one a line.
///
/// HEALTH is ok, sick (set aside) or unknown (NVML does not answer); HOLDER is the container by the agent's checkpoint,
/// - for none, ? where that is not known.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 when there are GPUs, 1 when there are none, 2 for a wrong call.")]
pub struct List {
    #[command(flatten)]
    pub place: Place,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Where an agent's settings come from.
#[derive(Debug, Args)]
pub struct Place {
    /// Parameters of the modules, as in modules.json: gpus=0-3.
    #[arg(value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,
    /// The agent's --work_dir, below which its checkpoint is.
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<String>,
    /// The folder of the checkpoint, where the parameter checkpoint_dir is set.
    #[arg(long, value_name = "DIR")]
    pub checkpoint_dir: Option<String>,
}

/// Find what would refuse or surprise when an agent or a master starts, before it starts.
///
/// Checked are a modules.json, the flags of a command line after --, with the variables MESOS_* of this environment, or
/// those of a running process. Nothing is started and nothing is written to.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 for nothing or notes, 1 for warnings, 2 for errors, 64 for a wrong call or a process that cannot be looked at.\n\n\
                  Example: mesos-gpu check --modules=/etc/mesos/modules.json -- mesos-agent --work_dir=/var/lib/mesos \
                  --isolation=…"
)]
pub struct Check {
    /// The modules.json; without it, what --modules or --modules_dir of the process name.
    #[arg(long, value_name = "FILE")]
    pub modules: Option<String>,
    /// A running agent or master.
    #[arg(long, conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The command line that would start an agent or a master.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Print who holds which GPU, by the agent's checkpoint, by the kernel and by NVML, and where they contradict each other.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 for nothing or notes, 1 for warnings, 2 for errors, 64 for a wrong call."
)]
pub struct Status {
    #[command(flatten)]
    pub place: Place,
    /// A running agent, whose flags and modules.json are used.
    #[arg(long, conflicts_with_all = ["parameters", "work_dir", "checkpoint_dir"])]
    pub pid: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Print a shell's completions of this program.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}
