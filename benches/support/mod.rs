//! Selection and report of the measurements of a benchmark, and figures of its processes.

/// Runs the measurements that the arguments name; the default is all. Cargo adds flags for a test harness, which are ignored.
pub(crate) fn run(measurements: &[(&str, &dyn Fn())]) {
    let selected: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    println!("{:<66} {:>9}  bound", "what", "measured");
    for (name, measure) in measurements {
        if selected.is_empty() || selected.iter().any(|argument| argument == name) {
            measure();
        }
    }
}

pub(crate) fn report(what: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value <= bound { "" } else { "   OVER" };
    println!("{what:<66} {value:>9.3}  {bound} {unit}{verdict}");
}

/// User and system time of the process.
pub(crate) fn cpu_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("Linux");
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks * 10.0
}

/// A field of `/proc/PID/status`: `VmRSS` is the memory of the process, `VmHWM` its peak.
pub(crate) fn memory_mb(pid: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux");
    let kilobytes: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .expect("a number");
    kilobytes / 1024.0
}
