//! The machine: what it is, as far as the system tells, and its label of one line.

use std::fs;
use std::path::Path;

use workshop_base::{probe, process};
use workshop_harness::remote::Host;
use workshop_results::manifest::Machine;

/// Where the kernel says how the CPU's frequency is chosen, and where a board says what it is.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const DEVICE_TREE_MODEL: &str = "/proc/device-tree/model";

/// Looks at this machine.
pub fn look() -> Machine {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    Machine {
        cpu: cpu(&cpuinfo),
        cores: process::cores(),
        memory_mb: memory_mb(),
        kernel: said("uname", &["-srm"]).unwrap_or_else(|| std::env::consts::OS.to_owned()),
        governor: read(GOVERNOR),
        throttled: said("vcgencmd", &["get_throttled"]),
        virtualised: virtualised(&cpuinfo),
    }
}

/// Looks at a machine that is connected, which has Linux.
pub fn look_at(host: &Host) -> Machine {
    let said = |words: &[&str]| {
        let text = host.said(words)?;
        let text = text.trim_end_matches('\0').trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let read = |path: &str| said(&["cat", path]);
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let cores = said(&["nproc"]).and_then(|cores| cores.parse().ok());
    Machine {
        cpu: model_name(&cpuinfo)
            .or_else(|| read(DEVICE_TREE_MODEL))
            .unwrap_or_else(|| format!("unknown {} CPU", host.machine)),
        cores: cores.unwrap_or(1),
        memory_mb: process::kilobytes(&meminfo, "MemTotal:").unwrap_or(0) * 1024 / 1_000_000,
        kernel: said(&["uname", "-srm"]).unwrap_or_else(|| host.machine.clone()),
        governor: read(GOVERNOR),
        throttled: said(&["vcgencmd", "get_throttled"]),
        virtualised: hypervisor(&cpuinfo).then(|| "a virtual machine".to_owned()),
    }
}

/// True on a Raspberry Pi, whose card and memory are small.
pub fn is_a_pi() -> bool {
    device_tree_model().is_some_and(|model| model.contains("Raspberry Pi"))
}

/// The machine in one line: `Raspberry Pi 5 Model B, 4 cores, 8 GB, Linux 6.12 aarch64, governor ondemand`.
pub fn label(machine: &Machine) -> String {
    let memory = (machine.memory_mb as f64 / 1000.0).round().max(1.0);
    let cores = if machine.cores == 1 { "core" } else { "cores" };
    let mut label = format!(
        "{}, {} {cores}, {memory} GB, {}",
        machine.cpu, machine.cores, machine.kernel
    );
    if let Some(governor) = &machine.governor {
        label.push_str(&format!(", governor {governor}"));
    }
    if let Some(virtualised) = &machine.virtualised {
        label.push_str(&format!(", {virtualised}"));
    }
    label
}

/// Both machines in one line, where the services run on another one.
pub fn label_of_both(services: &Machine, load: &Machine) -> String {
    format!("{}; the load from {}", label(services), label(load))
}

/// What a reader must know of the machine's state: throttling spoils a measurement without a word.
pub fn warning(machine: &Machine) -> Option<String> {
    let throttled = machine.throttled.as_deref()?.rsplit_once('=')?.1;
    (throttled != "0x0").then(|| {
        format!("the board has throttled itself (get_throttled={throttled}): give it better cooling or a stronger power supply, and measure again")
    })
}

fn cpu(cpuinfo: &str) -> String {
    // ARM boards have no model name; their device tree names the board.
    model_name(cpuinfo)
        .or_else(device_tree_model)
        .or_else(|| said("sysctl", &["-n", "machdep.cpu.brand_string"]))
        .unwrap_or_else(|| format!("unknown {} CPU", std::env::consts::ARCH))
}

fn model_name(cpuinfo: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    })
}

fn hypervisor(cpuinfo: &str) -> bool {
    cpuinfo.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    })
}

fn device_tree_model() -> Option<String> {
    read(DEVICE_TREE_MODEL).map(|model| model.trim_end_matches('\0').to_owned())
}

fn memory_mb() -> u64 {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let kilobytes = meminfo.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()
    });
    let bytes = kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .or_else(|| said("sysctl", &["-n", "hw.memsize"])?.parse().ok())
        .unwrap_or(0);
    bytes / 1_000_000
}

fn virtualised(cpuinfo: &str) -> Option<String> {
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    if kernel.to_lowercase().contains("microsoft") {
        return Some("WSL".to_owned());
    }
    let contained = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    match (contained, hypervisor(cpuinfo)) {
        (true, true) => Some("a container on a virtual machine".to_owned()),
        (true, false) => Some("a container".to_owned()),
        (false, true) => Some("a virtual machine".to_owned()),
        (false, false) => None,
    }
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The first line that a command says, if it is there and succeeds.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let said = probe::ask_and_wait(Path::new(program), arguments, probe::PATIENT);
    let line = said.line()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            cpu: "Some CPU".to_owned(),
            cores: 2,
            memory_mb: 24_600,
            kernel: "Linux 6.1 x86_64".to_owned(),
            governor: None,
            throttled: None,
            virtualised: Some("virtual machine".to_owned()),
        }
    }

    #[test]
    fn the_label_is_one_line() {
        assert_eq!(
            label(&machine()),
            "Some CPU, 2 cores, 25 GB, Linux 6.1 x86_64, virtual machine"
        );
        let pi = Machine {
            governor: Some("ondemand".to_owned()),
            virtualised: None,
            cores: 1,
            ..machine()
        };
        assert_eq!(
            label(&pi),
            "Some CPU, 1 core, 25 GB, Linux 6.1 x86_64, governor ondemand"
        );
    }

    #[test]
    fn throttling_is_warned_of() {
        let throttled = |said: &str| {
            warning(&Machine {
                throttled: Some(said.to_owned()),
                ..machine()
            })
        };
        assert_eq!(throttled("throttled=0x0"), None);
        assert!(throttled("throttled=0x50005").is_some_and(|warning| warning.contains("0x50005")));
        assert_eq!(warning(&machine()), None);
    }

    #[test]
    fn the_model_is_found_among_the_cpu_information() {
        assert_eq!(
            cpu("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nflags\t: fpu\n"),
            "Some CPU @ 3 GHz"
        );
        assert!(virtualised("flags\t: fpu hypervisor sse\n").is_some());
    }
}
