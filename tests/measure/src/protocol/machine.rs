//! The machine: what it is, as far as the system tells, and its label of one line.

use std::fs;
use std::path::Path;

use workshop_base::{probe, process};
use workshop_results::manifest::Machine;

/// Where the kernel says how the CPU's frequency is chosen, and where a board says what it is.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const DEVICE_TREE_MODEL: &str = "/proc/device-tree/model";

/// Where the kernel says what the machine has its power from.
pub const POWER: &str = "/sys/class/power_supply";

/// True where a battery of the machine's own is being emptied, and no mains are there. Mice and headsets have batteries, too.
pub fn on_battery(folder: &Path) -> bool {
    let supplies = fs::read_dir(folder).into_iter().flatten().flatten();
    let supplies: Vec<_> = supplies.map(|entry| entry.path()).collect();
    let says = |supply: &Path, file: &str, word: &str| {
        fs::read_to_string(supply.join(file)).is_ok_and(|text| text.trim() == word)
    };
    let is_mains = |supply: &Path| {
        ["Mains", "USB"]
            .iter()
            .any(|kind| says(supply, "type", kind))
    };
    let plugged = |supply: &Path| is_mains(supply) && says(supply, "online", "1");
    let emptied = |supply: &Path| {
        says(supply, "type", "Battery")
            && says(supply, "status", "Discharging")
            && !says(supply, "scope", "Device")
    };
    supplies.iter().any(|supply| emptied(supply)) && !supplies.iter().any(|supply| plugged(supply))
}

/// Looks at this machine.
pub fn look() -> Machine {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let bytes = process::meminfo("MemTotal:")
        .or_else(|| said("sysctl", &["-n", "hw.memsize"])?.parse().ok());
    Machine {
        // ARM boards have no model name; their device tree names the board.
        cpu: model_name(&cpuinfo)
            .or_else(|| read(DEVICE_TREE_MODEL))
            .or_else(|| said("sysctl", &["-n", "machdep.cpu.brand_string"]))
            .unwrap_or_else(|| format!("unknown {} CPU", std::env::consts::ARCH)),
        cores: process::cores(),
        memory_mb: bytes.unwrap_or(0) / 1_000_000,
        kernel: said("uname", &["-srm"]).unwrap_or_else(|| std::env::consts::OS.to_owned()),
        governor: read(GOVERNOR),
        throttled: said("vcgencmd", &["get_throttled"]),
        virtualised: virtualised(&cpuinfo),
    }
}

/// True on a Raspberry Pi, whose card and memory are small.
pub fn is_a_pi() -> bool {
    read(DEVICE_TREE_MODEL).is_some_and(|model| model.contains("Raspberry Pi"))
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

/// What a reader must know of the machine's state: throttling spoils a measurement without a word.
pub fn warning(machine: &Machine) -> Option<String> {
    let throttled = machine.throttled.as_deref()?.rsplit_once('=')?.1;
    (throttled != "0x0").then(|| {
        format!("the board has throttled itself (get_throttled={throttled}): give it better cooling or a stronger power supply, and measure again")
    })
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
    filled(&fs::read_to_string(path).ok()?)
}

/// The first line that a command says, if it is there and succeeds.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    filled(probe::ask_and_wait(Path::new(program), arguments, probe::PATIENT).line()?)
}

/// A text without what surrounds it, a zero at its end included; none where nothing is left.
fn filled(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| text.to_owned())
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
            model_name("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nflags\t: fpu\n").as_deref(),
            Some("Some CPU @ 3 GHz")
        );
        assert!(virtualised("flags\t: fpu hypervisor sse\n").is_some());
    }
}
